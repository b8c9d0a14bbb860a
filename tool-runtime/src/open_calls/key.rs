//! The secret key of a program.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
};

use hmac_sha256::HMAC;
use tool_core::ContentHash;

/// The secret key of a program, under which open calls are authenticated and secret arguments are encrypted.
///
/// All processes that answer each other's calls need the same key: 32 random bytes from their secret store, or from a file
/// that `ProgramKey::load_or_create` makes (feature `sealed-calls`). A separate
/// key is derived for each purpose. After a rotation, the [previous key](Self::with_previous) remains valid for calls
/// that were opened under it.
///
/// # Examples
///
/// ```
/// use tool_runtime::open_calls::ProgramKey;
///
/// let (new, old) = ([7; 32], [3; 32]);
/// let key = ProgramKey::new(new).with_previous(old);
/// assert_eq!(format!("{key:?}"), "ProgramKey(..)");
/// ```
#[derive(Clone)]
pub struct ProgramKey {
    current: [u8; 32],
    previous: Vec<[u8; 32]>,
}

impl ProgramKey {
    /// Creates a key of these bytes, which must be random and secret.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self { current: key, previous: Vec::new() }
    }

    /// Also accepts records written under `key`. New records are written under the key given to [`new`](Self::new).
    #[must_use]
    pub fn with_previous(mut self, key: [u8; 32]) -> Self {
        self.previous.push(key);
        self
    }

    /// Generates a random key, for records that stay in this process.
    pub(crate) fn of_process() -> Self {
        let mut key = [0; 32];
        for (at, part) in key.chunks_mut(8).enumerate() {
            part.copy_from_slice(&RandomState::new().hash_one(at).to_le_bytes());
        }
        Self::new(key)
    }

    /// Returns the authentication code of `message`.
    pub(crate) fn sign(&self, message: &AuthenticatedText) -> ContentHash {
        let code: [u8; 32] = HMAC::mac(&message.text, derive_key(&self.current, message.purpose));
        code.into()
    }

    /// Returns `true` if `code` authenticates `message` under any of the keys.
    pub(crate) fn authenticates(&self, code: ContentHash, message: &AuthenticatedText) -> bool {
        let code: [u8; 32] = code.into();
        self.all_keys().any(|key| HMAC::verify(&message.text, derive_key(key, message.purpose), &code))
    }

    /// Derives the key for `purpose` under which new data is written.
    #[cfg(feature = "sealed-calls")]
    pub(super) fn current_key_for(&self, purpose: &str) -> [u8; 32] {
        derive_key(&self.current, purpose)
    }

    /// Derives the keys for `purpose` under which existing data may have been written.
    #[cfg(feature = "sealed-calls")]
    pub(super) fn all_keys_for(&self, purpose: &str) -> impl Iterator<Item = [u8; 32]> {
        self.all_keys().map(move |key| derive_key(key, purpose))
    }

    pub(super) fn all_keys(&self) -> impl Iterator<Item = &[u8; 32]> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}

/// Derives the key for one purpose.
fn derive_key(key: &[u8; 32], purpose: &str) -> [u8; 32] {
    HMAC::mac(purpose, key)
}

/// Omits the key.
impl fmt::Debug for ProgramKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgramKey(..)")
    }
}

/// A text to authenticate: fields, each preceded by its length, so that different lists of fields have different texts.
pub(crate) struct AuthenticatedText {
    purpose: &'static str,
    text: Vec<u8>,
}

impl AuthenticatedText {
    pub(crate) fn new(purpose: &'static str) -> Self {
        Self { purpose, text: Vec::new() }
    }

    pub(crate) fn with_field(mut self, field: &[u8]) -> Self {
        self.text.extend_from_slice(&(field.len() as u64).to_le_bytes());
        self.text.extend_from_slice(field);
        self
    }

    pub(crate) fn with_hash(self, hash: ContentHash) -> Self {
        self.with_field(&<[u8; 32]>::from(hash))
    }

    /// Adds a field that may be absent, which differs from an empty one.
    pub(crate) fn with_optional_field(mut self, field: Option<&[u8]>) -> Self {
        self.text.push(field.is_some().into());
        match field {
            Some(field) => self.with_field(field),
            None => self,
        }
    }

    pub(super) fn into_text(self) -> Vec<u8> {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(fields: &[&str]) -> AuthenticatedText {
        fields
            .iter()
            .fold(AuthenticatedText::new("test"), |message, field| message.with_field(field.as_bytes()))
    }

    #[test]
    fn different_lists_of_fields_have_different_codes() {
        let key = ProgramKey::new([1; 32]);
        let codes = [
            key.sign(&message(&["ab", "c"])),
            key.sign(&message(&["a", "bc"])),
            key.sign(&message(&["abc"])),
            key.sign(&message(&["abc", ""])),
            key.sign(&message(&["abc"]).with_optional_field(None)),
            key.sign(&message(&["abc"]).with_optional_field(Some(b""))),
            key.sign(&AuthenticatedText::new("other").with_field(b"abc")),
            ProgramKey::new([2; 32]).sign(&message(&["abc"])),
        ];
        for (at, code) in codes.iter().enumerate() {
            assert_eq!(codes.iter().position(|it| it == code), Some(at));
        }
    }

    #[test]
    fn a_text_is_its_fields_with_their_lengths_and_marks_of_optional_ones() {
        let length = |bytes: u64| bytes.to_le_bytes().to_vec();
        let expected = [length(2), b"ab".to_vec(), vec![0, 1], length(0), vec![1], length(1), b"c".to_vec()];
        let message = message(&["ab"])
            .with_optional_field(None)
            .with_optional_field(Some(b""))
            .with_optional_field(Some(b"c"));
        assert_eq!(message.into_text(), expected.concat());
        let hash = ContentHash::from([7; 32]);
        let expected = [length(32), vec![7; 32]].concat();
        assert_eq!(AuthenticatedText::new("test").with_hash(hash).into_text(), expected);
    }

    #[test]
    fn codes_of_a_previous_key_are_accepted_and_no_others() {
        let (old, new) = (ProgramKey::new([1; 32]), ProgramKey::new([2; 32]));
        let code = old.sign(&message(&["a"]));
        assert!(old.authenticates(code, &message(&["a"])) && !old.authenticates(code, &message(&["b"])));
        assert!(!new.authenticates(code, &message(&["a"])));
        let rotated = new.clone().with_previous([1; 32]);
        assert!(rotated.authenticates(code, &message(&["a"])));
        assert_eq!(rotated.sign(&message(&["a"])), new.sign(&message(&["a"])));
    }

    #[test]
    fn keys_of_processes_differ() {
        let of = |key: &ProgramKey| key.sign(&message(&[]));
        assert_ne!(of(&ProgramKey::of_process()), of(&ProgramKey::of_process()));
    }
}
