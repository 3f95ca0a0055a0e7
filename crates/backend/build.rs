//! Names the kernels for a GPU by what they are, and by the packages that make them: those that are kept
//! compiled must not outlive them.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::Path,
};

/// Kernels, and the constants that are compiled into them.
const KERNELS: [&str; 4] = ["src/cube", "src/affine.rs", "src/divergence.rs", "src/dropout.rs"];
const LOCK: &str = "../../Cargo.lock";

fn main() -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    for path in KERNELS {
        println!("cargo::rerun-if-changed={path}");
        hash_below(Path::new(path), &mut hasher)?;
    }
    println!("cargo::rustc-env=KERNELS_DIGEST={:016x}", hasher.finish());

    println!("cargo::rerun-if-changed={LOCK}");
    let mut hasher = DefaultHasher::new();
    let made_by = |package: &&str| {
        let name = package.trim_start().strip_prefix("name = \"").unwrap_or_default();
        ["burn", "cubecl", "cubek"].iter().any(|family| name.starts_with(family))
    };
    fs::read_to_string(LOCK)?.split("[[package]]").filter(made_by).for_each(|package| {
        package.hash(&mut hasher);
    });
    println!("cargo::rustc-env=BURN_DIGEST={:016x}", hasher.finish());
    Ok(())
}

fn hash_below(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    path.hash(hasher);
    if !path.is_dir() {
        fs::read(path)?.hash(hasher);
        return Ok(());
    }
    let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().try_for_each(|path| hash_below(path, hasher))
}
