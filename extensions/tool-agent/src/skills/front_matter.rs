//! The text of a `SKILL.md`: front matter in YAML, and instructions in Markdown.

use serde_json::{Map, Value};

use super::{AllowedTools, Skill, SkillError, error::short_line};

/// The maximum length of the front matter.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// The maximum length of a `SKILL.md`.
pub(super) const MAX_SKILL_MD_BYTES: usize = MAX_HEADER_BYTES + Skill::MAX_BODY_BYTES + 64;

/// The line above and below the front matter.
const FENCE: &str = "---";

impl Skill {
    /// Reads the text of a `SKILL.md` in the format of [Agent Skills](https://agentskills.io/specification), without files (feature
    /// `skills`). A byte order mark and Windows line breaks are accepted; unknown members of the front matter are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no front matter, it is not valid YAML, or a part exceeds its limit.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::skills::Skill;
    ///
    /// let text = "---\nname: greetings\ndescription: How to greet customers.\nallowed-tools: find_customer\n---\nGreet by name.\n";
    /// let skill = Skill::parse(text)?;
    /// assert_eq!((&*skill.header.name, skill.body.as_str()), ("greetings", "Greet by name.\n"));
    /// # Ok::<(), tool_agent::skills::SkillError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, SkillError> {
        let (header, body) = split_front_matter(text)?;
        let mut members = parse_yaml(&header)?;
        let (name, description) = (required_text(&members, "name")?, required_text(&members, "description")?);
        let mut skill = Self::new(name, description, body)?;
        if let Some(text) = optional_text(&members, "compatibility")? {
            skill = skill.with_compatibility(text)?;
        }
        skill.header.license = optional_text(&members, "license")?;
        skill.header.allowed_tools = members.get("allowed-tools").map(parse_allowed_tools).transpose()?;
        match members.remove("metadata") {
            None | Some(Value::Null) => {}
            Some(Value::Object(metadata)) => skill.header.metadata = metadata,
            Some(_) => {
                return Err(SkillError::invalid(
                    "`metadata` is not a map; write `key: value` lines below it",
                ));
            }
        }
        Ok(skill)
    }
}

/// Divides a text into the front matter and the instructions, with `\n` between lines.
fn split_front_matter(text: &str) -> Result<(String, String), SkillError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    if !is_fence(first) {
        let problem = "`SKILL.md` has no front matter; begin it with a line `---`, the members `name` and `description`, and a line `---`";
        return Err(SkillError::invalid(problem));
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if is_fence(line) {
            let (header, body) = (rest.get(..end), rest.get(end + line.len()..));
            return Ok((header.unwrap_or_default().to_owned(), body.unwrap_or_default().to_owned()));
        }
        end += line.len();
        if end > MAX_HEADER_BYTES {
            return Err(SkillError::invalid(format!(
                "the front matter has more than {MAX_HEADER_BYTES} bytes; shorten it, and end it with a line `---`"
            )));
        }
    }
    Err(SkillError::invalid("the front matter has no end; add a line `---` below it"))
}

fn parse_yaml(header: &str) -> Result<Map<String, Value>, SkillError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 10_000,
            max_nodes: 5_000,
            max_depth: 16,
            max_total_scalar_bytes: 4 * MAX_HEADER_BYTES,
        },
        // As in YAML 1.2: a license named `NO` is a text.
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(header, options).map_err(|error| {
        let text = error.to_string();
        let text = text.lines().next().unwrap_or_default();
        let text = short_line(text.strip_prefix("error: ").unwrap_or(text));
        SkillError::invalid(match exceeds_limits(&error) {
            true => format!(
                "the front matter has too many values, or nests too deeply: {text}; shorten it, and write values in place of aliases"
            ),
            false => format!(
                "the front matter is not a map in YAML: {text}; write `key: value` lines, and quote texts with a colon"
            ),
        })
    })
}

/// Returns `true` if the YAML exceeds the limits of the parser, which count what aliases stand for.
fn exceeds_limits(error: &serde_saphyr::Error) -> bool {
    use serde_saphyr::Error;
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => exceeds_limits(error),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => true,
        _ => false,
    }
}

fn required_text(members: &Map<String, Value>, member: &str) -> Result<String, SkillError> {
    let missing = || SkillError::invalid(format!("the front matter has no `{member}`; add it"));
    optional_text(members, member)?.ok_or_else(missing)
}

fn optional_text(members: &Map<String, Value>, member: &str) -> Result<Option<String>, SkillError> {
    match members.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(SkillError::invalid(format!("`{member}` is not a text; write it in quotes"))),
    }
}

/// Reads a text or a list. A member without a value is an error: whether it allows all tools or none is unknown.
fn parse_allowed_tools(value: &Value) -> Result<AllowedTools, SkillError> {
    let wrong =
        "`allowed-tools` is neither a text nor a list of texts; write the names of tools, or remove it";
    match value {
        Value::String(text) => AllowedTools::parse(text),
        Value::Array(entries) => {
            let texts = entries.iter().map(|entry| entry.as_str().map(str::trim));
            let texts: Option<Vec<_>> = texts.collect();
            AllowedTools::new(texts.ok_or_else(|| SkillError::invalid(wrong))?)
        }
        _ => Err(SkillError::invalid(wrong)),
    }
}
