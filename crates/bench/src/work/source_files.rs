//! Small files of every kind that a source reads, made of drawn pictures, a linear rule and the
//! primer.

use std::{fmt::Write as _, path::Path};

use data::{
    ImageSource, ImagesInMemory, Targets,
    drawn::{digits, shapes},
    picture,
    synthetic::linear_labels,
    text::PRIMER,
};
use store::{create_directory, write_whole};

const ROWS: usize = 4000;
const FEATURES: usize = 20;
const PICTURES: usize = 2000;
const FILES: usize = 512;

/// `table.csv`, the target last.
pub(crate) fn csv(folder: &Path) -> anyhow::Result<()> {
    let table = linear_labels(ROWS, FEATURES, 0)?;
    let mut text: String = (0..FEATURES).map(|column| format!("x{column},")).collect();
    text.push_str("target\n");
    for (row, label) in table.features.chunks(FEATURES).zip(labels(&table.targets)) {
        for value in row {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{value},");
        }
        let _ = writeln!(text, "{label}");
    }
    Ok(write_whole(&folder.join("table.csv"), text.as_bytes())?)
}

/// `features.npy` of f32 and `targets.npy` of i64.
pub(crate) fn npy(folder: &Path) -> anyhow::Result<()> {
    let table = linear_labels(ROWS, FEATURES, 0)?;
    let features = table.features.iter().flat_map(|value| value.to_le_bytes());
    let features = array("<f4", &format!("({ROWS}, {FEATURES})"), features);
    write_whole(&folder.join("features.npy"), &features)?;
    let targets = labels(&table.targets).flat_map(|label| i64::from(label).to_le_bytes());
    let targets = array("<i8", &format!("({ROWS},)"), targets);
    Ok(write_whole(&folder.join("targets.npy"), &targets)?)
}

/// MNIST's two files of a training split.
pub(crate) fn idx(folder: &Path) -> anyhow::Result<()> {
    let images = digits(0..PICTURES, 0)?;
    let count = (PICTURES as u32).to_be_bytes();
    let side = 28u32.to_be_bytes();
    let header = [&[0, 0, 8, 3], &count[..], &side, &side].concat();
    let pixels = [header, images.pixels].concat();
    write_whole(&folder.join("train-images-idx3-ubyte"), &pixels)?;
    let labels = images.labels.iter().map(|&label| label as u8).collect();
    let labels: Vec<u8> = [vec![0, 0, 8, 1], count.to_vec(), labels].concat();
    Ok(write_whole(&folder.join("train-labels-idx1-ubyte"), &labels)?)
}

/// One of CIFAR-10's files.
pub(crate) fn cifar10(folder: &Path) -> anyhow::Result<()> {
    let images = shapes(0..PICTURES, 0)?;
    let pixels = images.pixels.chunks(images.shape.bytes());
    let records = images.labels.iter().zip(pixels);
    let bytes: Vec<u8> = records
        .flat_map(|(&label, pixels)| std::iter::once(label as u8).chain(pixels.iter().copied()))
        .collect();
    Ok(write_whole(&folder.join("data_batch_1.bin"), &bytes)?)
}

/// PNG files in a folder for each class.
pub(crate) fn image_folder(folder: &Path) -> anyhow::Result<()> {
    let images: ImagesInMemory = shapes(0..FILES, 0)?;
    for class in images.classes() {
        create_directory(&folder.join(class))?;
    }
    for (index, &label) in images.labels.iter().enumerate() {
        let mut pixels = vec![0; images.shape.bytes()];
        images.read(index, &mut pixels)?;
        let file = picture(images.shape, &[vec![pixels]], 1);
        let class = folder.join(&images.classes[label as usize]);
        std::fs::write(class.join(format!("{index}.png")), file)?;
    }
    Ok(())
}

/// `text.txt`, the primer.
pub(crate) fn text(folder: &Path) -> anyhow::Result<()> {
    Ok(write_whole(&folder.join("text.txt"), PRIMER.as_bytes())?)
}

fn labels(targets: &Targets) -> impl Iterator<Item = u32> + '_ {
    targets.labels().iter().copied()
}

/// An array in NumPy's format, version 1.0.
fn array(kind: &str, shape: &str, bytes: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let unpadded = 10 + header.len() + 1; // magic, version and length stand before, a newline ends it
    header.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    let mut file = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat();
    file.extend(bytes);
    file
}
