//! Every dependency has a licence that lets people use the result as they like.

use crate::{
    metadata::{Metadata, Package},
    tidy::{Finding, Tree},
};

/// Permissive licences, and MPL-2.0, which covers only its own files; several that hold together are
/// listed as they are stated.
const ALLOWED: [&str; 19] = [
    "(MIT OR Apache-2.0) AND Unicode-3.0",
    "(MIT OR Apache-2.0) AND Unicode-DFS-2016",
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 AND ISC",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT AND Unicode-DFS-2016",
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "WTFPL",
    "Zlib",
];

pub(crate) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    metadata
        .packages
        .iter()
        .filter_map(|package| {
            let problem = match &package.license {
                None => "states no licence".to_owned(),
                Some(license) if is_allowed(license) => return None,
                Some(license) => format!("has the licence `{license}`"),
            };
            Some(Finding {
                path: "Cargo.lock".to_owned(),
                line: lock_line(tree, package),
                problem: format!("{} {} {problem}", package.name, package.version),
                remedy: "remove it; if people may still use the result as they like, add the \
                         licence to xtask/src/tidy/licences.rs"
                    .to_owned(),
            })
        })
        .collect()
}

/// The line of `Cargo.lock` at which `package` begins.
fn lock_line(tree: &Tree, package: &Package) -> usize {
    let entry = format!("name = \"{}\"\nversion = \"{}\"\n", package.name, package.version);
    tree.file("Cargo.lock").map_or(1, |lock| {
        let offset = lock.text.find(&entry).unwrap_or(0);
        1 + lock.text[..offset].matches('\n').count()
    })
}

/// Whether one choice that the SPDX `expression` offers is allowed.
fn is_allowed(expression: &str) -> bool {
    let choices = expression.replace('/', " OR ");
    ALLOWED.contains(&expression)
        || !expression.contains('(')
            && choices.split(" OR ").any(|choice| ALLOWED.contains(&choice.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_allowed_if_one_choice_is() {
        for allowed in [
            "MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 / MIT",
            "Unlicense OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "GPL-3.0-only AND MIT OR ISC",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "MIT AND (GPL-3.0-only OR AGPL-3.0-only)",
            "MIT WITH Classpath-exception-2.0",
            "(MIT",
            "MIT Apache-2.0",
            "OR MIT",
        ] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn a_package_with_another_licence_or_none_is_found() {
        let package = |name: &str, license: Option<&str>| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: Some("registry".to_owned()),
            dependencies: Vec::new(),
            features: Default::default(),
        };
        let metadata = Metadata {
            packages: vec![
                package("free", Some("MIT")),
                package("copyleft", Some("GPL-3.0-only")),
                package("silent", None),
            ],
        };
        let lock = "version = 4\n\n[[package]]\nname = \"copyleft\"\nversion = \"1.0.0\"\n";
        let findings = check(&Tree::from([("Cargo.lock", lock)]), &metadata);
        let problems: Vec<_> =
            findings.iter().map(|finding| (finding.line, &*finding.problem)).collect();
        assert_eq!(
            problems,
            [
                (4, "copyleft 1.0.0 has the licence `GPL-3.0-only`"),
                (1, "silent 1.0.0 states no licence"),
            ]
        );
    }
}
