//! The work of each kind of job, as the child process does it.

mod infer;
mod source;
mod source_files;
mod stage;
mod train;

pub(crate) use self::{
    source::{SourceJob, SourceKind},
    stage::{Stage, StageJob},
    train::{TrainJob, Unit},
};

use backend::{
    Backend, Peaks, Selected,
    device::{self, Device},
};
use burn::tensor::{Tensor, TensorData};
use models::{Architecture, Inputs};
use store::StoredTensor;
use training::Group;

use crate::{
    ON_GPU,
    job::{Job, Measured, Ready},
};

/// Work that is done in rounds.
pub(crate) trait Work {
    /// Warms up, with the steps that are compared with the peers'.
    fn prepare(&mut self) -> anyhow::Result<Ready>;

    /// Measures once.
    ///
    /// - `steps`: how many, where the work consists of steps; by default the job's
    fn round(&mut self, steps: Option<u64>) -> anyhow::Result<Measured>;
}

/// Peak memory in bytes: of this process on a CPU, reserved on a GPU, where it is not given back.
fn peak_memory() -> Option<u64> {
    if ON_GPU { Selected::memory_in_use(&Device::default()) } else { device::peak_process_memory() }
}

/// Waits for the device. A failure there is reported when something is read from it.
fn sync() {
    let _ = <Selected as burn::tensor::backend::Backend>::sync(&Device::default());
}

/// A tensor on the device.
fn floats<B: Backend, const D: usize>(stored: StoredTensor, device: &B::Device) -> Tensor<B, D> {
    let (shape, values) = stored.into_parts();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// A batch of what the network reads, on the device, as a peer's is.
fn inputs_of<B: Backend>(
    architecture: &Architecture,
    batch: StoredTensor,
    device: &B::Device,
) -> Inputs<B> {
    match architecture {
        Architecture::Mlp(_) => Inputs::Rows(floats(batch, device)),
        Architecture::TextLstm(_) => Inputs::Tokens(floats::<B, 2>(batch, device).int()),
        Architecture::Cnn(_)
        | Architecture::SimpleNet(_)
        | Architecture::ResNet(_)
        | Architecture::Vgg(_) => Inputs::Images(floats(batch, device)),
    }
}

/// The work of a job.
pub(crate) fn open(job: Job, group: &Group) -> anyhow::Result<Box<dyn Work>> {
    Ok(match job {
        Job::Train(job) => Box::new(train::Train::new(job, group)),
        Job::Infer(folder) => Box::new(infer::open(&folder)?),
        Job::Stage(job) => stage::open(&job)?,
        Job::Source(job) => Box::new(source::Source::open(job)?),
        Job::Peaks => Box::new(PeaksWork),
    })
}

struct PeaksWork;

impl Work for PeaksWork {
    fn prepare(&mut self) -> anyhow::Result<Ready> {
        let (device, name) = device::open()?;
        Ok(Ready { peaks: Some((name, Peaks::measure::<Selected>(&device))), ..Ready::default() })
    }

    fn round(&mut self, _: Option<u64>) -> anyhow::Result<Measured> {
        Ok(Measured { peak_memory_bytes: peak_memory(), ..Measured::default() })
    }
}
