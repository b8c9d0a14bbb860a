//! Encryption of secret arguments for a store that outlives the process.

use super::ProgramKey;

/// The purpose for which the key is derived.
#[cfg(feature = "sealed-calls")]
const PURPOSE: &str = "tool-runtime open-call arguments 1";

/// Encrypts `secret`; decryption requires the same `about`.
///
/// # Errors
///
/// Returns a message if no random numbers are available, or the feature `sealed-calls` is off.
#[cfg(feature = "sealed-calls")]
pub(super) fn seal(key: &ProgramKey, secret: &str, about: Vec<u8>) -> Result<Vec<u8>, String> {
    use chacha20poly1305::{
        KeyInit, XChaCha20Poly1305, XNonce,
        aead::{Aead, Payload},
    };

    let mut nonce = [0; 24];
    getrandom::fill(&mut nonce).map_err(|error| format!("no random numbers are available: {error}"))?;
    let cipher = XChaCha20Poly1305::new(&key.current_for(PURPOSE).into());
    let payload = Payload { msg: secret.as_bytes(), aad: &about };
    let text = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| "they are too long".to_owned())?;
    Ok([nonce.as_slice(), &text].concat())
}

/// Decrypts the output of [`seal`] with the same `about`; `None` for any other input.
#[cfg(feature = "sealed-calls")]
pub(super) fn unseal(key: &ProgramKey, sealed: &[u8], about: Vec<u8>) -> Option<String> {
    use chacha20poly1305::{
        KeyInit, XChaCha20Poly1305, XNonce,
        aead::{Aead, Payload},
    };

    let (nonce, text) = sealed.split_first_chunk::<24>()?;
    key.all_for(PURPOSE).find_map(|key| {
        let cipher = XChaCha20Poly1305::new(&key.into());
        let payload = Payload { msg: text, aad: &about };
        let secret = cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
        String::from_utf8(secret).ok()
    })
}

#[cfg(not(feature = "sealed-calls"))]
pub(super) fn seal(_key: &ProgramKey, _secret: &str, _about: Vec<u8>) -> Result<Vec<u8>, String> {
    Err("this build cannot encrypt them; enable the feature `sealed-calls` of `tool-runtime`".to_owned())
}

#[cfg(not(feature = "sealed-calls"))]
pub(super) fn unseal(_key: &ProgramKey, _sealed: &[u8], _about: Vec<u8>) -> Option<String> {
    None
}
