//! A graph of ONNX operators that grows node by node.

use std::collections::BTreeMap;

use store::{Narrow, NumberType, StoreError, StoredTensor};

use super::messages::{
    Attribute, AttributeKind, Dimension, ElementType, GraphMessage, Node, TensorMessage,
    TensorShape, TensorType, ValueInfo, ValueType,
};

/// The name of a node's output, by which other nodes take it as input.
pub(super) type Value = String;

/// A graph, and the weights that it does not contain yet.
pub(super) struct Graph {
    weights: BTreeMap<String, StoredTensor>,
    /// The type in which they are stored.
    numbers: NumberType,
    /// The error of the first weight beyond the range of `numbers`, with which no graph is returned.
    refused: Option<StoreError>,
    message: GraphMessage,
}

/// The size of a dimension.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Fixed(usize),
    /// Known when the network runs; equal names are equal sizes.
    Named(&'static str),
}

impl Graph {
    pub(super) fn new(
        name: &str,
        weights: BTreeMap<String, StoredTensor>,
        numbers: NumberType,
    ) -> Self {
        let message = GraphMessage { name: name.to_owned(), ..GraphMessage::default() };
        Self { weights, numbers, refused: None, message }
    }

    /// The finished graph.
    ///
    /// # Errors
    ///
    /// Where a constant is beyond the range of the numbers.
    pub(super) fn into_message(self) -> Result<GraphMessage, StoreError> {
        assert!(self.weights.is_empty(), "left out: {:?}", self.weights.keys());
        self.refused.map_or(Ok(self.message), Err)
    }

    /// An input of the whole graph.
    pub(super) fn input(&mut self, name: &str, kind: ElementType, shape: &[Size]) -> Value {
        self.message.input.push(value_info(name, kind, shape));
        name.to_owned()
    }

    /// An optional input of the whole graph, zeros if it is not given.
    ///
    /// - `shape`: the input's
    /// - `default`: the zeros' shape
    pub(super) fn optional_input(
        &mut self,
        name: &str,
        shape: &[Size],
        default: [usize; 3],
    ) -> Value {
        let zeros = vec![0; default.iter().product::<usize>() * size_of::<f32>()];
        self.initializer(name, ElementType::F32, &default, zeros);
        self.input(name, ElementType::F32, shape)
    }

    /// Makes `value` an output of the whole graph, called `name`.
    pub(super) fn output(&mut self, value: &Value, name: &str, kind: ElementType, shape: &[Size]) {
        self.message.node.push(Node {
            input: vec![value.clone()],
            output: vec![name.to_owned()],
            name: name.to_owned(),
            op_type: "Identity".to_owned(),
            attribute: Vec::new(),
        });
        self.message.output.push(value_info(name, kind, shape));
    }

    /// A weight of the network by its name in a model file.
    pub(super) fn weight(&mut self, name: &str) -> Value {
        let tensor = self.take(name);
        self.tensor(name, &tensor)
    }

    /// Removes a weight, to be added to the graph in another form.
    pub(super) fn take(&mut self, name: &str) -> StoredTensor {
        self.take_if_any(name).expect("a network has the weights of its architecture, each once")
    }

    /// As [`Graph::take`], for a weight that not all networks have.
    pub(super) fn take_if_any(&mut self, name: &str) -> Option<StoredTensor> {
        self.weights.remove(name)
    }

    /// A constant. Where it is not stored as f32, nodes make f32 of it; they have no other inputs, so
    /// that runtimes compute them once.
    pub(super) fn tensor(&mut self, name: &str, tensor: &StoredTensor) -> Value {
        let Narrow { numbers, shape, bytes, scale } = match tensor.narrowed(name, self.numbers) {
            Ok(narrow) => narrow,
            Err(error) => {
                self.refused.get_or_insert(error);
                return name.to_owned(); // names nothing
            }
        };
        let kind = match numbers {
            NumberType::F32 => return self.initializer(name, ElementType::F32, &shape, bytes),
            NumberType::F16 => ElementType::F16,
            NumberType::I8 => ElementType::I8,
        };
        let stored = self.initializer(name, kind, &shape, bytes);
        let multiples = self.cast(&stored, ElementType::F32);
        match scale {
            None => multiples,
            Some(scale) => {
                let bytes = scale.values().iter().flat_map(|value| value.to_le_bytes()).collect();
                let name = format!("{name}.scale");
                let scale = self.initializer(&name, ElementType::F32, scale.shape(), bytes);
                self.node("Mul", &[&multiples, &scale], Vec::new())
            }
        }
    }

    /// A constant vector of integers.
    pub(super) fn integers(&mut self, values: &[i64]) -> Value {
        let name = format!("integers_{}", self.message.initializer.len());
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.initializer(&name, ElementType::I64, &[values.len()], bytes)
    }

    /// A constant number.
    pub(super) fn number(&mut self, name: &str, value: f64) -> Value {
        self.initializer(name, ElementType::F64, &[], value.to_le_bytes().to_vec())
    }

    fn initializer(
        &mut self,
        name: &str,
        kind: ElementType,
        shape: &[usize],
        raw_data: Vec<u8>,
    ) -> Value {
        self.message.initializer.push(TensorMessage {
            dims: shape.iter().map(|&size| size as i64).collect(),
            data_type: kind.into(),
            name: name.to_owned(),
            raw_data,
        });
        name.to_owned()
    }

    /// An operator with one output.
    pub(super) fn node(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: Vec<Attribute>,
    ) -> Value {
        let [output] = self.node_of(operator, inputs, attributes);
        output
    }

    /// An operator with its first `N` outputs; an empty name omits an input.
    pub(super) fn node_of<const N: usize>(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: Vec<Attribute>,
    ) -> [Value; N] {
        let name = format!("{operator}_{}", self.message.node.len());
        let output = |index| if index == 0 { name.clone() } else { format!("{name}_{index}") };
        let outputs: [Value; N] = std::array::from_fn(output);
        self.message.node.push(Node {
            input: inputs.iter().map(|&input| input.clone()).collect(),
            output: outputs.to_vec(),
            name,
            op_type: operator.to_owned(),
            attribute: attributes,
        });
        outputs
    }
}

/// An attribute of a whole number.
pub(super) fn int(name: &str, value: i64) -> Attribute {
    let r#type = AttributeKind::Int.into();
    Attribute { name: name.to_owned(), i: Some(value), r#type, ..Attribute::default() }
}

/// An attribute of several whole numbers.
pub(super) fn ints(name: &str, values: impl IntoIterator<Item = usize>) -> Attribute {
    let ints = values.into_iter().map(|value| value as i64).collect();
    let r#type = AttributeKind::Ints.into();
    Attribute { name: name.to_owned(), ints, r#type, ..Attribute::default() }
}

/// An attribute of a real number.
pub(super) fn float(name: &str, value: f32) -> Attribute {
    let r#type = AttributeKind::Float.into();
    Attribute { name: name.to_owned(), f: Some(value), r#type, ..Attribute::default() }
}

fn value_info(name: &str, kind: ElementType, shape: &[Size]) -> ValueInfo {
    let dimension = |size: &Size| match *size {
        Size::Fixed(size) => Dimension { dim_value: Some(size as i64), dim_param: None },
        Size::Named(name) => Dimension { dim_value: None, dim_param: Some(name.to_owned()) },
    };
    let shape = TensorShape { dim: shape.iter().map(dimension).collect() };
    let tensor = TensorType { elem_type: kind.into(), shape: Some(shape) };
    ValueInfo { name: name.to_owned(), r#type: Some(ValueType { tensor_type: Some(tensor) }) }
}
