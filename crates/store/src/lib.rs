//! What lasts: files that are whole or absent, tensors by name, logs that only grow.
//!
//! Every file that the project writes goes through this crate, and every write can be made to fail
//! in a test ([`fault`]).
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
pub mod fault;
mod lock;
mod whole;

// What is in them.
mod hash;
mod tensor_file;

pub use crate::{
    append::AppendLog,
    directory::{is_unfinished, previous_name, write_directory},
    error::StoreError,
    hash::{sha256_hex, sha256_hex_of},
    lock::FileLock,
    tensor_file::{StoredTensor, TensorFile},
    whole::{create_directory, create_new_directory, remove, rename, write_whole},
};
