//! The time of day in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, as `2026-01-31T12:00:00.000Z`.
pub(crate) fn now() -> String {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let [date, time] = date_and_time(since_1970.as_secs());
    format!("{date}T{time}.{:03}Z", since_1970.subsec_millis())
}

/// Now, in seconds since 1970.
pub(crate) fn now_in_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Now, as `20260131-120000`, for names of files.
pub(crate) fn now_compact() -> String {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date_and_time(since_1970.as_secs()).map(|part| part.replace(['-', ':'], "")).join("-")
}

/// The Gregorian date by Hinnant's `civil_from_days`: years begin in March, so that the day that
/// comes and goes is a year's last.
fn date_and_time(seconds: u64) -> [String; 2] {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let date = format!("{year:04}-{month:02}-{day:02}");
    [date, format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)]
}

#[cfg(test)]
mod tests {
    use super::date_and_time;

    /// Expected values from `date --utc --date=@SECONDS`.
    #[test]
    fn dates_are_those_of_the_calendar() {
        let check =
            |seconds, expected: &str| assert_eq!(date_and_time(seconds).join(" "), expected);
        check(0, "1970-01-01 00:00:00");
        check(951_782_399, "2000-02-28 23:59:59");
        check(951_782_400, "2000-02-29 00:00:00");
        check(1_709_251_199, "2024-02-29 23:59:59");
        check(4_107_542_400, "2100-03-01 00:00:00");
    }
}
