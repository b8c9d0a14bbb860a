//! The front matter of a prompt file.

use serde::Deserialize;
use tool_runtime::serde_json::Value;

use super::{PromptDefinition, PromptError, PromptThinking};

/// The maximum length of the front matter.
pub(super) const MAX_HEADER_BYTES: usize = 64 << 10;

/// The line above and below the front matter.
const FENCE: &str = "---";

/// A file in its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileParts<'a> {
    /// The front matter, and its offset in the file.
    pub(super) header: Option<(&'a str, usize)>,
    /// The template, and its offset in the file.
    pub(super) body: (&'a str, usize),
}

/// The members of the front matter.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrontMatter {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    pub(super) system_prompt: Option<String>,
    input: Option<Value>,
    output: Option<Value>,
    tools: Option<Vec<String>>,
    thinking: Option<Thinking>,
    thinking_budget: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Thinking {
    Switch(bool),
    Level(ThinkingLevel),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ThinkingLevel {
    Off,
    On,
    Low,
    Medium,
    High,
}

/// Divides a file into front matter and template.
pub(super) fn divide_file(text: &str) -> Result<FileParts<'_>, PromptError> {
    let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != FENCE {
        return Ok(FileParts { header: None, body: (&text[start..], start) });
    }
    let header_start = start + first.len();
    let mut at = header_start;
    for line in lines {
        if line.trim_end() == FENCE {
            let body = at + line.len();
            return Ok(FileParts {
                header: Some((&text[header_start..at], header_start)),
                body: (&text[body..], body),
            });
        }
        at += line.len();
        if at - header_start > MAX_HEADER_BYTES {
            let problem = format!(
                "the front matter has more than {MAX_HEADER_BYTES} bytes; shorten it, and end it with a line `---`"
            );
            return Err(PromptError::new(problem).with_place(text, start));
        }
    }
    Err(PromptError::new("the front matter has no end; add a line `---` below it").with_place(text, start))
}

impl FrontMatter {
    /// Reads YAML.
    pub(super) fn parse(text: &str, (header, offset): (&str, usize)) -> Result<Self, PromptError> {
        if header.trim().is_empty() {
            return Ok(Self::default());
        }
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_events: 20_000,
                max_nodes: 10_000,
                max_depth: 64,
                max_total_scalar_bytes: 4 * MAX_HEADER_BYTES,
            },
            // As in YAML 1.2: a name `no` is a text.
            strict_booleans: true,
        };
        serde_saphyr::from_str_with_options(header, options).map_err(|error| {
            let (line, column) = error.location().map_or((1, 1), |place| (place.line(), place.column()));
            let message = error.to_string();
            let reason = message.lines().next().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            // Which are those of the front matter, not of the file.
            let reason = reason.strip_prefix(&format!("line {line} column {column}: ")).unwrap_or(reason);
            let problem = format!("the front matter cannot be read: {}", escape_to_line(reason));
            PromptError::new(problem)
                .with_place(text, offset + offset_of_line_and_column(header, line, column))
        })
    }

    /// Returns the definition; `file_name` and `heading` stand for a name and a title that are not stated. An error has the member that it
    /// is about.
    pub(super) fn definition(
        self,
        file_name: Option<&str>,
        heading: Option<&str>,
    ) -> Result<PromptDefinition, (&'static str, PromptError)> {
        let about = |member| move |error: PromptError| (member, error);
        let unnamed = || PromptError::new("the prompt has no name; add `name: ..` to the front matter");
        let name = self.name.as_deref().or(file_name).ok_or_else(unnamed).map_err(about("name"))?;
        let mut definition = PromptDefinition::new(name).map_err(about("name"))?;
        definition = match (self.title, heading) {
            (Some(title), _) => definition.with_title(title).map_err(about("title"))?,
            (None, Some(heading)) => definition.with_unchecked_title(heading),
            (None, None) => definition,
        };
        if let Some(description) = self.description {
            definition = definition.with_description(description);
        }
        if let Some(model) = self.model {
            definition = definition.with_model(model);
        }
        if let Some(provider) = self.provider {
            definition = definition.with_provider(provider);
        }
        if let Some(schema) = self.input {
            definition = definition.with_input(schema).map_err(about("input"))?;
        }
        if let Some(schema) = self.output {
            definition = definition.with_output(schema).map_err(about("output"))?;
        }
        if let Some(tools) = self.tools {
            definition = definition.with_tools(tools);
        }
        if let Some(thinking) = self.thinking {
            definition = definition.with_thinking(thinking.into());
        }
        if let Some(tokens) = self.thinking_budget {
            definition = definition.with_thinking_budget(tokens);
        }
        Ok(definition)
    }
}

impl From<Thinking> for PromptThinking {
    fn from(thinking: Thinking) -> Self {
        match thinking {
            Thinking::Switch(false) | Thinking::Level(ThinkingLevel::Off) => Self::Off,
            Thinking::Switch(true) | Thinking::Level(ThinkingLevel::On) => Self::On,
            Thinking::Level(ThinkingLevel::Low) => Self::Low,
            Thinking::Level(ThinkingLevel::Medium) => Self::Medium,
            Thinking::Level(ThinkingLevel::High) => Self::High,
        }
    }
}

/// Returns the offset of the line that has a member; 0 if none has it at its beginning.
pub(super) fn offset_of_member_line(header: &str, member: &str) -> usize {
    let mut offset = 0;
    for line in header.split_inclusive('\n') {
        let name = line.trim_start_matches(['"', '\'']);
        if name
            .strip_prefix(member)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
        {
            return offset;
        }
        offset += line.len();
    }
    0
}

/// Returns the offset of a line and a column, from 1 on.
fn offset_of_line_and_column(text: &str, line: u64, column: u64) -> usize {
    let before = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
    let start: usize = text.split_inclusive('\n').take(before(line)).map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    start + rest.char_indices().nth(before(column)).map_or(0, |(at, _)| at)
}

fn escape_to_line(text: &str) -> String {
    tool_runtime::policy::Escape::LINE.at_most(300).text(text)
}

/// Returns the first heading of the first level, outside of fenced code.
pub(super) fn heading_of(body: &str) -> Option<&str> {
    let mut is_code = false;
    for line in body.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let heading = line.strip_prefix("# ").filter(|_| !is_code).map(str::trim);
        if let Some(heading) = heading.filter(|heading| !heading.is_empty()) {
            return Some(heading);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn parts<'a>(
        header: Option<(&'a str, usize)>,
        body: (&'a str, usize),
    ) -> Result<FileParts<'a>, PromptError> {
        Ok(FileParts { header, body })
    }

    #[test]
    fn a_file_is_divided_at_its_fences() {
        assert_eq!(divide_file(""), parts(None, ("", 0)));
        assert_eq!(divide_file("a\n---\nb"), parts(None, ("a\n---\nb", 0)));
        assert_eq!(divide_file("\u{feff}a"), parts(None, ("a", 3)));
        assert_eq!(divide_file("---\n---"), parts(Some(("", 4)), ("", 7)));
        assert_eq!(
            divide_file("---\na: 1\nb: 2\n---\nc\n---\n"),
            parts(Some(("a: 1\nb: 2\n", 4)), ("c\n---\n", 18))
        );
        assert_eq!(divide_file("\u{feff}--- \r\na\r\n---\t\r\nb"), parts(Some(("a\r\n", 9)), ("b", 18)));
        let unclosed = "the front matter has no end; add a line `---` below it";
        for (text, place) in [("---", (1, 1)), ("\u{feff}---\na\n ---\n", (1, 2))] {
            let error = divide_file(text).unwrap_err();
            assert_eq!((&*error.problem, error.place), (unclosed, Some(place)), "{text}");
        }
    }

    #[test]
    fn front_matter_has_at_most_64_kib() {
        let file = |bytes: usize| format!("---\n#{}\n---\nx", "a".repeat(bytes - 2));
        let longest = file(MAX_HEADER_BYTES);
        assert_eq!(
            divide_file(&longest).unwrap().header.map(|(header, _)| header.len()),
            Some(MAX_HEADER_BYTES)
        );
        let longer = file(MAX_HEADER_BYTES + 1);
        let error = divide_file(&longer).unwrap_err();
        let problem = "the front matter has more than 65536 bytes; shorten it, and end it with a line `---`";
        assert_eq!((&*error.problem, error.place), (problem, Some((1, 1))));
    }

    #[test]
    fn a_member_is_found_at_the_beginning_of_its_line() {
        let header = "# name: no\n  name: no\nnames: no\n\"title\" : x\nname: yes\n";
        assert_eq!(&header[offset_of_member_line(header, "name")..], "name: yes\n");
        assert_eq!(&header[offset_of_member_line(header, "title")..][..7], "\"title\"");
        assert_eq!(offset_of_member_line(header, "tools"), 0);
    }

    #[test]
    fn lines_and_columns_begin_with_one() {
        let text = "ab\nécd\n";
        for (line, column, offset) in [
            (1, 1, 0),
            (1, 2, 1),
            (2, 1, 3),
            (2, 2, 5),
            (2, 3, 6),
            (3, 1, 8),
            (9, 1, 8),
            (0, 0, 0),
            (2, 99, 3),
        ] {
            assert_eq!(offset_of_line_and_column(text, line, column), offset, "{line}:{column}");
        }
    }

    #[test]
    fn the_heading_is_the_first_of_its_level_outside_of_code() {
        for (body, expected) in [
            ("# A\n# B", Some("A")),
            ("## A\n#B\n #C\n#  D \nE", Some("D")),
            ("# \n# A", Some("A")),
            ("```\n# A\n```\n# B", Some("B")),
            ("  ```rust\n# A\n```\n```\n# C\n```", None),
            ("```\n# A", None),
            ("", None),
        ] {
            assert_eq!(heading_of(body), expected, "{body}");
        }
    }
}
