//! Reports as a browser lays them out.
//!
//! Without Chromium the test says that it skips; with `REQUIRE_ALL=1` in the environment that is a
//! failure.

use std::process::Command;

use serde_json::Value;

use crate::folder::{Folder, skip};

/// Pixels across a small phone.
const PHONE: usize = 360;

/// Chromium's command, if there is one; says so if there is not.
fn chromium() -> Option<&'static str> {
    let runs = |name: &&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs);
    if found.is_none() {
        skip("there is no Chromium");
    }
    found
}

/// What a page looks like on a phone, by `probe.html`.
fn laid_out(chromium: &str, folder: &Folder, page: &str, scheme: &str) -> Value {
    let probe =
        include_str!("probe.html").replace("PAGE", page).replace("PHONE", &PHONE.to_string());
    folder.write("probe.html", probe);
    let output = Command::new(chromium)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--allow-file-access-from-files", "--virtual-time-budget=10000"])
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--user-data-dir={}", folder.path("browser").display()))
        .arg(format!("file://{}", folder.path("probe.html").display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split_once("<pre>").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (json, _) = found.unwrap_or_else(|| panic!("{dom}\n{output:?}"));
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

#[test]
fn reports_read_well_on_a_phone_by_day_and_by_night() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new();
    let settings = "--set data.samples=600 --set training.epochs=2 --progress quiet";
    folder.run(&format!("train cnn {settings} --run-dir pictures")).succeeded();
    folder.run(&format!("train cnn {settings} --seed 1 --run-dir others")).succeeded();
    folder.run("report pictures").succeeded();
    folder.run("compare pictures others --output compared.html").succeeded();

    for page in ["pictures/report.html", "compared.html"] {
        let [light, dark] = ["1", "0"].map(|scheme| laid_out(chromium, &folder, page, scheme));
        assert!(!light["title"].as_str().unwrap().is_empty(), "{light}");
        // What is wider than the page scrolls within it.
        assert_eq!(light["overflow"], 0, "{page}: {light}");
        assert!(light["charts"].as_u64().unwrap() >= 2, "{page}: {light}");
        assert_eq!(light["empty"], 0, "{page}: {light}");
        let bright = |page: &Value, what: &str| page[what].as_f64().unwrap();
        assert!(bright(&light, "background") > 200.0 && bright(&light, "text") < 100.0, "{light}");
        assert!(bright(&dark, "background") < 60.0 && bright(&dark, "text") > 150.0, "{dark}");
    }
    let report = laid_out(chromium, &folder, "pictures/report.html", "1");
    let mistakes = folder.json("pictures/summary.json")["validation"]["accuracy"] != 1.0;
    assert_eq!(report["pictures"].as_u64().unwrap() > 0, mistakes, "{report}");
}
