//! README's tables of the newest results, one for each device.

use anyhow::Context as _;

/// The lines around them in README.
pub(super) const BEGINS: &str = "<!-- the newest results, written by `cargo xtask bench` -->\n";
pub(super) const ENDS: &str = "<!-- end of the results -->\n";
/// How the table of a device begins.
const DEVICE: &str = "<!-- on ";

/// What a device's table measures and a new one does not, such as `mlp-step (tensorflow)`.
pub(super) fn lost(readme: &str, device: &str, table: &str) -> Vec<String> {
    let mark = format!("{DEVICE}{device} -->\n");
    let old = readme.split_once(&mark).map_or("", |(_, old)| old);
    let old = old.split("<!-- ").next().unwrap_or_default(); // the next table or the end of all
    let new = measured(table);
    measured(old).into_iter().filter(|cell| !new.contains(cell)).collect()
}

/// The cells of a table that are filled, by row and column.
fn measured(table: &str) -> Vec<String> {
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    let mut rows = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let columns = rows.next().unwrap_or_default();
    let filled = |row: Vec<&str>| -> Vec<String> {
        let cells = row.iter().zip(&columns).skip(1).filter(|(cell, _)| !cell.is_empty());
        cells.map(|(_, column)| format!("{} ({column})", row[0])).collect()
    };
    rows.flat_map(filled).collect()
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
    fn what_a_new_table_lacks_is_named() {
        let table = |names: &[&str], peer: &str| -> String {
            let rows = names.iter().map(|name| format!("| {name} | 1 s | {peer} |\n"));
            format!("| what | ours | torch |\n|---|--:|--:|\n{}", rows.collect::<String>())
        };
        let [cpu, gpu] = [table(&["a", "b"], "2 s"), table(&["c"], "")];
        let readme = format!("| d |\n{BEGINS}<!-- on cpu -->\n{cpu}\n<!-- on gpu -->\n{gpu}{ENDS}");
        let lacks = lost(&readme, "cpu", &table(&["b", "new"], "3 s"));
        assert_eq!(lacks, ["a (ours)", "a (torch)"]);
        assert_eq!(lost(&readme, "cpu", &table(&["a", "b"], "")), ["a (torch)", "b (torch)"]);
        assert_eq!(lost(&readme, "cpu", &cpu), [""; 0]);
        assert_eq!(lost(&readme, "gpu", &cpu), ["c (ours)"]);
        assert_eq!(lost(&readme, "another", &gpu), [""; 0]);
    }

    #[test]
    fn readme_has_a_place_for_the_tables() {
        assert!(with_table(include_str!("../../../../README.md"), "cpu", "table").is_ok());
    }
}
