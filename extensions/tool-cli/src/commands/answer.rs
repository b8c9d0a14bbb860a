//! The result of `call`, as text or JSON.

use serde_json::Value;
use tool_runtime::{Content, ErrorKind, ToolOutput, ToolResult};

use super::{exit_of_result, pretty_json};
use crate::{
    Exit, Failure, Program,
    sanitize::escaped_line,
    save::{Attachment, Destination},
    streamed::StreamedOutput,
};

/// The form of a result.
pub(super) enum ResultForm<'p> {
    Json,
    Text {
        /// The parts of the text that arrived already.
        streamed: StreamedOutput<'p>,
        /// The destination of images and files.
        save: Option<Destination>,
    },
}

/// Writes the result of a call.
pub(super) fn write_result(
    program: &Program,
    result: &ToolResult,
    form: ResultForm<'_>,
) -> Result<Exit, Failure> {
    let terminal = program.terminal();
    let exit = exit_of_result(result);
    let (streamed, save) = match form {
        ResultForm::Json => {
            terminal.print_json(&pretty_json(result)?)?;
            return Ok(exit);
        }
        ResultForm::Text { streamed, save } => (streamed, save),
    };
    for correction in result.corrections() {
        terminal.report_note(&escaped_line(&correction.to_string()));
    }
    match &result.outcome {
        Ok(output) => {
            let mut unsaved = None;
            let mut attach = |attachment: &Attachment<'_>, number: usize, count: usize| match &save {
                None => attachment.not_saved_line(),
                Some(save) => save.save_and_describe(attachment, &result.name, number, count).unwrap_or_else(
                    |failure| {
                        unsaved.get_or_insert(failure);
                        attachment.not_saved_line()
                    },
                ),
            };
            let text = output_text(output, terminal.is_read_by_a_person(), save.is_some(), &mut attach)?;
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            streamed.finish_with_result(&format!("{text}{end}"), output.structured().as_ref())?;
            if let Some(failure) = unsaved {
                return Err(failure);
            }
            if output.is_failure() {
                terminal.report_error_with_any_text(&format!("`{}` reports a failure", result.name));
            }
        }
        Err(error) => {
            streamed.finish_without_result();
            match error.kind() {
                ErrorKind::Cancelled => terminal.report_error("the call was cancelled"),
                _ => terminal.report_error_with_any_text(&format!("`{}`: {}", result.name, error.feedback())),
            }
        }
    }
    Ok(exit)
}

/// The text of `output`, with a line by `attach` for each attachment. On a terminal, JSON is indented.
fn output_text(
    output: &ToolOutput,
    for_a_person: bool,
    save: bool,
    attach: &mut dyn FnMut(&Attachment<'_>, usize, usize) -> String,
) -> Result<String, Failure> {
    let text = output.text();
    // Text that differs from the value was written to be read.
    let is_all = |value: &Value| serde_json::from_str::<Value>(&text).is_ok_and(|read| read == *value);
    let content = output.content();
    let structured = output.structured().filter(|value| value.is_object() || value.is_array());
    if let Some(value) = structured.filter(|value| for_a_person && is_all(value)) {
        let is_text = content.iter().all(|block| block.as_text().is_some());
        if is_text {
            return pretty_json(&value);
        }
    }
    // A file of text is shown, unless it is saved.
    let is_attached = |it: &Attachment<'_>| save || it.text.is_none();
    let count = content.iter().filter_map(Attachment::of).filter(is_attached).count();
    let mut number = 0;
    let mut block = |content: &Content| match (content, Attachment::of(content)) {
        (_, Some(attachment)) if is_attached(&attachment) => {
            number += 1;
            attach(&attachment, number, count)
        }
        (_, Some(attachment)) => attachment.text.unwrap_or_default().to_owned(),
        (Content::Text { text }, _) => text.clone(),
        (Content::ResourceLink { uri, name, .. }, _) => format!("{name}: {uri}"),
        _ => serde_json::to_string(content).unwrap_or_default(),
    };
    Ok(content.iter().map(&mut block).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;
    use tool_runtime::output::{Resource, ResourceBody};

    use super::*;

    fn text(output: &ToolOutput, for_a_person: bool, save: bool) -> String {
        let mut attach = |it: &Attachment<'_>, number: usize, count: usize| {
            format!("{number}/{count} {}", it.not_saved_line())
        };
        output_text(output, for_a_person, save, &mut attach).unwrap()
    }

    #[test]
    fn json_is_indented_on_a_terminal_and_other_text_stays() {
        let value = json!({ "rows": [1] });
        let indented = "{\n  \"rows\": [\n    1\n  ]\n}\n";
        let output = ToolOutput::json(&value).unwrap();
        assert_eq!(text(&output, true, false), indented);
        assert_eq!(text(&output, false, false), r#"{"rows":[1]}"#);
        let output = ToolOutput::empty().with_text("One row.").with_structured(value);
        assert_eq!(text(&output, true, false), "One row.");
    }

    #[test]
    fn bytes_are_a_line_and_a_file_of_text_is_shown_or_saved() {
        let body = ResourceBody::Text("# Notes".into());
        let notes = Resource { uri: "notes.md".into(), mime_type: "text/markdown".into(), body };
        let link =
            Content::ResourceLink { uri: "https://a.example/b".into(), name: "b".into(), mime_type: None };
        let output = ToolOutput::new([
            Content::text("Two files."),
            Content::image([0; 1500], "image/png"),
            Content::Resource { resource: notes },
            link,
        ]);
        let image = "[image: image/png, 1,500 bytes; `--save DIR/` saves it]";
        let end = "\nb: https://a.example/b";
        for for_a_person in [true, false] {
            let shown = text(&output, for_a_person, false);
            assert_eq!(shown, format!("Two files.\n1/1 {image}\n# Notes{end}"));
            let saved = text(&output, for_a_person, true);
            let notes = "2/2 [file: text/markdown, 7 bytes; `--save DIR/` saves it]";
            assert_eq!(saved, format!("Two files.\n1/2 {image}\n{notes}{end}"));
        }
    }
}
