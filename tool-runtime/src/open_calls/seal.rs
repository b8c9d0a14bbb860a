//! Encryption of secret arguments for a store that outlives the process.

use tool_core::Blob;

use super::ProgramKey;

/// The purpose for which the key is derived.
#[cfg(feature = "sealed-calls")]
const PURPOSE: &str = "tool-runtime open-call arguments 1";

/// The purpose for which the key of [`ProgramKey::seal`] is derived.
const TEXT_PURPOSE: &str = "tool-runtime sealed text 1";

impl ProgramKey {
    /// Encrypts `text`, and returns base64. [`unseal`](Self::unseal) requires the same `context`, such as the names of the owner,
    /// so that a text cannot be moved to another one.
    ///
    /// # Errors
    ///
    /// Returns the problem if no random numbers are available, or the feature `sealed-calls` is off.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::open_calls::ProgramKey;
    ///
    /// let key = ProgramKey::new([7; 32]);
    /// # if cfg!(feature = "sealed-calls") {
    /// let sealed = key.seal("a secret", b"u-7")?;
    /// assert_eq!(key.unseal(&sealed, b"u-7").as_deref(), Some("a secret"));
    /// assert_eq!(key.unseal(&sealed, b"u-8"), None);
    /// # }
    /// # Ok::<(), String>(())
    /// ```
    pub fn seal(&self, text: &str, context: &[u8]) -> Result<String, String> {
        let sealed = Blob(seal_for(TEXT_PURPOSE, self, text, context)?);
        match serde_json::to_value(sealed) {
            Ok(serde_json::Value::String(base64)) => Ok(base64),
            _ => Err("the text cannot be encoded".to_owned()),
        }
    }

    /// Decrypts the result of [`seal`](Self::seal); `None` if it was written under another key, for another context, or altered.
    #[must_use]
    pub fn unseal(&self, sealed: &str, context: &[u8]) -> Option<String> {
        let Blob(sealed) = serde_json::from_value(sealed.into()).ok()?;
        unseal_for(TEXT_PURPOSE, self, &sealed, context)
    }
}

/// Encrypts `secret`; decryption requires the same `about`.
///
/// # Errors
///
/// Returns a message if no random numbers are available, or the feature `sealed-calls` is off.
#[cfg(feature = "sealed-calls")]
pub(super) fn seal(key: &ProgramKey, secret: &str, about: Vec<u8>) -> Result<Vec<u8>, String> {
    seal_for(PURPOSE, key, secret, &about)
}

#[cfg(feature = "sealed-calls")]
fn seal_for(purpose: &str, key: &ProgramKey, secret: &str, about: &[u8]) -> Result<Vec<u8>, String> {
    encrypt_under(key.current_key_for(purpose), secret, about)
}

/// The sizes of what is beside the encrypted text: the nonce before it, and the tag behind it.
#[cfg(feature = "sealed-calls")]
const NONCE_BYTES: usize = 24;
#[cfg(feature = "sealed-calls")]
const TAG_BYTES: usize = 16;

/// Encrypts `secret` under `key`; the output begins with the nonce.
#[cfg(feature = "sealed-calls")]
pub(super) fn encrypt_under(key: [u8; 32], secret: &str, about: &[u8]) -> Result<Vec<u8>, String> {
    use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305, XNonce};

    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(|error| format!("no random numbers are available: {error}"))?;
    let cipher = XChaCha20Poly1305::new(&key.into());
    let mut sealed = Vec::with_capacity(NONCE_BYTES + secret.len() + TAG_BYTES);
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(secret.as_bytes());
    let text = sealed.get_mut(NONCE_BYTES..).unwrap_or_default();
    let tag = cipher.encrypt_inout_detached(&XNonce::from(nonce), about, text.into());
    sealed.extend_from_slice(&tag.map_err(|_| "they are too long".to_owned())?);
    Ok(sealed)
}

/// Decrypts the output of [`encrypt_under`] by the first key that fits; `None` for any other input.
#[cfg(feature = "sealed-calls")]
pub(super) fn decrypt_under(
    mut keys: impl Iterator<Item = [u8; 32]>,
    sealed: &[u8],
    about: &[u8],
) -> Option<String> {
    use chacha20poly1305::{
        KeyInit, XChaCha20Poly1305, XNonce,
        aead::{Aead, Payload},
    };

    let (nonce, text) = sealed.split_first_chunk::<NONCE_BYTES>()?;
    keys.find_map(|key| {
        let cipher = XChaCha20Poly1305::new(&key.into());
        let payload = Payload { msg: text, aad: about };
        let secret = cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
        String::from_utf8(secret).ok()
    })
}

/// Decrypts the output of [`seal`] with the same `about`; `None` for any other input.
#[cfg(feature = "sealed-calls")]
pub(super) fn unseal(key: &ProgramKey, sealed: &[u8], about: Vec<u8>) -> Option<String> {
    unseal_for(PURPOSE, key, sealed, &about)
}

#[cfg(feature = "sealed-calls")]
fn unseal_for(purpose: &str, key: &ProgramKey, sealed: &[u8], about: &[u8]) -> Option<String> {
    decrypt_under(key.all_keys_for(purpose), sealed, about)
}

#[cfg(not(feature = "sealed-calls"))]
fn seal_for(_purpose: &str, key: &ProgramKey, secret: &str, _about: &[u8]) -> Result<Vec<u8>, String> {
    seal(key, secret, Vec::new())
}

#[cfg(not(feature = "sealed-calls"))]
fn unseal_for(_purpose: &str, _key: &ProgramKey, _sealed: &[u8], _about: &[u8]) -> Option<String> {
    None
}

#[cfg(not(feature = "sealed-calls"))]
pub(super) fn seal(_key: &ProgramKey, _secret: &str, _about: Vec<u8>) -> Result<Vec<u8>, String> {
    Err("this build cannot encrypt them; enable the feature `sealed-calls` of `tool-runtime`".to_owned())
}

#[cfg(not(feature = "sealed-calls"))]
pub(super) fn unseal(_key: &ProgramKey, _sealed: &[u8], _about: Vec<u8>) -> Option<String> {
    None
}
