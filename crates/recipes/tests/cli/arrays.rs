//! NumPy's arrays, from the outside.

use crate::folder::Folder;

/// A file as `numpy.save` writes it.
pub(crate) fn npy(dtype: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(118u16.to_le_bytes());
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(elements);
    bytes
}

#[test]
fn numpys_arrays_train() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("arrays")).unwrap();
    let features: Vec<u8> = (0..120).flat_map(|i| (i as f32).sin().to_le_bytes()).collect();
    folder.write("arrays/features.npy", npy("<f4", "(60, 2)", &features));
    // The class is the sign of the first feature.
    let classes: Vec<u8> = (0..60).map(|i| u8::from((2.0 * i as f32).sin() > 0.0)).collect();
    folder.write("arrays/targets.npy", npy("|u1", "(60,)", &classes));
    let train = "train mlp --set data.source=npy --set data.path=arrays --json --run-dir run";
    let ran = folder.run(train);
    assert!(ran.succeeded().json()["validation"]["accuracy"].as_f64().unwrap() > 0.8);

    // The same arrays, measured and predicted.
    let report = folder.run("eval run --data arrays --json").succeeded().json();
    assert_eq!((&report["samples"], report.get("given_split")), (&60.into(), None));
    let predicted = folder.run("predict run arrays/features.npy --json").succeeded().stdout;
    let lines: Vec<serde_json::Value> =
        predicted.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[59]["input"], lines.len()), (&"arrays/features.npy[59]".into(), 60));
    let right = |&(row, line): &(usize, &serde_json::Value)| {
        line["class"].as_str() == Some(&*classes[row].to_string())
    };
    let right = lines.iter().enumerate().filter(right).count();
    let accuracy = report["metrics"]["accuracy"].as_f64().unwrap();
    assert!((accuracy - right as f64 / 60.0).abs() < 1e-6, "{accuracy} {right}");

    // Of splits the one for tests is measured; a file alone has no targets.
    std::fs::create_dir(folder.path("other")).unwrap();
    for name in ["features.npy", "targets.npy"] {
        let to = folder.path(&format!("other/test_{name}"));
        std::fs::copy(folder.path("arrays").join(name), to).unwrap();
    }
    let other = folder.run("eval run --data other --json").succeeded().json();
    assert_eq!((&other["given_split"], &other["metrics"]), (&"test".into(), &report["metrics"]));
    folder.run("eval run --data arrays/features.npy").refused(3, "a folder is expected");
    folder.run("train mlp --set data.source=npy --set data.path=none").refused(3, "none");
}
