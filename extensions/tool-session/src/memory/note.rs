//! Notes, and their limits.

use std::{sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};

use crate::{SessionError, key::check_name, millis};

/// A note of a user, with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The number, which is unique in the store; later notes have larger ones.
    pub number: u64,
    /// The content.
    #[serde(flatten)]
    pub content: NoteContent,
}

/// The content of a note.
///
/// # Examples
///
/// ```
/// use tool_session::NoteContent;
///
/// let note = NoteContent::new("The dog of the user is called Rex.").with_author("model").of_session("s-1");
/// assert_eq!(note.session.as_deref(), Some("s-1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NoteContent {
    /// The text.
    pub text: Arc<str>,
    /// The author, such as `user` or the name of an agent. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Arc<str>>,
    /// The id of the session from which the note comes: it is deleted with this session. Default: none; the note is kept until it or
    /// its user is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    /// The time at which the content was made, in milliseconds since the Unix epoch in JSON.
    #[serde(with = "millis")]
    pub time: SystemTime,
}

impl NoteContent {
    /// The maximum number of bytes of a text: 64 KiB.
    pub const MAX_TEXT_BYTES: usize = 64 << 10;

    /// Creates the content of a note, at the present time.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let time = millis::truncated(SystemTime::now());
        Self { text: text.into(), author: None, session: None, time }
    }

    /// Sets the author.
    #[must_use]
    pub fn with_author(mut self, author: impl Into<Arc<str>>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Sets the session from which the note comes, by its id. The session must exist in the store.
    #[must_use]
    pub fn of_session(mut self, session: impl Into<Arc<str>>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Sets the time, which is truncated to milliseconds. Default: the time at which the content was made.
    #[must_use]
    pub fn with_time(mut self, time: SystemTime) -> Self {
        self.time = millis::truncated(time);
        self
    }

    /// Checks the limits.
    pub(crate) fn check_limits(&self) -> Result<(), SessionError> {
        const MAX: usize = NoteContent::MAX_TEXT_BYTES;
        check_name("author of the note", self.author.as_deref().unwrap_or_default())?;
        check_name("session id", self.session.as_deref().unwrap_or_default())?;
        let problem = if self.text.trim().is_empty() {
            "the note is empty; give it a text".to_owned()
        } else if self.text.contains('\0') {
            "the note contains a NUL; use a text without it".to_owned()
        } else if self.text.len() > MAX {
            format!(
                "the note has {} bytes; at most {MAX} bytes (64 KiB) are stored, so use several",
                self.text.len()
            )
        } else {
            return Ok(());
        };
        Err(SessionError::Invalid(problem))
    }

    /// Splits a text of any length into notes within the limits; none if it is blank. A NUL, which no store takes, becomes U+FFFD.
    pub(crate) fn split_to_limit(self) -> Vec<Self> {
        let text: Arc<str> = match self.text.contains('\0') {
            true => self.text.replace('\0', "\u{fffd}").into(),
            false => Arc::clone(&self.text),
        };
        if text.len() <= Self::MAX_TEXT_BYTES && !text.trim().is_empty() {
            return vec![Self { text, ..self }];
        }
        let (mut rest, mut parts) = (&*text, Vec::new());
        while !rest.trim().is_empty() {
            let (part, remaining) = rest.split_at(first_part_end(rest));
            rest = remaining;
            if !part.trim().is_empty() {
                parts.push(Self { text: part.into(), ..self.clone() });
            }
        }
        parts
    }
}

/// Returns the end of the first part of `text`: behind the last white space within the limit, or at the limit.
fn first_part_end(text: &str) -> usize {
    if text.len() <= NoteContent::MAX_TEXT_BYTES {
        return text.len();
    }
    let limit = (1..=NoteContent::MAX_TEXT_BYTES).rev().find(|index| text.is_char_boundary(*index));
    let limit = limit.unwrap_or(text.len());
    let head = text.get(..limit).unwrap_or_default();
    // A break near the beginning would make many small parts.
    let blank = head.char_indices().rev().find(|(index, c)| c.is_whitespace() && *index > limit / 2);
    blank.map_or(limit, |(index, blank)| index + blank.len_utf8())
}

/// The notes that come from consecutive entries of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryNotes {
    /// The time at which the session was made: a session that was deleted and made again is another one.
    pub session_created_at: SystemTime,
    /// The number of the last entry whose notes the store has; 0 if it has none.
    pub after: u64,
    /// The number of the last entry whose notes these are.
    pub last_entry: u64,
    /// The notes.
    pub notes: Vec<NoteContent>,
}

/// A note that was found, and its rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoteMatch {
    /// The note.
    #[serde(flatten)]
    pub note: Note,
    /// The score: larger for better matches. Scores of two searches are not comparable.
    pub score: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = NoteContent::MAX_TEXT_BYTES;

    fn parts(text: &str) -> Vec<String> {
        let note = NoteContent::new(text).with_author("model").of_session("s-1");
        let parts = note.clone().split_to_limit();
        for part in &parts {
            assert_eq!(*part, NoteContent { text: Arc::clone(&part.text), ..note.clone() });
        }
        parts.iter().map(|part| part.text.to_string()).collect()
    }

    fn lengths(text: &str) -> Vec<usize> {
        parts(text).iter().map(String::len).collect()
    }

    #[test]
    fn a_text_within_the_limit_is_one_note() {
        assert_eq!(parts("a b"), ["a b"]);
        assert_eq!(parts("a\0b"), ["a\u{fffd}b"]);
        assert_eq!(lengths(&"x".repeat(MAX)), [MAX]);
        for blank in ["", " ", "\n\t"] {
            assert!(parts(blank).is_empty());
        }
        assert!(parts(&" ".repeat(MAX + 1)).is_empty());
    }

    #[test]
    fn a_longer_text_is_divided_behind_its_last_blank_in_the_second_half() {
        let with_blank_at = |place: usize, bytes: usize| {
            let mut text = "x".repeat(bytes);
            text.replace_range(place..=place, " ");
            text
        };
        assert_eq!(lengths(&"x".repeat(MAX + 1)), [MAX, 1]);
        assert_eq!(lengths(&"x".repeat(2 * MAX + 3)), [MAX, MAX, 3]);
        assert_eq!(lengths(&with_blank_at(MAX - 1, MAX + 5)), [MAX, 5]);
        assert_eq!(lengths(&with_blank_at(MAX - 10, MAX + 5)), [MAX - 9, 14]);
        assert_eq!(lengths(&with_blank_at(MAX / 2 + 1, MAX + 5)), [MAX / 2 + 2, MAX / 2 + 3]);
        assert_eq!(lengths(&with_blank_at(MAX / 2, MAX + 5)), [MAX, 5]);
        // Between characters, of which each has three bytes.
        assert_eq!(lengths(&"手".repeat(MAX / 3 + 2)), [MAX / 3 * 3, 6]);
        // What is blank is no note.
        assert_eq!(lengths(&format!("{}{}", "x".repeat(MAX), " ".repeat(MAX))), [MAX]);
        assert_eq!(lengths(&format!("{}{}y", " ".repeat(MAX), " ".repeat(5))), [6]);
    }

    #[test]
    fn a_note_within_its_limits_is_stored() {
        let check = |text: &str| NoteContent::new(text).check_limits().map_err(|error| error.to_string());
        assert_eq!((check("a"), check(&"x".repeat(MAX))), (Ok(()), Ok(())));
        let refused = |problem: &str| Err(problem.to_owned());
        assert_eq!(check(" \n"), refused("the note is empty; give it a text"));
        assert_eq!(check("a\0"), refused("the note contains a NUL; use a text without it"));
        assert_eq!(
            check(&"x".repeat(MAX + 1)),
            refused("the note has 65537 bytes; at most 65536 bytes (64 KiB) are stored, so use several")
        );
        for note in [NoteContent::new("a").with_author("\0"), NoteContent::new("a").of_session("\0")] {
            assert!(note.check_limits().is_err_and(|error| error.to_string().contains("contains a NUL")));
        }
    }

    #[test]
    fn a_note_has_the_parts_that_are_set() {
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_micros(1_999);
        let note = NoteContent::new("a").with_author("model").of_session("s-1").with_time(time);
        let expected = serde_json::json!({ "text": "a", "author": "model", "session": "s-1", "time": 1 });
        assert_eq!(serde_json::to_value(note).ok(), Some(expected));
        let plain = NoteContent::new("a");
        assert_eq!((plain.author, plain.session), (None, None));
    }
}
