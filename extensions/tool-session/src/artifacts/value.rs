//! Artifacts, their owners, and their limits.

use std::{sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_runtime::output::Actions;

use crate::{SessionError, SessionKey, UserKey, key::check_name, millis};

/// The owner of artifacts: a session, or a user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArtifactOwner {
    user: UserKey,
    session: Option<Arc<str>>,
}

impl ArtifactOwner {
    /// Returns a session as the owner of its artifacts, which are deleted with it.
    #[must_use]
    pub fn session(key: &SessionKey) -> Self {
        Self { user: key.user_key(), session: Some(key.id().into()) }
    }

    /// Returns a user as the owner of the artifacts whose names begin with [`user:`](Artifact::USER_PREFIX).
    #[must_use]
    pub fn user(user: &UserKey) -> Self {
        Self { user: user.clone(), session: None }
    }

    /// Returns the user, also of a session.
    #[must_use]
    pub fn user_key(&self) -> &UserKey {
        &self.user
    }

    /// Returns the session; `None` for artifacts of a user.
    #[must_use]
    pub fn session_key(&self) -> Option<SessionKey> {
        self.user.session_key(Arc::clone(self.session.as_ref()?)).ok()
    }
}

/// One version of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Artifact {
    /// The name; with the prefix `user:`, it belongs to the user, and otherwise to a session.
    pub name: Arc<str>,
    /// The version: 1, 2, 3, and so on.
    pub version: u64,
    /// The media type, such as `text/plain`.
    pub media_type: Arc<str>,
    /// The number of bytes of the body.
    pub bytes: u64,
    /// The SHA-256 of the body, in hexadecimal digits.
    pub hash: Arc<str>,
    /// The time at which the version was saved, in milliseconds since the Unix epoch in JSON.
    #[serde(with = "millis")]
    pub time: SystemTime,
}

impl Artifact {
    /// The prefix of the names of artifacts that belong to a user.
    pub const USER_PREFIX: &str = "user:";

    /// Returns the actions by which a call tells its run that it saved this version: see
    /// [`ToolContext::add_actions`](tool_runtime::ToolContext::add_actions).
    #[must_use]
    pub fn saved_action(&self) -> Actions {
        let mut actions = Actions::default();
        actions.artifacts.insert(self.name.to_string(), Value::from(self.version));
        actions
    }
}

/// A version that is about to be saved: its body is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArtifactContent {
    /// The name.
    pub name: Arc<str>,
    /// The media type.
    pub media_type: Arc<str>,
    /// The number of bytes of the body.
    pub bytes: u64,
    /// The SHA-256 of the body, in hexadecimal digits.
    pub hash: Arc<str>,
    /// The name of the object that has the body.
    pub body: Arc<str>,
}

/// A stored version, and the name of the object that has its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredArtifact {
    /// The version.
    pub artifact: Artifact,
    /// The name of the object.
    pub body: Arc<str>,
}

impl StoredArtifact {
    /// Creates the version of a content.
    pub(crate) fn new(content: &ArtifactContent, version: u64, now: SystemTime, body: Arc<str>) -> Self {
        let ArtifactContent { name, media_type, bytes, hash, .. } = content.clone();
        Self {
            artifact: Artifact { name, version, media_type, bytes, hash, time: millis::truncated(now) },
            body,
        }
    }
}

/// Checks the name of an artifact.
pub(crate) fn check_artifact_name(name: &str) -> Result<(), SessionError> {
    check_name("name of the artifact", name)?;
    if name.is_empty() || name == Artifact::USER_PREFIX {
        let problem = "the name of the artifact is empty; give it a name, such as `report.txt`";
        return Err(SessionError::Invalid(problem.to_owned()));
    }
    Ok(())
}
