//! README's tables of the newest results, one for each device.

use anyhow::Context as _;

/// Where README has them.
const BEGINS: &str = "<!-- the newest results, written by `cargo xtask bench` -->\n";
const ENDS: &str = "<!-- end of the results -->\n";
/// How the table of a device begins.
const DEVICE: &str = "<!-- on ";

/// The text with a device's table where its old one was, or behind the others.
pub(super) fn with_table(readme: &str, device: &str, table: &str) -> anyhow::Result<String> {
    let begins = readme.find(BEGINS).context("README has no place for the results")?;
    let begins = begins + BEGINS.len();
    let length = readme[begins..].find(ENDS).context("the results in README have no end")?;
    let (before, after) = (&readme[..begins], &readme[begins + length..]);
    let tables = &readme[begins..begins + length];
    let mark = format!("{DEVICE}{device} -->\n");
    let new = format!("{mark}{table}");
    let Some(old) = tables.find(&mark) else {
        let gap = if tables.is_empty() { "" } else { "\n" };
        return Ok(format!("{before}{tables}{gap}{new}{after}"));
    };
    let rest = &tables[old + mark.len()..];
    let rest = rest.find(DEVICE).map_or("", |next| &rest[next..]);
    let gap = if rest.is_empty() { "" } else { "\n" };
    Ok(format!("{before}{}{new}{gap}{rest}{after}", &tables[..old]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_device_is_replaced_and_nothing_else() {
        let readme = |tables: &str| format!("before\n{BEGINS}{tables}{ENDS}after\n");
        let one = with_table(&readme(""), "cpu", "old\n").unwrap();
        assert_eq!(one, readme("<!-- on cpu -->\nold\n"));
        let two = with_table(&one, "gpu", "its\n").unwrap();
        assert_eq!(two, readme("<!-- on cpu -->\nold\n\n<!-- on gpu -->\nits\n"));
        let new = with_table(&two, "cpu", "new\n").unwrap();
        assert_eq!(new, readme("<!-- on cpu -->\nnew\n\n<!-- on gpu -->\nits\n"));
        let last = with_table(&new, "gpu", "newer\n").unwrap();
        assert_eq!(last, readme("<!-- on cpu -->\nnew\n\n<!-- on gpu -->\nnewer\n"));
        assert!(with_table("no table", "cpu", "new").is_err());
    }

    #[test]
    fn readme_has_a_place_for_the_tables() {
        assert!(with_table(include_str!("../../../README.md"), "cpu", "table").is_ok());
    }
}
