#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

use proptest::prelude::*;

use super::{NameRule, WireNames};

const SHORT: NameRule = NameRule { max_chars: 64, extra_chars: &[], starts_with_letter: false };
const STARTING: NameRule = NameRule { max_chars: 64, extra_chars: &['.'], starts_with_letter: true };

fn names(all: &[&str], prefix: &str, rule: NameRule) -> WireNames {
    WireNames::new(all.iter().copied(), prefix, rule, &[])
}

#[test]
fn a_name_that_is_admitted_is_written_as_it_is() {
    let all = names(&["get_weather", "add"], "", SHORT);
    assert_eq!((all.wire_name("add"), all.own_name("add")), ("add", "add"));
    assert_eq!(names(&["add"], "math_", SHORT).own_name("math_add"), "add");
}

#[test]
fn a_name_that_is_too_long_keeps_its_beginning_and_gets_a_hash() {
    let prefix = "a_server_with_quite_a_long_name__";
    let (one, other) = (format!("{}_one", "x".repeat(50)), format!("{}_two", "x".repeat(50)));
    let all = names(&[&one, &other], prefix, SHORT);
    assert!(SHORT.is_valid(all.wire_name(&one)) && SHORT.is_valid(all.wire_name(&other)));
    assert!(all.wire_name(&one).starts_with("a_server_with_quite_a_long_name__xxxxxxxxxxxxxxxxxxxx_"));
    assert_ne!(all.wire_name(&one), all.wire_name(&other));
    assert_eq!(all.wire_name(&one), SHORT.rewritten(&format!("{prefix}{one}"), 0));
    // The result does not depend on the run or on other tools.
    assert_eq!(all.wire_name(&one), names(&[&one], prefix, SHORT).wire_name(&one));
}

#[test]
fn a_name_that_is_already_taken_is_rewritten() {
    let all = WireNames::new(["search"].into_iter(), "", SHORT, &["search"]);
    assert_ne!(all.wire_name("search"), "search");
    assert_eq!(all.own_name("search"), "search");
    assert_eq!(all.own_name(all.wire_name("search")), "search");
}

#[test]
fn a_name_that_looks_like_a_rewritten_one_stays_itself() {
    let long = "y".repeat(80);
    let taken = names(&[&long], "", SHORT).wire_name(&long).to_owned();
    let both = names(&[&long, &taken], "", SHORT);
    assert_eq!(both.wire_name(&taken), taken);
    assert_ne!(both.wire_name(&long), taken);
    assert_eq!(both.own_name(both.wire_name(&long)), long);
}

proptest! {
    // WHAT-USERS-ASK 19
    #[test]
    fn names_map_back(
        all in prop::collection::btree_set("([a-c_.é-]|[a-c]{60}){1,3}", 1..12),
        prefix in "[a-c./]{0,3}|[a-z]{70}",
        starting in any::<bool>(),
    ) {
        let rule = if starting { STARTING } else { SHORT };
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let written = names(&all, &prefix, rule);
        let mut seen = std::collections::BTreeSet::new();
        for name in all {
            let wire = written.wire_name(name);
            prop_assert!(rule.is_valid(wire), "{wire}");
            prop_assert_eq!(written.own_name(wire), name);
            prop_assert!(seen.insert(wire.to_owned()), "{} twice", wire);
        }
    }
}
