//! The commands around training: `list`, `copy`, `devices`, `completions`, help.

use crate::folder::Folder;

#[test]
fn list_names_every_recipe() {
    let folder = Folder::new();
    let listed = folder.run("list --json").succeeded().json();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|recipe| recipe["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mlp"]);
    assert!(folder.run("list").succeeded().stdout.starts_with("mlp "));
}

#[test]
fn a_copy_can_be_edited_and_trained_and_is_never_overwritten() {
    let folder = Folder::new();
    folder.run("copy mlp my.toml").succeeded();
    let edited = folder.read("my.toml").replace("epochs = 500", "epochs = 2");
    folder.write("my.toml", &edited);
    let summary = folder.run("train my.toml --json --progress quiet").succeeded();
    assert_eq!(summary.json()["steps"], 50);
    assert_eq!(summary.stderr, "");

    assert_eq!(folder.run("copy mlp my.toml").code, Some(3));
    assert_eq!(folder.read("my.toml"), edited);
}

#[test]
fn the_device_of_this_build_is_usable() {
    let devices = Folder::new().run("devices --json").succeeded().json();
    let usable: Vec<&str> = devices
        .as_array()
        .unwrap()
        .iter()
        .filter(|device| device["usable"] == true)
        .map(|device| device["backend"].as_str().unwrap())
        .collect();
    assert_eq!(usable, [backend::NAME]);
}

#[test]
fn help_and_completions_go_to_stdout() {
    let folder = Folder::new();
    for arguments in ["--help", "help train", "train --help", "completions bash", "--version"] {
        let ran = folder.run(arguments).succeeded();
        assert!(ran.stdout.contains("recipes") && ran.stderr.is_empty(), "{arguments}: {ran:#?}");
        assert!(!ran.stdout.contains('\u{1b}'), "{arguments} colours a pipe");
    }
    assert!(folder.run("help train").stdout.contains("Examples:"));
}
