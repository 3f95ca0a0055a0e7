//! The program `recipes`.

use backend::device::Allocator;
use mimalloc::MiMalloc;

// The system's allocator returns large blocks at once, and each training step pays for them again.
#[global_allocator]
static ALLOCATOR: Allocator<MiMalloc> = Allocator(MiMalloc);

fn main() -> std::process::ExitCode {
    recipes::cli::main()
}
