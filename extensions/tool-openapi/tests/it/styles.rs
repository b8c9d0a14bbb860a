//! The styles of parameters, as a server receives them.

use serde_json::{Value, json};
use test_support::http::{Answer, Received, Recorder};
use tool_openapi::OpenApiToolSet;
use tool_runtime::ErrorKind;

use crate::{built, call, document};

/// Calls `GET` of `path` with one argument object, and returns the request or the error.
async fn sent(path: &str, parameters: Value, arguments: &str) -> Result<Received, String> {
    let server = Recorder::new(Answer::json("{}")).await;
    let paths = json!({ path: { "get": { "operationId": "get", "parameters": parameters } } });
    let set = OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url);
    let set = built(set);
    assert!(set.skipped().is_empty(), "{:?}", set.skipped());
    match call(&set, "get", arguments).await {
        Ok(_) => Ok(server.one()),
        Err(error) => {
            assert!(server.take().is_empty());
            let expected = [ErrorKind::BadParameter, ErrorKind::InvalidArguments];
            assert!(expected.contains(&error.kind()), "{error}");
            Err(error.feedback())
        }
    }
}

fn color(location: &str, style: &str, explode: bool) -> Value {
    json!([{ "name": "color", "in": location, "required": location == "path", "style": style, "explode": explode, "schema": {} }])
}

/// The part of the request that has the value.
async fn part(location: &str, style: &str, explode: bool, value: &Value) -> String {
    let path = if location == "path" { "/x{color}y" } else { "/x" };
    let sent = sent(path, color(location, style, explode), &json!({ "color": value }).to_string()).await;
    match (sent, location) {
        (Err(problem), _) => format!("error: {problem}"),
        (Ok(sent), "path") => {
            sent.target.strip_prefix("/x").and_then(|it| it.strip_suffix('y')).unwrap().to_owned()
        }
        (Ok(sent), "query") => sent.target.strip_prefix("/x").unwrap().to_owned(),
        (Ok(sent), "cookie") => sent.header("cookie").unwrap_or("none").to_owned(),
        (Ok(sent), _) => sent.header("color").unwrap_or("none").to_owned(),
    }
}

/// The examples of the specification, with its values: empty, a string, a list and an object.
#[tokio::test]
async fn every_style_is_written_as_the_specification_writes_it() {
    let values = [
        json!(""),
        json!("blue"),
        json!(["blue", "black", "brown"]),
        json!({ "R": 100, "G": 200, "B": 150 }),
    ];
    let each = "?color=blue&color=black&color=brown";
    let cookies = "color=blue; color=black; color=brown";
    let rows: [(&str, &str, bool, [&str; 4]); 18] = [
        (
            "path",
            "matrix",
            false,
            [";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"],
        ),
        (
            "path",
            "matrix",
            true,
            [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
        ),
        ("path", "label", false, [".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
        ("path", "label", true, [".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
        ("path", "simple", false, ["error", "blue", "blue,black,brown", "R,100,G,200,B,150"]),
        ("path", "simple", true, ["error", "blue", "blue,black,brown", "R=100,G=200,B=150"]),
        (
            "query",
            "form",
            false,
            ["?color=", "?color=blue", "?color=blue,black,brown", "?color=R,100,G,200,B,150"],
        ),
        ("query", "form", true, ["?color=", "?color=blue", each, "?R=100&G=200&B=150"]),
        (
            "query",
            "spaceDelimited",
            false,
            ["?color=", "?color=blue", "?color=blue%20black%20brown", "?color=R%20100%20G%20200%20B%20150"],
        ),
        ("query", "spaceDelimited", true, ["?color=", "?color=blue", each, "?R=100&G=200&B=150"]),
        (
            "query",
            "pipeDelimited",
            false,
            ["?color=", "?color=blue", "?color=blue%7Cblack%7Cbrown", "?color=R%7C100%7CG%7C200%7CB%7C150"],
        ),
        ("query", "pipeDelimited", true, ["?color=", "?color=blue", each, "?R=100&G=200&B=150"]),
        (
            "query",
            "deepObject",
            true,
            ["?color=", "?color=blue", each, "?color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
        ),
        ("header", "simple", false, ["", "blue", "blue,black,brown", "R,100,G,200,B,150"]),
        ("header", "simple", true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]),
        (
            "cookie",
            "form",
            false,
            ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
        ),
        ("cookie", "form", true, ["color=", "color=blue", cookies, "R=100; G=200; B=150"]),
        ("cookie", "cookie", true, ["color=", "color=blue", cookies, "R=100; G=200; B=150"]),
    ];
    for (location, style, explode, expected) in rows {
        for (value, expected) in values.iter().zip(expected) {
            let found = part(location, style, explode, value).await;
            let is_same = found == expected || (expected == "error" && found.starts_with("error: "));
            assert!(is_same, "{location} {style} {explode} {value}: {found}"); // P08
        }
    }
}

#[tokio::test]
async fn delimiters_within_values_are_escaped_or_refused() {
    let odd = json!(["a,b", "c d|e", "f&g=h;i.j#k%2C+l/é"]);
    let all = "a%2Cb,c%20d%7Ce,f%26g%3Dh%3Bi.j%23k%252C%2Bl%2F%C3%A9";
    assert_eq!(part("path", "simple", false, &odd).await, all);
    assert_eq!(part("query", "form", false, &odd).await, format!("?color={all}"));
    assert_eq!(
        part("query", "pipeDelimited", false, &odd).await,
        format!("?color={}", all.replace(",", "%7C"))
    );
    assert_eq!(part("cookie", "form", false, &odd).await, format!("color={all}"));
    for (location, style, value) in [
        ("header", "simple", odd.clone()),
        ("header", "simple", json!({ "a,b": 1 })),
        ("header", "simple", json!(" a")),
        ("header", "simple", json!("a\r\nX-Admin: 1")),
        ("cookie", "cookie", json!("a; admin=1")),
        ("cookie", "cookie", json!(["a,b"])),
        ("cookie", "cookie", json!({ "a=b": 1 })),
    ] {
        let found = part(location, style, true, &value).await;
        assert!(found.starts_with("error: the parameter `color` in"), "{style} {value}: {found}");
    }
}

#[tokio::test]
async fn absent_null_and_empty_values_are_not_sent() {
    for value in [json!([]), json!({}), json!(null), json!([null]), json!({ "a": null })] {
        for style in ["form", "spaceDelimited", "pipeDelimited", "deepObject"] {
            for explode in [false, true] {
                assert_eq!(part("query", style, explode, &value).await, "", "{style} {value}");
            }
        }
        assert_eq!(part("header", "simple", false, &value).await, "none");
        assert_eq!(part("cookie", "form", true, &value).await, "none");
        if !value.is_null() {
            for style in ["simple", "label", "matrix"] {
                let found = part("path", style, true, &value).await;
                assert!(found.contains("is empty"), "{style} {value}: {found}");
            }
        }
    }
    let parameters = color("query", "form", true);
    assert_eq!(sent("/x", parameters.clone(), "{}").await.unwrap().target, "/x");
    assert_eq!(sent("/x", parameters, r#"{"color":[1,null,2]}"#).await.unwrap().target, "/x?color=1&color=2");
}

#[tokio::test]
async fn reserved_characters_stay_where_the_document_allows_them_and_never_end_a_value() {
    let reserved = |location: &str, explode: bool| {
        let mut parameters = color(location, if location == "path" { "simple" } else { "form" }, explode);
        parameters[0]["allowReserved"] = json!(true);
        parameters
    };
    let arguments = json!({ "color": ":/?@!$()*,;[]&=+#%2C" }).to_string();
    assert_eq!(
        sent("/x", reserved("query", true), &arguments).await.unwrap().target,
        "/x?color=:/?@!$()*,;[]%26%3D%2B%23%252C"
    );
    let list = json!({ "color": ["a,b", "c"] }).to_string();
    assert_eq!(sent("/x", reserved("query", false), &list).await.unwrap().target, "/x?color=a%2Cb,c");
    assert_eq!(
        sent("/x/{color}", reserved("path", true), &json!({ "color": "../a?b@c" }).to_string())
            .await
            .unwrap()
            .target,
        "/x/..%2Fa%3Fb@c"
    );
}

#[tokio::test]
async fn numbers_and_nested_values_keep_their_text() {
    let value = "{\"color\":{\"a\":12345678901234567890123,\"b\":{\"c\":1.50,\"d\":[true,\"x y\"]}}}";
    let found = sent("/x", color("query", "deepObject", true), value).await.unwrap().target;
    assert_eq!(
        found,
        "/x?color%5Ba%5D=12345678901234567890123&color%5Bb%5D%5Bc%5D=1.50&color%5Bb%5D%5Bd%5D=true&color%5Bb%5D%5Bd%5D=x%20y"
    );
    let found = sent("/x", color("query", "form", true), value).await.unwrap().target;
    assert_eq!(
        found,
        "/x?a=12345678901234567890123&b=%7B%22c%22%3A1.50%2C%22d%22%3A%5Btrue%2C%22x%20y%22%5D%7D"
    );
}

#[tokio::test]
async fn a_member_of_an_object_is_never_another_parameter() {
    let parameters = |location: &str, style: &str| {
        json!([
            { "name": "filter", "in": location, "style": style, "explode": true, "schema": { "type": "object" } },
            { "name": "admin", "in": location, "schema": { "type": "boolean" } },
            { "name": "filter[role]", "in": location, "schema": { "type": "string" } },
        ])
    };
    for (location, style, member) in
        [("query", "form", "admin"), ("query", "deepObject", "role"), ("cookie", "form", "admin")]
    {
        let arguments = json!({ "filter": { "color": "red", member: true } }).to_string();
        let error = sent("/x", parameters(location, style), &arguments).await.unwrap_err();
        assert!(error.contains(member) && error.contains("another parameter"), "{error}");
    }
    let matrix = json!([
        { "name": "filter", "in": "path", "required": true, "style": "matrix", "explode": true, "schema": {} },
        { "name": "admin", "in": "path", "required": true, "style": "matrix", "schema": {} },
    ]);
    let arguments = r#"{"filter":{"admin":true},"admin":false}"#;
    let error = sent("/x{filter}{admin}", matrix, arguments).await.unwrap_err();
    assert!(error.contains("`admin`, which is the name of another parameter in path"), "{error}");
    let arguments = r#"{"filter":{"color":"red"},"admin":true}"#;
    assert_eq!(
        sent("/x", parameters("query", "form"), arguments).await.unwrap().target,
        "/x?color=red&admin=true"
    );
    // Also not the query that the path has.
    let fixed = json!([{ "name": "filter", "in": "query", "schema": { "type": "object" } }]);
    let error = sent("/x?action=list", fixed.clone(), r#"{"filter":{"action":"drop"}}"#).await.unwrap_err();
    assert!(error.contains("`action`"), "{error}");
    let target = sent("/x?action=list", fixed, r#"{"filter":{"page":2}}"#).await.unwrap().target;
    assert_eq!(target, "/x?action=list&page=2");
}

#[tokio::test]
async fn an_object_with_two_members_of_one_name_is_refused() {
    // The second schema is validated by another validator.
    for schema in [json!({}), json!({ "if": true, "then": true })] {
        for arguments in [r#"{"color":{"a":1,"a":2}}"#, r#"{"color":[{"b":{"a":1,"\u0061":2}}]}"#] {
            let parameters = json!([{ "name": "color", "in": "query", "schema": schema }]);
            let error = sent("/x", parameters, arguments).await.unwrap_err();
            assert!(error.contains("twice"), "{error}");
        }
    }
}

#[tokio::test]
async fn parameters_with_content_are_json_or_text() {
    let of = |location: &str, media_type: &str| json!([{ "name": "color", "in": location, "required": location == "path", "content": { media_type: { "schema": {} } } }]);
    let arguments = r#"{"color":{"a":[1,"x&y"]}}"#;
    let encoded = "%7B%22a%22%3A%5B1%2C%22x%26y%22%5D%7D";
    let target = sent("/x", of("query", "application/json"), arguments).await.unwrap().target;
    assert_eq!(target, format!("/x?color={encoded}"));
    let target = sent("/{color}", of("path", "application/json"), arguments).await.unwrap().target;
    assert_eq!(target, format!("/{encoded}"));
    let received = sent("/x", of("header", "application/json"), arguments).await.unwrap();
    assert_eq!(received.header("color"), Some(r#"{"a":[1,"x&y"]}"#));
    let target = sent("/x", of("query", "text/plain"), r#"{"color":"a b"}"#).await.unwrap().target;
    assert_eq!(target, "/x?color=a%20b");
}

#[tokio::test]
async fn a_query_as_a_whole_is_a_form_or_json() {
    let of = |media_type: &str| {
        json!([{ "name": "q", "in": "querystring", "content": { media_type: {
            "schema": { "type": "object" },
            "encoding": { "tags": { "style": "form", "explode": false } },
        } } }])
    };
    let arguments = r#"{"q":{"a":"1&2","tags":["x","y"],"n":null}}"#;
    let target = sent("/x", of("application/x-www-form-urlencoded"), arguments).await.unwrap().target;
    assert_eq!(target, "/x?a=1%262&tags=x,y");
    let target = sent("/x", of("application/json"), r#"{"q":{"a":"1&2"}}"#).await.unwrap().target;
    assert_eq!(target, "/x?%7B%22a%22%3A%221%262%22%7D");
}
