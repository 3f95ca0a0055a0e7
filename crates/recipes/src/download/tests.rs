//! Downloads from a server of our own, that serves badly when told to.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    ops::ControlFlow,
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use ureq::Agent;

use super::{
    DataSet, DownloadError,
    catalogue::{RemoteFile, find, names},
    get, imagenet,
};
use crate::ExitCode;

/// Enough for several reads.
const BYTES: usize = 300_000;

fn content() -> Vec<u8> {
    (0..BYTES).map(|i| (i * i % 251) as u8).collect()
}

fn silent(_have: u64, _of: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// How a server answers.
#[derive(Clone, Copy)]
struct Manner {
    /// Bytes that a connection brings before it breaks.
    breaks_after: usize,
    /// Whether it can begin in the middle.
    resumes: bool,
    status: &'static str,
}

const GOOD: Manner = Manner { breaks_after: usize::MAX, resumes: true, status: "200 OK" };

/// A server, its address, and the positions that it was asked to begin at.
struct Server {
    base: String,
    asked: Arc<Mutex<Vec<usize>>>,
}

fn serve(content: Vec<u8>, manner: Manner) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    let asked = Arc::<Mutex<Vec<usize>>>::default();
    let noted = Arc::clone(&asked);
    // It ends with the test's process.
    thread::spawn(move || {
        for connection in listener.incoming() {
            answer(connection.unwrap(), &content, manner, &noted);
        }
    });
    Server { base, asked }
}

fn answer(mut connection: TcpStream, content: &[u8], manner: Manner, asked: &Mutex<Vec<usize>>) {
    let lines = BufReader::new(connection.try_clone().unwrap()).lines();
    let head: Vec<String> = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
    let range = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let start = value.trim().strip_prefix("bytes=")?.strip_suffix('-')?;
        name.eq_ignore_ascii_case("range").then(|| start.parse::<usize>().unwrap())
    });
    asked.lock().unwrap().push(range.unwrap_or(0));
    let start = range.filter(|_| manner.resumes).unwrap_or(0).min(content.len());
    let status = match start {
        0 => manner.status,
        _ if start == content.len() => "416 Range Not Satisfiable",
        _ => "206 Partial Content",
    };
    let body = &content[start..];
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{}\r\nConnection: close\r\n\r\n",
        body.len(),
        content.len() - 1,
        content.len()
    );
    connection.write_all(head.as_bytes()).unwrap();
    // A client that has enough hangs up.
    let _ = connection.write_all(&body[..body.len().min(manner.breaks_after)]);
}

/// One file of our own, of a name that leaks with the test.
fn set(content: &[u8], name: &'static str) -> DataSet {
    let sha256: &'static str = store::sha256_hex(content).leak();
    let file = RemoteFile { name, bytes: Some(content.len() as u64), sha256 };
    let files = Vec::leak(vec![file]);
    DataSet { name: "set", base: "", files, unpacked: &[], source: "", path: "", recipe: "" }
}

/// No proxy stands between a test and itself.
fn agent() -> Agent {
    Agent::config_builder().proxy(None).http_status_as_error(false).build().into()
}

#[test]
fn a_file_arrives_whole_and_is_not_fetched_again() {
    let (folder, set) = (tempfile::tempdir().unwrap(), set(&content(), "a.bin"));
    let server = serve(content(), GOOD);
    for _ in 0..2 {
        let mut last = (0, 0);
        let mut progress = |have, of| {
            last = (have, of);
            ControlFlow::Continue(())
        };
        let got = get(&set, &server.base, folder.path(), &agent(), &mut progress).unwrap();
        assert_eq!(fs::read(got.join("a.bin")).unwrap(), content());
        assert_eq!(last, (BYTES as u64, BYTES as u64));
        assert_eq!(fs::read_dir(got).unwrap().count(), 1, "nothing is left over");
    }
    assert_eq!(*server.asked.lock().unwrap(), [0]);
}

#[test]
fn a_download_that_is_stopped_goes_on_later() {
    let (folder, set) = (tempfile::tempdir().unwrap(), set(&content(), "a.bin"));
    let server = serve(content(), GOOD);
    let mut asked = 0;
    let mut stops = |have, _| {
        asked += 1;
        if have > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let error = get(&set, &server.base, folder.path(), &agent(), &mut stops).unwrap_err();
    assert!(matches!(error, DownloadError::Stopped), "{error}");
    assert_eq!(asked, 2, "a connection that was stopped is not tried again");
    let got = get(&set, &server.base, folder.path(), &agent(), &mut silent).unwrap();
    assert_eq!(fs::read(got.join("a.bin")).unwrap(), content());
    assert!(server.asked.lock().unwrap()[1] > 0, "what came before is kept");
}

#[test]
fn of_several_that_want_a_file_one_downloads_it() {
    let (folder, set) = (tempfile::tempdir().unwrap(), set(&content(), "a.bin"));
    let server = serve(content(), Manner { breaks_after: 50_000, ..GOOD });
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                get(&set, &server.base, folder.path(), &agent(), &mut silent).unwrap();
            });
        }
    });
    assert_eq!(fs::read(folder.path().join("set/a.bin")).unwrap(), content());
    let begins: Vec<usize> = (0..BYTES).step_by(50_000).collect();
    assert_eq!(*server.asked.lock().unwrap(), begins);
}

#[test]
fn a_connection_that_breaks_is_gone_on_with() {
    let (folder, set) = (tempfile::tempdir().unwrap(), set(&content(), "a.bin"));
    let server = serve(content(), Manner { breaks_after: 120_000, ..GOOD });
    let got = get(&set, &server.base, folder.path(), &agent(), &mut silent).unwrap();
    assert_eq!(fs::read(got.join("a.bin")).unwrap(), content());
    assert_eq!(*server.asked.lock().unwrap(), [0, 120_000, 240_000]);
}

#[test]
fn what_an_earlier_command_left_is_gone_on_with_or_begun_anew() {
    for resumes in [true, false] {
        let (folder, set) = (tempfile::tempdir().unwrap(), set(&content(), "a.bin"));
        fs::create_dir(folder.path().join("set")).unwrap();
        fs::write(folder.path().join("set/a.bin.part"), &content()[..1000]).unwrap();
        let server = serve(content(), Manner { resumes, ..GOOD });
        let got = get(&set, &server.base, folder.path(), &agent(), &mut silent).unwrap();
        assert_eq!(fs::read(got.join("a.bin")).unwrap(), content());
        assert_eq!(*server.asked.lock().unwrap(), [1000]);
    }
}

#[test]
fn a_file_that_is_another_is_refused_and_removed() {
    let mut other = content();
    other[BYTES / 2] ^= 1;
    let longer = [content(), vec![0]].concat();
    for wrong in [other, longer] {
        let (folder, set) = (tempfile::tempdir().unwrap(), set(&content(), "a.bin"));
        let server = serve(wrong, GOOD);
        let error = get(&set, &server.base, folder.path(), &agent(), &mut silent).unwrap_err();
        assert!(matches!(error, DownloadError::Checksum { .. }), "{error}");
        assert_eq!(fs::read_dir(folder.path().join("set")).unwrap().count(), 0);
    }
}

#[test]
fn a_file_of_that_name_is_left_alone() {
    let (folder, set) = (tempfile::tempdir().unwrap(), set(&content(), "a.bin"));
    fs::create_dir(folder.path().join("set")).unwrap();
    fs::write(folder.path().join("set/a.bin"), "mine").unwrap();
    let error = get(&set, "http://127.0.0.1:9/", folder.path(), &agent(), &mut silent);
    let error = error.unwrap_err();
    assert!(matches!(error, DownloadError::Other { .. }), "{error}");
    assert!(error.help().unwrap().contains("a.bin"));
    assert_eq!(fs::read(folder.path().join("set/a.bin")).unwrap(), b"mine");
}

#[test]
fn weights_of_unknown_length_are_pinned_by_the_beginning_of_their_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let sha256: &'static str = store::sha256_hex(&content())[..8].to_owned().leak();
    let file = RemoteFile { name: "vgg.pth", bytes: None, sha256 };
    let server = serve(content(), Manner { breaks_after: 200_000, ..GOOD });
    let mut last = (0, 0);
    for _ in 0..2 {
        let mut progress = |have, of| {
            last = (have, of);
            ControlFlow::Continue(())
        };
        let path = imagenet::get(&file, &server.base, folder.path(), &agent(), &mut progress);
        assert_eq!(fs::read(path.unwrap()).unwrap(), content());
        assert_eq!(last, (BYTES as u64, BYTES as u64));
    }
    assert_eq!(*server.asked.lock().unwrap(), [0, 200_000], "what lies there is not fetched again");

    // All of it arrived, but the process ended before it had its name.
    fs::rename(folder.path().join("vgg.pth"), folder.path().join("vgg.pth.part")).unwrap();
    let path = imagenet::get(&file, &server.base, folder.path(), &agent(), &mut silent);
    assert_eq!(fs::read(path.unwrap()).unwrap(), content());
    assert_eq!(*server.asked.lock().unwrap(), [0, 200_000, BYTES]);

    let wrong = RemoteFile { name: "wrong.pth", bytes: None, sha256: "00000000" };
    let error =
        imagenet::get(&wrong, &server.base, folder.path(), &agent(), &mut silent).unwrap_err();
    assert!(matches!(error, DownloadError::Checksum { .. }), "{error}");
    assert_eq!(imagenet::file_of("vgg16-bn").unwrap().name, "vgg16_bn-6c64b313.pth");
}

#[test]
fn servers_that_fail_are_named() {
    let (folder, set) = (tempfile::tempdir().unwrap(), set(&content(), "a.bin"));
    let fails = |base: &str| get(&set, base, folder.path(), &agent(), &mut silent).unwrap_err();

    // A port that nobody listens on any more.
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = fails(&format!("http://{unused}/"));
    assert!(matches!(error, DownloadError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&format!("http://{unused}/a.bin")), "{error}");

    let server = serve(content(), Manner { status: "404 Not Found", ..GOOD });
    let error = fails(&server.base);
    assert!(matches!(error, DownloadError::Refused { status: 404, .. }), "{error}");

    let server = serve(content()[..1000].to_vec(), GOOD);
    let error = fails(&server.base);
    assert!(error.to_string().ends_with("broke off after 1000 of 300000 bytes"), "{error}");
}

#[test]
fn an_archive_is_unpacked_without_leaving_its_folder() {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in [("x/one.bin", "first"), ("x/readme", "-"), ("x/y/two.bin", "second")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, content.as_bytes()).unwrap();
    }
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(&archive.into_inner().unwrap()).unwrap();
    let zipped = zipped.finish().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let unpacked = &[("one.bin", 5), ("two.bin", 6)];
    let set = DataSet { unpacked, ..set(&zipped, "a.tar.gz") };
    let server = serve(zipped, GOOD);
    for _ in 0..2 {
        let got = get(&set, &server.base, folder.path(), &agent(), &mut silent).unwrap();
        assert_eq!(fs::read(got.join("one.bin")).unwrap(), b"first");
        assert_eq!(fs::read(got.join("two.bin")).unwrap(), b"second");
        assert_eq!(fs::read_dir(got).unwrap().count(), 2);
    }
    assert_eq!(server.asked.lock().unwrap().len(), 1, "what lies there is not fetched again");
}

#[test]
fn the_catalogue_is_well_formed() {
    for name in names() {
        let set = find(name).unwrap();
        assert!(set.base.starts_with("https://") && set.base.ends_with('/'), "{name}");
        for file in set.files {
            assert!(file.bytes > Some(0) && file.sha256.len() == 64, "{name}: {}", file.name);
            assert!(file.sha256.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')), "{name}");
        }
    }
}

#[test]
fn without_a_network_all_is_said_that_a_person_needs() {
    let set = find("mnist").unwrap();
    let (url, reason) = (format!("{}x", set.base), "no route".to_owned());
    let error = DownloadError::Unreachable { url, reason };
    let failure = error.failure(set.files, set.base, Path::new("cache"));
    assert_eq!(failure.exit_code, ExitCode::Unexpected);
    let unwritable = DownloadError::File { path: "a".into(), reason: std::io::Error::other("no") };
    let unwritable = unwritable.failure(set.files, set.base, Path::new("cache"));
    assert_eq!(unwritable.exit_code, ExitCode::UserData);
    let problem = &failure.problems[0];
    assert!(problem.message.ends_with("mnist/x` cannot be reached: no route"));
    let help = problem.help.as_deref().unwrap();
    for needed in ["`t10k-labels-idx1-ubyte.gz`", set.base, "cache"] {
        assert!(help.contains(needed), "{help}");
    }
}
