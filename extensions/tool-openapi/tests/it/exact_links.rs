//! The values of links to the next page, exactly, and bodies that are not shown.

use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::OpenApiToolSet;

use crate::{built, call, document, responses::api};

/// The next page of a call of `method` whose response has a link with `query`.
async fn next(method: &str, query: &str) -> Value {
    let integers = json!({ "type": "array", "items": { "type": "integer" } });
    let deep = json!({ "type": "object", "properties": {
        "n": { "type": "integer" }, "l": integers, "o": { "type": "object", "properties": { "x": { "type": "integer" } } },
    } });
    let flat = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let of = |name: &str, schema: Value| json!({ "name": name, "in": "query", "schema": schema });
    let in_one = |name: &str, style: &str, schema: &Value| json!({ "name": name, "in": "query", "style": style, "explode": false, "schema": schema });
    let parameters = json!([
        of("num", json!({ "type": "number" })),
        of("int", json!({ "type": "integer" })),
        of("flag", json!({ "type": "boolean" })),
        of("text", json!({ "type": "string" })),
        of("any", json!({})),
        of("either", json!({ "anyOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Page" }] })),
        of("rep", integers.clone()),
        in_one("csv", "form", &integers),
        in_one("space", "spaceDelimited", &json!({ "type": "array" })),
        in_one("flat", "form", &flat),
        json!({ "name": "deep", "in": "query", "style": "deepObject", "explode": true, "schema": deep }),
        json!({ "name": "json", "in": "query", "content": { "application/json": {} } }),
        json!({ "name": "object", "in": "query", "content": { "application/json": { "schema": { "type": "object" } } } }),
        json!({ "name": "tag", "in": "header", "schema": { "type": "string" } }),
        json!({ "name": "none", "in": "header", "schema": { "type": ["string", "null"] } }),
    ]);
    let paths = json!({ "/pets": { method: { "operationId": "list", "parameters": parameters } } });
    let components = json!({ "components": { "schemas": { "Page": { "type": "integer" } } } });
    let link = format!("</pets?{query}>; rel=next");
    let server = Recorder::new(Answer::json("[]").with_header("link", &link)).await;
    let set = built(OpenApiToolSet::builder(document(paths, components)).base_url(&server.url));
    let output = call(&set, "list", r#"{"text":"old","tag":"t","none":null}"#).await.unwrap();
    output.details().unwrap()["next"].clone()
}

#[tokio::test]
async fn a_value_of_a_link_has_the_type_of_its_parameter() {
    for (query, mut expected) in [
        ("", json!({})),
        ("num=1.5&int=7&flag=true", json!({ "num": 1.5, "int": 7, "flag": true })),
        ("num=7&int=1.5&flag=1", json!({ "num": 7, "int": "1.5", "flag": "1" })),
        ("num=x&int=true&flag=null", json!({ "num": "x", "int": "true", "flag": "null" })),
        ("text=7&any=7", json!({ "text": "7", "any": "7" })),
        ("text=a%2Bb+c", json!({ "text": "a+b c" })),
        ("&text&&any=", json!({ "text": "", "any": "" })),
        ("either=7", json!({ "either": 7 })),
        ("either=null", json!({ "either": "null" })),
        ("rep=1&rep=2", json!({ "rep": [1, 2] })),
        ("rep=1,2", json!({ "rep": ["1,2"] })),
        ("csv=1,2", json!({ "csv": [1, 2] })),
        ("csv=1%2C2", json!({ "csv": [1, 2] })),
        ("csv=1,2%2C3", json!({ "csv": [1, "2,3"] })),
        ("space=a+b%20c,d", json!({ "space": ["a", "b", "c,d"] })),
        ("flat=n,7", json!({ "flat": { "n": 7 } })),
        ("flat=a,7,c,d", json!({ "flat": { "a": "7", "c": "d" } })),
        ("json=%7B%22a%22:1%7D", json!({ "json": { "a": 1 } })),
        ("object=%7B%22a%22:1%7D", json!({ "object": { "a": 1 } })),
        (
            "deep[n]=7&deep[l]=1&deep%5Bl%5D=2&deep[o][x]=3&deep[m]=4",
            json!({ "deep": { "n": 7, "l": [1, 2], "o": { "x": 3 }, "m": "4" } }),
        ),
    ] {
        // Arguments that are no part of the query stay.
        expected["tag"] = json!("t");
        assert_eq!(next("get", query).await, json!({ "arguments": expected }), "{query}");
    }
}

#[tokio::test]
async fn a_link_that_no_arguments_express_is_a_url() {
    let keys = |count: usize| format!("deep{}=1", "[a]".repeat(count));
    let deepest = next("get", &keys(32)).await["arguments"]["deep"].clone();
    assert_eq!(deepest.to_string().matches("\"a\"").count(), 32);
    let too_deep = keys(33);
    for query in [
        "unknown=1",
        "deeper=1",
        "text=a&text=b",
        "csv=1&csv=2",
        "flat=n,7,m",
        "flat=n,7&flat=m,8",
        "json=%7B",
        "json=1&json=2",
        "deep=1",
        "deep[n=1",
        "deep[n]x=1",
        "deep[n]=1&deep[n]=2",
        "deep[n]=1&deep[n][x]=2",
        "deep[l][x]=1&deep[l]=2",
        &too_deep,
    ] {
        let next = next("get", query).await;
        assert!(next.get("arguments").is_none() && next["url"].is_string(), "{query}: {next}");
    }
    // The parameter that is the query as a whole is no argument of its own.
    let content = json!({ "application/x-www-form-urlencoded": { "schema": { "type": "object" } } });
    let parameter = json!({ "name": "all", "in": "querystring", "content": content });
    let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": [parameter] } } });
    for query in ["", "?a=1"] {
        let answer = Answer::json("[]").with_header("link", &format!("</pets{query}>; rel=next"));
        let server = Recorder::new(answer).await;
        let set = built(OpenApiToolSet::builder(document(paths.clone(), json!({}))).base_url(&server.url));
        let output = call(&set, "list", "{}").await.unwrap();
        let expected = json!({ "url": format!("{}/pets{query}", server.url) });
        assert_eq!(output.details().unwrap()["next"], expected, "{query}");
    }
    // Another call of the operation changes something.
    let next = next("post", "int=7").await;
    assert!(next["url"].as_str().unwrap().ends_with("/pets?int=7"), "{next}");
}

#[tokio::test]
async fn a_body_that_is_empty_or_cut_is_no_content() {
    for media_type in ["image/png", "audio/wav", "application/zip", "text/plain", "application/json", ""] {
        let server = Recorder::new(Answer::of(200, media_type, "")).await;
        let output = call(&built(api("get", None).base_url(&server.url)), "op", "{}").await.unwrap();
        assert_eq!((output.content().len(), output.structured()), (1, None), "{media_type}");
        assert!(output.text().ends_with("\n200 OK"), "{media_type}: {}", output.text());
    }
    for (media_type, what) in [("", "bytes"), ("audio/wav", "audio/wav"), ("a/b; q=1", "a/b")] {
        for (length, is_shown) in [(3, true), (4, false)] {
            let server = Recorder::new(Answer::of(200, media_type, vec![0xff; length])).await;
            let set = built(api("get", None).read_limit(3).base_url(&server.url));
            let output = call(&set, "op", "{}").await.unwrap();
            let note = format!("\n\n[the response is {what} of more than 3 bytes, and not shown]\n");
            assert_eq!(output.text().contains(&note), !is_shown, "{media_type} {length}: {}", output.text());
            assert_eq!(output.content().len(), if is_shown { 2 } else { 1 }, "{media_type} {length}");
            assert_eq!(output.details().unwrap()["bytes"], 3, "{media_type} {length}");
        }
    }
}
