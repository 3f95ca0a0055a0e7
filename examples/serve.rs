//! Serves a trained model over HTTP: a row of a table as a JSON object, or a picture, is answered in JSON.
//!
//! ```text
//! recipes train mlp --set data.source=csv --set data.path=iris.csv --set data.target=species --run-dir iris
//! cargo run --release -p examples --example serve -- iris 127.0.0.1:8080
//! curl 127.0.0.1:8080 --data '{"sepal_length": 5.1, "sepal_width": 3.5, "petal_length": 1.4, "petal_width": 0.2}'
//! curl 127.0.0.1:8080 --data-binary @cat.jpg      # of a model for pictures
//! ```

#![allow(clippy::print_stdout)] // A program's result.

use std::{collections::BTreeMap, io::Read, thread};

use anyhow::{Context, anyhow, bail, ensure};
use backend::{Selected, device};
use data::{
    Odd,
    image_folder::{decode_image, image_size},
};
use inference::{InputKind, Model};
use serde_json::{Value, json};
use tiny_http::{Header, Response, Server};

/// A call uses all cores, so more threads would only take more memory.
const THREADS: usize = 2;
const LARGEST_BODY: u64 = 16 << 20;
/// A small file may hold many.
const MOST_PIXELS: u64 = 32 << 20;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, address] = arguments.as_slice() else { bail!("usage: serve RUN ADDRESS:PORT") };
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(model, &device)?;
    let server = Server::http(address)
        .map_err(|error| anyhow!("`{address}` cannot be listened on: {error}"))?;
    println!("listening on http://{}", server.server_addr());
    serve(&server, &model);
    Ok(())
}

/// Answers requests until the server is unblocked.
fn serve(server: &Server, model: &Model<Selected>) {
    let work = || {
        for mut request in server.incoming_requests() {
            let mut body = Vec::new();
            let read = request.as_reader().take(LARGEST_BODY + 1).read_to_end(&mut body);
            let answered = read.context("the request was cut").and_then(|_| answer(model, &body));
            let (status, answer) = match answered {
                Ok(answer) => (200, answer),
                Err(error) => (400, json!({"error": format!("{error:#}")})),
            };
            let json = Header::from_bytes("Content-Type", "application/json");
            let response = Response::from_string(answer.to_string())
                .with_status_code(status)
                .with_header(json.expect("a header"));
            if let Err(error) = request.respond(response) {
                println!("a client left before it was answered: {error}");
            }
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
}

/// The prediction for a row or a picture.
fn answer(model: &Model<Selected>, body: &[u8]) -> anyhow::Result<Value> {
    ensure!(body.len() as u64 <= LARGEST_BODY, "a request has at most {LARGEST_BODY} bytes");
    match model.description().input() {
        InputKind::Rows => of_row(model, body),
        InputKind::Images => of_picture(model, body),
        InputKind::Text => bail!("the model continues texts, see `own_text`"),
    }
}

fn of_row(model: &Model<Selected>, body: &[u8]) -> anyhow::Result<Value> {
    let row: BTreeMap<String, Value> =
        serde_json::from_slice(body).context("a row is a JSON object of its columns")?;
    let cell = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Null => Ok((name, String::new())),
        Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
        Value::Array(_) | Value::Object(_) => bail!("`{name}` is neither a text nor a number"),
    };
    let cells = row.into_iter().map(cell).collect::<anyhow::Result<BTreeMap<_, _>>>()?;
    let mut features = Vec::new();
    let table = model.description().table()?;
    let odd = table.encode_named(|name| cells.get(name).map(String::as_str), &mut features)?;
    let why = |odd| match odd {
        Odd::Unseen => "a category that no row to train on had",
        Odd::Far => "far from all rows to train on",
        Odd::Unread => "without a known word",
    };
    let odd: BTreeMap<&str, &str> = odd.into_iter().map(|(name, odd)| (name, why(odd))).collect();
    Ok(json!({"prediction": model.predict_rows(&features)?.first(), "odd": odd}))
}

fn of_picture(model: &Model<Selected>, body: &[u8]) -> anyhow::Result<Value> {
    let [height, width] = image_size(body).map_err(|reason| anyhow!("the picture {reason}"))?;
    ensure!(height * width <= MOST_PIXELS, "the picture has {height}x{width} pixels, too many");
    let preprocessing = model.description().image()?;
    let mut pixels = vec![0; preprocessing.shape().bytes()];
    decode_image(body, preprocessing.shape(), preprocessing.resize, &mut pixels)
        .map_err(|reason| anyhow!("the picture {reason}"))?;
    Ok(json!({"prediction": model.predict_images(&pixels)?.first()}))
}

#[test]
fn rows_are_answered_and_what_is_wrong_with_them() -> anyhow::Result<()> {
    use std::{
        io::Write,
        net::{SocketAddr, TcpStream},
    };

    use data::csv_table::{CsvOptions, TargetColumn, read_csv};
    use inference::{Description, Preprocessing, model_file};
    use models::{Architecture, MlpConfig};

    let folder = tempfile::tempdir()?;
    let table = folder.path().join("table.csv");
    std::fs::write(&table, format!("size,name,kind\n{}", "1,ant,small\n9,elk,large\n".repeat(10)))?;
    let splits = read_csv(&CsvOptions::new(&table, TargetColumn::Name("kind".to_owned())), 0)?;
    let network = MlpConfig { inputs: 3, hidden: vec![4], outputs: 1, ..Default::default() };
    let description = Description {
        recipe: "mlp".to_owned(),
        architecture: Architecture::Mlp(network.clone()),
        classes: splits.preprocessing.target.classes().to_vec(),
        preprocessing: Preprocessing::Table(splits.preprocessing),
    };
    let path = folder.path().join("model.safetensors");
    let (device, _) = device::open()?;
    model_file(&network.init::<Selected>(0, &device), &description).write(&path)?;
    let model = Model::<Selected>::read(path.display().to_string(), &device)?;

    let server = Server::http("127.0.0.1:0").map_err(|error| anyhow!(error))?;
    let address: SocketAddr = server.server_addr().to_ip().context("an address")?;
    let ask = |row: &str| -> anyhow::Result<(bool, Value)> {
        let mut client = TcpStream::connect(address)?;
        write!(client, "POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n{row}", row.len())?;
        let mut response = String::new();
        client.read_to_string(&mut response)?;
        let (head, body) = response.split_once("\r\n\r\n").context("a body")?;
        Ok((head.contains(" 200 "), serde_json::from_str(body)?))
    };
    let asked = || {
        let answered = [
            r#"{"size": 2, "name": "ant"}"#,
            r#"{"size": 1e9, "name": "owl"}"#,
            r#"{"size": 2}"#,
            r#"{"size": "huge", "name": null}"#,
            "size=2",
        ];
        answered.map(ask).into_iter().collect::<anyhow::Result<Vec<_>>>()
    };
    let answers = thread::scope(|scope| {
        scope.spawn(|| serve(&server, &model));
        let answers = asked();
        (0..THREADS).for_each(|_| server.unblock());
        answers
    })?;

    let [known, odd, lacking, wrong, no_json] = &answers[..] else { bail!("{answers:?}") };
    assert!(known.0 && known.1["prediction"]["top"][0]["probability"].is_number(), "{known:?}");
    assert_eq!(known.1["odd"], json!({}));
    let why = ["far from all rows to train on", "a category that no row to train on had"];
    assert_eq!(odd.1["odd"], json!({"size": why[0], "name": why[1]}));
    for ((is_answered, answer), error) in [
        (lacking, "the row has no column `name`, which the model was trained on"),
        (wrong, "column `size`: `huge` is not a number"),
    ] {
        assert!(!is_answered && answer["error"] == error, "{answer}");
    }
    assert!(no_json.1["error"].as_str().is_some_and(|error| error.starts_with("a row is a JSON")));
    Ok(())
}
