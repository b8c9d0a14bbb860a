//! Prompt files: front matter, templates, errors.

use std::sync::Arc;

use tool_kit::prompt::{
    Prompt, PromptDefinition, PromptFile, PromptMessage, PromptRole, PromptThinking, RenderedPrompt,
    text_prompt,
};
use tool_runtime::{ErrorKind, RunContext, ToolError, prelude::*};

async fn render(prompt: &impl Prompt, input: Value) -> Result<RenderedPrompt, ToolError> {
    prompt.render(&Arc::new(RunContext::new()), &input).await
}

const FULL: &str = "---
name: explain
title: Explains a topic
description: For beginners.
model: gpt-5
provider: openai
system_prompt: You teach {{ .subject }}.
input:
  type: object
  properties:
    topic: { type: string, description: What to explain. }
    subject: { type: string, title: The subject }
    depth: { type: integer }
  required: [topic, subject]
output: { type: string }
tools: [search_books]
thinking: low
thinking_budget: 1024
---

# Heading

Explain {{ .topic }}.
";

#[tokio::test]
async fn every_field_of_a_file_is_read() {
    let prompt = PromptFile::parse(FULL).unwrap();
    let definition = prompt.definition();
    assert_eq!(
        (definition.name(), definition.title(), definition.description()),
        ("explain", Some("Explains a topic"), Some("For beginners."))
    ); // U32
    assert_eq!((definition.model(), definition.provider()), (Some("gpt-5"), Some("openai"))); // U32
    assert_eq!(definition.input().unwrap()["required"], json!(["topic", "subject"])); // U32
    assert_eq!(definition.output(), Some(&json!({ "type": "string" }))); // U32
    assert_eq!(definition.tools(), Some(&["search_books".to_owned()][..])); // U32
    assert_eq!(
        (definition.thinking(), definition.thinking_budget()),
        (Some(PromptThinking::Low), Some(1024))
    ); // U32
    let rendered = render(&prompt, json!({ "topic": "tides", "subject": "physics" })).await.unwrap();
    assert_eq!(rendered.instruction.as_deref(), Some("You teach physics.")); // U32
    assert_eq!(rendered.messages, [PromptMessage::user("# Heading\n\nExplain tides.")]); // U32
}

#[test]
fn levels_of_thinking_are_words_or_a_switch() {
    use PromptThinking::{High, Low, Medium, Off, On};
    for (text, expected) in [
        ("off", Off),
        ("on", On),
        ("low", Low),
        ("medium", Medium),
        ("high", High),
        ("true", On),
        ("false", Off),
    ] {
        let prompt = PromptFile::parse(&format!("---\nname: a\nthinking: {text}\n---\nx")).unwrap();
        assert_eq!(prompt.definition().thinking(), Some(expected), "{text}"); // U32
    }
}

#[test]
fn arguments_are_the_properties_of_the_input_by_name() {
    let prompt = PromptFile::parse(FULL).unwrap();
    let expected = json!({
        "name": "explain", "title": "Explains a topic", "description": "For beginners.",
        "arguments": [
            { "name": "depth", "required": false },
            { "name": "subject", "description": "The subject", "required": true },
            { "name": "topic", "description": "What to explain.", "required": true },
        ],
    });
    assert_eq!(serde_json::to_string(prompt.definition()).unwrap(), expected.to_string()); // U36
}

#[tokio::test]
async fn a_file_without_front_matter_has_the_name_of_the_file_and_its_first_heading_as_title() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("greet.md");
    std::fs::write(&path, "\u{feff}```\n# no\n```\r\n# Greets someone\r\nHello, {{ . }}!\r\n").unwrap();
    let prompt = PromptFile::load(&path).unwrap();
    assert_eq!(prompt.definition().name(), "greet"); // U33
    assert_eq!(prompt.definition().title(), Some("Greets someone")); // U33
    let text = render(&prompt, json!("Ada")).await.unwrap().text();
    assert_eq!(text, "```\n# no\n```\r\n# Greets someone\r\nHello, Ada!"); // U33
    let named = PromptFile::parse("---\r\nname: b\r\ntitle: A longer title\r\n---\r\nx\r\n").unwrap();
    assert_eq!((named.definition().name(), named.definition().title()), ("b", Some("A longer title"))); // U33
}

#[test]
fn a_mistake_of_a_file_has_its_line_and_column() {
    for (text, expected) in [
        ("x", "the prompt has no name; add `name: ..`"),
        ("---\n# one\nname: a b\n---\nx", "3:1: the name of the prompt, `a b`, is no identifier"),
        ("---\nname: other.greet\n---\nx", "2:1: the name of the prompt, `other.greet`, is no identifier"), // U03
        ("---\nname: a\ntitle: Short\n---\nx", "3:1: the title has fewer than 10 characters"),
        ("---\nname: a\nx", "1:1: the front matter has no end; add a line `---`"),
        ("---\nname: [a\n---\nx", "the front matter cannot be read"),
        ("---\nname: a\ndescription: [\n---\nx", "the front matter cannot be read"),
        ("---\nname: a\nname: b\n---\nx", "3:1: the front matter cannot be read: "),
        ("---\nname: a\nnames: b\n---\nx", "the front matter cannot be read: unknown field `names`"),
        ("---\nname: a\ntools: x\n---\nx", "the front matter cannot be read"),
        ("---\nname: a\nthinking: much\n---\nx", "the front matter cannot be read"),
        ("---\nname: a\ninput: { properties: {} }\n---\nx", "3:1: the schema `input` has no `type`"),
        ("---\nname: a\ninput: { type: text }\n---\nx", "the schema `input` is not valid"),
        ("---\nname: a\noutput: string\n---\nx", "3:1: the schema `output` is no object"),
        ("---\nname: a\n---\nx\n  {{ upper }}{{ .a | nothing }}", "there is no function `nothing`"),
        ("---\nname: a\n---\n\nx\n  {{ .a | nothing }}", "6:11: there is no function `nothing`"),
        ("---\nname: a\nsystem_prompt: \"{{ .a\"\n---\nx", "3:1: `system_prompt`: the action is not closed"),
    ] {
        let error = PromptFile::parse(text).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}"); // U33
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.md");
    std::fs::write(&path, "a\n{{ if .x }}").unwrap();
    let error = PromptFile::load(&path).unwrap_err();
    assert_eq!((error.file.as_deref(), error.place), (Some(&*path), Some((2, 4))));
    assert!(error.to_string().ends_with("broken.md:2:4: the block has no end; add `{{ end }}`"), "{error}");
    std::fs::write(&path, [b'a', 0xff]).unwrap();
    assert!(PromptFile::load(&path).unwrap_err().to_string().ends_with("is not UTF-8; save it as UTF-8"));
    assert!(
        PromptFile::load(folder.path().join("none.md")).unwrap_err().to_string().contains("cannot be read")
    );
}

#[tokio::test]
async fn a_hostile_file_is_refused_within_limits() {
    let long = format!("---\nname: a\n---\n{}", "x".repeat(PromptFile::MAX_BYTES));
    assert!(PromptFile::parse(&long).unwrap_err().problem.contains("exceeds 1048576 bytes"));
    let header = format!("---\n{}\n---\nx", "# a comment\n".repeat(6_000));
    assert!(PromptFile::parse(&header).unwrap_err().problem.contains("more than 65536 bytes"));
    let aliases: String =
        (1..30).map(|at| format!("  a{at}: &a{at} [*a{}, *a{}]\n", at - 1, at - 1)).collect();
    for member in ["", "input:\n  a0: &a0 x\n", "name: a\ninput:\n  type: object\n  a0: &a0 [x, x]\n"] {
        let bomb = format!("---\n{member}{aliases}---\nx");
        assert!(PromptFile::parse(&bomb).unwrap_err().problem.contains("cannot be read"), "{member}");
    }
    for text in
        ["{% include '/etc/passwd' %}", "{% extends 'x' %}", "{% import 'x' as y %}", "{{ include('x') }}"]
    {
        let prompt = PromptFile::parse(&format!("---\nname: a\n---\n{text}"));
        let rendered = match &prompt {
            Ok(prompt) => render(prompt, json!({})).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let error = rendered.unwrap_err();
        assert!(error.contains("4:"), "{text}: {error}");
    }
}

#[tokio::test]
async fn the_input_is_validated_before_the_template_is_rendered() {
    let prompt = PromptFile::parse(FULL).unwrap();
    let error = render(&prompt, json!({ "topic": 1 })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadParameter);
    let text = error.to_string();
    assert!(text.contains("the input of the prompt `explain` does not fit"), "{text}");
    assert!(text.contains("/topic: expected a string") && text.contains("/subject"), "{text}");

    let text = PromptFile::parse("---\nname: a\ninput: { type: string }\n---\nSay {{ . }}.").unwrap();
    assert_eq!(render(&text, json!("hi")).await.unwrap().text(), "Say hi."); // U35
    assert!(render(&text, json!({})).await.is_err()); // U35
}

// U33 U34
#[tokio::test]
async fn a_property_that_the_input_lacks_has_the_default_of_its_schema() {
    let input = "{ type: object, properties: { style: { enum: [short, long], default: short }, size: { type: integer, default: none } } }";
    let prompt = PromptFile::parse(&format!("---\nname: a\ninput: {input}\n---\n{{{{ .style }}}}")).unwrap();
    let error = render(&prompt, json!({})).await.unwrap_err().to_string();
    assert!(error.contains("/size: expected an integer, got \"none\""), "{error}");
    for (input, expected) in
        [(json!({ "size": 1 }), "short"), (json!({ "size": 1, "style": "long" }), "long")]
    {
        assert_eq!(render(&prompt, input).await.unwrap().text(), expected);
    }
    let error = render(&prompt, json!({ "size": 1, "style": null })).await.unwrap_err().to_string();
    assert!(error.contains("/style"), "{error}");
}

#[tokio::test]
async fn a_member_that_the_input_lacks_is_an_error_with_its_place() {
    let prompt = PromptFile::parse("---\nname: a\n---\nSay\n{{ .word }}").unwrap();
    let error = render(&prompt, json!({})).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the prompt `a` cannot be rendered: 5:1: a value is not in the input"), "{text}"); // U34
}

#[tokio::test]
async fn a_prompt_is_made_from_a_function() {
    let definition = PromptDefinition::new("greet").unwrap().with_input(json!({ "type": "string" })).unwrap();
    let greet = text_prompt(definition, |name| Ok(format!("Greet {}.", name.as_str().unwrap_or_default())));
    let rendered = render(&greet, json!("Ada")).await.unwrap();
    assert_eq!((rendered.text(), rendered.messages[0].role), ("Greet Ada.".to_owned(), PromptRole::User));
    assert!(render(&greet, json!(1)).await.unwrap_err().to_string().contains("expected a string"));
}

#[test]
fn definitions_are_equal_if_their_schemas_are() {
    let with_input =
        |kind: &str| PromptDefinition::new("greet").unwrap().with_input(json!({ "type": kind })).unwrap();
    assert_eq!(with_input("string"), with_input("string"));
    assert_ne!(with_input("string"), with_input("number"));
    let with_output = with_input("string").with_output(json!({ "type": "string" })).unwrap();
    assert_ne!(with_output, with_input("string"));
}
