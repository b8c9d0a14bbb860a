//! Instructions and tools that are added to a request.

#![allow(clippy::unwrap_used, reason = "a test may")]

use super::*;

#[test]
fn an_instruction_is_appended_once_as_a_paragraph_or_a_block() {
    let instruct = |mut body: Value, takes_blocks: bool| {
        append_instruction_to_field(&mut body, "system", "Be brief.", takes_blocks)
            .map(|()| body)
            .map_err(|error| error.to_string())
    };
    let of = |system: Value| json!({ "system": system });
    for (before, after) in [
        (json!({}), "Be brief."),
        (of(Value::Null), "Be brief."),
        (of(json!("")), "Be brief."),
        (of(json!("Hi.")), "Hi.\n\nBe brief."),
        (of(json!("Be brief.")), "Be brief."),
        (of(json!("Hi.\n\nBe brief.\n\nBye.")), "Hi.\n\nBe brief.\n\nBye."),
        (of(json!("Hi.\nBe brief.")), "Hi.\nBe brief.\n\nBe brief."),
        (of(json!("Be brief. Or not.")), "Be brief. Or not.\n\nBe brief."),
        (of(json!("Be brief.\n\nDo. Be brief.")), "Be brief.\n\nDo. Be brief."),
    ] {
        for takes_blocks in [true, false] {
            assert_eq!(instruct(before.clone(), takes_blocks), Ok(of(json!(after))), "{before}");
        }
    }
    let block = |text: &str| json!({ "type": "text", "text": text });
    let blocks = of(json!([block("Hi.")]));
    assert_eq!(instruct(blocks.clone(), true), Ok(of(json!([block("Hi."), block("Be brief.")]))));
    let known = of(json!([{ "text": "Be brief.", "cache_control": {} }]));
    assert_eq!(instruct(known.clone(), true), Ok(known));
    assert_eq!(instruct(blocks, false), Err("/system: expected a text, got a list".to_owned()));
    let odd = "/system: expected a text or a list of blocks, got a number";
    assert_eq!(instruct(of(json!(1)), true), Err(odd.to_owned()));
    assert_eq!(instruct(json!([]), false), Err("/system: expected a text, got nothing".to_owned()));
}

#[test]
fn each_tool_is_added_once_and_functions_to_the_list_of_functions() {
    let add = |mut request: Value, tools: Value| {
        append_missing_tools(&mut request, tools.as_array().unwrap())
            .map(|()| request)
            .map_err(|error| error.to_string())
    };
    let (a, b) = (json!({ "name": "a" }), json!({ "name": "b" }));
    for (before, tools, after) in [
        (json!({}), json!([]), json!({})),
        (json!({ "tools": null }), json!([]), json!({ "tools": null })),
        (json!({}), json!([a, b, a]), json!({ "tools": [a, b] })),
        (json!({ "tools": null }), json!([a]), json!({ "tools": [a] })),
        (json!({ "tools": [b] }), json!([a, b]), json!({ "tools": [b, a] })),
    ] {
        assert_eq!(add(before.clone(), tools), Ok(json!(after)), "{before}");
    }
    for own in DECLARATIONS {
        for new in DECLARATIONS {
            let before = json!({ "tools": [{ "search": {} }, { own: [a] }] });
            let tools = json!([{ new: [a, b] }, { "search": {} }, { "code": {} }]);
            let after = json!({ "tools": [{ "search": {} }, { own: [a, b] }, { "code": {} }] });
            assert_eq!(add(before, tools), Ok(after), "{own} {new}");
        }
    }
    let declared = json!([{ "functionDeclarations": [a] }]);
    assert_eq!(add(json!({ "tools": [b] }), declared.clone()), Ok(json!({ "tools": [b, declared[0]] })));
    let odd = json!({ "tools": [{ "functionDeclarations": 1 }] });
    assert_eq!(add(odd, declared.clone()).unwrap()["tools"][1], declared[0]);
    assert_eq!(add(json!([]), json!([a])), Err("the root: expected an object, got a list".to_owned()));
    assert_eq!(
        add(json!({ "tools": "x" }), json!([])),
        Err("/tools: expected a list, got a text".to_owned())
    );
}
