//! Files that are whole or absent.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use crate::{StoreError, fault};

/// The ending of an incomplete file or directory.
pub(crate) const PARTIAL: &str = "partial";

/// Whether a name is that of a file or directory whose writing or removal was interrupted.
pub fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PARTIAL)
}

/// Writes a file so that a reader, even after a loss of power, sees the old one or the new one. Of
/// several writers of one path, the last to finish wins.
///
/// The bytes go to `<path>.<process>-<number>.partial`, which is synced and renamed; then the directory
/// is synced, without which the new name itself could be lost.
///
/// # Errors
///
/// Where the system refuses. No partial file is left then, and `path` is as it was, or holds the new
/// file if only the sync of the directory failed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    remove_abandoned(path);
    let written = fault::point().and_then(|()| create_partial(path)).and_then(|(partial, file)| {
        let written = write_and_sync(&file, bytes)
            .and_then(|()| fault::point())
            .and_then(|()| patiently(|| fs::rename(&partial, path)));
        if written.is_err() {
            // The first error is the one to report; a leftover partial file is harmless.
            let _ = fs::remove_file(&partial);
        }
        written
    });
    written.map_err(StoreError::io("write", path))?;
    sync_directory(folder_of(path))
}

/// Creates a partial file for `path` that no other writer has, locked for as long as it is open.
fn create_partial(path: &Path) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let partial = with_ending(path, &format!("{}-{number}.{PARTIAL}", process::id()));
        let file = match OpenOptions::new().write(true).create_new(true).open(&partial) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        // Before it was locked, another writer may have taken it for abandoned.
        let locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if locked && partial.exists() {
            return Ok((partial, file));
        }
    }
}

/// Removes what killed writers of `path` left, as far as the system lets it: partial files that nobody
/// holds a lock on.
fn remove_abandoned(path: &Path) {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return };
    for entry in fs::read_dir(folder_of(path)).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(|entry| is_partial_of(entry, name)) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = OpenOptions::new().write(true).open(&path) else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether `entry` is a name that [`create_partial`] gives to a partial file of `name`.
fn is_partial_of(entry: &str, name: &str) -> bool {
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    let middle = entry.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
    let middle = middle.and_then(|rest| rest.strip_suffix(PARTIAL)?.strip_suffix('.'));
    middle
        .and_then(|middle| middle.split_once('-'))
        .is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// Renames a file within its directory, durably; replaces a file that has the new name already.
///
/// # Errors
///
/// Where the system refuses.
pub fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fault::point()
        .and_then(|()| patiently(|| fs::rename(from, to)))
        .map_err(StoreError::io("rename", from))?;
    sync_directory(folder_of(to))
}

/// Creates a directory and its missing parents, durably.
///
/// # Errors
///
/// Where the system refuses.
pub fn create_directory(path: &Path) -> Result<(), StoreError> {
    let named = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
    let new_above: Vec<&Path> = path.ancestors().skip(1).take_while(named).collect();
    fault::point()
        .and_then(|()| fs::create_dir_all(path))
        .map_err(StoreError::io("create the directory", path))?;
    // A new name is an entry of the directory above it.
    std::iter::once(path).chain(new_above).try_for_each(|new| sync_directory(folder_of(new)))
}

/// Creates a directory, and its missing parents, durably, unless something of that name exists; returns
/// whether it was created. Of several processes that ask for one name, one gets it.
///
/// # Errors
///
/// Where the system refuses.
pub fn create_new_directory(path: &Path) -> Result<bool, StoreError> {
    if !folder_of(path).is_dir() {
        create_directory(folder_of(path))?;
    }
    match fault::point().and_then(|()| fs::create_dir(path)) {
        Ok(()) => sync_directory(folder_of(path)).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(StoreError::io("create the directory", path)(error)),
    }
}

/// Removes a file, or a directory with its contents, durably; succeeds where there is neither.
///
/// A directory is first renamed to `<path>.partial`, so that what is left of it after an interruption
/// is not taken for the whole.
///
/// # Errors
///
/// Where the system refuses.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    let error = StoreError::io("remove", path);
    let metadata = match fault::point().and_then(|()| fs::symlink_metadata(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata,
    };
    let removed = metadata.and_then(|metadata| match metadata.is_dir() {
        true => remove_directory(path),
        false => patiently(|| fs::remove_file(path)),
    });
    removed.map_err(error)?;
    sync_directory(folder_of(path))
}

fn remove_directory(path: &Path) -> io::Result<()> {
    let remove = |path: &Path| patiently(|| fs::remove_dir_all(path));
    if is_unfinished(path) {
        return remove(path);
    }
    let partial = with_ending(path, PARTIAL);
    if partial.exists() {
        remove(&partial)?;
    }
    patiently(|| fs::rename(path, &partial))?;
    fault::point()?;
    remove(&partial)
}

/// Does what Windows refuses as long as another program has the file open, or one in the directory, as virus
/// scanners have new ones for a moment.
fn patiently(action: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    repeated_while(|error| cfg!(windows) && is_open_elsewhere(error), action)
}

/// Tries again after an error that may pass, for a second and a half in all.
fn repeated_while(
    may_pass: impl Fn(&io::Error) -> bool,
    mut action: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    for pause in [1, 5, 25, 125, 450, 900].map(Duration::from_millis) {
        match action() {
            Err(error) if may_pass(&error) => thread::sleep(pause),
            done => return done,
        }
    }
    action()
}

fn is_open_elsewhere(error: &io::Error) -> bool {
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    const DIR_NOT_EMPTY: i32 = 145; // of what is removed and open yet
    matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION | DIR_NOT_EMPTY))
}

pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fault::point()?;
    write_and_sync(&File::create(path)?, bytes)
}

fn write_and_sync(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    fault::point()?;
    file.write_all(bytes)?;
    fault::point()?;
    file.sync_all()
}

/// Makes a directory's names durable, where the system can: Windows opens no directory as a file, some
/// network file systems sync none, and one that may not be listed cannot be opened.
pub(crate) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let sync = || match File::open(path).and_then(|directory| directory.sync_all()) {
        Err(error) if cannot_sync(&error) => Ok(()),
        synced => synced,
    };
    let sync = || if cfg!(unix) { sync() } else { Ok(()) };
    fault::point().and_then(|()| sync()).map_err(StoreError::io("sync the directory", path))
}

fn cannot_sync(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

/// The folder that a file lies in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// The path with `.` and `ending` appended.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_anywhere_leaves_the_old_or_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut faults = 0;
        loop {
            fs::write(&path, "old").unwrap();
            fault::arm(faults);
            let result = write_whole(&path, b"new");
            let fault_is_past_the_end = fault::disarm();
            let content = fs::read_to_string(&path).unwrap();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "fault {faults}");
            if fault_is_past_the_end {
                assert_eq!(content, "new");
                break;
            }
            assert!(result.unwrap_err().to_string().contains("injected"), "fault {faults}");
            assert!(["old", "new"].contains(&content.as_str()));
            faults += 1;
        }
        assert_eq!(faults, 5, "create, write, sync, rename, sync the directory");
    }

    #[test]
    fn what_another_program_has_open_is_waited_for() {
        let tried = |refusals: usize, code: i32| {
            let mut attempts = 0;
            let done = repeated_while(is_open_elsewhere, || {
                attempts += 1;
                if attempts > refusals { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
            });
            (attempts, done.is_ok())
        };
        assert_eq!(tried(0, 5), (1, true));
        assert_eq!(tried(3, 5), (4, true));
        assert_eq!(tried(3, 32), (4, true));
        assert_eq!(tried(3, 2), (1, false));
        assert_eq!(tried(usize::MAX, 5), (7, false));
    }

    #[test]
    fn two_writers_of_one_path_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let (first, first_file) = create_partial(&path).unwrap();
        write_and_sync(&first_file, b"the first").unwrap();
        write_whole(&path, b"the second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"the second");
        fs::rename(first, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"the first");
    }

    #[test]
    fn what_a_killed_writer_left_goes_with_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let (left, file) = create_partial(&path).unwrap();
        drop(file);
        let others = ["other.1-2.partial", "file.1-2", "file.partial", "file.a-2.partial"];
        for other in others {
            fs::write(folder.path().join(other), "").unwrap();
        }
        write_whole(&path, b"new").unwrap();
        assert!(!left.exists());
        assert!(others.iter().all(|other| folder.path().join(other).exists()));
    }

    #[test]
    fn a_name_is_changed_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for faults in 0.. {
            fs::write(&from, "new").unwrap();
            fs::write(&to, "old").unwrap();
            fault::arm(faults);
            let result = rename(&from, &to);
            if fault::disarm() {
                result.unwrap();
                assert_eq!(faults, 2, "rename, sync the directory");
                break;
            }
            assert!(result.unwrap_err().to_string().contains("injected"), "fault {faults}");
            assert_eq!(from.exists(), fs::read_to_string(&to).unwrap() == "old");
        }
        assert_eq!((from.exists(), fs::read_to_string(&to).unwrap().as_str()), (false, "new"));
    }

    #[test]
    fn each_new_directory_is_synced_in_the_one_above() {
        type Create = fn(&Path) -> Result<bool, StoreError>;
        let plain: Create = |path| create_directory(path).map(|()| true);
        // All are created at once, or the last one by itself; then each is synced.
        for (create, steps) in [(plain, 1 + 3), (create_new_directory, (1 + 2) + (1 + 1))] {
            let mut faults = 0;
            loop {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("a/b/c");
                fault::arm(faults);
                let result = create(&path);
                if fault::disarm() {
                    assert!(result.unwrap() && path.is_dir());
                    break;
                }
                assert!(result.unwrap_err().to_string().contains("injected"), "fault {faults}");
                faults += 1;
            }
            assert_eq!(faults, steps);
        }
    }

    #[test]
    fn what_is_removed_is_whole_or_marked_as_partial() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("directory");
        for fault_at in 0.. {
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("file"), "content").unwrap();
            fault::arm(fault_at);
            let result = remove(&path);
            if fault::disarm() {
                result.unwrap();
                assert_eq!(fault_at, 3, "rename, remove, sync the directory");
                break;
            }
            assert!(result.unwrap_err().to_string().contains("injected"));
            let places = [path.join("file"), with_ending(&path, PARTIAL)];
            let left = if fault_at < 2 { 1 } else { 0 };
            assert_eq!(places.iter().filter(|place| place.exists()).count(), left);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        remove(&path).unwrap();
    }

    #[test]
    fn a_directory_is_new_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("above/directory");
        assert!(create_new_directory(&path).unwrap());
        assert!(!create_new_directory(&path).unwrap());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(!create_new_directory(&folder.path().join("file")).unwrap());
        assert!(create_new_directory(&folder.path().join("file/directory")).is_err());
    }

    #[test]
    fn an_error_names_the_file() {
        let error = write_whole(Path::new("/nonexistent/folder/file"), b"").unwrap_err();
        assert!(error.to_string().contains("`/nonexistent/folder/file`"), "{error}");
        assert_eq!(error.help().as_deref(), Some("check the path"));
    }
}
