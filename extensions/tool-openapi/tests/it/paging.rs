//! Links to the next page.

use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::OpenApiToolSet;

use crate::{built, call, document};

/// Calls the operation with a page and many styles, whose response has the header `link` with the URL of the server for `{}`.
async fn next(link: &str) -> (Value, String, Recorder) {
    let query = |name: &str, others: Value| {
        let mut parameter = json!({ "name": name, "in": "query" });
        parameter.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        parameter
    };
    let list = json!({ "type": "array", "items": { "type": "integer" } });
    let parameters = json!([
        { "name": "owner", "in": "path", "required": true, "schema": { "type": "string" } },
        query("page", json!({ "schema": { "$ref": "#/components/schemas/Page" } })),
        query("q", json!({ "schema": { "type": "string" } })),
        query("exact", json!({ "schema": { "type": "boolean" } })),
        query("ids", json!({ "schema": list })),
        query("csv", json!({ "explode": false, "schema": list })),
        query("pipes", json!({ "style": "pipeDelimited", "explode": false, "schema": { "type": "array" } })),
        query("deep", json!({ "style": "deepObject", "explode": true, "schema": { "type": "object", "properties": { "n": { "type": "integer" } } } })),
        query("flat", json!({ "explode": false, "schema": { "type": "object" } })),
        query("json", json!({ "content": { "application/json": {} } })),
    ]);
    let paths = json!({ "/of/{owner}?v=1": { "get": { "operationId": "list", "parameters": parameters } } });
    let components = json!({ "components": { "schemas": { "Page": { "type": ["integer", "null"] } } } });
    let link = link.to_owned();
    let server = Recorder::answering(move |request| {
        let url = format!("http://{}", request.header("host").unwrap());
        Answer::json("[]").with_header("link", &link.replace("{}", &url))
    })
    .await;
    let set = built(OpenApiToolSet::builder(document(paths, components)).base_url(&server.url));
    let output = call(&set, "list", r#"{"owner":"a/b","page":1,"q":"old"}"#).await.unwrap();
    let details = output.details().unwrap()["next"].clone();
    server.take();
    (details, output.text().lines().last().unwrap().to_owned(), server)
}

#[tokio::test]
async fn a_link_to_the_next_page_is_the_arguments_of_the_next_call() {
    let rows = [
        ("<?v=1&page=2>; rel=next", json!({ "page": 2 })),
        ("<{}/of/a%2Fb?v=1&page=2&q=a+b%26>; rel=\"next\"", json!({ "page": 2, "q": "a b&" })),
        (
            "</of/a%2Fb?page=3>; rel=last, </of/a%2Fb?page=2&exact=true>; rel=\"prev next\"",
            json!({ "page": 2, "exact": true }),
        ),
        (
            "<?q=12&ids=1&ids=2&csv=3%2C4&pipes=a|b>; rel=next",
            json!({ "q": "12", "ids": [1, 2], "csv": [3, 4], "pipes": ["a", "b"] }),
        ),
        (
            "<?deep%5Bn%5D=7&deep[s]=x&flat=R,100&json=%7B%22a%22%3A1%7D>; rel=next",
            json!({ "deep": { "n": 7, "s": "x" }, "flat": { "R": "100" }, "json": { "a": 1 } }),
        ),
    ];
    for (link, mut expected) in rows {
        expected["owner"] = json!("a/b");
        let (next, text, _server) = next(link).await;
        assert_eq!(next["arguments"], expected, "{link}");
        assert!(text.starts_with("[there is a next page: call the same tool with {"), "{text}");
        let arguments: Value = serde_json::from_str(&text[text.find('{').unwrap()..text.len() - 1]).unwrap();
        assert_eq!(arguments, expected);
    }
}

#[tokio::test]
async fn a_link_that_leads_elsewhere_is_reported_as_a_link() {
    for link in [
        "<http://other.example/of/a%2Fb?page=2>; rel=next",
        "</of/someone?page=2>; rel=next",
        "<?page=2&unknown=1>; rel=next",
        "<?page=2&page=3>; rel=next",
        "<?json=%7B>; rel=next",
    ] {
        let (next, text, _server) = next(link).await;
        let url = next["url"].as_str().unwrap().to_owned();
        assert!(
            next.get("arguments").is_none() && text == format!("[there is a next page: {url}]"),
            "{link}: {text}"
        );
    }
    let (next, text, _server) = next("</of/a%2Fb?page=0>; rel=prev").await;
    assert_eq!((next, &*text), (Value::Null, "[]"));
}

#[tokio::test]
async fn each_page_is_reached_by_the_arguments_of_the_one_before() {
    let paths = json!({ "/pages": { "get": { "operationId": "list", "parameters": [
        { "name": "cursor", "in": "query", "schema": { "type": "string" } },
        { "name": "filter", "in": "query", "schema": { "type": "object" } },
    ] } } });
    let server = Recorder::answering(|request| match request.target.split_once("cursor=") {
        None => Answer::json("[1]").with_header("link", "<?color=red&cursor=a%2B%2F%3D>; rel=next"),
        Some((_, cursor)) if cursor.starts_with("a%2B%2F%3D") => Answer::json("[2]"),
        Some(_) => Answer::of(400, "text/plain", "wrong cursor"),
    })
    .await;
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    let first = call(&set, "list", r#"{"filter":{"color":"red"}}"#).await.unwrap();
    let arguments = first.details().unwrap()["next"]["arguments"].clone();
    assert_eq!(arguments, json!({ "cursor": "a+/=", "filter": { "color": "red" } }));
    let second = call(&set, "list", &arguments.to_string()).await.unwrap();
    assert_eq!(second.structured(), Some(json!([2])));
    assert_eq!(second.details().unwrap().get("next"), None);
}

#[tokio::test]
async fn a_link_whose_pairs_may_belong_to_two_objects_is_reported_as_a_link() {
    for count in [1, 2] {
        let parameter = |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "object" } });
        let parameters: Vec<_> = ["filter", "sort"].into_iter().take(count).map(parameter).collect();
        let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": parameters } } });
        let server = Recorder::new(Answer::json("[]").with_header("link", "</pets?page=2>; rel=next")).await;
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
        let output = call(&set, "list", "{}").await.unwrap();
        let expected = match count {
            1 => json!({ "arguments": { "filter": { "page": "2" } } }),
            _ => json!({ "url": format!("{}/pets?page=2", server.url) }),
        };
        assert_eq!(output.details().unwrap()["next"], expected);
    }
}
