//! Names the kernels for a GPU by what they are: those that are kept compiled must not outlive them.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::Path,
};

const KERNELS: &str = "src/cube";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={KERNELS}");
    let mut hasher = DefaultHasher::new();
    hash_below(Path::new(KERNELS), &mut hasher)?;
    println!("cargo::rustc-env=KERNELS_DIGEST={:016x}", hasher.finish());
    Ok(())
}

fn hash_below(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        path.hash(hasher);
        if path.is_dir() {
            hash_below(&path, hasher)?;
        } else {
            fs::read(&path)?.hash(hasher);
        }
    }
    Ok(())
}
