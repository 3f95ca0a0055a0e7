//! `examples/web_page` as a folder of static files.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use wasm_bindgen_cli_support::Bindgen;
use xshell::{Shell, cmd};

use crate::program::{self, target_directory};

/// The browser's machine, as rustup names it.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

const PAGE: &str = "index.html";
/// What a visitor does, in a browser.
const CHECK: &str = "examples/web_page/check.py";
/// Options of cargo for a check, which classifies one picture: to optimise what does so takes minutes.
const UNOPTIMISED: [&str; 6] = [
    "--config",
    "profile.release.opt-level=0",
    "--config",
    "profile.release.lto='off'",
    "--config",
    "profile.release.debug=false",
];
/// The picture that [`check`] classifies.
const PICTURE: &str = "crates/data/tests/golden/images/turned.jpg";

/// Builds the page and says how it is used.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    ensure!(
        target_is_installed(shell)?,
        "`{TARGET}` is not installed: run `rustup target add {TARGET}`"
    );
    let folder = build(shell, "web_page", &[])?;
    let folder = folder.display();
    println!("{folder} is ready; to try it: python3 -m http.server --directory {folder}");
    Ok(())
}

/// Whether Rust's library for the browser is there.
pub(crate) fn target_is_installed(shell: &Shell) -> anyhow::Result<bool> {
    let sysroot = cmd!(shell, "rustc --print sysroot").read()?;
    Ok(Path::new(&sysroot).join("lib/rustlib").join(TARGET).is_dir())
}

/// Builds the page in a folder of this name in the target directory, and returns the folder.
fn build(shell: &Shell, name: &str, options: &[&str]) -> anyhow::Result<PathBuf> {
    cmd!(shell, "cargo build --release --package web_page --target {TARGET} {options...}").run()?;
    let target = target_directory(shell)?;
    let folder = target.join(name);
    Bindgen::new()
        .input_path(target.join(TARGET).join("release/web_page.wasm"))
        .web(true)?
        .omit_default_module_path(false)
        .typescript(false)
        .generate(&folder)?;
    shell.copy_file(Path::new("examples/web_page").join(PAGE), folder.join(PAGE))?;
    Ok(folder)
}

/// Checks that `inference` compiles for a browser by itself: the page asks for the readers of `data` too,
/// and with them for more of its dependencies.
pub(crate) fn check_inference(shell: &Shell) -> anyhow::Result<()> {
    let options = ["--release", "--package", "inference", "--target", TARGET];
    Ok(cmd!(shell, "cargo check {options...} {UNOPTIMISED...}").run()?)
}

/// Classifies a picture in Chromium and compares the probabilities with those of `recipes predict`.
pub(crate) fn check(shell: &Shell) -> anyhow::Result<()> {
    let folder = build(shell, "web_page_check", &UNOPTIMISED)?;
    let recipes = program::build(shell, "recipes", "dev", None)?;
    let scratch = shell.create_temp_dir()?;
    let run = scratch.path().join("run");
    let settings = ["--set", "data.samples=500", "--set", "training.max_steps=10"];
    cmd!(shell, "{recipes} train resnet {settings...} --progress quiet --run-dir {run}").run()?;
    let predicted = cmd!(shell, "{recipes} predict {run} {PICTURE} --top 5 --json").read()?;

    shell.copy_file(run.join("model.safetensors"), folder.join("model.safetensors"))?;
    let (_server, address) = serve(&folder)?;
    let address = format!("{address}?model=model.safetensors");
    let picture = shell.current_dir().join(PICTURE);
    let shown = cmd!(shell, "python3 {CHECK} {address} {picture}").read()?;
    let shown: Vec<Row> = serde_json::from_str(&shown)?;
    let predicted: Predicted = serde_json::from_str(&predicted)?;
    let equal = |(shown, predicted): (&Row, &Row)| {
        shown.class == predicted.class && (shown.probability - predicted.probability).abs() < 1e-5
    };
    ensure!(
        shown.len() == predicted.top.len() && shown.iter().zip(&predicted.top).all(equal),
        "the page shows {shown:?}, and `recipes predict` prints {:?}",
        predicted.top
    );
    println!("the page shows what `recipes predict` prints: {:?}", shown[0]);
    Ok(())
}

/// What `recipes predict --json` prints.
#[derive(Deserialize)]
struct Predicted {
    top: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    class: String,
    probability: f64,
}

/// Ends with its value.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves a folder at the address that is returned.
fn serve(folder: &Path) -> anyhow::Result<(Server, String)> {
    let mut server = Command::new("python3")
        .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"])
        .arg(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot run python3")?;
    let said = server.stdout.take().context("the server's output is not read")?;
    let server = Server(server);
    // Such as `Serving HTTP on 127.0.0.1 port 41234 (http://127.0.0.1:41234/) ...`.
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line)?;
    let address = line.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let (address, _) = address.with_context(|| format!("the server said `{line}`"))?;
    Ok((server, address.to_owned()))
}
