use std::borrow::Borrow;

use proptest::prelude::*;
use tool_core::ToolName;

fn refused(name: &str) -> String {
    ToolName::new(name.to_owned()).unwrap_err().to_string()
}

// A05
#[test]
fn an_invalid_name_is_refused_with_the_rule() {
    assert_eq!(refused(""), "a tool needs a name; this one is empty");
    assert_eq!(
        refused("has space"),
        "the tool name `has space` has the character ' '; only letters, digits, `_` and `-` are allowed"
    );
    assert_eq!(
        refused("a.b"),
        "the tool name `a.b` has the character '.'; only letters, digits, `_` and `-` are allowed"
    );
    assert_eq!(refused("1st"), "the tool name `1st` must start with a letter or `_`");
    let long = "x".repeat(65);
    assert_eq!(refused(&long), format!("the tool name `{long}` has 65 characters; at most 64 are allowed"));
}

// A05
#[test]
fn a_valid_name_is_kept() {
    for name in ["get_weather", "_x", "A-1", &"x".repeat(64)] {
        let kept = ToolName::new(name.to_owned()).unwrap();
        let borrowed: (&str, &str, &str) = (kept.as_ref(), kept.borrow(), &kept);
        assert_eq!((kept.as_str(), borrowed), (name, (name, name, name)));
        assert_eq!((kept.to_string(), format!("{kept:?}")), (name.to_owned(), format!("{name:?}")));
    }
}

#[test]
fn a_name_round_trips_through_json_and_is_validated() {
    let name: ToolName = serde_json::from_str("\"add\"").unwrap();
    assert_eq!(serde_json::to_string(&name).unwrap(), "\"add\"");
    assert!(serde_json::from_str::<ToolName>("\"a b\"").is_err());
}

proptest! {
    // A05
    #[test]
    fn valid_names_match_the_documented_pattern(text in "\\PC{0,70}|[A-Za-z0-9_-]{0,70}") {
        let mut bytes = text.bytes();
        let start = bytes.next().is_some_and(|it| it.is_ascii_alphabetic() || it == b'_');
        let rest = bytes.all(|it| it.is_ascii_alphanumeric() || it == b'_' || it == b'-');
        prop_assert_eq!(ToolName::new(text.clone()).is_ok(), start && rest && text.len() <= 64);
    }
}
