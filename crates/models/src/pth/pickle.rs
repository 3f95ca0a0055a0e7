//! The machine that reads a pickle: a stack, a memo, and the operations that weights need.
//!
//! Python's module `pickletools` describes the operations. One that is not in [`opcode`], or a name that
//! [`Global::find`] does not know, is an error.

use std::{collections::HashMap, io::Read};

use crate::pth::{
    Fault, opcode,
    value::{Global, Id, Storage, Value, Values, View},
};

/// A pickle of weights has some hundred bytes per tensor; this is beyond any.
const LARGEST_PICKLE: u64 = 64 << 20;
/// A tensor has some twenty values. One that takes a byte in the file may take a hundred in memory, so
/// values are limited too, and so are the stack, the memo, and the marks.
const MOST_VALUES: usize = 1 << 20;
/// Limits on what each recall copies, without which a small file could cause much work: dimensions,
/// and bytes of a storage's key.
const LARGEST_RANK: usize = 16;
const LARGEST_KEY: usize = 64;

/// Reads one pickle, and nothing beyond it.
pub(super) fn read(source: &mut impl Read) -> Result<(Values, Id), Fault> {
    let mut machine = Machine {
        source: source.take(LARGEST_PICKLE),
        values: Values::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    loop {
        let operation = machine.byte()?;
        if operation == opcode::STOP {
            let root = machine.pop()?;
            return Ok((machine.values, root));
        }
        machine.run(operation)?;
    }
}

struct Machine<R> {
    source: std::io::Take<R>,
    values: Values,
    stack: Vec<Id>,
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl<R: Read> Machine<R> {
    fn run(&mut self, operation: u8) -> Result<(), Fault> {
        match operation {
            opcode::PROTO => drop(self.bytes::<1>()?),
            opcode::FRAME => drop(self.bytes::<8>()?), // only a hint
            opcode::MARK => {
                within_bounds(self.marks.len())?;
                self.marks.push(self.stack.len());
            }
            opcode::GLOBAL => {
                let [module, name] = [self.line()?, self.line()?];
                self.global(&module, &name)?;
            }
            opcode::STACK_GLOBAL => {
                let parts = self.pop_many(2)?;
                let [module, name] = [0, 1].map(|part| self.values.text(parts[part]));
                let names = module.zip(name).ok_or_else(|| damaged("a name is not text"))?;
                let (module, name) = (names.0.to_owned(), names.1.to_owned());
                self.global(&module, &name)?;
            }
            opcode::BINPERSID => self.persistent()?,
            opcode::REDUCE => self.call()?,
            opcode::BUILD => drop(self.pop()?), // attributes of the value below
            _ => return self.value(operation),
        }
        Ok(())
    }

    /// Pushes a value that is in the pickle itself, or goes on to the other operations.
    fn value(&mut self, operation: u8) -> Result<(), Fault> {
        match operation {
            opcode::NONE => self.push(Value::None),
            opcode::NEWTRUE | opcode::NEWFALSE => self.push(Value::Bool),
            opcode::BININT => {
                let value = i32::from_le_bytes(self.bytes()?);
                self.push(Value::Int(value.into()))
            }
            opcode::BININT1 => {
                let value = self.byte()?;
                self.push(Value::Int(value.into()))
            }
            opcode::BININT2 => {
                let value = u16::from_le_bytes(self.bytes()?);
                self.push(Value::Int(value.into()))
            }
            opcode::LONG1 => self.long(),
            opcode::BINFLOAT => {
                self.bytes::<8>()?;
                self.push(Value::Number)
            }
            opcode::SHORT_BINUNICODE | opcode::SHORT_BINSTRING => {
                let length = self.byte()?;
                self.text(length.into())
            }
            opcode::BINUNICODE | opcode::BINSTRING => {
                let length = u32::from_le_bytes(self.bytes()?);
                self.text(length.into())
            }
            _ => self.collection(operation),
        }
    }

    /// Makes or fills a tuple, a list or a dictionary, or goes on to the other operations.
    fn collection(&mut self, operation: u8) -> Result<(), Fault> {
        match operation {
            opcode::EMPTY_TUPLE => self.push(Value::Tuple(Vec::new())),
            opcode::TUPLE1 | opcode::TUPLE2 | opcode::TUPLE3 => {
                let parts = self.pop_many(usize::from(operation - opcode::TUPLE1) + 1)?;
                self.push(Value::Tuple(parts))
            }
            opcode::TUPLE => {
                let parts = self.pop_to_mark()?;
                self.push(Value::Tuple(parts))
            }
            opcode::EMPTY_LIST => self.push(Value::List(Vec::new())),
            opcode::LIST => {
                let parts = self.pop_to_mark()?;
                self.push(Value::List(parts))
            }
            opcode::APPEND => {
                let part = self.pop()?;
                self.append(vec![part])
            }
            opcode::APPENDS => {
                let parts = self.pop_to_mark()?;
                self.append(parts)
            }
            opcode::EMPTY_DICT => self.push(Value::Dict(Vec::new())),
            opcode::DICT => {
                let parts = self.pop_to_mark()?;
                let entries = pairs(&parts)?;
                self.push(Value::Dict(entries))
            }
            opcode::SETITEM => {
                let parts = self.pop_many(2)?;
                self.insert(&parts)
            }
            opcode::SETITEMS => {
                let parts = self.pop_to_mark()?;
                self.insert(&parts)
            }
            _ => self.memo(operation),
        }
    }

    /// Remembers or recalls a value; no other operation is left.
    fn memo(&mut self, operation: u8) -> Result<(), Fault> {
        match operation {
            opcode::BINPUT => {
                let slot = self.byte()?;
                self.remember(slot.into())
            }
            opcode::LONG_BINPUT => {
                let slot = u32::from_le_bytes(self.bytes()?);
                self.remember(slot)
            }
            opcode::MEMOIZE => {
                let slot = self.memo.len() as u32; // of which there are few
                self.remember(slot)
            }
            opcode::BINGET => {
                let slot = self.byte()?;
                self.recall(slot.into())
            }
            opcode::LONG_BINGET => {
                let slot = u32::from_le_bytes(self.bytes()?);
                self.recall(slot)
            }
            _ => {
                let message = format!("its pickle has the operation 0x{operation:02x}");
                Err(Fault::Unsupported(message))
            }
        }
    }

    /// A name from a module.
    fn global(&mut self, module: &str, name: &str) -> Result<(), Fault> {
        let global =
            Global::find(module, name).ok_or_else(|| Fault::Refused(format!("{module}.{name}")))?;
        self.push(Value::Global(global))
    }

    /// `("storage", type, key, device, elements)`, and in old files which part of another one it is.
    fn persistent(&mut self) -> Result<(), Fault> {
        let id = self.pop()?;
        let storage = self.storage(id).ok_or_else(|| unsupported("a storage is not described"))?;
        self.push(Value::Storage(storage))
    }

    fn storage(&self, id: Id) -> Option<Storage> {
        let &[tag, kind, key, _device, elements, ref rest @ ..] = self.values.parts(id)? else {
            return None;
        };
        let whole = rest.iter().all(|&part| matches!(self.values.get(part), Value::None));
        let key = self.values.text(key)?;
        if self.values.text(tag)? != "storage" || !whole || key.len() > LARGEST_KEY {
            return None;
        }
        let &Value::Global(Global::StorageOf(kind)) = self.values.get(kind) else { return None };
        let key = key.to_owned();
        Some(Storage { key, kind, elements: self.values.size(elements)? as u64 })
    }

    fn call(&mut self) -> Result<(), Fault> {
        let arguments = self.pop()?;
        let function = self.pop()?;
        let &Value::Global(function) = self.values.get(function) else {
            return Err(damaged("something is called that is not a function"));
        };
        let arguments = self.values.parts(arguments).unwrap_or_default();
        let result = match (function, arguments) {
            (Global::RebuildParameter | Global::Size, &[first, ..]) => {
                return self.push_again(first);
            }
            (Global::RebuildTensor, arguments) => self.view(arguments).map(Value::Tensor),
            (Global::OrderedDict, []) => Some(Value::Dict(Vec::new())),
            (Global::OrderedDict, &[pairs]) => self.take_pairs(pairs).map(Value::Dict),
            _ => None,
        };
        let result = result.ok_or_else(|| unsupported("a tensor is not described"))?;
        self.push(result)
    }

    /// The entries of a dictionary from a list of pairs, as Python 2 wrote it. Empties the list, which
    /// nothing else needs.
    fn take_pairs(&mut self, list: Id) -> Option<Vec<(Id, Id)>> {
        let Value::List(pairs) = self.values.get_mut(list) else { return None };
        let pairs = std::mem::take(pairs);
        let entry = |&pair: &Id| match self.values.parts(pair)? {
            &[key, value] => Some((key, value)),
            _ => None,
        };
        pairs.iter().map(entry).collect()
    }

    fn view(&self, arguments: &[Id]) -> Option<View> {
        let &[storage, offset, shape, stride, ..] = arguments else { return None };
        let Value::Storage(storage) = self.values.get(storage) else { return None };
        if self.values.parts(shape)?.len().max(self.values.parts(stride)?.len()) > LARGEST_RANK {
            return None;
        }
        let (shape, stride) = (self.values.sizes(shape)?, self.values.sizes(stride)?);
        let offset = self.values.size(offset)?;
        (shape.len() == stride.len()).then(|| View {
            storage: storage.clone(),
            offset,
            shape,
            stride,
        })
    }

    fn append(&mut self, parts: Vec<Id>) -> Result<(), Fault> {
        let list = self.top()?;
        match self.values.get_mut(list) {
            Value::List(list) => list.extend(parts),
            _ => return Err(damaged("something is appended to a value that is not a list")),
        }
        Ok(())
    }

    fn insert(&mut self, parts: &[Id]) -> Result<(), Fault> {
        let new = pairs(parts)?;
        let dict = self.top()?;
        match self.values.get_mut(dict) {
            Value::Dict(entries) => entries.extend(new),
            _ => return Err(damaged("an entry is set in a value that is not a dictionary")),
        }
        Ok(())
    }

    fn long(&mut self) -> Result<(), Fault> {
        let length = usize::from(self.byte()?);
        let mut bytes = [0; 16];
        let used = bytes.get_mut(..length).ok_or_else(|| damaged("an integer is too long"))?;
        self.source.read_exact(used)?;
        if used.last().is_some_and(|&last| last >= 0x80) {
            bytes[length..].fill(0xff);
        }
        self.push(Value::Int(i128::from_le_bytes(bytes)))
    }

    fn text(&mut self, length: u64) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        let found = self.source.by_ref().take(length).read_to_end(&mut bytes)?;
        if found as u64 != length {
            return Err(Fault::Truncated("its pickle ends in a text".to_owned()));
        }
        let text = String::from_utf8(bytes).map_err(|_| damaged("a text is not UTF-8"))?;
        self.push(Value::Text(text))
    }

    fn line(&mut self) -> Result<String, Fault> {
        let mut line = Vec::new();
        loop {
            match self.byte()? {
                b'\n' => {
                    return String::from_utf8(line).map_err(|_| damaged("a name is not UTF-8"));
                }
                byte => line.push(byte),
            }
        }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        self.bytes().map(|[byte]| byte)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn remember(&mut self, slot: u32) -> Result<(), Fault> {
        within_bounds(self.memo.len())?;
        let top = self.top()?;
        self.memo.insert(slot, top);
        Ok(())
    }

    fn recall(&mut self, slot: u32) -> Result<(), Fault> {
        let id = self.memo.get(&slot).ok_or_else(|| damaged("an empty memo slot is recalled"))?;
        self.push_again(*id)
    }

    fn push(&mut self, value: Value) -> Result<(), Fault> {
        within_bounds(self.values.len())?;
        let id = self.values.add(value);
        self.push_again(id)
    }

    /// Pushes an existing value.
    fn push_again(&mut self, id: Id) -> Result<(), Fault> {
        within_bounds(self.stack.len())?;
        self.stack.push(id);
        Ok(())
    }

    fn top(&self) -> Result<Id, Fault> {
        self.stack.last().copied().ok_or_else(empty)
    }

    fn pop(&mut self) -> Result<Id, Fault> {
        self.stack.pop().ok_or_else(empty)
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Id>, Fault> {
        let from = self.stack.len().checked_sub(count).ok_or_else(empty)?;
        Ok(self.stack.split_off(from))
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>, Fault> {
        let from = self.marks.pop().filter(|&mark| mark <= self.stack.len()).ok_or_else(empty)?;
        Ok(self.stack.split_off(from))
    }
}

fn pairs(parts: &[Id]) -> Result<Vec<(Id, Id)>, Fault> {
    let (pairs, rest) = parts.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(damaged("a key has no value"));
    }
    Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
}

/// Checks that one more is not too many.
fn within_bounds(values: usize) -> Result<(), Fault> {
    if values < MOST_VALUES {
        Ok(())
    } else {
        Err(unsupported("there are more values than weights need"))
    }
}

fn damaged(what: &str) -> Fault {
    Fault::Damaged(format!("in its pickle, {what}"))
}

fn unsupported(what: &str) -> Fault {
    Fault::Unsupported(format!("in its pickle, {what}"))
}

fn empty() -> Fault {
    damaged("the stack is empty")
}
