//! Ids of calls that wait.
//!
//! The id of a call that was answered is known without its record: that is a conflict, while an id that the service did not make is not found.

use std::path::Path;

use anyhow::Context as _;
use hmac_sha256::HMAC;
use tool_runtime::open_calls::OpenRecord;

/// The bytes of the record's tag that are in its id.
const TAG_BYTES: usize = 16;
const CODE_BYTES: usize = 32;

/// Makes and validates the ids of calls, each for one user and one session.
pub(crate) struct CallIds {
    key: [u8; 32],
}

impl CallIds {
    /// Derives the key of the ids from the key of the program.
    pub(crate) fn from_key_file(path: &Path) -> anyhow::Result<Self> {
        let key = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        Ok(Self { key: HMAC::mac("approvals-service: ids of calls", key) })
    }

    /// Returns the id of a record: the begin of its tag, which no other question has, and a code.
    pub(crate) fn id(&self, user: &str, session: &str, record: &OpenRecord) -> String {
        let tag: [u8; 32] = record.tag.into();
        let tag = &tag[..TAG_BYTES];
        let code: [u8; CODE_BYTES] = HMAC::mac(message(user, session, tag), self.key);
        tag.iter().chain(&code).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns `true` if the service made `id` for this user and session.
    pub(crate) fn is_id(&self, user: &str, session: &str, id: &str) -> bool {
        let Some(bytes) = decoded(id) else { return false };
        let (tag, code) = bytes.split_at(TAG_BYTES);
        let Ok(code) = <[u8; CODE_BYTES]>::try_from(code) else { return false };
        HMAC::verify(message(user, session, tag), self.key, &code)
    }
}

/// Returns the text that a code authenticates; JSON keeps the fields apart.
fn message(user: &str, session: &str, tag: &[u8]) -> String {
    serde_json::json!([user, session, tag]).to_string()
}

/// Decodes lower-case hexadecimal digits of an id.
fn decoded(id: &str) -> Option<Vec<u8>> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if id.len() != 2 * (TAG_BYTES + CODE_BYTES) || !id.bytes().all(is_digit) {
        return None;
    }
    (0..id.len()).step_by(2).map(|at| u8::from_str_radix(id.get(at..at + 2)?, 16).ok()).collect()
}
