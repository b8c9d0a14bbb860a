//! Assignment of the parts of a stream to calls: each belongs to one call, or is an error that names it.

use proptest::{collection::vec, option, prelude::*, sample::select, test_runner::TestCaseResult};
use serde_json::{Value, json};
use tool_runtime::dialect::Dialect;

use super::{assembled, assistant::message, bound, call, codes, cut_off, told, whole};

/// Returns a chunk with one part of a call, in which `null` stands for an absent member.
fn chunk(index: Value, id: Value, name: Value, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    let part = json!({ "index": index, "id": id, "type": "function", "function": function });
    json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [part] }, "finish_reason": null }] })
}

fn end() -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })
}

/// Returns the names and arguments of the calls of a chat, or the first error.
fn chat(events: &[Value]) -> Result<Vec<(String, String)>, String> {
    let mut assembler = bound(&Dialect::openai_chat()).assembler();
    events
        .iter()
        .chain([&end()])
        .try_for_each(|event| assembler.push(event).map(drop))
        .map_err(|why| why.to_string())?;
    let calls = told(&assembler.finish().calls);
    Ok(calls.into_iter().map(|(_, name, arguments)| (name, arguments)).collect())
}

fn pair(name: &str, arguments: &str) -> (String, String) {
    (name.to_owned(), arguments.to_owned())
}

#[test]
fn a_part_of_a_chat_belongs_to_one_call() {
    let none = Value::Null;
    let (a, b) = (r#"{"a":1}"#, r#"{"b":2}"#);
    let both = Ok(vec![pair("add", a), pair("draw", b)]);
    let twice = Ok(vec![pair("add", a), pair("add", b)]);
    let cases = [
        // Without an index, a name starts a call.
        (
            vec![
                chunk(none.clone(), none.clone(), json!("add"), a),
                chunk(none.clone(), none.clone(), json!("draw"), b),
            ],
            both.clone(),
        ),
        (
            vec![
                chunk(none.clone(), json!(""), json!("add"), "{\"a\""),
                chunk(none.clone(), json!(""), json!(""), ":1}"),
                chunk(none.clone(), json!(""), json!("add"), "{\"b\":"),
                chunk(none.clone(), none.clone(), none.clone(), "2}"),
            ],
            twice.clone(),
        ),
        // Without an index, the id identifies the call in any order of parts.
        (
            vec![
                chunk(none.clone(), json!("1"), json!("add"), "{\"a\""),
                chunk(none.clone(), json!("2"), json!("draw"), "{\"b\""),
                chunk(none.clone(), json!("1"), none.clone(), ":1}"),
                chunk(none.clone(), json!("2"), json!("draw"), ":2}"),
            ],
            both.clone(),
        ),
        // At the same index, a new id starts a call.
        (
            vec![chunk(json!(0), json!("1"), json!("add"), a), chunk(json!(0), json!("2"), json!("draw"), b)],
            both.clone(),
        ),
        (
            vec![
                chunk(json!(0), json!("1"), json!("add"), ""),
                chunk(json!(0), json!("2"), json!("draw"), ""),
                chunk(json!(0), json!("1"), none.clone(), a),
                chunk(json!(0), json!("2"), none.clone(), b),
            ],
            both.clone(),
        ),
        // A name after complete arguments also starts a call.
        (
            vec![
                chunk(json!(0), none.clone(), json!("add"), a),
                chunk(json!(0), none.clone(), json!("draw"), b),
            ],
            both.clone(),
        ),
        (
            vec![
                chunk(json!(0), json!(""), json!("add"), "{\"a\""),
                chunk(json!(0), json!(""), none.clone(), ":1}"),
                chunk(json!(0), json!(""), json!("add"), "{\"b\""),
                chunk(json!(0), json!(""), none.clone(), ":2}"),
            ],
            twice,
        ),
        // A repeated name before that, or a late id, belongs to the same call.
        (
            vec![
                chunk(json!(0), none.clone(), json!("add"), "{\"a\""),
                chunk(json!(0), json!("1"), json!("add"), ":"),
                chunk(json!(0), json!("1"), json!("add"), "1}"),
                chunk(json!(0), json!("1"), json!("add"), ""),
            ],
            Ok(vec![pair("add", a)]),
        ),
    ];
    for (events, expected) in cases {
        assert_eq!(chat(&events), expected, "{events:?}");
    }
}

#[test]
fn another_name_after_the_arguments_began_costs_its_call_alone() {
    let none = Value::Null;
    let other = chunk(json!(7), json!("7"), json!("draw"), "{}");
    let cases = [
        vec![
            chunk(json!(0), none.clone(), json!("add"), "{"),
            chunk(json!(0), none.clone(), json!("draw"), "}"),
        ],
        vec![
            chunk(json!(0), json!("1"), json!("add"), "{}"),
            chunk(json!(0), json!("1"), json!("draw"), "{}"),
        ],
        vec![
            chunk(none.clone(), json!("1"), json!("add"), "{}"),
            chunk(none, json!("1"), json!("draw"), "{}"),
        ],
    ];
    for mut events in cases {
        events.extend([other.clone(), end()]);
        let done = assembled(&Dialect::openai_chat(), &events);
        assert_eq!(
            cut_off(&done.calls).iter().map(|call| &*call.1).collect::<Vec<_>>(),
            ["add"],
            "{events:?}"
        );
        assert_eq!(whole(&done.calls), [call("7", "draw", "{}")], "{events:?}");
        assert_eq!(codes(&done), ["contradictory_call"], "{events:?}");
    }
}

#[test]
fn duplicate_arguments_cost_their_call_alone() {
    let given = |arguments: Value| {
        let part = json!({ "index": 0, "id": "1", "function": { "name": "add", "arguments": arguments } });
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [part] } }] })
    };
    let (text, value) = (given(json!("{\"a\":1}")), given(json!({ "a": 1 })));
    for events in [[text.clone(), value.clone()], [value.clone(), text], [value.clone(), value.clone()]] {
        assert_eq!(chat(&events), Ok(vec![pair("add", "{\"a\":1}{\"a\":1}")]));
    }
    assert_eq!(chat(&[value, given(json!(""))]), Ok(vec![pair("add", "{\"a\":1}")]));
}

// A repeated name alone is ambiguous: a call without arguments or a repetition. It does not run.
#[test]
fn a_repeated_name_without_arguments_is_a_call_that_does_not_run() {
    let part = |arguments: &str| chunk(json!(0), Value::Null, json!("add"), arguments);
    let events = [part("{\"a\":1}"), part(""), end()];
    let done = assembled(&Dialect::openai_chat(), &events);
    let cut: Vec<_> = done.calls.iter().map(|call| call.completed().is_err()).collect();
    assert_eq!(cut, [false, true]);
}

#[test]
fn custom_tool_calls_are_the_same_in_streams_and_whole_responses() {
    let part = |custom: Value| {
        let part = json!({ "index": 0, "id": "1", "type": "custom", "custom": custom });
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [part] } }] })
    };
    let events = [part(json!({ "name": "run", "input": "1 +" })), part(json!({ "input": " 1" })), end()];
    let done = assembled(&Dialect::openai_chat(), &events);
    assert_eq!(told(&done.calls), [call("1", "run", "1 + 1")]);
    assert!(cut_off(&done.calls).is_empty());
    let call = json!({ "id": "1", "type": "custom", "custom": { "name": "run", "input": "1 + 1" } });
    assert_eq!(message(&done)["tool_calls"], json!([call]));
}

#[test]
fn a_function_call_with_two_names_does_not_run() {
    let part = |call: Value| json!({ "choices": [{ "index": 0, "delta": { "function_call": call } }] });
    let events = [
        part(json!({ "name": "add", "arguments": "{}" })),
        part(json!({ "name": "draw", "arguments": "{}" })),
        end(),
    ];
    let done = assembled(&Dialect::openai_chat(), &events);
    assert_eq!((cut_off(&done.calls).len(), codes(&done)), (1, vec!["contradictory_call"]));
}

fn item(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments, "status": "completed" })
}

fn responses(events: &[Value]) -> Result<Vec<(String, String, String)>, String> {
    let mut assembler = bound(&Dialect::openai_responses()).assembler();
    events.iter().try_for_each(|event| assembler.push(event).map(drop)).map_err(|why| why.to_string())?;
    let calls = assembler.finish().calls;
    assert!(cut_off(&calls).is_empty(), "{events:?}");
    Ok(told(&calls))
}

#[test]
fn the_events_of_an_item_belong_to_one_call() {
    let (a, b) = (r#"{"a":1}"#, r#"{"b":2}"#);
    let event = |kind: &str, index: u64, item: Value| json!({ "type": format!("response.output_item.{kind}"), "output_index": index, "item": item });
    let delta = |index: u64, item: &str, delta: &str| json!({ "type": "response.function_call_arguments.delta", "output_index": index, "item_id": item, "delta": delta });
    let ended = |output: Value| json!({ "type": "response.completed", "response": { "status": "completed", "output": output } });
    let both = [call("1", "add", a), call("2", "draw", b)];
    let cases = [
        // A done event without an added event, also from servers that number all items 0.
        vec![event("done", 0, item("1", "add", a)), event("done", 1, item("2", "draw", b)), ended(json!([]))],
        vec![event("done", 0, item("1", "add", a)), event("done", 0, item("2", "draw", b)), ended(json!([]))],
        vec![
            event("added", 0, item("1", "add", "")),
            event("done", 0, item("1", "add", a)),
            event("done", 0, item("2", "draw", b)),
            ended(json!([])),
        ],
        // Several items with the same index are separated by their ids.
        vec![
            event("added", 0, item("1", "add", "")),
            event("added", 0, item("2", "draw", "")),
            delta(0, "fc_1", a),
            delta(0, "fc_2", b),
            event("done", 0, item("1", "add", a)),
            event("done", 0, item("2", "draw", "")),
            ended(json!([item("1", "add", a), item("2", "draw", b)])),
        ],
        // Some servers change the id of an item in each event, or repeat the item.
        vec![
            event("added", 0, item("1", "add", "")),
            event("added", 0, item("1", "add", "")),
            delta(0, "x", a),
            event("done", 0, item("1", "add", a)),
            event("added", 1, item("2", "draw", "")),
            delta(1, "y", b),
            event("done", 1, item("2", "draw", b)),
            ended(json!([])),
        ],
        // Some servers send the item only at the end.
        vec![
            event("done", 0, item("1", "add", a)),
            ended(json!([item("1", "add", a), item("2", "draw", b)])),
        ],
        vec![ended(json!([item("1", "add", a), item("2", "draw", b)]))],
    ];
    for events in cases {
        assert_eq!(responses(&events).unwrap(), both, "{events:?}");
    }
    let unknown = [event("done", 0, item("1", "add", a)), delta(1, "fc_2", b), ended(json!([]))];
    let done = assembled(&Dialect::openai_responses(), &unknown);
    assert_eq!((whole(&done.calls), codes(&done)), (vec![call("1", "add", a)], vec!["unreadable_part"]));
    assert_eq!(done.diagnostics[0].location.pointer, "/output_index");
    let renamed =
        [event("added", 0, item("1", "add", a)), event("done", 0, item("1", "draw", a)), ended(json!([]))];
    let done = assembled(&Dialect::openai_responses(), &renamed);
    assert_eq!((cut_off(&done.calls).len(), codes(&done)), (1, vec!["contradictory_call"]));
}

#[test]
fn an_empty_end_event_removes_no_arguments() {
    let begins =
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("1", "add", "") });
    let delta = json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": "{\"a\":1}" });
    let done = json!({ "type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": "" });
    let ended = json!({ "type": "response.completed", "response": { "status": "completed" } });
    assert_eq!(responses(&[begins, delta, done, ended]).unwrap(), [call("1", "add", "{\"a\":1}")]);
}

#[test]
fn a_delta_of_an_unknown_block_costs_itself() {
    let part = |index: u64| json!({ "type": "content_block_delta", "index": index, "delta": { "type": "input_json_delta", "partial_json": "{}" } });
    let other = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "server_tool_use", "id": "s", "name": "search", "input": {} } });
    let mut assembler = bound(&Dialect::anthropic()).assembler();
    assembler.push(&other).unwrap();
    assembler.push(&part(0)).unwrap();
    assembler.push(&part(1)).unwrap();
    assert_eq!(
        assembler.finish().diagnostics[0].to_string(),
        "warning: the part of the response at `/index` is left out: expected the index of a block that has begun, got a \
         number; report it to the provider"
    );
}

#[test]
fn a_delta_without_an_index_belongs_to_the_last_block() {
    let begins = |index: u64, id: &str| json!({ "type": "content_block_start", "index": index, "content_block": { "type": "tool_use", "id": id, "name": "add", "input": {} } });
    let part = |text: &str| json!({ "type": "content_block_delta", "delta": { "type": "input_json_delta", "partial_json": text } });
    let mut assembler = bound(&Dialect::anthropic()).assembler();
    for event in
        [begins(0, "a"), part(r#"{"a":1"#), part(r#","b":2}"#), begins(1, "b"), part(r#"{"a":3,"b":4}"#)]
    {
        assembler.push(&event).unwrap();
    }
    let calls = assembler.finish().calls;
    let arguments: Vec<_> = calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"a":1,"b":2}"#, r#"{"a":3,"b":4}"#]);
    // Before any block, it belongs to none.
    let mut assembler = bound(&Dialect::anthropic()).assembler();
    assembler.push(&part("{}")).unwrap();
    let done = assembler.finish();
    assert_eq!((done.calls.len(), done.diagnostics.len()), (0, 1));
}

#[test]
fn duplicate_arguments_of_a_candidate_cost_its_call() {
    let part =
        |call: Value| json!({ "candidates": [{ "content": { "parts": [{ "functionCall": call }] } }] });
    let begins = part(json!({ "id": "1", "name": "add", "args": { "a": 1 }, "willContinue": true }));
    let again = part(json!({ "id": "1", "name": "add", "args": { "b": 1 } }));
    let done = assembled(&Dialect::gemini(), &[begins, again]);
    assert_eq!(
        (cut_off(&done.calls).len(), codes(&done)),
        (1, vec!["unreadable_part", "contradictory_call"])
    );
    assert_eq!(done.diagnostics[0].location.pointer, "/candidates/0/content/parts/0/functionCall/args");
}

/// The members that assign the parts of a stream to calls.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Told {
    ByNumber,
    ByNumberAndId,
    /// All indices are 0.
    ById,
    ByIdAlone,
    /// Only the first part of a call has a name, and calls are sequential.
    ByNameAlone,
    /// The same with all indices 0; complete arguments end a call.
    ByNameUnderZero,
    Responses,
    Anthropic,
}

fn object() -> impl Strategy<Value = String> {
    let text = "[ -~é\"\\\\{}\\[\\]]{0,12}".prop_map(Value::from);
    let value = text.clone().prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-z\"}{]{1,3}", inner), 0..3).prop_map(|it| it.into_iter().collect())
        ]
    });
    vec(("[a-c]", value), 0..3)
        .prop_map(|it| it.into_iter().collect::<serde_json::Map<_, _>>())
        .prop_map(|it| Value::from(it).to_string())
}

/// Splits `text` at `cuts` into at least one piece.
pub(super) fn pieces(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let ends: Vec<_> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
    let mut cuts: Vec<_> = cuts.iter().map(|cut| *cut.get(&ends)).chain([0, text.len()]).collect();
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| text[pair[0]..pair[1]].to_owned()).collect()
}

/// Returns the events of a part of the call at `at`.
fn events_of(
    how: Told,
    at: usize,
    name: &str,
    piece: &str,
    is_first: bool,
    is_last: bool,
    text: &str,
) -> Vec<Value> {
    let (id, first) = (json!(at.to_string()), if is_first { json!(name) } else { Value::Null });
    let none = Value::Null;
    let later = if is_first { id.clone() } else { Value::Null };
    match how {
        Told::ByNumber => vec![chunk(json!(at), later, first, piece)],
        Told::ByNumberAndId => vec![chunk(json!(at), id, json!(name), piece)],
        Told::ById => vec![chunk(json!(0), id, first, piece)],
        Told::ByIdAlone => vec![chunk(none, id, first, piece)],
        Told::ByNameAlone => vec![chunk(none.clone(), none, first, piece)],
        Told::ByNameUnderZero => vec![chunk(json!(0), json!(""), first, piece)],
        Told::Responses => {
            let event = |kind: &str, arguments: &str| json!({ "type": format!("response.output_item.{kind}"), "output_index": at, "item": item(&at.to_string(), name, arguments) });
            let delta = json!({ "type": "response.function_call_arguments.delta", "output_index": at, "item_id": "?", "delta": piece });
            let begins = is_first.then(|| event("added", ""));
            begins.into_iter().chain([delta]).chain(is_last.then(|| event("done", text))).collect()
        }
        Told::Anthropic => {
            let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
            let begins = is_first
                .then(|| json!({ "type": "content_block_start", "index": at, "content_block": block }));
            let delta = json!({ "type": "content_block_delta", "index": at, "delta": { "type": "input_json_delta", "partial_json": piece } });
            let stops = is_last.then(|| json!({ "type": "content_block_stop", "index": at }));
            begins.into_iter().chain([delta]).chain(stops).collect()
        }
    }
}

fn assembles(
    how: Told,
    calls: &[(String, String, Vec<prop::sample::Index>)],
    turns: &[prop::sample::Index],
) -> TestCaseResult {
    let mut waiting: Vec<_> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, text, cuts))| (at, name, text, pieces(text, cuts).into_iter().peekable(), true))
        .collect();
    let in_order = matches!(how, Told::ByNameAlone | Told::ByNameUnderZero);
    // The first parts are in the order of the calls, the others in any order.
    let mut events = Vec::new();
    let mut turns = turns.iter().cycle();
    let mut begun = 0;
    while !waiting.is_empty() {
        let open = if in_order { 1 } else { (begun + 1).min(waiting.len()) };
        let place = turns.next().map_or(0, |turn| turn.index(open));
        let (at, name, text, pieces, is_first) = &mut waiting[place];
        if let Some(piece) = pieces.next() {
            events.extend(events_of(how, *at, name, &piece, *is_first, pieces.peek().is_none(), text));
        }
        begun += usize::from(*is_first);
        *is_first = false;
        if pieces.peek().is_none() {
            drop(waiting.remove(place));
            begun -= 1;
        }
    }
    let (dialect, last) = match how {
        Told::Responses => {
            (Dialect::openai_responses(), vec![json!({ "type": "response.completed", "response": {} })])
        }
        Told::Anthropic => (
            Dialect::anthropic(),
            vec![
                json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
                json!({ "type": "message_stop" }),
            ],
        ),
        _ => (Dialect::openai_chat(), vec![end()]),
    };
    events.extend(last);
    let done = assembled(&dialect, &events);
    let got: Vec<_> = told(&done.calls).into_iter().map(|(_, name, text)| (name, text)).collect();
    let expected: Vec<_> = calls.iter().map(|(name, text, _)| (name.clone(), text.clone())).collect();
    prop_assert_eq!(got, expected, "{:?}", events);
    prop_assert!(cut_off(&done.calls).is_empty());
    Ok(())
}

fn arbitrary_part()
-> impl Strategy<Value = (Option<u64>, Option<&'static str>, Option<&'static str>, &'static str)> {
    let arguments = select(vec!["", " ", "{\"b\":", "2}", "{\"a\":1}", "\"a\"", ":1"]);
    (
        option::of(0..3_u64),
        option::of(select(vec!["", "1", "2"])),
        option::of(select(vec!["", "add", "sub"])),
        arguments,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_do_not_depend_on_the_order_and_size_of_parts(
        how in select(vec![Told::ByNumber, Told::ByNumberAndId, Told::ById, Told::ByIdAlone, Told::ByNameAlone, Told::ByNameUnderZero, Told::Responses, Told::Anthropic]),
        calls in vec((select(vec!["add".to_owned(), "sub".to_owned()]), object(), vec(any::<prop::sample::Index>(), 0..6)), 1..5),
        turns in vec(any::<prop::sample::Index>(), 1..24),
    ) {
        assembles(how, &calls, &turns)?;
    }

    #[test]
    fn no_part_of_a_stream_is_dropped_silently(parts in vec(arbitrary_part(), 1..12)) {
        let mut assembler = bound(&Dialect::openai_chat()).assembler();
        let (mut text, mut names, mut ids) = (String::new(), Vec::new(), Vec::new());
        for (index, id, name, arguments) in &parts {
            if assembler.push(&chunk(json!(index), json!(id), json!(name), arguments)).is_ok() {
                text.push_str(arguments);
                names.extend(name.filter(|name| !name.is_empty()));
                // Without a name, a part continues its call, whose id is the first one.
                ids.extend(id.filter(|id| !id.is_empty() && name.is_some_and(|name| !name.is_empty())));
            }
        }
        let done = assembler.finish();
        let contradictions: Vec<_> =
            done.diagnostics.iter().filter(|it| it.code == "contradictory_call").map(ToString::to_string).collect();
        let calls = done.calls;
        let sorted = |text: &str| {
            let mut all: Vec<_> = text.chars().filter(|letter| *letter != ' ').collect();
            all.sort_unstable();
            all
        };
        // `{}` stands for absent arguments; no combination of pieces produces it.
        let texts = calls.iter().map(|call| call.arguments.as_str()).filter(|text| *text != "{}");
        prop_assert_eq!(sorted(&texts.collect::<String>()), sorted(&text));
        // A name that contradicts its call is named by a diagnostic in place of the call.
        let is_kept = |name: &&str| {
            calls.iter().any(|call| call.name.contains(name)) || contradictions.iter().any(|it| it.contains(*name))
        };
        prop_assert!(names.iter().all(is_kept), "{contradictions:?}");
        prop_assert!(ids.iter().all(|id| calls.iter().any(|call| call.id.to_string() == **id)));
    }
}
