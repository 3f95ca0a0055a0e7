//! Columns that only tell rows apart.

use super::{
    header::unnamed,
    schema::{ColumnSchema, Kind},
    summary::Summary,
};
use crate::csv_table::column_setting;

/// Drops columns that number the rows or tell them apart, as pandas writes them and databases have
/// them: what follows from a row's place or name says nothing of other rows. The last column that is
/// used stays. One that is named as such, but whose numbers recur, is marked.
///
/// - `header`: whether the file has one
/// - `inferred`: whether the user left the kind of a column open
pub(super) fn drop(
    columns: &mut [ColumnSchema],
    summaries: &[Summary],
    header: bool,
    inferred: impl Fn(&str) -> bool,
) {
    let mut used = columns.iter().filter(|column| !matches!(column.kind, Kind::Dropped(_))).count();
    for (column, summary) in columns.iter_mut().zip(summaries) {
        let name = &column.name;
        let summary = summary.as_read();
        // Pandas writes the numbers of rows without a name.
        let by_name = is_identifier(name) || header && *name == unnamed(0);
        let reason = match summary.is_index() {
            true => "it numbers the rows",
            false if by_name && summary.tells_rows_apart() => {
                "by its name, and since all its numbers differ, it only tells rows apart"
            }
            false => {
                let is_used = column.kind == Kind::Numeric && inferred(name);
                column.has_recurring_identifiers = is_identifier(name)
                    && is_used
                    && summary.is_whole()
                    && summary.repeats_a_value();
                continue;
            }
        };
        if used > 1 && inferred(name) {
            let keep = column_setting(name, "numeric");
            column.kind = Kind::Dropped(format!("{reason}; `{keep}` uses it"));
            used -= 1;
        }
    }
}

/// Whether a column's name says that it tells rows apart: `id`, `user_id`, `PassengerId`.
fn is_identifier(name: &str) -> bool {
    let lowercase = name.to_lowercase();
    let is_last_word = || {
        let before = lowercase.strip_suffix("id").and_then(|before| before.chars().next_back());
        before.is_some_and(|last| !last.is_alphanumeric())
    };
    let is_capital = || {
        let before = name.strip_suffix("Id").or(name.strip_suffix("ID"));
        before.is_some_and(|before| before.ends_with(char::is_lowercase))
    };
    ["id", "index", "unnamed: 0"].contains(&&*lowercase) || is_last_word() || is_capital()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_identifiers_are_known() {
        for name in ["id", "ID", "PassengerId", "userID", "customer_id", "Order Id", "index"] {
            assert!(is_identifier(name), "{name}");
        }
        for name in ["grid", "PAID", "covid", "Humid", "idle", "bid", "rank", "AID"] {
            assert!(!is_identifier(name), "{name}");
        }
    }
}
