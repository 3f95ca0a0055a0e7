//! Tensors from the views that a pickle describes and the bytes of their storages.

use std::collections::BTreeMap;

use half::{bf16, f16};
use store::StoredTensor;

use crate::{
    import::prefix_of_wrappers,
    pth::{
        Fault,
        value::{Id, Kind, Storage, Value, Values, View},
    },
};

/// A counter of PyTorch's batch normalisation that nothing needs.
const COUNTER: &str = "num_batches_tracked";

/// The keys under which checkpoints that hold more have the weights: Lightning's, that of PyTorch's
/// tutorial, and that of torchvision's training scripts.
const NESTED: [&str; 3] = ["state_dict", "model_state_dict", "model"];

/// The views by name, of the dictionary itself or of one that is [`NESTED`] in it.
pub(super) fn views(
    values: &Values,
    root: Id,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<String, View>, Fault> {
    let nested = NESTED.into_iter().filter_map(|key| values.entry(root, key));
    let nested = nested.into_iter().find(|&id| values.entries(id).is_some());
    let entries = values.entries(nested.unwrap_or(root)).ok_or_else(|| {
        let what = "it holds no dictionary of tensors (PyTorch's `state_dict`)";
        Fault::Unsupported(what.to_owned())
    })?;
    let names = || entries.iter().filter_map(|&(key, _)| values.text(key));
    let prefix = prefix_of_wrappers(names);
    let mut views = BTreeMap::new();
    for &(key, value) in entries {
        let name = values
            .text(key)
            .ok_or_else(|| Fault::Unsupported("it holds a tensor without a name".to_owned()))?;
        let name = name.strip_prefix(&prefix).unwrap_or(name);
        if name.ends_with(COUNTER) || !wanted(name) {
            continue;
        }
        let Value::Tensor(view) = values.get(value) else {
            return Err(Fault::Unsupported(format!("`{name}` is not a tensor")));
        };
        if views.insert(name.to_owned(), view.clone()).is_some() {
            return Err(Fault::Damaged(format!("it holds `{name}` twice")));
        }
    }
    Ok(views)
}

/// Reads each storage once, in the order of their keys, and cuts the tensors out of it.
///
/// `length` is that of the file, in bytes. Neither more bytes are read than that nor more numbers made,
/// even where views or storages share them; otherwise a small file could fill the memory.
pub(super) fn tensors(
    views: BTreeMap<String, View>,
    length: u64,
    mut bytes_of: impl FnMut(&Storage) -> Result<Vec<u8>, Fault>,
) -> Result<BTreeMap<String, StoredTensor>, Fault> {
    let elements =
        |view: &View| view.shape.iter().try_fold(1u64, |all, &n| all.checked_mul(n as u64));
    let sum = views.values().try_fold(0u64, |sum, view| sum.checked_add(elements(view)?));
    let mut by_storage: BTreeMap<String, Vec<(String, View)>> = BTreeMap::new();
    for (name, view) in views {
        by_storage.entry(view.storage.key.clone()).or_default().push((name, view));
    }
    let storages = by_storage.values().flat_map(|views| views.first());
    let bytes = storages.map(|(_, View { storage, .. })| storage).try_fold(0u64, |sum, storage| {
        sum.checked_add(storage.elements.checked_mul(storage.kind.bytes())?)
    });
    let fits = |sum: Option<u64>| sum.is_some_and(|sum| sum <= length);
    if !fits(bytes) {
        return Err(Fault::Truncated("its tensors need more bytes than it has".to_owned()));
    }
    if !fits(sum) {
        let what = "its tensors are expanded views, with more numbers than the file has bytes";
        return Err(Fault::Unsupported(what.to_owned()));
    }
    let mut tensors = BTreeMap::new();
    for views in by_storage.into_values() {
        let [(first, View { storage, .. }), ..] = views.as_slice() else { continue };
        let values = decode(first, storage, &bytes_of(storage)?)?;
        for (name, view) in &views {
            let same = view.storage == *storage;
            let cut = same.then(|| cut(&values, view)).flatten();
            let tensor = cut.and_then(|cut| StoredTensor::new(view.shape.clone(), cut).ok());
            let outside = || Fault::Damaged(format!("`{name}` reaches beyond its storage"));
            tensors.insert(name.clone(), tensor.ok_or_else(outside)?);
        }
    }
    Ok(tensors)
}

fn decode(name: &str, storage: &Storage, bytes: &[u8]) -> Result<Vec<f32>, Fault> {
    if Some(bytes.len() as u64) != storage.elements.checked_mul(storage.kind.bytes()) {
        return Err(Fault::Truncated(format!(
            "the storage of `{name}` has {} bytes instead of {} numbers of {}",
            bytes.len(),
            storage.elements,
            storage.kind.bytes()
        )));
    }
    let pairs = bytes.as_chunks::<2>().0.iter().copied();
    match storage.kind {
        Kind::Float => Ok(bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect()),
        Kind::Half => Ok(pairs.map(|pair| f16::from_le_bytes(pair).to_f32()).collect()),
        Kind::BFloat16 => Ok(pairs.map(|pair| bf16::from_le_bytes(pair).to_f32()).collect()),
        Kind::Other(kind, _) => Err(Fault::Unsupported(format!(
            "`{name}` has numbers of type {kind}, not f32, f16 or bf16"
        ))),
    }
}

/// The view's values in row-major order; none if it reaches beyond `values`.
fn cut(values: &[f32], view: &View) -> Option<Vec<f32>> {
    let View { offset, shape, stride, .. } = view;
    let mut cut = Vec::new();
    if shape.contains(&0) {
        return Some(cut);
    }
    let reach = |(&size, &stride): (&usize, &usize)| (size - 1).checked_mul(stride);
    let last =
        shape.iter().zip(stride).try_fold(*offset, |at, axis| at.checked_add(reach(axis)?))?;
    values.get(last)?;
    cut.reserve_exact(shape.iter().product());
    let mut index = vec![0; shape.len()];
    let mut at = *offset;
    loop {
        cut.push(values[at]);
        // Counts up like an odometer: the last axis turns fastest. An axis of one element may have any
        // stride, so adding it may overflow; subtracting it undoes that.
        let mut axis = shape.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return Some(cut) };
            axis = next;
            index[axis] += 1;
            at = at.wrapping_add(stride[axis]);
            if index[axis] < shape[axis] {
                break;
            }
            at = at.wrapping_sub(stride[axis].wrapping_mul(shape[axis]));
            index[axis] = 0;
        }
    }
}
