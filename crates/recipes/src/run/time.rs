//! The time of day in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use humantime::{format_rfc3339_millis, format_rfc3339_seconds};

/// Now, as `2026-01-31T12:00:00.000Z`.
pub(crate) fn now() -> String {
    format_rfc3339_millis(clock()).to_string()
}

/// Now, in seconds since 1970.
pub(crate) fn now_in_seconds() -> f64 {
    clock().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Now, as `20260131-120000`, for names of files.
pub(crate) fn now_compact() -> String {
    compact(clock())
}

fn compact(time: SystemTime) -> String {
    format_rfc3339_seconds(time).to_string().replace(['-', ':', 'Z'], "").replace('T', "-")
}

/// What the clock says; the start of 1970 where it is set to a time before, which has no form.
fn clock() -> SystemTime {
    SystemTime::now().max(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_in_a_name_has_only_digits_and_a_hyphen() {
        let time = UNIX_EPOCH + Duration::from_secs(1_709_251_199);
        assert_eq!(compact(time), "20240229-235959");
    }
}
