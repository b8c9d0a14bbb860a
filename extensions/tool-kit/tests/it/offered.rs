//! Prompts and resources, as the client of an MCP server sees them.

use std::{collections::BTreeMap, fs, sync::Arc};

use rmcp::{
    ClientHandler, RoleClient, ServiceExt as _,
    model::{
        ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, ReadResourceRequestParams, Reference,
        ResourceContents,
    },
    service::{NotificationContext, RunningService},
};
use tokio::{sync::mpsc, task::JoinSet};
use tool_kit::{
    mcp::{offer_prompt, offer_resource, reload_prompts},
    prompt::{FolderChange, PromptFile, PromptFolder},
    resource::{FileResource, ReadableResource as _, StoredResource},
};
use tool_mcp::server::{McpServer, PromptSet, ResourceSet};
use tool_runtime::{CancellationToken, prelude::*};

const EXPLAIN: &str = "---
name: explain
title: Explains a topic
description: For beginners.
system_prompt: You teach.
input:
  type: object
  properties:
    topic: { type: string, description: What to explain. }
    depth: { type: integer }
    style: { enum: [short, shorter, long] }
    level: { $ref: '#/$defs/level' }
    note: { type: [string, integer] }
    formal: { type: boolean }
  required: [topic]
  $defs: { level: { enum: [1, 2, high] } }
---
Explain {{ .topic }}{{ if .depth }} in {{ .depth }} steps{{ end }}{{ if .formal }}, formally{{ end }}\
{{ if .level }} {{ json .level }}{{ end }}{{ if .note }} {{ json .note }}{{ end }}.";

/// A client that notes the changes of prompts.
struct Notes(mpsc::UnboundedSender<()>);

impl ClientHandler for Notes {
    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send(()).ok();
    }
}

struct World {
    client: RunningService<RoleClient, Notes>,
    changes: mpsc::UnboundedReceiver<()>,
    _server: JoinSet<()>,
}

async fn connect(prompts: PromptSet, resources: ResourceSet) -> World {
    let server = McpServer::new(Registry::default()).prompts(prompts).resources(resources);
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(far);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        server.serve(read, write, CancellationToken::new()).await.ok();
    });
    let (sender, changes) = mpsc::unbounded_channel();
    World { client: Notes(sender).serve(near).await.unwrap(), changes, _server: tasks }
}

impl World {
    async fn get(&self, name: &str, arguments: Value) -> Result<Vec<String>, String> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        let result = self.client.get_prompt(params).await.map_err(|error| error.to_string())?;
        let texts = result.messages.iter().map(|message| message.content.as_text().unwrap().text.clone());
        Ok(texts.collect())
    }

    async fn complete(&self, prompt: &str, argument: &str, value: &str) -> Vec<String> {
        let argument = ArgumentInfo::new(argument, value);
        let params = CompleteRequestParams::new(Reference::for_prompt(prompt), argument);
        self.client.complete(params).await.unwrap().completion.values
    }
}

#[tokio::test]
async fn a_prompt_file_is_listed_and_rendered_with_typed_arguments() {
    let prompts = offer_prompt(PromptSet::new(), PromptFile::parse(EXPLAIN).unwrap());
    let world = connect(prompts, ResourceSet::new()).await;
    let listed = world.client.list_all_prompts().await.unwrap();
    let [explain] = &*listed else { panic!("{listed:?}") };
    assert_eq!((&*explain.name, explain.title.as_deref()), ("explain", Some("Explains a topic"))); // O02
    assert_eq!(explain.description.as_deref(), Some("For beginners.")); // O02
    let arguments: BTreeMap<_, _> =
        explain.arguments.iter().flatten().map(|it| (&*it.name, it.required)).collect();
    let expected = [
        ("depth", Some(false)),
        ("formal", Some(false)),
        ("level", Some(false)),
        ("note", Some(false)),
        ("style", Some(false)),
        ("topic", Some(true)),
    ];
    assert_eq!(arguments, BTreeMap::from(expected)); // U36 O02

    let texts = world.get("explain", json!({ "topic": "7", "depth": "3", "formal": "true" })).await.unwrap();
    assert_eq!(texts, ["You teach.", "Explain 7 in 3 steps, formally."]); // O02
    for (level, note, expected) in [("2", "5", "2 \"5\""), ("high", "{", "\"high\" \"{\"")] {
        let arguments = json!({ "topic": "a", "level": level, "note": note });
        assert_eq!(world.get("explain", arguments).await.unwrap()[1], format!("Explain a {expected}."));
    }
    for (arguments, expected) in [
        (json!({}), "the argument `topic` of the prompt is missing"),
        (json!({ "topic": "a", "depth": "many" }), "/depth: expected an integer"),
        (json!({ "topic": "a", "level": "3" }), "/level"),
        (json!({ "topic": "a", "depth": "1.5" }), "/depth: expected an integer"),
        (json!({ "topic": "a", "style": "no" }), "/style"),
    ] {
        let error = world.get("explain", arguments).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn values_of_an_enum_are_candidates() {
    let prompts = offer_prompt(PromptSet::new(), PromptFile::parse(EXPLAIN).unwrap());
    let mood = "---\nname: mood\ninput: { type: string, enum: [calm, cross] }\n---\nBe {{ . }}.";
    let prompts = offer_prompt(prompts, PromptFile::parse(mood).unwrap());
    let world = connect(prompts, ResourceSet::new()).await;
    assert_eq!(world.complete("explain", "style", "sho").await, ["short", "shorter"]);
    assert_eq!(world.complete("explain", "formal", "t").await, ["true"]);
    assert!(world.complete("explain", "topic", "t").await.is_empty());
    assert_eq!(world.complete("mood", "input", "c").await, ["calm", "cross"]);
    assert_eq!(world.get("mood", json!({ "input": "calm" })).await.unwrap(), ["Be calm."]); // U35
}

#[tokio::test]
async fn a_folder_that_is_loaded_again_reaches_the_clients() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.md"), "one").unwrap();
    fs::write(folder.path().join("b.md"), "b").unwrap();
    let loaded = PromptFolder::load(folder.path()).unwrap();
    let prompts = loaded.prompts().into_iter().fold(PromptSet::new(), offer_prompt);
    let mut world = connect(prompts.clone(), ResourceSet::new()).await;
    assert_eq!(world.get("a", json!({})).await.unwrap(), ["one"]);

    fs::write(folder.path().join("a.md"), "two").unwrap();
    fs::remove_file(folder.path().join("b.md")).unwrap();
    let changes = reload_prompts(&prompts, &loaded).unwrap();
    assert_eq!(changes, [FolderChange::Changed("a".to_owned()), FolderChange::Removed("b".to_owned())]);
    world.changes.recv().await.unwrap();
    assert_eq!(world.get("a", json!({})).await.unwrap(), ["two"]);
    assert_eq!(world.client.list_all_prompts().await.unwrap().len(), 1);
    fs::write(folder.path().join("a.md"), "{{").unwrap();
    assert!(reload_prompts(&prompts, &loaded).is_err());
    assert_eq!(world.get("a", json!({})).await.unwrap(), ["two"]);
}

#[tokio::test]
async fn resources_have_the_type_of_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fs::write(&path, b"\x89PNG\r\n\x1a\n").unwrap();
    let file = FileResource::new("chart", &path).unwrap().with_uri("charts://now").unwrap();
    let notes = StoredResource::text("notes", "Buy milk.").unwrap().with_description("Of today.");
    let resources = offer_resource(offer_resource(ResourceSet::new(), file), Arc::new(notes));
    let world = connect(PromptSet::new(), resources).await;
    let listed = world.client.list_all_resources().await.unwrap();
    let described: Vec<_> = listed
        .iter()
        .map(|it| (&*it.uri, &*it.name, it.description.as_deref(), it.mime_type.as_deref()))
        .collect();
    let expected = [
        ("charts://now", "chart", None, None),
        ("text:notes", "notes", Some("Of today."), Some("text/plain")),
    ];
    assert_eq!(described, expected); // O02
    let read = async |uri: &str| {
        world.client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap().contents
    };
    let chart = read("charts://now").await;
    let [ResourceContents::BlobResourceContents { blob, mime_type, .. }] = &*chart else {
        panic!("{chart:?}")
    };
    assert_eq!((&**blob, mime_type.as_deref()), ("iVBORw0KGgo=", Some("image/png"))); // O02 U40
    let notes = read("text:notes").await;
    let [ResourceContents::TextResourceContents { text, .. }] = &*notes else { panic!("{notes:?}") };
    assert_eq!(text, "Buy milk."); // O02
    fs::write(&path, "plain").unwrap();
    let chart = read("charts://now").await;
    let [ResourceContents::TextResourceContents { text, mime_type, .. }] = &*chart else {
        panic!("{chart:?}")
    };
    assert_eq!((&**text, mime_type.as_deref()), ("plain", Some("text/plain"))); // U42
}
