//! Functions with `#[resource]`.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde::Serialize;
use tool_kit::{
    function::FunctionResource,
    resource,
    resource::{ReadableResource, ResourceUri},
};
use tool_runtime::{
    output::{Blob, Bytes, Resource, ResourceBody},
    prelude::*,
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";

/// The lines of a file, and how often they were read.
#[derive(Default)]
struct Notes(AtomicU32);

/// The notes of today.
#[resource(uri = "notes://Today", mime_type = "text/markdown", register = false)]
async fn today(notes: &Notes, cx: &ToolContext) -> Result<String, ToolError> {
    let user = cx.run().and_then(|run| run.user()).unwrap_or("guest");
    match notes.0.fetch_add(1, Ordering::Relaxed) {
        3 => Err(ToolError::not_found("there are no notes any more")),
        count => Ok(format!("{user} {count}")),
    }
}

async fn read(resource: &FunctionResource) -> Result<Resource, ToolError> {
    resource.read(&Arc::new(RunContext::new().with_user("Ada"))).await
}

#[tokio::test]
async fn a_function_is_read_each_time_anew_with_injected_values() {
    let registry = Registry::builder().provide(Notes::default()).build().unwrap();
    let today = FunctionResource::of::<today>(&registry).unwrap();
    assert_eq!((today.name(), today.description()), ("today", Some("The notes of today."))); // U38
    assert_eq!(
        (today.uri(), today.mime_type()),
        (&ResourceUri::parse("notes://today").unwrap(), "text/markdown")
    ); // U38
    for expected in ["Ada 0", "Ada 1", "Ada 2"] {
        let content = read(&today).await.unwrap();
        assert_eq!((&*content.uri, &*content.mime_type), ("notes://Today", "text/markdown"));
        assert_eq!(content.body, ResourceBody::Text(expected.to_owned())); // U42
    }
    assert_eq!(read(&today).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[derive(Serialize)]
struct Limits {
    days: u8,
}

/// Has a content.
#[resource(uri = "forms://static_text", register = false)]
fn static_text() -> &'static str {
    "x"
}

/// Has a content.
#[resource(uri = "forms://owned_text", register = false, mime_type = "text/csv")]
fn owned_text() -> String {
    "x".to_owned()
}

/// Has a content.
#[resource(uri = "forms://some_bytes", register = false)]
fn some_bytes() -> Vec<u8> {
    PNG.to_vec()
}

/// Has a content.
#[resource(uri = "forms://textual_bytes", register = false)]
fn textual_bytes() -> Bytes {
    Bytes(b"Gr\xfc\xdfe".to_vec())
}

/// Has a content.
#[resource(uri = "forms://typed_bytes", register = false, mime_type = "application/x-own")]
fn typed_bytes() -> &'static [u8] {
    &[1, 0, 2]
}

/// Has a content.
#[resource(uri = "forms://some_blob", register = false)]
fn some_blob() -> Blob {
    Blob(vec![7])
}

/// Has a content.
#[resource(uri = "forms://limits", register = false)]
fn limits() -> Limits {
    Limits { days: 14 }
}

/// Has a content.
#[resource(uri = "forms://some_json", register = false, mime_type = "application/x-list+json")]
fn some_json() -> Value {
    json!(["a"])
}

/// Has a content.
#[resource(uri = "forms://some_body", register = false)]
fn some_body() -> ResourceBody {
    text("x")
}

/// Has a content.
#[resource(uri = "forms://fallible", register = false)]
fn fallible() -> anyhow::Result<ResourceBody> {
    Ok(blob(&[7]))
}

fn text(text: &str) -> ResourceBody {
    ResourceBody::Text(text.to_owned())
}

fn blob(bytes: &[u8]) -> ResourceBody {
    ResourceBody::Blob(Blob(bytes.to_vec()))
}

#[tokio::test]
async fn every_form_of_a_content_has_its_type() {
    let registry = Registry::default();
    macro_rules! check {
        ($($handle:ident: $mime_type:literal $body:expr;)*) => { $(
            let resource = FunctionResource::of::<$handle>(&registry).unwrap();
            let uri = concat!("forms://", stringify!($handle)).to_owned();
            let expected = Resource { uri, mime_type: $mime_type.to_owned(), body: $body };
            assert_eq!(read(&resource).await.unwrap(), expected); // U40
        )* };
    }
    check! {
        static_text: "text/plain" text("x");
        owned_text: "text/csv" text("x");
        some_bytes: "image/png" blob(PNG);
        textual_bytes: "text/plain" text("Grüße");
        typed_bytes: "application/x-own" blob(&[1, 0, 2]);
        some_blob: "application/octet-stream" blob(&[7]);
        limits: "application/json" text(r#"{"days":14}"#);
        some_json: "application/x-list+json" text(r#"["a"]"#);
        some_body: "text/plain" text("x");
        fallible: "application/octet-stream" blob(&[7]);
    }
}

/// States its own URI and type.
#[resource(uri = "own://a", mime_type = "text/plain", register = false, blocking)]
fn own() -> Resource {
    Resource { uri: "own://b".to_owned(), mime_type: "text/html".to_owned(), body: text("<p>") }
}

/// Cannot be written as JSON.
#[resource(uri = "own://map", register = false)]
fn unwritable() -> BTreeMap<(u8, u8), u8> {
    BTreeMap::from([((1, 2), 3)])
}

#[tokio::test]
async fn a_resource_of_its_own_keeps_its_uri_and_type_and_what_is_no_json_is_an_error() {
    let own = FunctionResource::of::<own>(&Registry::default()).unwrap();
    let content = read(&own).await.unwrap();
    assert_eq!((&*content.uri, &*content.mime_type), ("own://b", "text/html"));
    let unwritable = FunctionResource::of::<unwritable>(&Registry::default()).unwrap();
    let error = read(&unwritable).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("as JSON")), (ErrorKind::InvalidOutput, true));
}

#[test]
fn a_uri_with_user_information_is_a_mistake_of_the_resource() {
    /// Has a secret in its URI.
    #[resource(uri = "http://user:secret@example.com/", register = false)]
    fn secretive() -> &'static str {
        ""
    }
    let error = FunctionResource::of::<secretive>(&Registry::default()).unwrap_err().to_string();
    assert!(error.contains("resource `secretive` (ext") && error.contains("user information"), "{error}"); // U38
    assert!(!error.contains("secret@"), "{error}");
}
