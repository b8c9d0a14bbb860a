use std::{borrow::Borrow, cmp::Ordering, collections::HashMap};

use proptest::prelude::*;
use tool_core::{ContentHash, ToolName, internals};

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

#[test]
fn a_name_is_compared_sorted_and_hashed_as_its_text() {
    let name = |text: &'static str| ToolName::new(text).unwrap();
    let (a, b) = (name("a"), name("b"));
    assert!(a == *"a" && a != *"b" && a == "a" && a != "b" && a == name("a") && a != b);
    assert_eq!((a.partial_cmp(&b), b.cmp(&a)), (Some(Ordering::Less), Ordering::Greater));
    assert_eq!((a.partial_cmp(&name("a")), a.cmp(&name("a"))), (Some(Ordering::Equal), Ordering::Equal));
    let known = HashMap::from([(a.clone(), 1), (b, 2)]);
    assert_eq!((known.get("a"), known.get("b"), known.get("c")), (Some(&1), Some(&2), None));
    assert_eq!(a.as_ref() as &str, String::from(a.clone()));
    // The name at the origin does not count.
    assert_eq!(a.clone().with_raw("x"), a);
    let invalid = ToolName::new("a b").unwrap_err();
    assert_eq!((invalid.name(), invalid.clone()), ("a b", ToolName::new("a b".to_owned()).unwrap_err()));
}

// CF02
#[test]
fn a_rewritten_name_has_its_valid_characters_and_ten_digits_of_a_hash() {
    let digits = |full: &str| ContentHash::of(&(full, 0_u32)).to_string()[..10].to_owned();
    let long = "x".repeat(65);
    let wide = "é".repeat(70);
    for (foreign, cleaned) in [
        ("", "_"),
        ("weather.get", "weather_get"),
        ("a b-c_d/E9", "a_b-c_d_E9"),
        ("_a.b", "_a_b"),
        ("-a", "_-a"),
        ("9.a", "_9_a"),
        (".a", "_a"),
        ("día", "d_a"),
        (&long, &long[..53]),
        (&wide, &"_".repeat(53)),
    ] {
        let expected = format!("{cleaned}_{}", digits(foreign));
        let name = ToolName::from_foreign(foreign);
        assert_eq!((name.as_str(), name.raw()), (&*expected, foreign));
        // The name with a prefix is rewritten, and the name at the origin stays.
        let prefixed = ToolName::from_foreign("get").with_raw("raw").prefixed("a.");
        assert_eq!((prefixed.as_str(), prefixed.raw()), (&*format!("a_get_{}", digits("a.get")), "raw"));
    }
    assert_eq!(ToolName::from_foreign("weather.get").as_str(), "weather_get_f5dd09ac87");
    let plain = ToolName::from_foreign("search");
    assert_eq!((plain.as_str(), plain.raw()), ("search", "search"));
    let prefixed = plain.prefixed("files__");
    assert_eq!((prefixed.as_str(), prefixed.raw()), ("files__search", "search"));
    assert_eq!((prefixed.prefixed("").as_str(), prefixed.prefixed("").raw()), ("files__search", "search"));
    // A rule of another kind of name, and the attempts for one name.
    let rewritten = |attempt| internals::rewritten("a.b!", attempt, 20, |it| it != '!', |it| it == 'a');
    let digits = |attempt: u32| ContentHash::of(&("a.b!", attempt)).to_string()[..10].to_owned();
    assert_eq!([rewritten(0), rewritten(1)], [0, 1].map(|attempt| format!("a.b__{}", digits(attempt))));
}
