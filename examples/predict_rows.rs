//! Uses a trained model in your own program: classifies the rows of a CSV file.
//!
//! ```text
//! recipes train mlp --set data.source=csv --set data.path=iris.csv --set data.target=species --run-dir iris
//! cargo run --release -p examples --example predict_rows -- iris rows.csv
//! ```

#![allow(clippy::print_stdout)] // A program's result.

use std::fs::File;

use anyhow::{Context, bail};
use backend::{Selected, device};
use data::csv_table::read_rows;
use inference::{Model, Prediction};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, rows] = arguments.as_slice() else {
        bail!("usage: predict_rows RUN ROWS.csv");
    };
    for line in predict(model, rows)? {
        println!("{line}");
    }
    Ok(())
}

/// The prediction for each row, such as `line 2: setosa (0.998)`, then the rows that cannot be read, and
/// what else there is to know, such as categories that were not in the training file.
fn predict(model: &str, rows: &str) -> anyhow::Result<Vec<String>> {
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(model, &device)?;
    let file = File::open(rows).with_context(|| format!("cannot open `{rows}`"))?;
    let rows = read_rows(file, rows, model.description().table()?)?;
    let told = |(line, prediction)| match prediction {
        Prediction::Value(value) => format!("line {line}: {value}"),
        Prediction::Class { top } => {
            let best =
                top.first().map(|class| format!("{} ({:.3})", class.class, class.probability));
            format!("line {line}: {}", best.unwrap_or_default())
        }
    };
    let predicted = rows.lines.iter().zip(model.predict_rows(&rows.features)?).map(told);
    let refused = rows.refused.iter().map(|row| format!("line {}: {}", row.line, row.error));
    let notes = rows.notes.iter().map(|note| format!("note: {note}"));
    Ok(predicted.chain(refused).chain(notes).collect())
}

#[test]
fn rows_are_classified() -> anyhow::Result<()> {
    use data::csv_table::{CsvOptions, TargetColumn, read_csv};
    use inference::{Description, Preprocessing, model_file};
    use models::{Architecture, MlpConfig};

    let folder = tempfile::tempdir()?;
    let table = folder.path().join("table.csv");
    std::fs::write(&table, format!("size,kind\n{}", "1,small\n9,large\n".repeat(10)))?;
    let splits = read_csv(&CsvOptions::new(&table, TargetColumn::Name("kind".to_owned())), 0)?;
    let network = MlpConfig { inputs: 1, hidden: vec![4], outputs: 1, ..Default::default() };
    let description = Description {
        recipe: "mlp".to_owned(),
        architecture: Architecture::Mlp(network.clone()),
        classes: splits.preprocessing.target.classes().to_vec(),
        preprocessing: Preprocessing::Table(splits.preprocessing),
    };
    let model = folder.path().join("model.safetensors");
    let (device, _) = device::open()?;
    model_file(&network.init::<Selected>(0, &device), &description).write(&model)?;
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "size\n2\n8\nhuge\n")?;

    let [model, rows] = [model, rows].map(|path| path.display().to_string());
    let told = predict(&model, &rows)?;
    assert_eq!(told.len(), 3);
    assert!(told[0].starts_with("line 2: small (") || told[0].starts_with("line 2: large ("));
    assert!(told[2].ends_with("column `size`: `huge` is not a number"), "{}", told[2]);
    Ok(())
}
