//! The parts of one call: its name, its arguments, and the marks of calls that were cut off.

#![allow(clippy::unwrap_used, reason = "a test may")]

use super::*;

fn value(json: &'static str) -> ExactValue<'static> {
    ExactValue::read(json).unwrap()
}

fn named(parts: &[&str]) -> PartialCall {
    let mut call = PartialCall::default();
    parts.iter().for_each(|part| call.push_name(part));
    call
}

/// A call with these arguments in parts: texts, or values.
fn filled(parts: &[ExactValue<'static>], custom: bool) -> PartialCall {
    let mut call = PartialCall { custom, ..PartialCall::default() };
    parts.iter().for_each(|part| call.add_arguments(&JsonLocation::root(part)));
    call
}

fn text(text: &str) -> ExactValue<'static> {
    ExactValue::String(text.to_owned().into())
}

/// Returns the arguments as received.
fn received(call: &PartialCall) -> String {
    call.received_arguments().to_string()
}

#[test]
fn a_name_arrives_whole_repeated_growing_or_in_pieces() {
    for (parts, name, is_contradictory) in [
        (&["add"][..], "add", false),
        (&["add", "add", "", "null", " "], "add", false),
        (&["ad", "add", "add_one"], "add_one", false),
        (&["get_", "weather"], "get_weather", false),
        (&["", "add"], "add", false),
    ] {
        let call = named(parts);
        assert_eq!((&*call.name, call.is_contradictory), (name, is_contradictory), "{parts:?}");
        assert_eq!(call.name_parts, parts.concat());
    }
    let mut call = named(&["add"]);
    call.push_arguments_text("{}");
    call.push_name("draw");
    assert!(call.is_contradictory && call.name == "add");
    let mut call = named(&["add"]);
    call.push_arguments_text("{}");
    call.push_name("add_one");
    assert!(!call.is_contradictory && call.name == "add_one");
}

#[test]
fn a_completed_name_continues_the_name_so_far() {
    let mut call = named(&["ad"]);
    assert!(call.complete_name("add"));
    assert_eq!((&*call.name, &*call.name_parts), ("add", "add"));
    assert!(!call.complete_name("draw"));
    assert_eq!((&*call.name, &*call.name_parts), ("add", "add"));
    assert!(call.complete_name("add"));
}

#[test]
fn all_parts_are_the_name_if_they_are_the_only_tool() {
    let settled = |parts: &[&str], tools: &[&str]| {
        let mut call = named(parts);
        call.is_contradictory = true;
        call.choose_name(|name| tools.contains(&name));
        (call.name.clone(), call.is_contradictory)
    };
    // The second part continues the first, or repeats it with more.
    assert_eq!(settled(&["a", "ab"], &["aab"]), ("aab".to_owned(), false));
    assert_eq!(settled(&["a", "ab"], &["ab"]), ("ab".to_owned(), true));
    assert_eq!(settled(&["a", "ab"], &["ab", "aab"]), ("ab".to_owned(), true));
    assert_eq!(settled(&["a", "ab"], &[]), ("ab".to_owned(), true));
    assert_eq!(settled(&["a"], &["a"]), ("a".to_owned(), true));
}

#[test]
fn arguments_are_texts_in_pieces_or_one_value() {
    let object = value(r#"{"a":"1"}"#);
    for (parts, custom, arguments) in [
        (vec![text("{\"a\""), text(":1}")], false, r#""{\"a\":1}""#),
        (vec![text("{}"), text("{\"a\":1}")], false, r#""{\"a\":1}""#),
        (vec![text("null"), text("{}")], false, r#""{}""#),
        (vec![text(" { } "), text("\n")], false, r#"" { } \n""#),
        (vec![text("{}"), text("x")], true, r#""{}x""#),
        (vec![object.clone()], false, r#"{"a":"1"}"#),
        (vec![ExactValue::Null, object.clone()], false, r#"{"a":"1"}"#),
        (vec![value("{}"), text("{\"a\":1}")], false, r#""{\"a\":1}""#),
        // Neither part is dropped.
        (vec![object.clone(), text("{}")], false, r#""{\"a\":\"1\"}{}""#),
        (vec![text("[1"), object.clone()], false, r#""[1{\"a\":\"1\"}""#),
        (vec![object.clone(), object.clone()], false, r#""{\"a\":\"1\"}{\"a\":\"1\"}""#),
        (vec![object.clone()], true, r#""{\"a\":\"1\"}""#),
        (vec![value("7")], false, r#""7""#),
    ] {
        assert_eq!(received(&filled(&parts, custom)), arguments, "{parts:?}");
    }
    let blanks = format!("{{{}}}", " ".repeat(MAX_EMPTY_BYTES - 2));
    let call = filled(&[text(&blanks), text("{\"a\":1}")], false);
    assert_eq!(call.text, "{\"a\":1}");
    let call = filled(&[text(&format!("{blanks} ")), text("{\"a\":1}")], false);
    assert_eq!(call.text, format!("{blanks} {{\"a\":1}}"));
}

#[test]
fn complete_arguments_replace_parts_that_are_not_complete() {
    let object = value(r#"{"a":"1"}"#);
    for (parts, complete, custom, arguments) in [
        (vec![], text("{\"a\":1}"), false, r#""{\"a\":1}""#),
        (vec![], object.clone(), false, r#"{"a":"1"}"#),
        (vec![text("{\"a\"")], text("{\"a\":1}"), false, r#""{\"a\":1}""#),
        (vec![text("{\"a\":1}")], text("{\"b\":2}"), false, r#""{\"b\":2}""#),
        // A completed call does not revoke what arrived before.
        (vec![text("{\"a\":1}")], text("{}"), false, r#""{\"a\":1}""#),
        (vec![text("{\"a\":1}")], text(" "), false, r#""{\"a\":1}""#),
        (vec![text("{\"a\":1}")], text("null"), false, r#""{\"a\":1}""#),
        (vec![text("{\"a\":1}")], ExactValue::Null, false, r#""{\"a\":1}""#),
        (vec![text("{\"b\":2}")], object.clone(), false, r#""{\"b\":2}""#),
        (vec![text("{\"b\"")], object.clone(), false, r#""{\"a\":\"1\"}""#),
        (vec![text("[1]")], object.clone(), false, r#""{\"a\":\"1\"}""#),
        (vec![text("{\"b\"")], value("{}"), false, r#""{\"b\"""#),
        (vec![text("{\"b\"")], value("7"), false, r#""{\"b\"""#),
        (vec![text("ab")], text("abc"), true, r#""abc""#),
        (vec![text("ab")], text(" "), true, r#"" ""#),
        (vec![text("ab")], text(""), true, r#""ab""#),
    ] {
        let mut call = filled(&parts, custom);
        call.complete_arguments(&JsonLocation::root(&complete));
        assert_eq!(received(&call), arguments, "{parts:?} {complete:?}");
    }
}

#[test]
fn arguments_are_closed_by_the_bracket_that_was_opened_first() {
    for (parts, is_closed) in [
        (&["{\"a\":", "[1]}"][..], true),
        (&["{\"a\":[1]"], false),
        (&["{\"a\":\"}", "\\\"}\""], false),
        (&["{\"a\":\"\\", "\"}\"}"], true),
        (&["{\"a\":\"[{\"}"], true),
        (&["\"}\""], false),
        (&["{}"], true),
        (&["", " "], false),
    ] {
        let call = filled(&parts.iter().map(|part| text(part)).collect::<Vec<_>>(), false);
        assert_eq!(call.has_complete_arguments(), is_closed, "{parts:?}");
    }
    assert!(filled(&[value(r#"{"a":"1"}"#)], false).has_complete_arguments());
    let mut call = filled(&[text("{}")], false);
    call.replace_arguments_text("{\"a\"");
    assert!(!call.has_complete_arguments());
}

#[test]
fn a_call_is_marked_where_it_may_be_cut_off() {
    let mark = |change: fn(&mut PartialCall), arguments: &str, stop: &Stop, is_last: bool| {
        let mut call = filled(&[text(arguments)], false);
        change(&mut call);
        call.incomplete_mark(stop, is_last)
    };
    let (none, finished) = (Stop::Unspecified, Stop::Finished);
    let (early, silent) = (Stop::Unfinished(Some("length".into())), Stop::Unfinished(None));
    let same: fn(&mut PartialCall) = |_| {};
    for (change, arguments, stop, is_last, is_marked) in [
        (same, "{}", &none, true, false),
        (same, "{\"a\"", &none, false, true),
        (same, "", &none, false, true),
        (same, "[1]", &none, false, true),
        (same, "{\"a\"", &finished, true, false),
        (same, "{}", &early, true, true),
        (same, "{}", &early, false, false),
        (same, "{\"a\"", &early, false, true),
        (same, "{}", &silent, true, true),
        (|call| call.custom = true, "x", &none, true, false),
        (|call| call.custom = true, "x", &early, false, false),
        (|call| call.custom = true, "x", &early, true, true),
        (|call| call.open = true, "{}", &finished, true, true),
        (|call| call.is_contradictory = true, "{}", &finished, true, true),
        (|call| call.repeated = true, "", &finished, true, true),
        (|call| call.repeated = true, "{}", &finished, true, false),
    ] {
        let found = mark(change, arguments, stop, is_last);
        assert_eq!(found.is_some(), is_marked, "{arguments} {stop:?} {is_last}");
    }
    let open: fn(&mut PartialCall) = |call| {
        call.open = true;
        call.status = Some("in_progress".to_owned());
    };
    let reasoned = |reason: &str| Some(Incomplete::new(reason));
    assert_eq!(mark(open, "{}", &early, false), reasoned("length"));
    assert_eq!(mark(open, "{}", &silent, false), reasoned("in_progress"));
    assert_eq!(mark(open, "{}", &finished, false), reasoned("in_progress"));
    assert_eq!(mark(same, "{}", &silent, true), Some(Incomplete::without_reason()));
}

#[test]
fn texts_without_content_and_objects_are_recognized() {
    for (text, is_empty, is_object, is_a_name) in [
        ("{}", true, true, true),
        (" { \n} ", true, true, true),
        ("null", true, false, false),
        (" null ", true, false, false),
        ("", false, false, false),
        (" ", false, false, false),
        ("{", false, false, true),
        ("{x}", false, false, true),
        ("{\"a\":1}", false, true, true),
        ("{\"a\":1} x", false, false, true),
        ("[1]", false, false, true),
        ("nullable", false, false, true),
    ] {
        let found = (is_empty_object(text), is_object_text(text), is_name(text));
        assert_eq!(found, (is_empty, is_object, is_a_name), "{text:?}");
    }
}

#[test]
fn calls_are_found_by_their_most_recent_keys() {
    let mut calls = PartialCalls::default();
    assert_eq!((calls.next_number(), calls.last_index(), calls.len()), (0, None, 0));
    let call = |number: u64, id: Option<&str>| PartialCall {
        number,
        id: id.map(str::to_owned),
        ..PartialCall::default()
    };
    assert_eq!(calls.open_call(call(5, Some("a"))), 0);
    assert_eq!(calls.open_call(call(5, None)), 1);
    assert_eq!(calls.open_call(call(7, Some("a"))), 2);
    assert_eq!((calls.next_number(), calls.last_index(), calls.len()), (3, Some(2), 3));
    calls.insert_key(0, Key::Item("i".to_owned()));
    for (key, at) in [
        (Key::Number(5), Some(1)),
        (Key::Number(7), Some(2)),
        (Key::Number(0), None),
        (Key::Id("a".to_owned()), Some(2)),
        (Key::Id("i".to_owned()), None),
        (Key::Item("i".to_owned()), Some(0)),
    ] {
        assert_eq!(calls.index_of(&key), at, "{key:?}");
    }
    assert!(calls.get(2).is_some() && calls.get(3).is_none() && calls.get_mut(3).is_none());
}

#[test]
fn a_repeated_id_is_replaced_by_one_that_no_call_has() {
    let separated = |ids: &[Option<&str>]| {
        let mut calls = PartialCalls::default();
        for id in ids {
            calls.open_call(PartialCall { id: id.map(str::to_owned), ..PartialCall::default() });
        }
        let replaced = calls.replace_repeated_ids();
        let now: Vec<_> = calls.all.iter().map(|call| call.id.clone().unwrap_or_default()).collect();
        (
            now.join(" "),
            replaced.iter().map(|(old, new)| format!("{old}>{new}")).collect::<Vec<_>>().join(" "),
        )
    };
    for (ids, now, replaced) in [
        (&[Some("a"), Some("b"), None, None][..], "a b  ", ""),
        (&[Some("a"), Some("a"), Some("a")], "a a_2 a_3", "a>a_2 a>a_3"),
        (&[Some("a"), Some("a"), Some("a_2")], "a a_3 a_2", "a>a_3"),
        (&[Some("a_2"), Some("a"), Some("a"), Some("a_2")], "a_2 a a_3 a_2_2", "a>a_3 a_2>a_2_2"),
    ] {
        assert_eq!(separated(ids), (now.to_owned(), replaced.to_owned()), "{ids:?}");
    }
}

#[test]
fn a_response_is_truncated_unless_it_ended_and_the_model_had_finished() {
    let mut calls = PartialCalls::default();
    assert!(calls.is_truncated() && !calls.has_ended());
    calls.end_response();
    assert!(!calls.is_truncated() && calls.has_ended());
    assert!(calls.set_stop(Stop::Finished) && !calls.is_truncated());
    assert!(!calls.set_stop(Stop::Unspecified));
    assert!(calls.set_stop(Stop::Unfinished(None)) && calls.is_truncated());
    // Only the early stop of another message is revoked.
    assert!(!calls.set_stop(Stop::Finished) && calls.is_truncated());
    calls.forget_stop();
    assert!(!calls.is_truncated());
}

#[test]
fn a_stop_reason_is_known_in_any_case_and_an_unknown_one_is_early() {
    let reason = |text: Option<&str>| Stop::from_reason(text, &["stop", "tool_calls"]);
    assert_eq!(reason(None), Stop::Unspecified);
    assert_eq!(reason(Some(" ")), Stop::Unspecified);
    assert_eq!(reason(Some("stop")), Stop::Finished);
    assert_eq!(reason(Some(" TOOL_CALLS ")), Stop::Finished);
    assert_eq!(reason(Some(" length")), Stop::Unfinished(Some("length".into())));
    for (stop, end) in [
        (Stop::Finished, Stop::Unfinished(None)),
        (Stop::Unspecified, Stop::Unfinished(None)),
        (Stop::Unfinished(Some("length".into())), Stop::Unfinished(Some("length".into()))),
    ] {
        assert_eq!(stop.without_final_event(), end);
    }
}
