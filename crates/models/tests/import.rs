//! Weights from elsewhere: PyTorch's checkpoints, safetensors with foreign names, and files that are
//! damaged or hostile.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, fs, path::PathBuf};

use models::import::{self, read};
use proptest::prelude::*;
use store::{StoredTensor, TensorFile};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pth").join(name)
}

fn expected() -> BTreeMap<String, StoredTensor> {
    TensorFile::read(fixture("expected.safetensors")).unwrap().tensors
}

/// Reads `bytes` as a file.
fn import(bytes: &[u8]) -> Result<BTreeMap<String, StoredTensor>, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    let path = file.path().display().to_string();
    read(file.path()).map(|file| file.tensors).map_err(|error| {
        assert!(!error.help().is_empty());
        error.to_string().replace(&path, "FILE")
    })
}

fn refusal(name: &str) -> String {
    import(&fs::read(fixture(name)).unwrap()).unwrap_err()
}

#[test]
fn every_kind_of_checkpoint_is_read_views_and_halves_included() {
    for name in ["zip.pth", "protocol_4.pth", "nested.pth", "parallel.pth", "scripts.pth"] {
        assert_eq!(read(&fixture(name)).unwrap().tensors, expected(), "{name}");
    }
    for file in ["legacy.pth", "legacy_nested.pth"] {
        let old = read(&fixture(file)).unwrap().tensors;
        let names: Vec<&str> = old.keys().map(String::as_str).collect();
        assert_eq!(names, ["learnt", "part", "transposed", "whole"], "{file}");
        for (name, tensor) in &old {
            assert_eq!(tensor, &expected()[name], "{name} of {file}");
        }
    }
    let transposed = &expected()["transposed"];
    assert_eq!(transposed.shape(), [6, 4]);
}

#[test]
fn the_length_of_a_header_does_not_make_a_pickle_of_safetensors() {
    let bytes = fs::read(fixture("expected.safetensors")).unwrap();
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    let (header, values) = rest.split_at(length);
    for longer in [0x480, 0x580] {
        let mut header = header.to_vec();
        header.resize(longer, b' ');
        let padded = [&(longer as u64).to_le_bytes(), header.as_slice(), values].concat();
        assert_eq!(import(&padded).unwrap(), expected());
    }
}

#[test]
fn only_what_is_wanted_is_read() {
    for name in ["zip.pth", "legacy.pth", "expected.safetensors"] {
        let some = import::read_where(&fixture(name), |name| name == "part").unwrap().tensors;
        assert_eq!(some.keys().collect::<Vec<_>>(), ["part"]);
        assert_eq!(some["part"], expected()["part"]);
    }
}

/// As `DistributedDataParallel` and `torch.compile` name parameters, and one around the other.
#[test]
fn what_wrappers_put_before_all_names_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrapped.safetensors");
    for (first, others, bare) in [
        ("module.", "module.", ["a", "b.c"]),
        ("_orig_mod.", "_orig_mod.", ["a", "b.c"]),
        ("module._orig_mod.", "module._orig_mod.", ["a", "b.c"]),
        ("", "module.", ["a", "module.b.c"]),
    ] {
        let tensor = expected()["part"].clone();
        let names = [format!("{first}a"), format!("{others}b.c")];
        let tensors = names.map(|name| (name, tensor.clone())).into();
        TensorFile { tensors, ..TensorFile::default() }.write(&path).unwrap();
        let read = import::read(&path).unwrap().tensors;
        assert_eq!(read.keys().collect::<Vec<_>>(), bare);
        let some = import::read_where(&path, |name| name == "a").unwrap().tensors;
        assert_eq!(some.keys().collect::<Vec<_>>(), ["a"]);
    }
}

#[test]
fn counters_of_batch_normalisation_are_left_out_of_safetensors() {
    let header = r#"{"bn.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]},
                     "bn.weight":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}"#;
    let (length, numbers) = ((header.len() as u64).to_le_bytes(), 7u64.to_le_bytes());
    let bytes = [&length, header.as_bytes(), &numbers, &1.5f32.to_le_bytes()].concat();
    let tensors = import(&bytes).unwrap();
    assert_eq!(tensors.keys().collect::<Vec<_>>(), ["bn.weight"]);
    assert_eq!(tensors["bn.weight"].values(), [1.5]);
}

#[test]
fn code_is_refused_and_not_run() {
    let refused = |name: &str| {
        format!("`FILE` asks Python for `{name}`, which weights do not need; nothing was executed")
    };
    assert_eq!(refusal("command.pth"), refused("posix.system"));
    assert_eq!(refusal("module.pth"), refused("torch.nn.modules.linear.Linear"));
    assert!(!PathBuf::from("executed").exists());
}

#[test]
fn what_is_no_checkpoint_of_f32_weights_is_said() {
    assert_eq!(
        refusal("double.pth"),
        "`FILE` cannot be used: `weight` has numbers of type f64, not f32, f16 or bf16"
    );
    assert_eq!(
        refusal("tensor.pth"),
        "`FILE` cannot be used: it holds no dictionary of tensors (PyTorch's `state_dict`)"
    );
    assert_eq!(
        refusal("expanded.pth"),
        "`FILE` cannot be used: its tensors are expanded views, with more numbers than the file has \
         bytes"
    );
    let half_a_header = b"\x10\0\0\0\0\0\0\0{\"a\":               ";
    let error = import(half_a_header).unwrap_err();
    assert!(error.starts_with("`FILE` is damaged: ") && !error.contains("usable"), "{error}");
    let unknown = "`FILE` holds no weights: it is neither safetensors nor a PyTorch checkpoint";
    assert_eq!(import(b"<html>not found</html>").unwrap_err(), unknown);
    assert_eq!(import(b"short").unwrap_err(), unknown);
    assert_eq!(import(b"").unwrap_err(), "`FILE` is truncated: it is empty");
    assert_eq!(
        import(b"\x80\x02K\x01.").unwrap_err(),
        "`FILE` cannot be used: it is a pickle, but not one of PyTorch's"
    );
    let empty_archive = b"PK\x03\x04";
    assert!(import(empty_archive).unwrap_err().starts_with("`FILE` is truncated: "));
    let error = read(&fixture("absent.pth")).unwrap_err();
    assert!(error.to_string().contains("absent.pth` cannot be read: "), "{error}");
}

/// Its names and its layout are others, which might fit by chance.
#[test]
fn a_part_of_a_checkpoint_is_no_file_of_weights() {
    let file = tempfile::NamedTempFile::new().unwrap();
    TensorFile::of_checkpoint(expected()).write(file.path()).unwrap();
    let error = read(file.path()).unwrap_err();
    assert!(error.to_string().contains("is part of a checkpoint"), "{error}");
    assert!(error.help().starts_with("name the run"));
}

#[test]
fn a_file_that_is_cut_anywhere_is_truncated() {
    for name in ["zip.pth", "legacy.pth", "expected.safetensors"] {
        let bytes = fs::read(fixture(name)).unwrap();
        for length in (9..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            let error = import(&bytes[..length]).unwrap_err();
            assert!(error.starts_with("`FILE` is truncated: "), "{name} to {length}: {error}");
        }
    }
}

#[test]
fn damage_asks_for_another_copy_and_what_is_foreign_for_another_form() {
    let help = |bytes: &[u8]| {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        let error = read(file.path()).unwrap_err();
        (error.to_string(), error.help())
    };
    let mut bytes = fs::read(fixture("zip.pth")).unwrap();
    let value = 0.25f32.to_le_bytes(); // of a tensor, which then is not what its checksum says
    let expected = expected();
    let known = expected["whole"].values()[1].to_le_bytes();
    let at = bytes.windows(4).position(|window| window == known).unwrap();
    bytes[at..at + 4].copy_from_slice(&value);
    let (error, told) = help(&bytes);
    assert!(error.contains("is damaged: ") && told.starts_with("download"), "{error}: {told}");

    let tensor = |dtype: &str| {
        let header = format!(r#"{{"a":{{"dtype":"{dtype}","shape":[1],"data_offsets":[0,8]}}}}"#);
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 8]].concat()
    };
    let (error, told) = help(&tensor("F64"));
    assert!(error.contains("cannot be used: `a` has") && told.contains("PyTorch"), "{error}");
    let (error, told) = help(&tensor("F32"));
    assert!(error.contains("is damaged: ") && told.starts_with("download"), "{error}: {told}");
}

#[test]
fn a_view_beyond_its_storage_is_refused() {
    // The sizes (2, 3) and strides (6, 1) of `part`, of a storage of 4x6: then (2, 3) and (6, 9).
    let mut bytes = legacy();
    let sizes = b"K\x02K\x03\x86q";
    let strides = b"K\x06K\x01\x86q";
    let find = |bytes: &[u8], from: usize, what: &[u8]| {
        from + bytes[from..].windows(what.len()).position(|window| window == what).unwrap()
    };
    let at = find(&bytes, 0, sizes);
    let at = find(&bytes, at, strides);
    bytes[at + 3] = 9;
    assert_eq!(import(&bytes).unwrap_err(), "`FILE` is damaged: `part` reaches beyond its storage");
}

/// The fixture in which only the tensors' storages stand after the last of its pickles.
fn legacy() -> Vec<u8> {
    fs::read(fixture("legacy.pth")).unwrap()
}

/// The pickles of the magic number, the version and the machine, which the tensors' follows.
const BEFORE_TENSORS: &[u8] =
    b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";

#[test]
fn a_small_file_cannot_take_much_memory() {
    const BOUND: usize = 1 << 20;
    let read = |start: &[u8], repeated: &[u8], times: usize| {
        let program = [BEFORE_TENSORS, &[0x80, 2], start, &repeated.repeat(times)].concat();
        import(&program).unwrap_err()
    };
    let many = "`FILE` cannot be used: in its pickle, there are more values than weights need";
    // Values that are dropped, the stack by recalling one, marks, and the memo.
    let cases: [(&[u8], &[u8]); 4] =
        [(b"N", b"Nb"), (b"Nq\0", b"h\0"), (b"", b"("), (b"N", b"\x94")];
    for (start, repeated) in cases {
        assert_eq!(read(start, repeated, BOUND + 1), many, "{repeated:?}");
        let fewer = read(start, repeated, BOUND - 2);
        assert_eq!(fewer, "`FILE` is truncated: it ends in the middle", "{repeated:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_are_an_error_or_other_tensors_never_a_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = legacy();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        for tensor in import(&bytes).unwrap_or_default().values() {
            prop_assert!(tensor.values().len() < bytes.len());
        }
    }

    #[test]
    fn any_program_ends_without_a_panic(
        operations in prop::collection::vec(
            prop_oneof![
                Just(b'('), Just(b')'), Just(b']'), Just(b'}'), Just(b't'), Just(b'l'), Just(b'd'),
                Just(b'a'), Just(b'e'), Just(b's'), Just(b'u'), Just(b'q'), Just(b'h'), Just(b'Q'),
                Just(b'R'), Just(b'b'), Just(b'N'), Just(0x85), Just(0x94), any::<u8>(),
            ],
            0..200,
        ),
    ) {
        let program = [BEFORE_TENSORS, &[0x80, 2], operations.as_slice()].concat();
        let tensors = import(&program).unwrap_or_default();
        prop_assert!(tensors.is_empty());
    }

    #[test]
    fn any_bytes_are_no_checkpoint(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let archive = [b"PK\x03\x04", bytes.as_slice()].concat();
        prop_assert!(import(&archive).is_err());
        prop_assert!(import(&bytes).is_err());
    }
}
