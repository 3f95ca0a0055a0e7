//! A crate of the workspace uses only the crates below it, and none enables a backend for the others.
//!
//! Cargo unifies features, so one dependency that names a backend would change `backend::Selected`
//! for everything built with it. Features are forwarded in `[features]` instead.

use crate::{
    metadata::{BACKEND_FEATURES, Dependency, Metadata, Package},
    tidy::{Finding, Tree, tree::File},
};

/// The crates of the workspace, from the bottom up, and what each may use.
const MAY_USE: [(&str, &str); 12] = [
    ("backend", ""),
    ("store", ""),
    ("preprocess", ""),
    ("data", "backend store preprocess"),
    ("models", "backend store"),
    ("training", "backend store"),
    ("inference", "backend store models preprocess"),
    ("recipes", "backend store preprocess data models training inference"),
    ("bench", "backend store preprocess data models training inference recipes"),
    ("examples", "backend store preprocess data models training inference"),
    ("web_page", "backend data inference"),
    ("xtask", ""),
];

/// The crates that a program links to predict, on a device for which there may be no C compiler. Only what these
/// ask for by name is checked.
const WITHOUT_C: [&str; 5] = ["store", "preprocess", "data", "models", "inference"];

pub(crate) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata.members() {
        let manifest = manifest(tree, &package.name);
        let finding = |line, (problem, remedy)| Finding {
            path: manifest.map_or("Cargo.toml", |file| &file.path).to_owned(),
            line,
            problem,
            remedy,
        };
        let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == package.name) else {
            findings.push(finding(1, unknown_crate(package)));
            continue;
        };
        for dependency in &package.dependencies {
            let Some(used) = metadata.member(&dependency.name) else {
                continue;
            };
            let line = manifest.map_or(1, |file| dependency_line(file, dependency));
            let problems = [
                edge_problem(package, dependency, may_use),
                backend_problem(package, dependency, used),
                compiler_problem(package, dependency, used),
            ];
            findings.extend(problems.into_iter().flatten().map(|text| finding(line, text)));
        }
    }
    findings
}

/// A problem and its remedy.
type Text = (String, String);

fn unknown_crate(package: &Package) -> Text {
    (
        format!("the crate `{}` is missing from the table of crates", package.name),
        "add it with what it may use in xtask/src/tidy/crate_edges.rs".to_owned(),
    )
}

fn edge_problem(package: &Package, dependency: &Dependency, may_use: &str) -> Option<Text> {
    let mut allowed = may_use.split(' ');
    (!allowed.any(|name| name == dependency.name)).then(|| {
        (
            format!("`{}` may not use `{}`", package.name, dependency.name),
            format!(
                "move what both need into a crate below `{}`, or what joins them into one above",
                package.name
            ),
        )
    })
}

fn backend_problem(package: &Package, dependency: &Dependency, used: &Package) -> Option<Text> {
    let feature = requested(dependency, used).find(|feature| BACKEND_FEATURES.contains(feature))?;
    Some((
        format!("`{}` enables the backend `{feature}` of `{}`", package.name, dependency.name),
        format!(
            "use `{}` without default features and forward `{feature}` under [features]; tests \
             use `backend::Selected`",
            dependency.name
        ),
    ))
}

fn compiler_problem(package: &Package, dependency: &Dependency, used: &Package) -> Option<Text> {
    let applies = WITHOUT_C.contains(&&*package.name) && dependency.kind.is_none();
    (applies && requested(dependency, used).any(|feature| feature == "mimalloc")).then(|| {
        (
            format!("`{}` uses `{}` with the feature `mimalloc`", package.name, dependency.name),
            "leave it to `training`: it needs a C compiler, and prediction does not".to_owned(),
        )
    })
}

/// The features of `used` that `dependency` asks for, the default ones included.
fn requested<'a>(dependency: &'a Dependency, used: &'a Package) -> impl Iterator<Item = &'a str> {
    let defaults = used.features.get("default").filter(|_| dependency.uses_default_features);
    dependency.features.iter().chain(defaults.into_iter().flatten()).map(String::as_str)
}

/// The manifest in the folder that is named after the crate.
fn manifest<'tree>(tree: &'tree Tree, name: &str) -> Option<&'tree File> {
    ["crates/", "examples/", ""]
        .iter()
        .find_map(|folder| tree.file(&format!("{folder}{name}/Cargo.toml")))
}

/// The line of `manifest` that declares `dependency`, 1 where it is not found.
fn dependency_line(manifest: &File, dependency: &Dependency) -> usize {
    let table = match dependency.kind.as_deref() {
        None => "dependencies",
        Some("build") => "build-dependencies",
        Some(_) => "dev-dependencies",
    };
    let mut in_table = false;
    for (number, line) in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            in_table = header.trim_end().trim_end_matches(']') == table;
        } else if in_table && line.split(['.', ' ', '=']).next() == Some(&*dependency.name) {
            return number;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings for a crate with the given `dependencies`, as cargo would print them.
    fn check_crate(name: &str, dependencies: &str, manifest: &str) -> Vec<(usize, String)> {
        check_crate_in("crates", name, dependencies, manifest)
    }

    fn check_crate_in(
        folder: &str,
        name: &str,
        dependencies: &str,
        manifest: &str,
    ) -> Vec<(usize, String)> {
        let json = format!(
            r#"{{"packages": [
                {{"name": "backend", "version": "0.1.0", "features": {{"default": ["cpu"], "cpu": []}}}},
                {{"name": "data", "version": "0.1.0"}},
                {{"name": "training", "version": "0.1.0"}},
                {{"name": "{name}", "version": "0.1.0", "dependencies": [{dependencies}]}}
            ]}}"#
        );
        let metadata = serde_json::from_str(&json).unwrap();
        let path = format!("{folder}/{name}/Cargo.toml");
        check(&Tree::from([(&*path, manifest)]), &metadata)
            .into_iter()
            .inspect(|finding| assert_eq!(finding.path, path))
            .map(|finding| (finding.line, finding.problem))
            .collect()
    }

    #[test]
    fn a_crate_uses_only_those_below_it() {
        let edge =
            r#"{"name": "training", "kind": null, "uses_default_features": true, "features": []}"#;
        let manifest =
            "[package]\nname = \"models\"\n\n[dependencies]\ntraining.workspace = true\n";
        assert_eq!(
            check_crate("models", edge, manifest),
            [(5, "`models` may not use `training`".to_owned())]
        );
        assert_eq!(check_crate("recipes", edge, manifest), []);
        let of_example = check_crate_in("examples", "web_page", edge, manifest);
        assert_eq!(of_example, [(5, "`web_page` may not use `training`".to_owned())]);
    }

    #[test]
    fn a_test_may_not_reach_further_than_its_crate() {
        let edge =
            r#"{"name": "data", "kind": "dev", "uses_default_features": true, "features": []}"#;
        let manifest = "[dev-dependencies]\ndata = { workspace = true }\n";
        assert_eq!(
            check_crate("models", edge, manifest),
            [(2, "`models` may not use `data`".to_owned())]
        );
    }

    #[test]
    fn no_dependency_enables_a_backend() {
        let named = r#"{"name": "backend", "kind": "dev", "uses_default_features": false, "features": ["cpu"]}"#;
        let manifest = "[dependencies]\nbackend.workspace = true\n\n[dev-dependencies]\n\
                        backend = { workspace = true, features = [\"cpu\"] }\n";
        let problem = "`models` enables the backend `cpu` of `backend`".to_owned();
        assert_eq!(check_crate("models", named, manifest), [(5, problem.clone())]);

        let by_default =
            r#"{"name": "backend", "kind": null, "uses_default_features": true, "features": []}"#;
        assert_eq!(check_crate("models", by_default, manifest), [(2, problem)]);
    }

    #[test]
    fn what_predicts_needs_no_c_compiler() {
        let edge = r#"{"name": "backend", "kind": null, "uses_default_features": false, "features": ["mimalloc"]}"#;
        let manifest =
            "[dependencies]\nbackend = { workspace = true, features = [\"mimalloc\"] }\n";
        assert_eq!(
            check_crate("models", edge, manifest),
            [(2, "`models` uses `backend` with the feature `mimalloc`".to_owned())]
        );
        assert_eq!(check_crate("bench", edge, manifest), []);
    }

    #[test]
    fn a_new_crate_must_be_in_the_table() {
        assert_eq!(
            check_crate("vision", "", ""),
            [(1, "the crate `vision` is missing from the table of crates".to_owned())]
        );
    }
}
