use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{
    StateScope,
    patch::{extend_patch, merge_patch, patch_between, without_nulls},
};

/// Objects with few distinct names, so that two of them overlap.
fn object() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = select(vec![json!(null), json!(1), json!("two"), json!([null, { "a": null }]), json!({})]);
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        vec((select(vec!["a", "b", "c"]), inner), 0..3).prop_map(|members| {
            members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Value>()
        })
    });
    vec((select(vec!["a", "b", "c"]), value), 0..4)
        .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn plain(object: Map<String, Value>) -> Map<String, Value> {
    let Value::Object(object) = without_nulls(&Value::Object(object)) else { return Map::new() };
    object
}

/// Returns `true` if `first` sets a member to something other than an object and `later` makes it an object.
fn makes_an_object_again(first: &Map<String, Value>, later: &Map<String, Value>) -> bool {
    first.iter().any(|(name, first)| match (first, later.get(name)) {
        (Value::Object(first), Some(Value::Object(later))) => makes_an_object_again(first, later),
        (_, Some(Value::Object(_))) => true,
        _ => false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2048) })]

    #[test]
    fn the_difference_of_two_states_makes_the_one_of_the_other(before in object(), after in object()) {
        let (mut before, after) = (plain(before), plain(after));
        let patch = patch_between(Some(&Value::Object(before.clone())), &Value::Object(after.clone()));
        prop_assert_eq!(patch.is_none(), before == after);
        if let Some(Value::Object(patch)) = patch {
            merge_patch(&mut before, &patch);
        }
        prop_assert_eq!(before, after);
    }

    #[test]
    fn a_patch_that_follows_another_does_what_both_do(state in object(), first in object(), later in object()) {
        prop_assume!(!makes_an_object_again(&first, &later));
        let mut one_by_one = plain(state);
        let mut at_once = one_by_one.clone();
        merge_patch(&mut one_by_one, &first);
        merge_patch(&mut one_by_one, &later);
        let mut both = first;
        extend_patch(&mut both, later);
        merge_patch(&mut at_once, &both);
        prop_assert_eq!(at_once, one_by_one);
    }
}

// The examples of RFC 7396, appendix A, whose patches are objects.
#[test]
fn patches_do_what_the_standard_says() {
    for (before, patch, after) in [
        (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
        (json!({"a":"b"}), json!({"a":null}), json!({})),
        (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
        (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
        (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
        (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
        (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
        (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
    ] {
        let (Value::Object(mut state), Value::Object(patch)) = (before, patch) else { panic!("not objects") };
        merge_patch(&mut state, &patch);
        assert_eq!(Value::Object(state), after, "{patch:?}");
    }
}

// V05
#[test]
fn the_lifetime_of_a_value_is_the_prefix_of_its_name() {
    let lifetimes =
        ["temp:a", "user:a", "app:a", "a", "other:a", "temp", "users:a", "app:a:b"].map(StateScope::of);
    let (temp, user, app, session) =
        (StateScope::Temp, StateScope::User, StateScope::App, StateScope::Session);
    assert_eq!(lifetimes, [temp, user, app, session, session, session, session, app]);
}
