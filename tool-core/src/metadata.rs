//! Metadata of a tool beside its schemas.
//!
//! Hints are `Option<bool>`, so that "unspecified" differs from "no". They are advisory: this crate does not restrict
//! a tool by its hints, but policies may.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Hints, limits and labels of a tool. All are optional; by default, nothing is claimed.
///
/// # Examples
///
/// ```
/// use tool_runtime::definition::Metadata;
///
/// let metadata = Metadata { read_only: Some(true), ..Metadata::default() };
/// assert!(metadata.is_read_only());
/// assert_eq!(metadata.destructive, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Metadata {
    /// The tool does not modify its environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The tool may perform destructive updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Repeating a call with the same arguments has no additional effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// The tool interacts with external systems, such as the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
    /// Several calls of the tool may run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency_safe: Option<bool>,
    /// The tool searches or reads, so that a user interface may collapse its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_or_read: Option<bool>,
    /// The tool returns the id of an operation that continues after the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_running: Option<bool>,
    /// The maximum size in bytes of a result that is sent to a model. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_size: Option<u64>,
    /// A batch that contains a call of the tool runs one call at a time.
    #[serde(skip_serializing_if = "is_false")]
    pub sequential: bool,
    /// The body blocks its thread, and runs on a thread pool for blocking code.
    #[serde(skip_serializing_if = "is_false")]
    pub blocking: bool,
    /// The turn ends after the result, without another request to the model.
    #[serde(skip_serializing_if = "is_false")]
    pub skip_summarization: bool,
    /// The items of a stream are merged into one value of their type.
    #[serde(skip_serializing_if = "is_false")]
    pub merge: bool,
    /// The tool reports its result in parts, each of which is an update. An executor never retries such a call, since
    /// updates that were shown cannot be withdrawn.
    #[serde(skip_serializing_if = "is_false")]
    pub streaming: bool,
    /// `true` rejects almost valid arguments instead of correcting them. Default: `None`, the registry's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// The timeout of one attempt. Default: the executor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// The idle timeout of one attempt: the longest time without an update or a progress report. Default: the
    /// executor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Duration>,
    /// The grace period of a cancelled body that has asked for its token; zero for none. Default: the executor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period: Option<Duration>,
    /// The retry policy for failed attempts. Default: the executor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The confirmation by a person that a call requires.
    #[serde(skip_serializing_if = "Confirmation::is_never")]
    pub confirmation: Confirmation,
    /// The tool has a permission check of its own.
    #[serde(skip_serializing_if = "is_false")]
    pub permission: bool,
    /// The name of the set that the tool belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<Cow<'static, str>>,
    /// The group whose calls are limited together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Cow<'static, str>>,
    /// The trust level of the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Cow<'static, str>>,
    /// The parameters whose values are redacted in reports, events and spans.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Cow<'static, str>>,
    /// Tags for selecting tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Cow<'static, str>>,
    /// Custom data of the tool's author.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub custom: Map<String, Value>,
}

impl Metadata {
    /// Returns a copy in which unspecified hints have the defaults of the Model Context Protocol
    /// ([`ToolAnnotations`]) for a tool of unknown origin: not read-only, destructive unless read-only, not
    /// idempotent, and open-world.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::definition::Metadata;
    ///
    /// let silent = Metadata::default();
    /// assert!(!silent.is_destructive() && silent.conservative().is_destructive());
    /// let read_only = Metadata { read_only: Some(true), ..Metadata::default() };
    /// assert!(!read_only.conservative().is_destructive());
    /// ```
    ///
    /// [`ToolAnnotations`]: https://modelcontextprotocol.io/specification/2025-06-18/schema#toolannotations
    #[must_use]
    pub fn conservative(&self) -> Self {
        let read_only = self.read_only.unwrap_or(false);
        Self {
            read_only: Some(read_only),
            destructive: Some(self.destructive.unwrap_or(!read_only)),
            idempotent: Some(self.idempotent.unwrap_or(read_only)),
            open_world: Some(self.open_world.unwrap_or(true)),
            ..self.clone()
        }
    }

    /// Returns `true` if the tool claims that it does not modify its environment.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only == Some(true)
    }

    /// Returns `true` if the tool claims that it may perform destructive updates.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.destructive == Some(true)
    }

    /// Returns `true` if the tool claims that repeating a call has no additional effect.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent == Some(true)
    }

    /// Returns `true` if the tool claims that it interacts with external systems.
    #[must_use]
    pub fn is_open_world(&self) -> bool {
        self.open_world == Some(true)
    }

    /// Returns `true` if the tool claims that several of its calls may run at once.
    #[must_use]
    pub fn is_concurrency_safe(&self) -> bool {
        self.concurrency_safe == Some(true)
    }

    /// Returns `true` if the tool claims that it searches or reads.
    #[must_use]
    pub fn is_search_or_read(&self) -> bool {
        self.search_or_read == Some(true)
    }

    /// Returns `true` if the tool claims that its operation continues after the call.
    #[must_use]
    pub fn is_long_running(&self) -> bool {
        self.long_running == Some(true)
    }
}

/// The condition under which a call requires confirmation by a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Confirmation {
    /// No call requires confirmation.
    #[default]
    Never,
    /// Every call requires confirmation.
    Always,
    /// A call requires confirmation if a function of the tool returns `true` for its typed arguments.
    Sometimes,
}

impl Confirmation {
    fn is_never(&self) -> bool {
        *self == Self::Never
    }
}

/// A retry policy for failed attempts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// The maximum number of attempts, including the first.
    pub attempts: u32,
    /// The delay before the second attempt, in milliseconds.
    pub initial_ms: u64,
    /// The maximum delay, in milliseconds.
    pub max_ms: u64,
    /// The factor by which the delay grows after each attempt.
    pub multiplier: f64,
    /// Shortens each delay at random, so that callers do not retry at the same time.
    pub jitter: bool,
}

impl Retry {
    /// Three attempts; delays from 200 ms, doubled up to 30 s, with jitter.
    pub const DEFAULT: Self =
        Self { attempts: 3, initial_ms: 200, max_ms: 30_000, multiplier: 2.0, jitter: true };
}

impl Default for Retry {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The result of a tool's own permission check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Permission {
    /// The call may run.
    #[default]
    Allow,
    /// The call must not run.
    Deny {
        /// The reason, for the model.
        reason: String,
    },
    /// The call may run if a person approves it.
    Ask {
        /// The reason, for that person.
        reason: String,
    },
}

impl Permission {
    /// Denies the call with `reason`.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// Requires approval by a person, who sees `reason`.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self::Ask { reason: reason.into() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}
