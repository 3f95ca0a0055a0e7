//! Where a log of a run goes on that may have lost its end, as after a fault of the file system.

use std::{collections::BTreeSet, fs, io, path::Path};

use serde_json::Value;
use store::StoreError;

/// What is left of a log up to a checkpoint.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The bytes of its whole lines.
    pub(crate) length: u64,
    /// What it lost before the checkpoint, a sentence.
    pub(crate) lost: Option<String>,
}

/// Looks how much is left of a log; none where it is gone.
///
/// - `length`: its bytes at the checkpoint
/// - `ended`: the epochs that had ended by then, if known
/// - `epoch`: that of which a line tells the result
///
/// # Errors
///
/// Where the system refuses to read it.
pub(crate) fn kept(
    path: &Path,
    length: u64,
    ended: Option<usize>,
    epoch: impl Fn(&str) -> Option<usize>,
) -> Result<Kept, StoreError> {
    let (bytes, how) = match fs::read(path) {
        Ok(bytes) => (bytes, "has lost its end"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), "is gone"),
        Err(source) => {
            return Err(StoreError::Io { action: "read", path: path.to_owned(), source });
        }
    };
    let had = usize::try_from(length).unwrap_or(usize::MAX);
    let found = &bytes[..bytes.len().min(had)];
    let whole = found.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    if whole == had {
        return Ok(Kept { length, lost: None });
    }
    let text = String::from_utf8_lossy(&found[..whole]);
    let told: BTreeSet<usize> = text.lines().filter_map(epoch).collect();
    let missing = ended.map(|ended| (1..=ended).filter(|epoch| !told.contains(epoch)));
    let missing = missing.map(Iterator::collect::<Vec<usize>>);
    let what = match missing.as_deref() {
        None => "its last lines are missing".to_owned(),
        Some([]) => "its last lines are missing".to_owned(),
        Some([epoch]) => format!("the line of epoch {epoch} is missing"),
        Some([first, .., last]) => format!("the lines of epochs {first} to {last} are missing"),
    };
    let lost = format!("`{}` {how}: {what}, and the run goes on without", path.display());
    Ok(Kept { length: whole as u64, lost: Some(lost) })
}

/// The epoch of a line of `metrics.csv`.
pub(crate) fn epoch_of_row(line: &str) -> Option<usize> {
    line.split(',').next()?.parse().ok()
}

/// The epoch of whose end a line of `events.jsonl` tells.
pub(crate) fn epoch_of_event(line: &str) -> Option<usize> {
    let event: Value = serde_json::from_str(line).ok()?;
    let epoch = event["epoch"].as_u64().filter(|_| event["kind"] == "epoch")?;
    usize::try_from(epoch).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_ends_with_a_line_and_what_is_lost_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.csv");
        let rows = "epoch,step\n1,10\n2,20\n3,30\n";
        let at = |rows: &str| rows.len() as u64;
        let check = |left: Option<&str>, length: u64, ended, expected: u64, lost: Option<&str>| {
            match left {
                Some(left) => fs::write(&path, left).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let kept = kept(&path, length, ended, epoch_of_row).unwrap();
            let told = |what| format!("`{}` {what}, and the run goes on without", path.display());
            assert_eq!(kept, Kept { length: expected, lost: lost.map(told) });
        };
        let two = "epoch,step\n1,10\n2,20\n";
        check(Some(rows), at(rows), Some(3), at(rows), None);
        check(Some(rows), at(two), Some(2), at(two), None);
        let one_gone = Some("has lost its end: the line of epoch 3 is missing");
        check(Some(&rows[..rows.len() - 1]), at(rows), Some(3), at(two), one_gone);
        let unknown = Some("has lost its end: its last lines are missing");
        check(Some(two), at(rows), None, at(two), unknown);
        let all_gone = Some("has lost its end: the lines of epochs 1 to 3 are missing");
        check(Some("epoch,"), at(rows), Some(3), 0, all_gone);
        check(Some(""), at(rows), Some(3), 0, all_gone);
        check(None, at(rows), Some(1), 0, Some("is gone: the line of epoch 1 is missing"));
        // The file grew from another end than the checkpoint knows.
        check(
            Some(rows),
            at(two) + 2,
            Some(2),
            at(two),
            Some("has lost its end: its last lines are missing"),
        );
    }

    #[test]
    fn the_end_of_an_epoch_is_told_by_one_event() {
        assert_eq!(epoch_of_event(r#"{"kind":"epoch","epoch":7,"step":70}"#), Some(7));
        assert_eq!(epoch_of_event(r#"{"kind":"step","epoch":7,"step":70}"#), None);
        assert_eq!(epoch_of_event("{"), None);
    }
}
