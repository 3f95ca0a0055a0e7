//! Short programs that use the crates as a stranger would.
//!
//! Each file beside this one is a program: `cargo run -p examples --example own_model`.
