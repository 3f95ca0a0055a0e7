//! Names the kernels for a GPU by what they are, and by the packages that make them: those that are kept
//! compiled must not outlive them.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::Path,
};

const KERNELS: &str = "src/cube";
const LOCK: &str = "../../Cargo.lock";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={KERNELS}");
    let mut hasher = DefaultHasher::new();
    hash_below(Path::new(KERNELS), &mut hasher)?;
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
