//! The content of resources, and the changes of a set.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use futures_util::FutureExt as _;

use super::*;
use crate::server::OfferChange;

/// A document of the type `mime_type`; its URI is the one that was asked for.
fn document(mime_type: &str, text: impl Into<String>) -> output::Resource {
    let body = ResourceBody::Text(text.into());
    output::Resource { uri: "its:own".to_owned(), mime_type: mime_type.to_owned(), body }
}

fn template(uri_template: &str, mime_type: Option<&str>) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(uri_template, "template");
    template.mime_type = mime_type.map(str::to_owned);
    template
}

#[tokio::test]
async fn what_is_read_has_the_type_of_the_document_or_of_the_definition_or_of_its_kind() {
    let typed = |uri: &str| Resource::new(uri, "typed").with_mime_type("a/b");
    let text = |text: &str| ResourceBody::Text(text.to_owned());
    let blob = || ResourceBody::Blob(Blob(vec![2]));
    let set = ResourceSet::new()
        .text("a:text", "a", "a text")
        .bytes("a:bytes", "a", "image/png", [2])
        .body(Resource::new("a:plain", "a"), text("plain"))
        .body(Resource::new("a:blob", "a"), blob())
        .body(typed("a:typed"), text("typed"))
        .dynamic(typed("a:dynamic"), |_| async { Ok(ResourceBody::Text("made".to_owned())) })
        .document(typed("a:document"), |_| async { Ok(document("c/d", "own")) })
        .document(typed("a:untyped"), |_| async { Ok(document("", "none")) })
        .template(template("b:{name}", None), |_, variables| async move {
            Ok(ResourceBody::Text(variables["name"].clone()))
        })
        .unwrap()
        .template_document(template("c:{name}", Some("a/b")), |_, variables| async move {
            Ok(document(if variables["name"] == "own" { "c/d" } else { "" }, &variables["name"]))
        })
        .unwrap();
    let run = Arc::new(RunContext::new());
    for (uri, mime_type, body) in [
        ("a:text", "text/plain", text("a text")),
        ("a:bytes", "image/png", blob()),
        ("a:plain", "text/plain", text("plain")),
        ("a:blob", "application/octet-stream", blob()),
        ("a:typed", "a/b", text("typed")),
        ("a:dynamic", "a/b", text("made")),
        ("a:document", "c/d", text("own")),
        ("a:untyped", "a/b", text("none")),
        ("b:x", "text/plain", text("x")),
        ("c:own", "c/d", text("own")),
        ("c:none", "a/b", text("none")),
    ] {
        let read = set.read(&run, uri).await.unwrap();
        let expected = output::Resource { uri: uri.to_owned(), mime_type: mime_type.to_owned(), body };
        assert_eq!(read, [expected]);
    }
    let error = set.read(&run, "d:x").await.unwrap_err();
    assert_eq!(error.kind(), tool_runtime::ErrorKind::NotFound);
    assert!(error.to_string().contains("there is no resource `d:x`"), "{error}");
}

#[tokio::test]
async fn a_set_announces_what_was_added_and_what_was_replaced() {
    let set = ResourceSet::new();
    let mut changes = set.changes().unwrap().subscribe();
    let mut announced = || std::iter::from_fn(|| changes.next().now_or_never()).collect::<Vec<_>>();
    let updated = |uri: &str| OfferChange::Updated(uri.to_owned());
    let set = set.text("a:a", "a", "1");
    assert_eq!(announced(), [OfferChange::List]);
    let set = set.text("a:a", "a", "2");
    assert_eq!(announced(), [updated("a:a")]);
    let set = set.text("a:a", "other", "2");
    assert_eq!(announced(), [OfferChange::List, updated("a:a")]);
    let body = |_, _| async { Ok(ResourceBody::Text(String::new())) };
    let set = set.template(template("b:{name}", None), body).unwrap();
    assert_eq!(announced(), [OfferChange::List]);
    assert!(set.clone().template(template("c:{", None), body).is_err());
    assert!(announced().is_empty());
    set.updated("z:z");
    assert_eq!(announced(), [updated("z:z")]);
    assert_eq!(format!("{set:?}"), r#"{"a:a"}"#);
    assert!(!set.remove("b:b"));
    assert!(announced().is_empty());
    assert!(set.remove("a:a"));
    assert_eq!(announced(), [OfferChange::List]);
    assert_eq!(format!("{set:?}"), "{}");
}
