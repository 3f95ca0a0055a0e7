//! Named f32 tensors in a safetensors file.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt, fs,
    path::Path,
};

use safetensors::{
    Dtype, SafeTensorError, SafeTensors, View,
    tensor::{Metadata, TensorView},
};

use crate::{
    NumberType, StoreError,
    number_type::{self, Narrow},
    whole::write_whole,
};

/// The key in the file's metadata that holds [`TensorFile::metadata`].
///
/// There is only one, because the format's metadata is unordered: with several keys the bytes of a
/// file would differ from run to run.
const METADATA_KEY: &str = "recipes";

/// The key of the JSON document that marks parts of checkpoints.
const CHECKPOINT_KEY: &str = "checkpoint";

/// What follows the name of a tensor of i8 in that of its scales.
const SCALE: &str = ".scale";

/// A tensor on its way to or from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTensor {
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl StoredTensor {
    /// A tensor of `values` in row-major order.
    ///
    /// # Errors
    ///
    /// Where the values do not fill the shape.
    pub fn new(shape: Vec<usize>, values: Vec<f32>) -> Result<Self, StoreError> {
        let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        if elements != Some(values.len()) {
            return Err(StoreError::Shape { shape, values: values.len() });
        }
        Ok(Self { shape, values })
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements in row-major order.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Shape and elements.
    pub fn into_parts(self) -> (Vec<usize>, Vec<f32>) {
        (self.shape, self.values)
    }
}

/// A safetensors file: tensors by name, and a JSON document that describes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorFile {
    /// The tensors, in the order of their names.
    pub tensors: BTreeMap<String, StoredTensor>,
    /// What the tensors are; null for a file from elsewhere.
    pub metadata: serde_json::Value,
}

impl TensorFile {
    /// A part of a trainer's checkpoint: its tensors have the names and the layout that they have in
    /// memory, not those of a file of weights.
    pub fn of_checkpoint(tensors: BTreeMap<String, StoredTensor>) -> Self {
        Self { tensors, metadata: serde_json::json!({ CHECKPOINT_KEY: true }) }
    }

    /// Whether it was made by [`of_checkpoint`](Self::of_checkpoint).
    pub fn is_of_checkpoint(&self) -> bool {
        self.metadata.get(CHECKPOINT_KEY).is_some()
    }

    /// Reads a file; f16, bf16 and i8 with its scales become f32.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, is damaged, or holds numbers of another type.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::read_where(path, |_| true)
    }

    /// As [`TensorFile::read`], but only the tensors whose names are `wanted`; the others may hold
    /// numbers of any type.
    ///
    /// # Errors
    ///
    /// As [`TensorFile::read`].
    pub fn read_where(
        path: impl AsRef<Path>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(StoreError::io("read", path))?;
        Self::from_bytes_where(&bytes, path, wanted)
    }

    /// Writes the file, whole or not at all. The same content gives the same bytes.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        let path = path.as_ref();
        write_whole(path, &self.to_bytes(path)?)
    }

    /// The bytes of the file, which errors call `path`. The same content gives the same bytes.
    ///
    /// # Errors
    ///
    /// Where the content does not fit the format.
    pub fn to_bytes(&self, path: &Path) -> Result<Vec<u8>, StoreError> {
        serialize(&self.tensors, &self.metadata, path)
    }

    /// As [`TensorFile::to_bytes`], with numbers of another type. The scales of a tensor of i8 are the
    /// tensor `NAME.scale`.
    ///
    /// # Errors
    ///
    /// Where a number is beyond the range of the type.
    pub fn to_bytes_of(&self, numbers: NumberType, path: &Path) -> Result<Vec<u8>, StoreError> {
        if numbers == NumberType::F32 {
            return self.to_bytes(path);
        }
        let mut tensors = Vec::new();
        for (name, tensor) in &self.tensors {
            let mut narrow = tensor.narrowed(name, numbers)?;
            if let Some(scale) = narrow.scale.take() {
                let name = format!("{name}{SCALE}");
                let scale = scale.narrowed(&name, NumberType::F32)?;
                tensors.push((name, scale));
            }
            tensors.push((name.clone(), narrow));
        }
        serialize(tensors, &self.metadata, path)
    }

    /// Parses the bytes of a file, which errors call `path`; f16, bf16 and i8 with its scales become f32.
    ///
    /// # Errors
    ///
    /// Where they are damaged, or hold numbers of another type.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, StoreError> {
        Self::from_bytes_where(bytes, path, |_| true)
    }

    /// As [`TensorFile::from_bytes`], but only the tensors whose names are `wanted`; the others may hold
    /// numbers of any type.
    ///
    /// # Errors
    ///
    /// As [`TensorFile::from_bytes`].
    pub fn from_bytes_where(
        bytes: &[u8],
        path: &Path,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, StoreError> {
        let format = |reason: String| StoreError::Format { path: path.to_owned(), reason };
        let flaw = |error| match error {
            SafeTensorError::MetadataIncompleteBuffer if has_trailing_bytes(bytes) => {
                format("there are bytes after its last tensor".to_owned())
            }
            SafeTensorError::MetadataIncompleteBuffer => {
                StoreError::Truncated { path: path.to_owned() }
            }
            error => format(error.to_string()),
        };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(flaw)?;
        let metadata = match header.metadata().as_ref().and_then(|keys| keys.get(METADATA_KEY)) {
            None => serde_json::Value::Null,
            Some(text) => {
                serde_json::from_str(text).map_err(|error| format(format!("metadata: {error}")))?
            }
        };
        let file = SafeTensors::deserialize(bytes).map_err(flaw)?;
        let tensors = file
            .iter()
            .filter(|(name, _)| wanted(name) && !is_scale(name, &file))
            .map(|(name, view)| {
                let values = decode(name, &view, &file).ok_or_else(|| {
                    let reason = format!("`{name}` has numbers of type {:?}", view.dtype());
                    StoreError::Unsupported { path: path.to_owned(), reason }
                })?;
                let tensor = StoredTensor { shape: view.shape().to_vec(), values };
                Ok((name.to_owned(), tensor))
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(Self { tensors, metadata })
    }
}

fn serialize<N: AsRef<str> + Ord + fmt::Display, T: View>(
    tensors: impl IntoIterator<Item = (N, T)>,
    metadata: &serde_json::Value,
    path: &Path,
) -> Result<Vec<u8>, StoreError> {
    let metadata = HashMap::from([(METADATA_KEY.to_owned(), metadata.to_string())]);
    safetensors::serialize(tensors, Some(metadata))
        .map_err(|error| StoreError::Format { path: path.to_owned(), reason: error.to_string() })
}

/// Whether bytes follow the last tensor that the header names.
fn has_trailing_bytes(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk() else { return false };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let Some((header, tensors)) = rest.split_at_checked(length) else { return false };
    let header: Result<Metadata, _> = serde_json::from_slice(header);
    header.is_ok_and(|header| tensors.len() > header.data_len())
}

/// Whether a tensor holds the scales of one of i8.
fn is_scale(name: &str, file: &SafeTensors<'_>) -> bool {
    let scaled = name.strip_suffix(SCALE).and_then(|scaled| file.tensor(scaled).ok());
    scaled.is_some_and(|scaled| scaled.dtype() == Dtype::I8)
}

/// The numbers as f32, if every value of their type is exact in it, or comes with a scale.
fn decode(name: &str, tensor: &TensorView<'_>, file: &SafeTensors<'_>) -> Option<Vec<f32>> {
    let bytes = tensor.data();
    let pairs = bytes.as_chunks::<2>().0.iter().copied();
    match tensor.dtype() {
        Dtype::F32 => Some(bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect()),
        Dtype::F16 => Some(pairs.map(|pair| half::f16::from_le_bytes(pair).to_f32()).collect()),
        Dtype::BF16 => Some(pairs.map(|pair| half::bf16::from_le_bytes(pair).to_f32()).collect()),
        Dtype::I8 => {
            let scale_name = format!("{name}{SCALE}");
            let scale = file.tensor(&scale_name).ok()?;
            let scales =
                decode(&scale_name, &scale, file).filter(|_| scale.dtype() == Dtype::F32)?;
            number_type::scaled(tensor.shape(), bytes, &scales)
        }
        _ => None,
    }
}

impl View for &StoredTensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = vec![0; self.data_len()];
        for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(&self.values) {
            *bytes = value.to_le_bytes();
        }
        bytes.into()
    }

    fn data_len(&self) -> usize {
        size_of_val(self.values.as_slice())
    }
}

impl View for Narrow {
    fn dtype(&self) -> Dtype {
        match self.numbers {
            NumberType::F32 => Dtype::F32,
            NumberType::F16 => Dtype::F16,
            NumberType::I8 => Dtype::I8,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.bytes.as_slice().into()
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> TensorFile {
        let values = vec![f32::NAN, -0.0, f32::MIN_POSITIVE / 2.0, 1e38, f32::NEG_INFINITY, 0.1];
        let tensor = StoredTensor::new(vec![2, 3], values).unwrap();
        let scalar = StoredTensor::new(vec![], vec![1.0]).unwrap();
        let tensors = BTreeMap::from([("layer.weight".into(), tensor), ("scalar".into(), scalar)]);
        TensorFile { tensors, metadata: serde_json::json!({ "b": 1, "a": [0.1] }) }
    }

    fn bits(file: &TensorFile, name: &str) -> Vec<u32> {
        file.tensors[name].values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn a_file_comes_back_bit_for_bit_and_the_same_twice() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("1"), folder.path().join("2"));
        sample().write(&first).unwrap();
        sample().write(&second).unwrap();
        assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());

        let read = TensorFile::read(&first).unwrap();
        assert_eq!(read.metadata, sample().metadata);
        assert_eq!(bits(&read, "layer.weight"), bits(&sample(), "layer.weight"));
        assert_eq!(read.tensors["layer.weight"].shape(), [2, 3]);
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        sample().write(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        let header_length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            let error = TensorFile::read(&path).unwrap_err();
            let header = length < 8 + header_length;
            let expected = if header { "not a usable" } else { "is truncated" };
            assert!(error.to_string().contains(expected), "{length} bytes: {error}");
        }
        fs::write(&path, [bytes.as_slice(), b"more"].concat()).unwrap();
        let error = TensorFile::read(&path).unwrap_err();
        assert!(error.to_string().ends_with("there are bytes after its last tensor"), "{error}");
    }

    /// A safetensors file of one tensor.
    fn bytes_of(dtype: Dtype, shape: Vec<usize>, data: &[u8]) -> Vec<u8> {
        let tensor = TensorView::new(dtype, shape, data).unwrap();
        safetensors::serialize([("a", tensor)], None).unwrap()
    }

    #[test]
    fn half_precision_becomes_f32_and_other_types_are_refused() {
        let read = |dtype: Dtype, data: &[u8]| {
            let values = data.len() * 8 / dtype.bitsize();
            TensorFile::from_bytes(&bytes_of(dtype, vec![values], data), "file".as_ref())
                .map(|file| file.tensors["a"].values.clone())
                .map_err(|error| error.to_string())
        };
        assert_eq!(read(Dtype::F16, &half::f16::from_f32(1.5).to_le_bytes()), Ok(vec![1.5]));
        assert_eq!(read(Dtype::BF16, &half::bf16::from_f32(-2.0).to_le_bytes()), Ok(vec![-2.0]));
        let refused = |name| Err(format!("`file` cannot be used: `a` has numbers of type {name}"));
        assert_eq!(read(Dtype::F64, &[0; 8]), refused("F64"));
        assert_eq!(read(Dtype::I8, &[0; 8]), refused("I8")); // without its scales
    }

    fn file(shape: &[usize], values: Vec<f32>) -> TensorFile {
        let tensor = StoredTensor::new(shape.to_vec(), values).unwrap();
        TensorFile { tensors: BTreeMap::from([("a".into(), tensor)]), ..sample() }
    }

    #[test]
    fn a_file_of_f16_comes_back_rounded() {
        let path = Path::new("file");
        let written = file(&[3], vec![0.1, -65504.0, f32::INFINITY]);
        let bytes = written.to_bytes_of(NumberType::F16, path).unwrap();
        let read = TensorFile::from_bytes(&bytes, path).unwrap();
        assert_eq!(read.tensors["a"].values, [0.099_975_586, -65504.0, f32::INFINITY]);
        assert_eq!(read.metadata, sample().metadata);

        let error = file(&[1], vec![1e5]).to_bytes_of(NumberType::F16, path).unwrap_err();
        assert_eq!(error.to_string(), "`a` has a number beyond the range of f16");
    }

    #[test]
    fn a_file_of_i8_comes_back_by_the_scales_of_its_rows() {
        let path = Path::new("file");
        let matrix = file(&[2, 3], vec![127.0, -0.4, 0.6, 0.0, -2.54, 0.031]);
        let bytes = matrix.to_bytes_of(NumberType::I8, path).unwrap();
        let read = TensorFile::from_bytes(&bytes, path).unwrap();
        assert_eq!(read.tensors.len(), 1, "{:?}", read.tensors.keys());
        assert_eq!(read.tensors["a"].shape, [2, 3]);
        let expected = [127.0, 0.0, 1.0, 0.0, -2.54, 0.04];
        for (found, expected) in read.tensors["a"].values.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }

        let vector = file(&[1, 3], vec![0.1, 0.2, 0.3]);
        let bytes = vector.to_bytes_of(NumberType::I8, path).unwrap();
        assert_eq!(TensorFile::from_bytes(&bytes, path).unwrap(), vector);
        let error = file(&[1], vec![f32::NAN]).to_bytes_of(NumberType::I8, path).unwrap_err();
        assert_eq!(error.to_string(), "`a` has a number beyond the range of i8");
    }

    /// Some layers call a parameter so, and a file from elsewhere may hold any numbers.
    #[test]
    fn only_beside_i8_is_a_tensor_a_scale_and_only_of_f32() {
        let tensor = |dtype, data| TensorView::new(dtype, vec![2, 2], data).unwrap();
        let read = |dtype, scale| {
            let tensors = [("a", dtype), ("a.scale", scale)];
            let bytes = safetensors::serialize(tensors, None).unwrap();
            TensorFile::from_bytes(&bytes, "file".as_ref()).map(|file| file.tensors)
        };
        let both = read(tensor(Dtype::F32, &[0; 16]), tensor(Dtype::F32, &[0; 16])).unwrap();
        assert!(both.keys().eq(["a", "a.scale"]), "{both:?}");
        let halves = TensorView::new(Dtype::F16, vec![2, 1], &[0; 4]).unwrap();
        let refused = read(tensor(Dtype::I8, &[0; 4]), halves).unwrap_err().to_string();
        assert!(refused.contains("`a` has numbers of type I8"), "{refused}");
    }

    #[test]
    fn sizes_whose_product_cannot_be_counted_are_no_panic() {
        let shape = [0, 2, 1 << 40, 1 << 40];
        let tensor = TensorView::new(Dtype::I8, shape.to_vec(), &[]).unwrap();
        let scales = TensorView::new(Dtype::F32, vec![0], &[]).unwrap();
        let tensors = [("a", tensor), ("a.scale", scales)];
        let bytes = safetensors::serialize(tensors, None).unwrap();
        let refused = TensorFile::from_bytes(&bytes, "file".as_ref()).unwrap_err();
        assert!(refused.to_string().contains("`a`"), "{refused}");
        let empty = StoredTensor::new(shape.to_vec(), Vec::new()).unwrap();
        assert!(empty.narrowed("empty", NumberType::I8).unwrap().scale.is_none());
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused() {
        assert!(StoredTensor::new(vec![2, 3], vec![0.0; 5]).is_err());
        assert!(StoredTensor::new(vec![usize::MAX, 2], vec![]).is_err());
    }
}
