//! Sessions as lines of JSON (JSONL), for export and import.
//!
//! The first line names the format and its version. Each session is a line, followed by one line for each entry; the last line counts
//! sessions and entries, so that a text that was cut off is recognized. A body is a JSON string with the exact text: it may have line breaks.
//!
//! ```text
//! {"format":"tool-session","v":1}
//! {"type":"session","app":"shop","user":"u-7","id":"s-1","revision":1,"entries":1,"createdAt":0,"updatedAt":0,"state":"{}"}
//! {"type":"entry","number":1,"time":0,"run":"run-1","kind":"message","body":"{\"text\": \"Hello\"}"}
//! {"type":"end","sessions":1,"entries":1}
//! ```

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Entry, JsonText, Session, SessionError, SessionKey, state::check_value_depths};

/// A session with all of its entries and its own state, as it is exported. The state of its user and its app is not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionExport {
    /// The session. Its key can be changed before an import.
    pub session: Session,
    /// The state of the session.
    pub state: Map<String, Value>,
    /// The entries, in order.
    pub entries: Vec<Entry>,
}

const FORMAT_NAME: &str = "tool-session";
const FORMAT_VERSION: u32 = 1;
/// The largest integer that every reader of JSON reads exactly.
const MAX_REVISION: u64 = 1 << 53;

#[derive(Serialize, Deserialize)]
struct ExportHeader {
    format: String,
    v: u32,
}

/// A line after the first one.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum ExportLine {
    Session(SessionLine),
    Entry(Entry),
    End { sessions: usize, entries: usize },
}

#[derive(Serialize, Deserialize)]
struct SessionLine {
    #[serde(flatten)]
    session: Session,
    /// As text, whose numbers no reader of the line changes.
    state: JsonText,
}

impl SessionExport {
    /// Checks that the entries are numbered without gaps, as the session counts them, and that all names are valid.
    pub(crate) fn check_contents(&self) -> Result<(), SessionError> {
        let key = &self.session.key;
        let numbers = self.entries.iter().map(|entry| entry.number);
        if !numbers.eq(1..=self.session.entries) {
            let problem =
                format!("the entries of the {key} are not numbered from 1 to {}", self.session.entries);
            return Err(SessionError::Invalid(problem));
        }
        if self.session.revision > MAX_REVISION {
            return Err(SessionError::Invalid(format!("the revision of the {key} is larger than 2^53")));
        }
        check_value_depths(&self.state)?;
        self.entries.iter().try_for_each(|entry| entry.content.check_names())?;
        if let Some(origin) = &self.session.origin {
            crate::key::check_name("origin", &origin.id)?;
        }
        let title = self.session.title.as_deref().unwrap_or_default();
        crate::key::check_name("title", title)
    }
}

/// Checks exports, and that each has a key of its own.
pub(crate) fn check_exports(exports: &[SessionExport]) -> Result<(), SessionError> {
    exports.iter().try_for_each(SessionExport::check_contents)?;
    let mut keys: HashSet<&SessionKey> = HashSet::new();
    match exports.iter().find(|export| !keys.insert(&export.session.key)) {
        None => Ok(()),
        Some(export) => {
            Err(SessionError::Invalid(format!("there are two exports of the {}", export.session.key)))
        }
    }
}

/// Writes exports as JSONL. Bodies are kept byte for byte.
///
/// # Errors
///
/// Returns an error if the state of a session has more than [16 MiB](JsonText::MAX_BYTES).
///
/// # Examples
///
/// ```
/// use tool_session::{InMemoryStore, LeaseRequest, SessionKey, SharedSessionStore, jsonl};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let sessions = SharedSessionStore::new(InMemoryStore::new());
/// let key = SessionKey::new("shop", "u-7", "s-1")?;
/// sessions.acquire(&key, &LeaseRequest::new("run-1", "process-1")).await?;
/// let text = jsonl::to_jsonl(&[sessions.export(&key).await?])?;
/// assert!(text.starts_with(r#"{"format":"tool-session","v":1}"#));
///
/// let other = SharedSessionStore::new(InMemoryStore::new());
/// other.import(&jsonl::from_jsonl(&text)?).await?;
/// assert!(other.load(&key).await?.is_some());
/// # Ok(())
/// # }
/// ```
pub fn to_jsonl(exports: &[SessionExport]) -> Result<String, SessionError> {
    let mut writer = JsonlWriter::default();
    let mut text = writer.header_line()?;
    for export in exports {
        text.push_str(&writer.format_and_count_session(export)?);
    }
    text.push_str(&writer.end_line()?);
    Ok(text)
}

/// Writes exports one after another, so that one of them is in memory at a time.
#[derive(Debug, Default)]
pub(crate) struct JsonlWriter {
    sessions: usize,
    entries: usize,
}

impl JsonlWriter {
    /// Returns the first line.
    pub(crate) fn header_line(&self) -> Result<String, SessionError> {
        let mut text = String::new();
        push_json_line(&mut text, &ExportHeader { format: FORMAT_NAME.to_owned(), v: FORMAT_VERSION })?;
        Ok(text)
    }

    /// Returns the lines of a session, and counts them.
    pub(crate) fn format_and_count_session(
        &mut self,
        export: &SessionExport,
    ) -> Result<String, SessionError> {
        let mut text = String::new();
        let state = JsonText::of(&export.state)?;
        push_json_line(
            &mut text,
            &ExportLine::Session(SessionLine { session: export.session.clone(), state }),
        )?;
        for entry in &export.entries {
            push_json_line(&mut text, &ExportLine::Entry(entry.clone()))?;
        }
        self.sessions += 1;
        self.entries += export.entries.len();
        Ok(text)
    }

    /// Returns the last line.
    pub(crate) fn end_line(&self) -> Result<String, SessionError> {
        let mut text = String::new();
        push_json_line(&mut text, &ExportLine::End { sessions: self.sessions, entries: self.entries })?;
        Ok(text)
    }

    /// Returns the numbers of sessions and entries so far.
    #[cfg(feature = "cli")]
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.sessions, self.entries)
    }
}

fn push_json_line(text: &mut String, line: &impl Serialize) -> Result<(), SessionError> {
    let line = serde_json::to_string(line)
        .map_err(|error| SessionError::Invalid(format!("the session is not JSON: {error}")))?;
    text.push_str(&line);
    text.push('\n');
    Ok(())
}

/// Reads exports from JSONL.
///
/// # Errors
///
/// Returns an error that names the line if the text is of another format or a newer version, has an invalid line, was cut off, or has
/// further lines behind its end.
pub fn from_jsonl(text: &str) -> Result<Vec<SessionExport>, SessionError> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    check_header_line(lines.next().map(|(_, line)| line).unwrap_or_default())?;
    let mut exports: Vec<SessionExport> = Vec::new();
    for (number, line) in lines.by_ref() {
        let invalid =
            |problem: String| SessionError::Invalid(format!("line {number} of the export: {problem}"));
        match serde_json::from_str(line).map_err(|error| invalid(error.to_string()))? {
            ExportLine::Session(SessionLine { session, state }) => {
                let state = state.read()?;
                exports.push(SessionExport { session, state, entries: Vec::new() });
            }
            ExportLine::Entry(entry) => match exports.last_mut() {
                Some(export) => export.entries.push(entry),
                None => return Err(invalid("an entry has no session".to_owned())),
            },
            ExportLine::End { sessions, entries } => {
                let count = exports.iter().map(|export| export.entries.len()).sum::<usize>();
                if (sessions, entries) != (exports.len(), count) {
                    let counts = format!("{sessions} sessions and {entries} entries are counted");
                    return Err(invalid(format!("{counts}, and {} and {count} found", exports.len())));
                }
                if let Some((number, _)) = lines.next() {
                    let problem = format!("line {number} of the export follows its end; remove it");
                    return Err(SessionError::Invalid(problem));
                }
                check_exports(&exports)?;
                return Ok(exports);
            }
        }
    }
    Err(SessionError::Invalid(
        "the export was cut off: it has no last line with counts; export it again".to_owned(),
    ))
}

fn check_header_line(line: &str) -> Result<(), SessionError> {
    let header =
        serde_json::from_str::<ExportHeader>(line).ok().filter(|header| header.format == FORMAT_NAME);
    match header {
        Some(ExportHeader { v: FORMAT_VERSION, .. }) => Ok(()),
        Some(ExportHeader { v, .. }) => Err(SessionError::Invalid(format!(
            "the export has version {v}, and this program reads version {FORMAT_VERSION}; update the program"
        ))),
        None => {
            let problem = format!(
                "the first line is not the one of an export: {{\"format\":\"{FORMAT_NAME}\",\"v\":1}}"
            );
            Err(SessionError::Invalid(problem))
        }
    }
}
