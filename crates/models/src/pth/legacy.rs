//! The format before PyTorch 1.6, which torchvision's VGG weights still use: a magic number, a version,
//! facts about the machine, the tensors, and the keys of their storages, a pickle each; then the
//! storages in that order, each after its number of elements.

use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead, Seek, SeekFrom},
};

use store::StoredTensor;

use crate::pth::{
    Fault, pickle, storage,
    value::{Id, Value, Values},
};

/// `MAGIC_NUMBER` of `torch/serialization.py`.
const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
/// `PROTOCOL_VERSION` there.
const VERSION: i128 = 1001;

pub(super) fn read<R: BufRead + Seek>(
    file: &mut R,
    length: u64,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<String, StoredTensor>, Fault> {
    for expected in [MAGIC, VERSION] {
        let (values, root) = pickle::read(file)?;
        if !matches!(values.get(root), Value::Int(found) if *found == expected) {
            return Err(Fault::Unsupported("it is a pickle, but not one of PyTorch's".to_owned()));
        }
    }
    pickle::read(file)?; // facts about the machine: this format was never written big-endian
    let (values, root) = pickle::read(file)?;
    let bytes_of_element: HashMap<String, u64> =
        values.storages().map(|storage| (storage.key.clone(), storage.kind.bytes())).collect();
    let places = places(file, length, &bytes_of_element)?;
    let views = storage::views(&values, root, wanted)?;
    storage::tensors(views, length, |storage| {
        let missing = || Fault::Damaged(format!("it has no storage `{}`", storage.key));
        let &(start, size) = places.get(&storage.key).ok_or_else(missing)?;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; size as usize]; // at most the size of the file
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    })
}

/// Where each storage begins, and its size, in bytes.
fn places<R: BufRead + Seek>(
    file: &mut R,
    length: u64,
    bytes_of_element: &HashMap<String, u64>,
) -> Result<HashMap<String, (u64, u64)>, Fault> {
    let (values, root) = pickle::read(file)?;
    let keys = keys(&values, root)
        .ok_or_else(|| Fault::Damaged("it has no list of its storages".to_owned()))?;
    let mut places = HashMap::new();
    for key in keys {
        let mut elements = [0; 8];
        file.read_exact(&mut elements)?;
        let start = file.stream_position()?;
        let size = bytes_of_element.get(&key).ok_or_else(|| {
            Fault::Damaged(format!("its storage `{key}` belongs to none of its values"))
        })?;
        let size = size.checked_mul(u64::from_le_bytes(elements));
        let end = size.and_then(|size| start.checked_add(size)).filter(|&end| end <= length);
        let (Some(size), Some(end)) = (size, end) else {
            return Err(Fault::Truncated(format!("its storage `{key}` is cut off")));
        };
        file.seek(SeekFrom::Start(end))?;
        places.insert(key, (start, size));
    }
    Ok(places)
}

fn keys(values: &Values, root: Id) -> Option<Vec<String>> {
    values.parts(root)?.iter().map(|&key| values.text(key).map(str::to_owned)).collect()
}
