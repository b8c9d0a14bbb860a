//! A prompt from a file.

use std::{fs::File, io::Read as _, path::Path, sync::Arc};

use tool_runtime::{BoxFuture, RunContext, ToolError, serde_json::Value};

use super::{
    Prompt, PromptDefinition, PromptError, PromptMessage, RenderedPrompt,
    front_matter::{FrontMatter, divide_file, heading_of, offset_of_member_line},
    template::{Template, TemplateProblem},
};

/// A prompt from a file: front matter in YAML, which may be left out, and a template.
///
/// ```text
/// ---
/// name: explain              # or else the name of the file
/// title: Explains a topic    # or else the first heading `# ..` of the template
/// description: For readers who know nothing about it.
/// model: gpt-5               # which model answers, and whose it is
/// provider: openai
/// system_prompt: You are a teacher of {{ .subject }}.
/// input:                     # a JSON Schema of any type
///   type: object
///   properties: { subject: { type: string }, topic: { type: string } }
///   required: [topic]
/// output: { type: string }
/// tools: [search_books]      # all that a run may use
/// thinking: low              # off, on, low, medium, high, true or false
/// thinking_budget: 1024
/// ---
/// Explain {{ .topic }} in three sentences.
/// ```
///
/// # Templates
///
/// They are those of [minijinja](https://docs.rs/minijinja), in which the actions of Go's `text/template` may be used, too:
///
/// | Go | means |
/// | --- | --- |
/// | `{{ . }}`, `{{ .a.b }}`, `{{ $.a }}` | the input, and members of it |
/// | `{{ .a \| upper \| default "x" }}`, `{{ join .list ", " }}` | functions: `json`, `default`, `join`, `upper`, `lower`, `trim`, `eq`, `ne`, `lt`, `le`, `gt`, `ge`, `and`, `or`, `not`, `len`, `index`, `print` |
/// | `{{ if .a }} .. {{ else if .b }} .. {{ else }} .. {{ end }}` | conditions |
/// | `{{ range .list }} .. {{ else }} .. {{ end }}`, `{{ range $key, $value := .map }}` | loops |
/// | `{{ with .a }} .. {{ end }}`, `{{ $x := .a }}`, `{{/* comment */}}` | other values for `.`, variables, comments |
///
/// The members of an object are variables of the engine's own forms: `{{ topic | upper }}`, `{% for item in list %}`. In both, `default` also
/// replaces empty values. A text is inserted as it is, any other value as JSON. A member that the input lacks is an error, except where only
/// its truth counts (`if`, `with`, `not`, `and`, `or`), in `eq` and `ne`, for which it is `nil`, and as the value of `default`. No template reads a file or another template; it takes at most a million steps and 4 MiB.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::prompt::{Prompt, PromptFile};
/// use tool_runtime::{RunContext, prelude::*};
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let explain = PromptFile::parse("---\nname: explain\n---\nExplain {{ .topic }}{{ if .short }} in one sentence{{ end }}.")?;
/// let rendered = explain.render(&Arc::new(RunContext::new()), &json!({ "topic": "tides" })).await?;
/// assert_eq!(rendered.text(), "Explain tides.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PromptFile {
    definition: PromptDefinition,
    instruction: Option<Template>,
    template: Template,
    /// Of the whole file, for the report of changes.
    text: Arc<str>,
    /// The offset of the template in the text.
    body_offset: usize,
}

impl PromptFile {
    /// The maximum length of a file, in bytes.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Reads a prompt from text. Windows line breaks and a byte order mark are accepted.
    ///
    /// # Errors
    ///
    /// Returns an error with line and column if the front matter is not closed or not valid, a schema is not valid, there is no name, or the
    /// template is not valid.
    pub fn parse(text: &str) -> Result<Self, PromptError> {
        Self::parse_named(text, None)
    }

    /// Reads a prompt from a file. Its name is the prompt's, unless the front matter states one.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), with the path; also if the file cannot be read, is not UTF-8, or exceeds [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, PromptError> {
        let path = path.as_ref();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        let read = || {
            let text = read_text(path)?;
            Self::parse_named(&text, name.as_deref())
        };
        read().map_err(|error| error.in_file(path))
    }

    /// Reads a prompt whose name is `file_name`, unless the front matter states one.
    pub(crate) fn parse_named(text: &str, file_name: Option<&str>) -> Result<Self, PromptError> {
        if text.len() > Self::MAX_BYTES {
            return Err(too_long_error());
        }
        let parts = divide_file(text)?;
        let front_matter = match parts.header {
            Some(header) => FrontMatter::parse(text, header)?,
            None => FrontMatter::default(),
        };
        let at_member = |member: &str, error: PromptError| match parts.header {
            Some((header, offset)) => error.with_place(text, offset + offset_of_member_line(header, member)),
            None => error,
        };
        let (body, body_offset) = trim_blank_lines(parts.body);
        let instruction = front_matter.system_prompt.clone();
        let definition = front_matter
            .definition(file_name, heading_of(body))
            .map_err(|(member, error)| at_member(member, error))?;
        let instruction = instruction.map(|text| compile_instruction(&text)).transpose();
        let instruction = instruction.map_err(|error| at_member("system_prompt", error))?;
        let template =
            Template::compile(body).map_err(|problem| template_error(problem, text, body_offset))?;
        Ok(Self { definition, instruction, template, text: text.into(), body_offset })
    }

    /// Returns the text that it was read from.
    #[cfg(feature = "session")]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_unchanged_from(&self, other: &Self) -> bool {
        self.text == other.text && self.definition == other.definition
    }

    fn render_input(&self, input: &Value) -> Result<RenderedPrompt, ToolError> {
        let input = &*self.definition.complete_input(input)?;
        let text = self.template.render(input).map_err(|problem| {
            template_error(problem, &self.text, self.body_offset).into_tool_error(self.definition.name())
        })?;
        let rendered = RenderedPrompt::new([PromptMessage::user(text)]);
        match &self.instruction {
            None => Ok(rendered),
            Some(instruction) => {
                let to_error = |problem| instruction_error(&problem).into_tool_error(self.definition.name());
                let text = instruction.render(input).map_err(to_error)?;
                Ok(rendered.with_instruction(text))
            }
        }
    }
}

impl Prompt for PromptFile {
    fn definition(&self) -> &PromptDefinition {
        &self.definition
    }

    fn render<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        Box::pin(async move { self.render_input(input) })
    }
}

fn read_text(path: &Path) -> Result<String, PromptError> {
    let failed = |error: std::io::Error| PromptError::new(format!("the file cannot be read: {error}"));
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(PromptFile::MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > PromptFile::MAX_BYTES {
        return Err(too_long_error());
    }
    String::from_utf8(bytes).map_err(|_| PromptError::new("the file is not UTF-8; save it as UTF-8"))
}

fn too_long_error() -> PromptError {
    PromptError::new(format!("the file exceeds {} bytes; a prompt is shorter", PromptFile::MAX_BYTES))
}

/// Returns the template without blank lines around it.
fn trim_blank_lines((body, offset): (&str, usize)) -> (&str, usize) {
    let start = body.len() - body.trim_start_matches(['\r', '\n']).len();
    (body[start..].trim_end(), offset + start)
}

fn compile_instruction(text: &str) -> Result<Template, PromptError> {
    Template::compile(text.trim_end()).map_err(|problem| instruction_error(&problem))
}

fn instruction_error(problem: &TemplateProblem) -> PromptError {
    PromptError::new(format!("`system_prompt`: {}", problem.message))
}

/// Returns the error of a template that is a part of a file.
fn template_error(problem: TemplateProblem, text: &str, body_offset: usize) -> PromptError {
    PromptError::new(problem.message).with_place(text, body_offset + problem.offset)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_has_at_most_1_mib() {
        let text = |bytes: usize| format!("---\nname: a\n---\n{}", "x".repeat(bytes - 16));
        let problem = "the file exceeds 1048576 bytes; a prompt is shorter";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        for (bytes, is_read) in [(PromptFile::MAX_BYTES, true), (PromptFile::MAX_BYTES + 1, false)] {
            assert_eq!(text(bytes).len(), bytes);
            fs::write(&path, text(bytes)).unwrap();
            for read in [PromptFile::parse(&text(bytes)), PromptFile::load(&path)] {
                assert_eq!(
                    read.map(|_| ()).map_err(|error| error.problem),
                    if is_read { Ok(()) } else { Err(problem.to_owned()) }
                );
            }
        }
    }

    #[test]
    fn blank_lines_around_a_template_are_no_part_of_it() {
        assert_eq!(trim_blank_lines(("\r\n\n  a\nb \n\n", 7)), ("  a\nb", 10));
        assert_eq!(trim_blank_lines(("", 7)), ("", 7));
    }
}
