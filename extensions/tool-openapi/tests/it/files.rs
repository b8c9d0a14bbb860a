//! Documents of several files, and documents that are hostile.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tool_openapi::{Document, OpenApiErrorKind, OpenApiToolSet};
use tool_runtime::Tool as _;

use crate::{built, document, file};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("in/sub")).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An operation for each reference, whose query parameter `it` has the schema.
fn with_references(references: &[&str]) -> Value {
    let operation = |(at, reference): (usize, &&str)| {
        let it = json!({ "name": "it", "in": "query", "schema": { "$ref": reference } });
        (format!("/{at}"), json!({ "get": { "operationId": format!("get{at}"), "parameters": [it] } }))
    };
    Value::Object(references.iter().enumerate().map(operation).collect())
}

fn imported(document: Document) -> OpenApiToolSet {
    built(OpenApiToolSet::builder(document).base_url("http://h"))
}

#[test]
fn references_lead_to_files_below_the_folder_only() {
    let folder = Folder::new("references");
    folder.write("outside.json", r#"{ "type": "string" }"#);
    folder.write("in/a b.json", r#"{ "x": { "type": "integer" } }"#);
    folder.write("in/sub/deep.yaml", "x: { $ref: '../a%20b.json#/x' }\ny: { $ref: '../../outside.json' }\n");
    folder.write("in/broken.json", "{");
    std::os::unix::fs::symlink(folder.0.join("outside.json"), folder.0.join("in/link.json")).unwrap();
    std::os::unix::fs::symlink(folder.0.join("in/sub"), folder.0.join("in/near")).unwrap();
    let absolute = folder.0.join("outside.json").display().to_string();
    let cases = [
        ("a%20b.json#/x", None),
        ("./sub/../a b.json#/x", None),
        ("sub/deep.yaml#/x", None),
        (r"sub\deep.yaml#/x", None),
        ("near/deep.yaml#/x", None),
        ("../in/a b.json#/x", None),
        ("sub/deep.yaml#/y", Some("is not below the folder")),
        ("../outside.json", Some("is not below the folder")),
        ("%2e%2e/outside.json", Some("is not below the folder")),
        (r"..\outside.json", Some("is not below the folder")),
        ("link.json", Some("is not below the folder")),
        (&absolute, Some("is not below the folder")),
        ("none.json", Some("cannot be read")),
        ("sub", Some("is not a file")),
        ("broken.json", Some("is not valid JSON")),
        ("http://127.0.0.1:1/a.json", Some("no reference is fetched")),
        ("file:///etc/passwd", Some("no reference is fetched")),
        ("//h/a.json", Some("no reference is fetched")),
    ];
    let paths = with_references(&cases.map(|(reference, _)| reference));
    let set = imported(document(paths, json!({})).with_folder(folder.0.join("in")));
    for (at, (reference, refused)) in cases.into_iter().enumerate() {
        let skipped = set.skipped().iter().find(|it| it.operation == format!("get{at}"));
        let reason = skipped.map(|it| it.reason.as_str());
        match refused {
            None => assert_eq!(reason, None, "{reference}"),
            Some(text) => assert!(reason.is_some_and(|it| it.contains(text)), "{reference}: {reason:?}"), // P06
        }
    }
    let schema = set.tools()[0].definition().input_schema().as_value();
    assert_eq!(schema["properties"]["it"]["type"], "integer"); // P06
}

#[test]
fn a_document_of_several_files_imports_with_its_folder_only() {
    let path = file("several/openapi.yaml");
    let with = |folder: bool| {
        let document = Document::from_file(&path).unwrap();
        imported(if folder { document.with_folder(path.parent().unwrap()) } else { document })
    };
    let set = with(true);
    let names: Vec<_> = set.tools().iter().map(|it| it.definition().name().to_string()).collect();
    assert!(names.contains(&"getArtist".to_owned()), "{names:?}");
    let skipped: Vec<_> = set.skipped().iter().map(|it| it.operation.as_str()).collect();
    assert_eq!(skipped, ["getOutside", "postNetwork", "getMissing"], "{:?}", set.skipped());
    // The schemas of artists and albums refer to each other, across files.
    let artist = set.tools().iter().find(|it| it.definition().name() == "getArtist").unwrap();
    crate::corpus::assert_valid(artist.definition().output_schema().unwrap().as_value(), "artist");
    let without = with(false);
    assert!(without.skipped().iter().all(|it| !it.reason.is_empty()));
    assert!(without.skipped().len() > set.skipped().len());
    assert!(without.skipped()[0].reason.contains("with_folder"), "{:?}", without.skipped());
}

#[test]
fn a_place_in_another_file_has_its_name() {
    let folder = Folder::new("names");
    folder.write("in/sub/it.json", r#"{ "x": { "type": "text" } }"#);
    let set =
        imported(document(with_references(&["sub/it.json#/x"]), json!({})).with_folder(folder.0.join("in")));
    assert_eq!(set.diagnostics()[0].location.pointer, "sub/it.json#/x/type");
}

/// Runs `test` on a thread with a small stack.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}

#[test]
fn documents_that_are_too_deep_are_refused_without_an_overflow() {
    on_a_small_stack(|| {
        let open = "[".repeat(100_000);
        for text in [format!("{{\"openapi\":{open}"), format!("openapi: {open}"), "- ".repeat(100_000)] {
            let error = Document::from_text(&text).unwrap_err();
            assert_eq!(error.kind(), OpenApiErrorKind::Malformed);
        }
        let deep = (0..100_000).fold(Value::Null, |it, _| Value::Array(vec![it]));
        let error = Document::from_value(Value::Array(vec![deep])).unwrap_err();
        assert_eq!(error.kind(), OpenApiErrorKind::Unsupported);
        // As deep as a text may be.
        let schema = (0..58).fold(json!({ "type": "string" }), |it, _| json!({ "properties": { "a": it } }));
        let it = json!({ "name": "it", "in": "query", "schema": schema });
        let set = imported(document(json!({ "/": { "get": { "parameters": [it] } } }), json!({})));
        assert_eq!(set.tools().len() + set.skipped().len(), 1);
    });
}

#[test]
fn aliases_of_yaml_do_not_multiply() {
    let mut text = "openapi: 3.1.0\na0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for at in 1..12 {
        let before = format!("*a{}", at - 1);
        text.push_str(&format!("a{at}: &a{at} [{}]\n", [&*before; 10].join(", ")));
    }
    let error = Document::from_text(&text).unwrap_err();
    assert_eq!(error.kind(), OpenApiErrorKind::Malformed);
    let often = (0..500).map(|at| format!("x-{at}: *it\n")).collect::<String>();
    assert!(Document::from_text(&format!("openapi: 3.1.0\nx-it: &it {{ a: 1 }}\n{often}")).is_ok());
}

#[test]
fn a_chain_of_a_hundred_thousand_references_costs_its_operation() {
    on_a_small_stack(|| {
        for title in [None, Some("It")] {
            let link = |at: usize| {
                let mut schema = json!({ "$ref": format!("#/components/schemas/S{}", at + 1) });
                if let Some(title) = title {
                    schema["title"] = json!(title);
                }
                (format!("S{at}"), schema)
            };
            let mut schemas: serde_json::Map<_, _> = (0..100_000).map(link).collect();
            schemas.insert("S100000".to_owned(), json!({ "type": "string" }));
            let others = json!({ "components": { "schemas": schemas } });
            let mut paths = with_references(&["#/components/schemas/S0", "#/components/schemas/S99999"]);
            paths["/response"] = json!({ "get": { "responses": { "200": { "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/S0" },
            }}}}}});
            let set = imported(document(paths, others));
            assert_eq!(set.skipped().len(), 1, "{:?}", set.skipped());
            assert!(
                set.tools()[0].definition().input_schema().as_value()["properties"]["it"]["type"] == "string"
            );
            // Made without an overflow.
            let _ = set.tools()[1].definition().output_schema().map(|it| it.as_value());
        }
    });
}

#[test]
fn files_that_refer_to_each_other_are_read_once() {
    let folder = Folder::new("cycle");
    folder.write("in/a.json", r#"{ "properties": { "b": { "$ref": "b.json" } } }"#);
    folder.write(
        "in/b.json",
        r#"{ "properties": { "a": { "$ref": "a.json" }, "me": { "$ref": "b.json#" } } }"#,
    );
    let set = imported(
        document(with_references(&["a.json", "b.json"]), json!({})).with_folder(folder.0.join("in")),
    );
    assert_eq!(set.tools().len(), 2, "{:?}", set.skipped());
    for tool in set.tools() {
        crate::corpus::assert_valid(tool.definition().input_schema().as_value(), "cycle");
    }
}

/// The number of allocations of an import of `count` operations that share one large schema.
fn allocations_of(count: usize) -> u64 {
    let properties: Value =
        Value::Object((0..2_000).map(|at| (format!("p{at}"), json!({ "type": "string" }))).collect());
    let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Giant" } } });
    let operation = json!({ "post": { "requestBody": { "content": content }, "responses": { "200": { "content": content } } } });
    let paths: Value = Value::Object((0..count).map(|at| (format!("/p{at}"), operation.clone())).collect());
    let others = json!({ "components": { "schemas": { "Giant": { "properties": properties } } } });
    let document = document(paths, others);
    let builder = OpenApiToolSet::builder(document).base_url("http://h").definitions_limit(usize::MAX);
    let mut tools = 0;
    let memory = allocation_counter::measure(|| tools = built(builder).tools().len());
    assert_eq!(tools, count);
    memory.count_total
}

#[test]
fn the_work_of_an_import_is_linear_in_the_operations_that_share_a_schema() {
    let (few, many) = (allocations_of(500), allocations_of(5_000));
    assert!(many < few * 11, "{few} allocations for 500, and {many} for 5,000");
}

#[test]
fn a_reference_above_the_folder_does_not_tell_whether_there_is_a_file() {
    let folder = Folder::new("above");
    folder.write("there.json", "{}");
    let references = ["../there.json", "../nowhere.json", "sub/../../nowhere.json"];
    let set = imported(document(with_references(&references), json!({})).with_folder(folder.0.join("in")));
    assert_eq!(set.skipped().len(), 3);
    for skipped in set.skipped() {
        assert!(skipped.reason.contains("is not below the folder"), "{skipped}"); // P06
    }
}

#[test]
fn a_document_refers_to_1024_files_at_most() {
    let folder = Folder::new("many");
    let names: Vec<_> = (0..1030).map(|at| format!("{at}.json")).collect();
    names.iter().for_each(|name| folder.write(&format!("in/{name}"), "{}"));
    let references: Vec<_> = names.iter().map(String::as_str).collect();
    let set = imported(document(with_references(&references), json!({})).with_folder(folder.0.join("in")));
    let refused = set.skipped().iter().filter(|it| it.reason.contains("more than 1024 files")).count();
    assert_eq!((refused, set.tools().len()), (6, 1024), "{:?}", set.skipped().first()); // P06
    // Those that come last by their names, whatever their order in the document.
    let refused: Vec<_> = set.skipped().iter().map(|it| it.operation.as_str()).collect();
    assert_eq!(refused, ["get994", "get995", "get996", "get997", "get998", "get999"]);
}

#[test]
fn a_file_has_at_most_64_mib() {
    const MAX_BYTES: u64 = 64 << 20;
    let folder = Folder::new("length");
    let path = folder.0.join("in/openapi.json");
    for (length, kind, message) in [
        (MAX_BYTES, OpenApiErrorKind::Malformed, "is not valid JSON"),
        (MAX_BYTES + 1, OpenApiErrorKind::Unreadable, "is longer than 67108864 bytes"),
    ] {
        fs::write(&path, "{}").unwrap();
        // The rest of the file is zeros, which take no room and are no JSON.
        fs::File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        let error = Document::from_file(&path).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}
