//! The commands `pin` and `check`.

use std::fs;

use serde_json::Value;
use tool_runtime::serde_json;

use super::{weather, weather_with};

#[test]
fn tools_are_pinned_and_checked() {
    let path = format!("{}/weather-pins.json", env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(weather(["pin", &path]).fine(), format!("14 tools are pinned in {path}\n"));
    assert_eq!(weather(["check", &path]).fine(), "14 tools are unchanged\n");
    assert_eq!(weather(["check", "--json", &path]).fine(), "[]\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), weather(["pin", "-"]).fine());
}

#[test]
fn pin_replaces_pins_and_no_other_file() {
    let path = format!("{}/weather-no-pins.json", env!("CARGO_TARGET_TMPDIR"));
    for other in ["{}", "[package]\nname = \"mine\"\n", "{\"version\": 3, \"tools\": {}}"] {
        fs::write(&path, other).unwrap();
        let err = weather(["pin", &path]).failed(2);
        assert!(err.ends_with("; nothing was written; remove the file or name another one\n"), "{err}");
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
    }
    fs::write(&path, b"\xff\xfe").unwrap();
    assert!(
        weather(["pin", &path]).failed(2).contains("the file does not contain pins; nothing was written")
    );
    let pins = weather(["pin", "-"]).fine();
    for before in ["\n", &pins, &pins.replace("Shows settings.", "Shows secrets.")] {
        fs::write(&path, before).unwrap();
        weather(["pin", &path]).fine();
        assert_eq!(fs::read_to_string(&path).unwrap(), pins);
    }
}

// A change is listed with its place, an added or removed tool with its name.
#[test]
fn check_lists_changes_and_exits_with_1() {
    let mut pins: Value = serde_json::from_str(&weather(["pin", "-"]).fine()).unwrap();
    let tools = pins["tools"].as_object_mut().unwrap();
    tools.remove("cities").unwrap();
    let text = serde_json::to_string(&pins).unwrap();
    let ran = weather_with(&text, ["check", "-"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert!(ran.out.starts_with("cities: added\n  description\n"), "{}", ran.out);
    let ran = weather_with(&text, ["check", "--json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap()[0]["kind"], "added");
}

#[test]
fn a_file_that_holds_no_pins_is_refused() {
    let err = weather_with("{}", ["check", "-"]).failed(2);
    assert!(err.starts_with("error: -: not a file of pins: missing field `version`"), "{err}");
    let edited = weather(["pin", "-"]).fine().replace("Shows settings.", "Shows secrets.");
    let err = weather_with(&edited, ["check", "-"]).failed(2);
    assert!(err.contains("the pins were edited by hand") && err.contains("`settings`"), "{err}");
    let err = weather(["check", "/no/such/file"]).failed(2);
    assert!(err.starts_with("error: /no/such/file cannot be read: "), "{err}");
    let err = weather(["pin", "/no/such/file"]).failed(1);
    assert!(err.starts_with("error: /no/such/file cannot be written: "), "{err}");
}
