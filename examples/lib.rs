//! Short programs that use the crates from the outside.
//!
//! Each other file here is a program: `cargo run -p examples --example own_model`.
