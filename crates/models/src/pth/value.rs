//! The values in a pickle of weights.

/// Position of a value in its [`Values`].
pub(super) type Id = usize;

/// A value; its parts are positions, so that deep and circular values do no harm.
#[derive(Clone, Debug)]
pub(super) enum Value {
    None,
    Bool,
    Int(i128),
    Number,
    Text(String),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Global(Global),
    Storage(Storage),
    Tensor(View),
}

/// The names from Python's modules that weights need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    OrderedDict,
    Size,
    /// With or without the second version's arguments: hooks, and whether a gradient is wanted.
    RebuildTensor,
    RebuildParameter,
    StorageOf(Kind),
}

/// The type of a storage's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Float,
    Half,
    BFloat16,
    /// Numbers that f32 cannot represent, with their name and size in bytes.
    Other(&'static str, u64),
}

/// Numbers that tensors are views of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Storage {
    pub(super) key: String,
    pub(super) kind: Kind,
    pub(super) elements: u64,
}

/// A tensor: a view of a storage.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) storage: Storage,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) stride: Vec<usize>,
}

impl Global {
    /// That name in that module, if weights need it.
    pub(super) fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch", "Size") => Self::Size,
            ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Self::RebuildParameter,
            ("torch", storage) => Self::StorageOf(match storage {
                "FloatStorage" => Kind::Float,
                "HalfStorage" => Kind::Half,
                "BFloat16Storage" => Kind::BFloat16,
                "DoubleStorage" => Kind::Other("f64", 8),
                "LongStorage" => Kind::Other("i64", 8),
                "IntStorage" => Kind::Other("i32", 4),
                "ShortStorage" => Kind::Other("i16", 2),
                "CharStorage" => Kind::Other("i8", 1),
                "ByteStorage" => Kind::Other("u8", 1),
                "BoolStorage" => Kind::Other("bool", 1),
                _ => return None,
            }),
            _ => return None,
        })
    }
}

impl Kind {
    /// The size of a number.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Float => 4,
            Self::Half | Self::BFloat16 => 2,
            Self::Other(_, bytes) => bytes,
        }
    }
}

/// All values of a pickle.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<Value>);

impl Values {
    pub(super) fn add(&mut self, value: Value) -> Id {
        self.0.push(value);
        self.0.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// All storages, each at least once.
    pub(super) fn storages(&self) -> impl Iterator<Item = &Storage> {
        self.0.iter().filter_map(|value| match value {
            Value::Storage(storage) => Some(storage),
            _ => None,
        })
    }

    pub(super) fn get(&self, id: Id) -> &Value {
        &self.0[id]
    }

    pub(super) fn get_mut(&mut self, id: Id) -> &mut Value {
        &mut self.0[id]
    }

    pub(super) fn text(&self, id: Id) -> Option<&str> {
        match self.get(id) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn size(&self, id: Id) -> Option<usize> {
        match self.get(id) {
            Value::Int(value) => (*value).try_into().ok(),
            _ => None,
        }
    }

    /// The parts of a tuple or a list.
    pub(super) fn parts(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Value::Tuple(parts) | Value::List(parts) => Some(parts),
            _ => None,
        }
    }

    pub(super) fn sizes(&self, id: Id) -> Option<Vec<usize>> {
        self.parts(id)?.iter().map(|&part| self.size(part)).collect()
    }

    pub(super) fn entries(&self, id: Id) -> Option<&[(Id, Id)]> {
        match self.get(id) {
            Value::Dict(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a dictionary under a key.
    pub(super) fn entry(&self, id: Id, key: &str) -> Option<Id> {
        let found = |&&(name, _): &&(Id, Id)| self.text(name) == Some(key);
        self.entries(id)?.iter().find(found).map(|&(_, value)| value)
    }
}
