//! The program as a user runs it: in an empty folder, judged by its files, output and exit code.

use std::{
    fs,
    io::Write,
    path::{MAIN_SEPARATOR, Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// An empty folder to run the program in.
pub(crate) struct Folder(TempDir);

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// The names of what is in the folder.
    pub(crate) fn entries(&self) -> Vec<String> {
        names_in(self.0.path())
    }

    /// The names of a run's checkpoints, and of what is left of others.
    #[cfg(target_os = "linux")] // where runs are killed
    pub(crate) fn checkpoints(&self, run: &str) -> Vec<String> {
        let mut names = names_in(&self.path(run).join("checkpoints"));
        names.retain(|name| name != ".lock");
        names
    }

    pub(crate) fn command(&self) -> Command {
        self.in_folder(env!("CARGO_BIN_EXE_recipes"))
    }

    pub(crate) fn in_folder(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command.env("BURN_RECIPES_DATA", self.path("cache"));
        command
    }

    /// Runs the program on arguments that are separated by spaces.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        self.run_with(arguments, "")
    }

    /// As [`Folder::run`], with arguments that may be empty or have spaces.
    pub(crate) fn run_words(&self, arguments: &[&str]) -> Ran {
        told(self.command().args(arguments).output().unwrap())
    }

    /// As [`Folder::run`], with something on standard input.
    pub(crate) fn run_with(&self, arguments: &str, input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.begin(arguments);
        child.stdin.take().unwrap().write_all(input.as_ref()).unwrap();
        told(child.wait_with_output().unwrap())
    }

    /// Begins what [`Folder::run`] runs to its end, which [`told`] then says of its output.
    pub(crate) fn begin(&self, arguments: &str) -> Child {
        let mut command = self.command();
        command.args(arguments.split_whitespace()).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// As [`Folder::run`], with standard output going elsewhere, such as to what Linux alone has.
    #[cfg(target_os = "linux")]
    pub(crate) fn run_into(&self, arguments: &str, stdout: impl Into<Stdio>) -> Ran {
        let mut command = self.command();
        told(command.args(arguments.split_whitespace()).stdout(stdout).output().unwrap())
    }

    /// As [`Folder::run`], under what a shell limits first. Linux alone lets one do so.
    #[cfg(target_os = "linux")]
    pub(crate) fn run_limited(&self, limits: &str, arguments: &str) -> Ran {
        let command = format!("{limits}; exec {} {arguments}", env!("CARGO_BIN_EXE_recipes"));
        told(self.in_folder("sh").args(["-c", &command]).output().unwrap())
    }
}

pub(crate) fn told(output: Output) -> Ran {
    // With paths as tests write them; JSON has backslashes of other meanings.
    let text = |bytes| match String::from_utf8(bytes).unwrap() {
        json if json.starts_with(['{', '[']) => json,
        text => text.replace(MAIN_SEPARATOR, "/"),
    };
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

impl Ran {
    /// The same, if the command succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// The same, if the command failed with this code, this message and a help.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, message: &str) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(self.stderr.contains(message) && self.stderr.contains("help: "), "{self:#?}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// The folder of real data sets, if it is here; under `REQUIRE_ALL=1` it must be.
pub(crate) fn shared_data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if folder.is_dir() {
        return Some(folder.canonicalize().unwrap());
    }
    skip(&format!("there is no {}", folder.display()));
    None
}

/// Says that a test is skipped, and why; under `REQUIRE_ALL=1` that is a failure.
pub(crate) fn skip(reason: &str) {
    let required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
    assert!(!required, "REQUIRE_ALL=1, but {reason}");
    eprintln!("skipped: {reason}");
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
