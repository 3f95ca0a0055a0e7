//! The program from the outside.

mod commands;
mod folder;
mod mistakes;
mod mlp;
