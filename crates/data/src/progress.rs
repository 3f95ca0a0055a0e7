//! Work that tells how far it is, and may be stopped.

use std::ops::ControlFlow;

use crate::DataError;

/// Is told how many images are done, and of how many; answers whether to go on. An answer to stop ends
/// the work with [`DataError::Stopped`].
pub type Progress<'a> = dyn FnMut(usize, usize) -> ControlFlow<()> + 'a;

/// Tells no one, and goes on.
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
