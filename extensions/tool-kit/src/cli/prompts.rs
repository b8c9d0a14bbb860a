//! The command `prompts`.

use tool_cli::{
    Exit, Failure,
    clap::{self, Arg, ArgMatches},
};
use tool_runtime::{
    Content,
    guard::catch_async,
    output::ResourceBody,
    serde_json::{self, Value, json},
};

use super::{
    prompt_page::{accepted_values_text, prompt_page},
    request::{CatalogueRequest, escape_to_line, first_paragraph, json_option, text_argument, tool_failure},
};
use crate::{
    catalogue::{CatalogueItem, ItemKind},
    prompt::{PromptDefinition, PromptRole, RenderedPrompt},
};

const EXAMPLES: &str = "\
prompts list
prompts show explain
prompts render explain '{\"topic\": \"tides\"}'
prompts render library.summary @notes.json";

pub(super) fn grammar() -> clap::Command {
    let name = || {
        Arg::new("name").value_name("NAME").required(true).help("The name of the prompt, or namespace.name")
    };
    let input = "JSON, or the text itself if the input is a text; `-` reads the standard input, `@file` a file [default: {}]";
    let list = clap::Command::new("list").visible_alias("ls").about("List the prompts").arg(json_option());
    let show =
        clap::Command::new("show").visible_alias("s").about("Show one prompt").args([json_option(), name()]);
    let render = clap::Command::new("render")
        .visible_alias("r")
        .about("Write the messages of a prompt")
        .args([json_option(), name(), Arg::new("input").value_name("INPUT").help(input)]);
    clap::Command::new("prompts")
        .about("List, show and render prompts")
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([list, show, render])
}

pub(super) fn run_command(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    match matches.subcommand() {
        Some(("list", matches)) => list_prompts(request, matches),
        Some(("show", matches)) => show_prompt(request, matches),
        Some(("render", matches)) => render_prompt(request, matches),
        _ => Err(Failure::usage("the command of `prompts` is missing")),
    }
}

fn list_prompts(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let snapshot = request.snapshot_with_notes()?;
    let prompts = snapshot.items().iter().filter_map(|item| Some((item, item.prompt()?.definition())));
    if matches.get_flag("json") {
        let prompts: Vec<_> = prompts.map(|(item, prompt)| described_prompt(request, item, prompt)).collect();
        return request.print_json(&prompts);
    }
    let cells = |(item, prompt): (_, &PromptDefinition)| {
        let key = request.command_key(item);
        let named = prompt.title().map_or_else(|| key.to_owned(), |title| format!("{key} ({title})"));
        (item, [named, first_paragraph(prompt.description()), arguments_in_one_line(prompt)])
    };
    request.print_items(["Prompt", "Description", "Arguments"], prompts.map(cells))
}

/// Returns the arguments of a prompt in a line, optional ones in brackets.
fn arguments_in_one_line(prompt: &PromptDefinition) -> String {
    let arguments = prompt.arguments();
    if arguments.is_empty() {
        // An object without properties is no argument.
        return prompt.input().map(accepted_values_text).filter(|kind| kind != "object").unwrap_or_default();
    }
    let words = arguments.into_iter().map(|it| if it.required { it.name } else { format!("[{}]", it.name) });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns a prompt as the protocol describes it, under the name by which a command finds it, with its origin.
fn described_prompt(
    request: &CatalogueRequest<'_>,
    item: &CatalogueItem,
    prompt: &PromptDefinition,
) -> Value {
    let mut described = serde_json::to_value(prompt).unwrap_or_else(|_| json!({}));
    if let Some(members) = described.as_object_mut() {
        members.insert("name".to_owned(), json!(request.command_key(item)));
        members.insert("origin".to_owned(), json!(item.namespace()));
    }
    described
}

fn show_prompt(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let snapshot = request.snapshot()?;
    let item = request.find_item(&snapshot, ItemKind::Prompt, text_argument(matches, "name"))?;
    let Some(prompt) = item.prompt() else { return Ok(Exit::Done) };
    let definition = prompt.definition();
    if !matches.get_flag("json") {
        return prompt_page(request, item, definition);
    }
    let mut described = described_prompt(request, item, definition);
    if let Some(members) = described.as_object_mut() {
        let settings = [
            ("model", json!(definition.model())),
            ("provider", json!(definition.provider())),
            ("input", json!(definition.input())),
            ("output", json!(definition.output())),
            ("tools", json!(definition.tools())),
        ];
        let settings = settings.into_iter().filter(|(_, value)| !value.is_null());
        members.extend(settings.map(|(name, value)| (name.to_owned(), value)));
    }
    request.print_json(&described)
}

fn render_prompt(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let text = matches.get_one::<String>("input").map(|input| request.program.read(input)).transpose()?;
    let snapshot = request.snapshot()?;
    let item = request.find_item(&snapshot, ItemKind::Prompt, text_argument(matches, "name"))?;
    let Some(prompt) = item.prompt() else { return Ok(Exit::Done) };
    let input = prompt_input(prompt.definition(), text)?;
    let rendered = request.program.block_on(catch_async(|| prompt.render(&request.run, &input)))?;
    let rendered = rendered
        .map_err(|panic| Failure::quoting(Exit::Failed, format!("the prompt panicked: {}", panic.message())))?
        .map_err(|error| tool_failure(&error))?;
    if matches.get_flag("json") {
        return request.print_json(&json!({
            "instruction": rendered.instruction,
            "messages": rendered.messages,
        }));
    }
    request.program.print(&rendered_text(&rendered))?;
    Ok(Exit::Done)
}

/// Returns the input of a prompt: the text itself if the input is a text, and else its JSON.
fn prompt_input(prompt: &PromptDefinition, text: Option<String>) -> Result<Value, Failure> {
    let name = prompt.name();
    let is_text =
        prompt.input().is_some_and(|schema| schema.get("type").is_some_and(|kind| kind == "string"));
    match text {
        Some(text) if is_text => Ok(Value::String(text)),
        None if is_text => {
            Err(Failure::usage(format!("the prompt `{name}` takes a text; write it after the name")))
        }
        None => Ok(json!({})),
        Some(text) => serde_json::from_str(&text).map_err(|error| {
            let kind = prompt.input().map_or_else(|| "any JSON".to_owned(), accepted_values_text);
            let received = escape_to_line(text.trim());
            let problem = format!("the input of the prompt `{name}` is no JSON: {error}");
            Failure::quoting(Exit::Usage, format!("{problem}\nexpected: {kind}\nreceived: {received}"))
        }),
    }
}

/// Returns the messages of a prompt, each under its author, and indented: no line of one looks like a line of the page.
fn rendered_text(rendered: &RenderedPrompt) -> String {
    let instruction = rendered.instruction.iter().map(|text| ("instruction", text.clone()));
    let messages = rendered.messages.iter().map(|message| {
        let author = match message.role {
            PromptRole::User => "user",
            PromptRole::Assistant => "assistant",
        };
        (author, content_text(&message.content))
    });
    let page = instruction.chain(messages).map(|(author, text)| {
        let lines = text.trim_end().lines().map(|line| match line {
            "" => "\n".to_owned(),
            line => format!("    {line}\n"),
        });
        let lines: String = lines.collect();
        format!("{author}:\n{lines}")
    });
    page.collect::<Vec<_>>().join("\n")
}

fn content_text(content: &Content) -> String {
    let bytes = |kind: &str, mime_type: &str, count: usize| {
        format!("[{kind}: {mime_type}, {count} bytes; `--json` writes it as base64]")
    };
    match content {
        Content::Text { text } => text.clone(),
        Content::Image { data, mime_type } => bytes("image", mime_type, data.0.len()),
        Content::Audio { data, mime_type } => bytes("audio", mime_type, data.0.len()),
        Content::Resource { resource } => match &resource.body {
            ResourceBody::Text(text) => format!("{}\n{text}", resource.uri),
            ResourceBody::Blob(data) => bytes(&resource.uri, &resource.mime_type, data.0.len()),
        },
        Content::ResourceLink { uri, name, .. } => format!("{name}: {uri}"),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
