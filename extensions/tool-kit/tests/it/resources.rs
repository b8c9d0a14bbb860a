//! Resources from memory, files and functions.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tool_kit::resource::{FileResource, ReadableResource, ResourceUri, StoredResource, live};
use tool_runtime::{
    ErrorKind, RunContext,
    guard::catch,
    output::{Blob, Resource, ResourceBody},
    prelude::*,
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";

async fn read(resource: &impl ReadableResource) -> Resource {
    resource.read(&Arc::new(RunContext::new())).await.unwrap()
}

fn text(text: &str) -> ResourceBody {
    ResourceBody::Text(text.to_owned())
}

fn blob(bytes: &[u8]) -> ResourceBody {
    ResourceBody::Blob(Blob(bytes.to_vec()))
}

#[tokio::test]
async fn constructors_have_uris_by_their_kind_and_are_read_back() {
    let notes = StoredResource::text("notes", "Buy milk.").unwrap();
    let limits = StoredResource::json("limits", &json!({ "days": 14 })).unwrap();
    let photo = StoredResource::data("photo", PNG).unwrap();
    for (resource, uri, mime_type, body) in [
        (&notes, "text:notes", "text/plain", text("Buy milk.")),
        (&limits, "json:limits", "application/json", text(r#"{"days":14}"#)),
        (&photo, "data:photo", "image/png", ResourceBody::Blob(Blob(PNG.to_vec()))),
    ] {
        assert_eq!((resource.uri().as_str(), resource.mime_type()), (uri, mime_type)); // U38 U39
        let expected = Resource { uri: uri.to_owned(), mime_type: mime_type.to_owned(), body };
        assert_eq!(read(resource).await, expected); // U39
    }
    assert_eq!((notes.name(), notes.description()), ("notes", None)); // U38
    assert!(StoredResource::text("a b", "").unwrap_err().to_string().contains("is no identifier")); // U39
    let unwritable = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert!(StoredResource::json("a", &unwritable).unwrap_err().to_string().contains("as JSON")); // U39
}

#[test]
fn must_panics_on_a_bad_name() {
    assert_eq!(StoredResource::must_text("a", "x").name(), "a");
    assert_eq!(StoredResource::must_json("a", "x").name(), "a");
    for make in [
        || StoredResource::must_text("a b", "x"),
        || StoredResource::must_json("", "x"),
        || StoredResource::must_data("1", "x"),
    ] {
        assert!(catch(make).is_err()); // U39
    }
}

#[tokio::test]
async fn types_are_detected_by_content_and_then_by_name() {
    let utf16 =
        |text: &str, encode: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(encode).collect::<Vec<u8>>();
    let marked: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf16("Grüße", u16::to_le_bytes)).collect();
    for (bytes, file_name, mime_type, body) in [
        (PNG.to_vec(), Some("x.txt"), "image/png", ResourceBody::Blob(Blob(PNG.to_vec()))),
        (b"a,b\n".to_vec(), Some("x.csv"), "text/csv", text("a,b\n")),
        (b"{}".to_vec(), Some("x.json"), "application/json", text("{}")),
        (b"plain".to_vec(), Some("x.png"), "text/plain", text("plain")),
        (b"plain".to_vec(), None, "text/plain", text("plain")),
        (marked, None, "text/plain", text("Grüße")),
        (utf16("Gruß, Ada", u16::to_le_bytes), None, "text/plain", text("Gruß, Ada")),
        (utf16("Gruß, Ada", u16::to_be_bytes), None, "text/plain", text("Gruß, Ada")),
        (b"BM and what follows".to_vec(), Some("a.md"), "text/markdown", text("BM and what follows")),
        (b"MZ is two letters".to_vec(), None, "text/plain", text("MZ is two letters")),
        (b"<html><p>x".to_vec(), Some("x.md"), "text/markdown", text("<html><p>x")),
        (b"<html><p>x".to_vec(), None, "text/html", text("<html><p>x")),
        (b"%PDF-1.7 x".to_vec(), Some("x.txt"), "application/pdf", blob(b"%PDF-1.7 x")),
        (b"a\x81b".to_vec(), Some("x.txt"), "application/octet-stream", blob(b"a\x81b")),
        (b"\xfca\x7f".to_vec(), None, "application/octet-stream", blob(b"\xfca\x7f")),
        (b"\xef\xbb\xbfa\0".to_vec(), None, "application/octet-stream", blob(b"\xef\xbb\xbfa\0")),
        (b"\xff\xfea\0\0\0".to_vec(), None, "application/octet-stream", blob(b"\xff\xfea\0\0\0")),
        (b"\xef\xbb\xbfx".to_vec(), None, "text/plain", text("x")),
        (b"Gr\xfc\xdfe".to_vec(), None, "text/plain", text("Grüße")),
        (
            vec![1, 2, 0, 0xff],
            None,
            "application/octet-stream",
            ResourceBody::Blob(Blob(vec![1, 2, 0, 0xff])),
        ),
        (vec![1, 0xff], Some("x.wasm"), "application/wasm", ResourceBody::Blob(Blob(vec![1, 0xff]))),
        (Vec::new(), None, "text/plain", text("")),
    ] {
        let resource = StoredResource::read_from("a", file_name, &*bytes).unwrap();
        let found = read(&resource).await;
        assert_eq!((&*found.mime_type, &found.body), (mime_type, &body), "{bytes:?} {file_name:?}"); // U40
    }
}

#[tokio::test]
async fn a_file_and_what_a_reader_gives_have_at_most_64_mib() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    let file = std::fs::File::create(&path).unwrap();
    for (bytes, is_read) in [(FileResource::MAX_BYTES, true), (FileResource::MAX_BYTES + 1, false)] {
        file.set_len(bytes).unwrap();
        let found = FileResource::new("a", &path).unwrap().read(&Arc::new(RunContext::new())).await;
        let read = StoredResource::read_from("a", None, io::Read::take(io::repeat(b'x'), bytes));
        assert_eq!((found.is_ok(), read.is_ok()), (is_read, is_read), "{bytes}");
    }
}

#[test]
fn a_reader_that_fails_or_never_ends_is_an_error() {
    struct Failing;
    impl io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    assert!(StoredResource::read_from("a", None, Failing).unwrap_err().to_string().contains("gone"));
    let error = StoredResource::read_from("a", None, io::repeat(b'x')).unwrap_err().to_string();
    assert!(error.contains("exceeds 67108864 bytes"), "{error}");
}

#[tokio::test]
async fn a_label_changes_the_uri_or_the_description_and_nothing_else() {
    let resource = StoredResource::data("photo", PNG).unwrap();
    let labelled = resource.clone().with_uri("photos://1").unwrap().with_description("Of the sea.");
    assert_eq!((labelled.uri().as_str(), labelled.description()), ("photos://1", Some("Of the sea."))); // U41
    assert_eq!((labelled.name(), labelled.mime_type()), ("photo", "image/png")); // U41
    let (before, after) = (read(&resource).await, read(&labelled).await);
    assert_eq!((after.uri.as_str(), after.body), ("photos://1", before.body)); // U41
    let again = labelled.with_uri("photos://2").unwrap();
    assert_eq!((again.uri().as_str(), again.description()), ("photos://2", Some("Of the sea."))); // U41
    assert!(resource.with_uri("photos/1").unwrap_err().to_string().contains("is no absolute URI")); // U38 U41
}

#[tokio::test]
async fn files_and_functions_are_read_each_time_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("größe 1.md");
    let notes = FileResource::new("notes", &path).unwrap();
    let uri = notes.uri().as_str();
    assert!(uri.starts_with("file:///") && uri.ends_with("/gr%C3%B6%C3%9Fe%201.md"), "{uri}");
    let error = notes.read(&Arc::new(RunContext::new())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    for content in ["one", "two"] {
        std::fs::write(&path, content).unwrap();
        let found = read(&notes).await;
        assert_eq!((&*found.mime_type, found.body), ("text/markdown", text(content))); // U42
    }
    let folder = FileResource::new("folder", folder.path()).unwrap();
    let error = folder.read(&Arc::new(RunContext::new())).await.unwrap_err().to_string();
    assert!(error.contains("it is no regular file; offer one that is"), "{error}");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = live("count://now", "count", move |_| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        async move { Ok(ResourceBody::Text(number.to_string())) }
    })
    .unwrap();
    assert_eq!((read(&counted).await.body, read(&counted).await.body), (text("0"), text("1"))); // U42
    assert!(live("a", "a", |_| async { Ok(ResourceBody::Text(String::new())) }).is_err()); // U38
}

#[test]
fn uris_that_mean_the_same_are_equal() {
    let uri = |text: &str| ResourceUri::parse(text).unwrap();
    for (one, other) in [
        ("HTTP://Example.COM:80/a", "http://example.com/a"),
        ("https://example.com:443/a/./b/../c", "https://example.com/a/c"),
        ("http://example.com/%7Ea", "http://example.com/~a"),
    ] {
        assert_eq!(uri(one), uri(other), "{one}");
        assert_eq!(uri(one).as_str(), one);
    }
    for (one, other) in [
        ("http://example.com/a", "http://example.com/A"),
        ("http://example.com/a", "http://example.com/a/"),
        ("http://example.com:81/a", "http://example.com/a"),
        ("text:a", "json:a"),
    ] {
        assert_ne!(uri(one), uri(other), "{one}");
    }
    for text in [
        "",
        "a",
        "/a",
        "//a/b",
        "http://a b",
        "http://user:secret@example.com/",
        "http://user:secret@a b",
        &format!("http://user:secret@{}", "x".repeat(5_000)),
        &format!("a:{}", "x".repeat(5_000)),
    ] {
        let error = ResourceUri::parse(text).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}"); // U38
    }
}
