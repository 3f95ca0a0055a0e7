//! README's tables of the newest results, one for each device.

use anyhow::Context as _;

/// The lines around them in README.
const BEGINS: &str = "<!-- the newest results, written by `cargo xtask bench` -->\n";
const ENDS: &str = "<!-- end of the results -->\n";
/// How the table of a device begins.
const DEVICE: &str = "<!-- on ";

/// The first cells of the rows of a device's table that a new one lacks.
pub(super) fn lost_rows<'a>(readme: &'a str, device: &str, table: &str) -> Vec<&'a str> {
    fn names(table: &str) -> impl Iterator<Item = &str> {
        let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
        cells.map(|(name, _)| name)
    }
    let mark = format!("{DEVICE}{device} -->\n");
    let old = readme.split_once(&mark).map_or("", |(_, old)| old);
    let old = old.split("<!-- ").next().unwrap_or_default(); // the next table or the end of all
    names(old).filter(|&name| names(table).all(|new| new != name)).collect()
}

/// The text with a device's table in place of its old one, or after the others.
pub(super) fn with_table(readme: &str, device: &str, table: &str) -> anyhow::Result<String> {
    let begins = readme.find(BEGINS).context("README has no line that begins the results")?;
    let begins = begins + BEGINS.len();
    let length = readme[begins..].find(ENDS).context("README has no line that ends the results")?;
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
    fn the_rows_that_a_new_table_lacks_are_named() {
        let table = |names: &[&str]| -> String {
            names.iter().map(|name| format!("| {name} | 1 s |\n")).collect()
        };
        let tables = [table(&["what", "a", "b"]), table(&["what", "c"])];
        let [cpu, gpu] = tables;
        let readme = format!("| d |\n{BEGINS}<!-- on cpu -->\n{cpu}\n<!-- on gpu -->\n{gpu}{ENDS}");
        assert_eq!(lost_rows(&readme, "cpu", &table(&["what", "b", "new"])), ["a"]);
        assert_eq!(lost_rows(&readme, "cpu", &cpu), [""; 0]);
        assert_eq!(lost_rows(&readme, "gpu", &cpu), ["c"]);
        assert_eq!(lost_rows(&readme, "another", &gpu), [""; 0]);
    }

    #[test]
    fn readme_has_a_place_for_the_tables() {
        assert!(with_table(include_str!("../../../README.md"), "cpu", "table").is_ok());
    }
}
