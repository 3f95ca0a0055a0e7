//! Durable storage: files that are whole or absent, tensors by name, append-only logs.
//!
//! Runs, checkpoints, models and caches are written through this crate, and tests can make each of
//! its writes fail.
//!
//! ```
//! use store::{StoredTensor, TensorFile};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("model.safetensors");
//! let mut file = TensorFile::default();
//! file.tensors.insert("bias".into(), StoredTensor::new(vec![2], vec![0.5, -1.0])?);
//! file.write(&path)?;
//! assert_eq!(TensorFile::read(&path)?, file);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Files.
mod append;
mod directory;
mod error;
#[doc(hidden)] // for the tests of this workspace
pub mod fault;
mod lock;
mod whole;

// Their contents.
mod hash;
mod number_type;
mod tensor_file;

pub use crate::{
    append::{AppendLog, whole_lines},
    directory::{previous_name, write_directory},
    error::StoreError,
    hash::{Hasher, sha256_hex, sha256_hex_of, sha256_hex_of_values},
    lock::FileLock,
    number_type::{Narrow, NumberType},
    tensor_file::{StoredTensor, TensorFile},
    whole::{
        create_directory, create_new_directory, folder_of, is_unfinished, remove, rename,
        write_whole,
    },
};
