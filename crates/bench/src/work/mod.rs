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

use backend::{Peaks, Selected, device};
use training::Group;

use crate::job::{Job, Measured, Ready};

/// Work that is done in rounds.
pub(crate) trait Work {
    /// Warms up, by the steps that are compared with those of the peers.
    fn prepare(&mut self) -> anyhow::Result<Ready>;

    /// Measures once.
    fn round(&mut self) -> anyhow::Result<Measured>;
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
        let (device, _) = device::open()?;
        Ok(Ready { peaks: Some(Peaks::measure::<Selected>(&device)), ..Ready::default() })
    }

    fn round(&mut self) -> anyhow::Result<Measured> {
        Ok(Measured { peak_memory_bytes: device::peak_process_memory(), ..Measured::default() })
    }
}
