//! The program `recipes`.

// The system's allocator returns large blocks at once, and each training step pays for them again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    recipes::cli::main()
}
