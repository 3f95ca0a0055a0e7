//! A trained run in a program of your own: rows of a CSV file, classified.
//!
//! ```text
//! recipes train mlp --set data.source=csv --set data.path=iris.csv --set data.target=species --run-dir iris
//! cargo run -p examples --example predict_rows -- iris/model.safetensors rows.csv
//! ```

#![allow(clippy::print_stdout)] // A program's result.

use std::{fs::File, path::Path};

use anyhow::{Context, bail};
use backend::{Selected, device};
use data::csv_table::read_rows;
use inference::{Model, Prediction};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, rows] = arguments.as_slice() else {
        bail!("usage: predict_rows MODEL.safetensors ROWS.csv");
    };
    let (device, name) = device::open()?;
    let model = Model::<Selected>::read(Path::new(model), &device)?;
    let file = File::open(rows).with_context(|| format!("cannot open `{rows}`"))?;
    let rows = read_rows(file, rows, model.description().table()?)?;

    println!("{} rows on {name}", rows.len());
    for (line, prediction) in rows.lines.iter().zip(model.predict_rows(&rows.features)?) {
        match prediction {
            Prediction::Value(value) => println!("line {line}: {value}"),
            Prediction::Class { top } => {
                for class in top.iter().take(1) {
                    println!("line {line}: {} ({:.3})", class.class, class.probability);
                }
            }
        }
    }
    Ok(())
}
