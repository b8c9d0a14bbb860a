//! The users, by their tokens.

use std::collections::HashMap;

use anyhow::Context as _;
use axum::http::{HeaderMap, StatusCode, header::AUTHORIZATION};
use tool_runtime::definition::ContentHash;

use crate::refusal::Refusal;

/// The users by the hashes of their tokens, so that the time of a comparison tells nothing about a token. A real service validates the
/// tokens of an authorization server.
pub(crate) struct Users(HashMap<String, String>);

impl Users {
    /// Reads `ada=TOKEN,bob=TOKEN`.
    pub(crate) fn from_text(text: &str) -> anyhow::Result<Self> {
        let mut users = HashMap::new();
        for pair in text.split(',') {
            let (user, token) = pair.split_once('=').context("a user has the form `ada=TOKEN`")?;
            anyhow::ensure!(!user.is_empty() && !token.is_empty(), "a user has a name and a token");
            let is_new = users.insert(hash_of(token), user.to_owned()).is_none();
            anyhow::ensure!(is_new, "two users have one token; give each user a token");
        }
        Ok(Self(users))
    }

    /// Returns the user whose token a request has.
    pub(crate) fn user_of(&self, headers: &HeaderMap) -> Result<&str, Refusal> {
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.strip_prefix("Bearer "));
        let user = token.and_then(|token| self.0.get(&hash_of(token)));
        user.map(String::as_str).ok_or_else(|| {
            Refusal::new(
                StatusCode::UNAUTHORIZED,
                "the request has no valid token; send `Authorization: Bearer TOKEN`",
            )
        })
    }
}

fn hash_of(token: &str) -> String {
    ContentHash::of(token).to_string()
}
