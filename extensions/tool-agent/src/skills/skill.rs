//! Skills and their parts.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use super::{AllowedTools, SkillError, error::short_line};

/// The maximum number of characters of a description, as the format of skills has it.
pub(super) const MAX_DESCRIPTION_CHARS: usize = 1_024;
/// The maximum number of characters of the compatibility, as the format of skills has it.
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// The description of a skill: what a model knows before it loads the skill.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SkillHeader {
    /// The name: 1 to 64 lowercase letters, digits and single hyphens between them.
    pub name: Arc<str>,
    /// The purpose, and when to use it: 1 to 1,024 characters.
    pub description: String,
    /// The license, or the name of its file.
    pub license: Option<String>,
    /// The requirements on its surroundings: at most 500 characters.
    pub compatibility: Option<String>,
    /// Further members.
    pub metadata: Map<String, Value>,
    /// The tools that can be called while the skill is active; `None` if it does not narrow them.
    pub allowed_tools: Option<AllowedTools>,
}

/// A skill: its header, its instructions, and the paths of its files.
///
/// # Examples
///
/// ```
/// use tool_agent::skills::Skill;
///
/// let skill = Skill::new("greetings", "How to greet customers. Use it for the first answer.", "Greet by name.")?;
/// assert_eq!(&*skill.header.name, "greetings");
///
/// let error = Skill::new("Greetings", "How to greet.", "Greet by name.").unwrap_err();
/// assert_eq!(error.to_string(), "the name `Greetings` has characters other than a-z, 0-9 and `-`; rename the skill");
/// # Ok::<(), tool_agent::skills::SkillError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Skill {
    /// The header.
    pub header: SkillHeader,
    /// The instructions: at most [64 KiB](Self::MAX_BODY_BYTES).
    pub body: String,
    /// The files, sorted by path.
    pub files: Vec<SkillFile>,
    /// The number of further files that are not listed.
    pub unlisted_files: u64,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFile {
    /// The path below the folder of the skill, with `/` between its parts.
    pub path: String,
    /// The size in bytes.
    pub bytes: u64,
}

/// The skills of a store.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SkillList {
    /// The headers, sorted by name; each name once.
    pub headers: Vec<SkillHeader>,
    /// The skills that cannot be read.
    pub diagnostics: Vec<SkillDiagnostic>,
}

/// A skill that cannot be read, or a part of it. The others are not concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillDiagnostic {
    /// The folder or the name of the skill.
    pub place: String,
    /// The problem, and what to do.
    pub problem: String,
}

impl Skill {
    /// The maximum length of the instructions.
    pub const MAX_BODY_BYTES: usize = 64 << 10;
    /// The maximum length of a file.
    pub const MAX_FILE_BYTES: u64 = 1 << 20;

    /// Creates a skill without files.
    ///
    /// # Errors
    ///
    /// Returns an error if the name, the description or the instructions exceed a limit.
    pub fn new(
        name: impl Into<Arc<str>>,
        description: impl Into<String>,
        body: impl Into<String>,
    ) -> Result<Self, SkillError> {
        let (name, description, body) = (name.into(), description.into(), body.into());
        check_name(&name)?;
        check_text_length("description", &description, MAX_DESCRIPTION_CHARS)?;
        check_body(&body)?;
        let header = SkillHeader {
            name,
            description,
            license: None,
            compatibility: None,
            metadata: Map::new(),
            allowed_tools: None,
        };
        Ok(Self { header, body, files: Vec::new(), unlisted_files: 0 })
    }

    /// Sets the tools that can be called while the skill is active. Default: the skill does not narrow them.
    #[must_use]
    pub fn with_allowed_tools(mut self, tools: AllowedTools) -> Self {
        self.header.allowed_tools = Some(tools);
        self
    }

    /// Sets the requirements on the surroundings of the skill. Default: none.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is blank, or longer than 500 characters.
    pub fn with_compatibility(mut self, text: impl Into<String>) -> Result<Self, SkillError> {
        let text = text.into();
        check_text_length("compatibility", &text, MAX_COMPATIBILITY_CHARS)?;
        self.header.compatibility = Some(text);
        Ok(self)
    }

    /// Returns `true` if the skill has files that are programs: those below `scripts/`, and those with the ending of a script.
    #[must_use]
    pub fn has_scripts(&self) -> bool {
        self.files.iter().any(|file| is_script(&file.path))
    }
}

impl SkillFile {
    pub(super) fn new(path: impl Into<String>, bytes: u64) -> Self {
        Self { path: path.into(), bytes }
    }
}

impl SkillDiagnostic {
    pub(super) fn new(place: &str, problem: impl Into<String>) -> Self {
        Self { place: short_line(place), problem: problem.into() }
    }
}

impl fmt::Display for SkillDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, problem } = self;
        write!(f, "the skill `{place}` cannot be used: {problem}")
    }
}

/// Returns `true` if the file at `path` is a program.
pub(super) fn is_script(path: &str) -> bool {
    const ENDINGS: [&str; 12] =
        ["bash", "bat", "cmd", "js", "mjs", "php", "pl", "ps1", "py", "rb", "sh", "ts"];
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    path.starts_with("scripts/")
        || ending.is_some_and(|it| ENDINGS.iter().any(|e| e.eq_ignore_ascii_case(it)))
}

/// Checks the name of a skill.
pub(super) fn check_name(name: &str) -> Result<(), SkillError> {
    const MAX_NAME_CHARS: usize = 64;
    let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    let problem = if name.is_empty() {
        "is empty"
    } else if !name.bytes().all(is_plain) {
        "has characters other than a-z, 0-9 and `-`"
    } else if name.len() > MAX_NAME_CHARS {
        "is longer than 64 characters"
    } else if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        "has a hyphen that is not between two letters or digits"
    } else {
        return Ok(());
    };
    Err(SkillError::invalid(format!("the name `{}` {problem}; rename the skill", short_line(name))))
}

/// Checks a text of the header.
pub(super) fn check_text_length(member: &str, text: &str, max_chars: usize) -> Result<(), SkillError> {
    if text.trim().is_empty() {
        return Err(SkillError::invalid(format!("`{member}` is empty; write it")));
    }
    match text.chars().count() {
        count if count > max_chars => Err(SkillError::invalid(format!(
            "`{member}` has {count} characters, more than {max_chars}; shorten it"
        ))),
        _ => Ok(()),
    }
}

/// Checks the instructions.
pub(super) fn check_body(body: &str) -> Result<(), SkillError> {
    let max = Skill::MAX_BODY_BYTES;
    match body.len() {
        bytes if bytes > max => Err(SkillError::invalid(format!(
            "the instructions have {bytes} bytes, more than {max}; move a part to other files"
        ))),
        _ => Ok(()),
    }
}
