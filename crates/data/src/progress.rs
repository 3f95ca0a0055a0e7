//! Work that reports its progress and may be stopped.

use std::ops::ControlFlow;

use crate::DataError;

/// Receives the number of images done and the total; returns whether to go on. `Break` ends the work
/// with [`DataError::Stopped`].
pub type Progress<'a> = dyn FnMut(usize, usize) -> ControlFlow<()> + 'a;

/// Reports nothing; goes on.
pub fn silent(_done: usize, _of: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// An error where progress was answered by a stop.
pub(crate) fn go_on(flow: ControlFlow<()>) -> Result<(), DataError> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(DataError::Stopped),
    }
}
