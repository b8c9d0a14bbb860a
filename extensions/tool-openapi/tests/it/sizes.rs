//! The sizes of definitions, and the memory that they hold.

use std::sync::Arc;

use allocation_counter::measure;
use serde_json::{Map, Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{Document, OpenApiToolSet, OpenApiToolSetBuilder};
use tool_runtime::{Registry, Tool as _, ToolDefinition};

use crate::{call, document, registry};

/// An object with `count` properties, which has some 100 bytes for each.
fn large(count: usize) -> Value {
    let property = |at: usize| {
        let description = "A value that the server keeps between two updates of the resource.";
        (format!("p{at}"), json!({ "type": "string", "description": description }))
    };
    json!({ "type": "object", "properties": (0..count).map(property).collect::<Map<_, _>>() })
}

/// A document with `count` operations of the form `operation`.
fn many(count: usize, others: Value, operation: impl Fn(usize) -> Value) -> Document {
    let paths: Map<_, _> = (0..count).map(|at| (format!("/p{at}"), operation(at))).collect();
    document(paths.into(), others)
}

fn schemas(schemas: Value) -> Value {
    json!({ "components": { "schemas": schemas } })
}

fn json_content(schema: Value) -> Value {
    json!({ "content": { "application/json": { "schema": schema } } })
}

fn builder(document: Document) -> OpenApiToolSetBuilder {
    OpenApiToolSet::builder(document).base_url("http://h")
}

/// An operation with a body of the schema `S`, and a parameter of its own.
fn posting(at: usize) -> Value {
    let parameter = json!({ "name": format!("q{at}"), "in": "query" });
    let body = json_content(json!({ "$ref": "#/components/schemas/S" }));
    json!({ "post": { "parameters": [parameter], "requestBody": body } })
}

/// The size of all definitions, in bytes of JSON.
fn definitions_bytes(set: &OpenApiToolSet) -> usize {
    set.tools().iter().map(|it| serde_json::to_string(it.definition()).unwrap().len()).sum()
}

/// Imports `document` and registers its tools; returns them with the memory that they hold, and with the peak, in bytes.
fn measured(builder: OpenApiToolSetBuilder) -> (OpenApiToolSet, Registry, i64, u64) {
    let mut made = None;
    let memory = measure(|| {
        let set = builder.build().unwrap();
        let tools = registry(&set);
        made = Some((set, tools));
    });
    let (set, tools) = made.unwrap();
    (set, tools, memory.bytes_current, memory.bytes_max)
}

#[test]
fn operations_that_share_a_schema_share_its_memory() {
    let document = many(200, schemas(json!({ "S": large(1_500) })), posting);
    let (set, tools, kept, peak) = measured(builder(document).definitions_limit(usize::MAX));
    assert_eq!(set.tools().len(), 200, "{:?}", set.skipped().first());
    let bytes = definitions_bytes(&set);
    assert!(bytes > 20 << 20, "{bytes}");
    assert!(kept < 5 << 20 && peak < 10 << 20, "{kept} bytes, {peak} at the peak");
    // Neither a listing nor a comparison keeps a copy.
    let definitions: &[ToolDefinition] = tools.definitions();
    let memory = measure(|| {
        for definition in definitions {
            assert_eq!(definition.content_hash(), definition.clone().content_hash());
            assert_eq!(definition.input_schema(), &definition.input_schema().clone());
            assert!(definition.input_schema().to_value()["$defs"]["S"].is_object());
        }
    });
    assert!(memory.bytes_current < 1 << 20, "{}", memory.bytes_current);
}

#[test]
fn a_schema_of_more_than_4_kib_is_shared_and_a_smaller_one_is_in_place() {
    // With the name, quotes, a colon and a comma.
    let of_bytes = |bytes: usize| {
        let names = |length: usize| json!({ "type": "object", "properties": { "x".repeat(length): true } });
        names(bytes - 5 - names(0).to_string().len())
    };
    for (bytes, is_shared) in [(4096, false), (4097, true)] {
        let set = builder(many(1, schemas(json!({ "S": of_bytes(bytes) })), posting)).build().unwrap();
        let schema = set.tools()[0].definition().input_schema().to_value().into_owned();
        assert_eq!(schema.get("$defs").is_some(), is_shared, "{bytes}");
    }
}

#[test]
fn definitions_beyond_the_limit_are_skipped_with_the_reason() {
    let all = || {
        many(40, schemas(json!({ "S": large(200), "T": { "type": "string" } })), |at| match at {
            39 => {
                json!({ "post": { "requestBody": json_content(json!({ "$ref": "#/components/schemas/T" })) } })
            }
            at => posting(at),
        })
    };
    let set = builder(all()).definitions_limit(500_000).build().unwrap();
    let bytes = definitions_bytes(&set);
    // What still has room is imported.
    assert_eq!(set.tools().last().unwrap().path(), "/p39");
    assert!((400_000..=510_000).contains(&bytes), "{bytes}");
    assert_eq!(set.tools().len() + set.skipped().len(), 40);
    assert_eq!(
        set.skipped()[0].reason,
        "the definitions of the document exceed 500000 bytes in all; select fewer operations, or set `definitions_limit`"
    );
    assert!(set.skipped()[0].pointer.ends_with("/post"), "{}", set.skipped()[0]);
    assert_eq!(builder(all()).build().unwrap().skipped(), []);
}

#[test]
fn whatever_many_operations_refer_to_counts_and_is_stored_once() {
    let (schema, long) = (large(1_000), "a".repeat(100_000));
    let body = json!({ "components": { "requestBodies": { "B": json_content(schema.clone()) } } });
    let response = json!({ "components": { "responses": { "R": json_content(schema.clone()) } } });
    let parameter =
        json!({ "components": { "parameters": { "P": { "name": "p", "in": "query", "schema": schema } } } });
    let item = json!({ "components": { "pathItems": { "I": {
        "get": { "requestBody": json_content(schema.clone()), "description": "Does." } } } } });
    let texts = json!({ "components": { "pathItems": { "I": { "get": { "description": long } } } } });
    let tags = json!({ "components": { "pathItems": { "I": { "get": { "tags": [long] } } } } });
    let own = |at: usize, mut operation: Value| {
        operation["operationId"] = json!(format!("o{at}"));
        json!({ "post": operation })
    };
    type Operation<'o> = Box<dyn Fn(usize) -> Value + 'o>;
    let cases: [(&str, Value, Operation<'_>); 6] = [
        (
            "bodies",
            body,
            Box::new(|at| own(at, json!({ "requestBody": { "$ref": "#/components/requestBodies/B" } }))),
        ),
        (
            "responses",
            response,
            Box::new(|at| own(at, json!({ "responses": { "200": { "$ref": "#/components/responses/R" } } }))),
        ),
        (
            "parameters",
            parameter,
            Box::new(|at| {
                own(
                    at,
                    json!({ "parameters": [{ "$ref": "#/components/parameters/P" },
                { "name": format!("q{at}"), "in": "query" }] }),
                )
            }),
        ),
        ("path items", item, Box::new(|_| json!({ "$ref": "#/components/pathItems/I" }))),
        ("descriptions", texts, Box::new(|_| json!({ "$ref": "#/components/pathItems/I" }))),
        ("tags", tags, Box::new(|_| json!({ "$ref": "#/components/pathItems/I" }))),
    ];
    for (what, others, operation) in cases {
        let (set, _, kept, _) = measured(builder(many(60, others, operation)).definitions_limit(2 << 20));
        assert!(!set.skipped().is_empty() && !set.tools().is_empty(), "{what}");
        let bytes = definitions_bytes(&set);
        assert!(bytes <= 3 << 20, "{what}: {bytes}");
        assert!(kept < 5 << 20, "{what}: {kept}");
    }
}

#[tokio::test]
async fn arguments_are_validated_by_a_shared_schema() {
    let mut schema = large(100);
    schema["properties"]["p0"] = json!({ "type": "integer" });
    schema["properties"]["child"] = json!({ "$ref": "#/components/schemas/S" });
    let server = Recorder::new(Answer::json("{}")).await;
    let document = many(3, schemas(json!({ "S": schema })), posting);
    let set = OpenApiToolSet::builder(document).base_url(&server.url).build().unwrap();
    let error =
        call(&set, "post_p1", r#"{"body":{"child":{"child":{"p0":"x"}}}}"#).await.unwrap_err().feedback();
    assert!(error.contains("/body/child/child/p0"), "{error}"); // P10
    call(&set, "post_p1", r#"{"body":{"child":{"p0":7}},"q1":"a"}"#).await.unwrap();
    assert_eq!(server.one().target, "/p1?q1=a");
    let tool = Arc::clone(&set.tools()[1]);
    assert!(tool.definition().input_schema().as_value()["$defs"]["S"]["properties"]["child"].is_object());
}

#[test]
fn a_definition_depends_on_no_other_operation() {
    let schema = large(300);
    let shared = json!({ "components": {
        "requestBodies": { "B": json_content(schema.clone()) },
        "responses": { "R": json_content(schema.clone()) },
        "parameters": { "P": { "name": "p", "in": "query", "schema": schema } },
    } });
    let operation = json!({ "post": {
        "parameters": [{ "$ref": "#/components/parameters/P" }],
        "requestBody": { "$ref": "#/components/requestBodies/B" },
        "responses": { "200": { "$ref": "#/components/responses/R" } },
    } });
    let item = json!({ "$ref": "#/paths/~1p0" });
    let document = || many(4, shared.clone(), |at| if at == 3 { item.clone() } else { operation.clone() });
    let all = builder(document()).build().unwrap();
    for tool in all.tools() {
        let path = tool.path().to_owned();
        let alone = builder(document()).filter(move |it| it.path == path).build().unwrap();
        assert_eq!(alone.tools()[0].definition(), tool.definition());
    }
    assert_eq!(all.tools().len(), 4);
    let (first, second) = (all.tools()[0].definition(), all.tools()[1].definition());
    assert_eq!(first.input_schema(), second.input_schema());
    assert_eq!(first.output_schema(), second.output_schema());
    assert_eq!(all.tools()[3].definition().output_schema(), first.output_schema());
}

#[test]
fn values_of_a_discriminator_are_listed_once_for_each_schema() {
    let count = 2_000;
    let mapping: Map<_, _> =
        (0..count).map(|at| (format!("value{at}"), json!("#/components/schemas/S"))).collect();
    let schema = json!({
        "oneOf": vec![json!({ "$ref": "#/components/schemas/S" }); count],
        "discriminator": { "propertyName": "kind", "mapping": mapping },
    });
    let document = many(
        1,
        schemas(json!({ "S": large(1) })),
        |_| json!({ "post": { "requestBody": json_content(schema.clone()) } }),
    );
    let (set, _, _, peak) = measured(builder(document));
    let body = &set.tools()[0].definition().input_schema().as_value()["properties"]["body"];
    assert_eq!(body["anyOf"].as_array().unwrap().len(), 1);
    assert!(peak < 5 << 20, "{peak}");
}

#[test]
fn references_into_a_deep_schema_are_bounded() {
    let depth = 60;
    let deep = (0..depth).fold(large(2_000), |it, _| json!({ "properties": { "p": it } }));
    let document = many(depth, schemas(json!({ "S": deep })), |at| {
        let reference = format!("#/components/schemas/S{}", "/properties/p".repeat(at));
        json!({ "post": { "requestBody": json_content(json!({ "$ref": reference })) } })
    });
    let (set, _, _, peak) = measured(builder(document).definitions_limit(2 << 20));
    assert!(!set.tools().is_empty() && !set.skipped().is_empty());
    let expected =
        "the schemas that the document refers to exceed 2097152 bytes in all; set `definitions_limit`";
    assert_eq!(set.skipped().last().unwrap().reason, expected);
    assert!(peak < 40 << 20, "{peak}");
}

#[test]
fn properties_of_forms_that_operations_share_count() {
    let names: Map<_, _> = (0..3_000).map(|at| (format!("p{at}"), json!({}))).collect();
    let encoding: Map<_, _> = names.keys().map(|it| (it.clone(), json!({ "contentType": "a/b" }))).collect();
    for media_type in ["application/x-www-form-urlencoded", "multipart/form-data"] {
        let content = json!({ media_type: { "schema": { "type": "object" }, "encoding": encoding } });
        let others = json!({ "components": { "requestBodies": { "B": { "content": content } } } });
        let document = many(
            200,
            others,
            |at| json!({ "post": { "operationId": format!("o{at}"), "requestBody": { "$ref": "#/components/requestBodies/B" } } }),
        );
        let (set, _, kept, _) = measured(builder(document).definitions_limit(4 << 20));
        assert!(!set.tools().is_empty() && !set.skipped().is_empty(), "{media_type}");
        assert!(kept < 12 << 20, "{media_type}: {kept}");
    }
}
