//! What a tool says of itself beside its schema.
//!
//! Hints are `Option<bool>`, so that "not said" differs from "no". They are advice: nothing in
//! this crate changes what a tool may do because of them. Policies may.

use std::{borrow::Cow, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value};

/// Hints, limits and labels of a tool; all optional, nothing claimed by default.
///
/// # Examples
///
/// ```
/// use tool_core::Metadata;
///
/// let metadata = Metadata { read_only: Some(true), ..Metadata::default() };
/// assert!(metadata.is_read_only());
/// assert_eq!(metadata.destructive, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// The same call again changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It reaches out to a world that is not known beforehand, such as the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
    /// Several calls of it may run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency_safe: Option<bool>,
    /// It searches or reads, so that a UI may fold its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_or_read: Option<bool>,
    /// It answers with the id of an operation that goes on after the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_running: Option<bool>,
    /// The most bytes of a result that a model should be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_size: Option<u64>,
    /// A batch with a call of it runs call by call.
    #[serde(skip_serializing_if = "is_false")]
    pub sequential: bool,
    /// Its body blocks the thread, and runs where that does no harm.
    #[serde(skip_serializing_if = "is_false")]
    pub blocking: bool,
    /// The turn ends after its result, without a further question to the model.
    #[serde(skip_serializing_if = "is_false")]
    pub skip_summarization: bool,
    /// The items of a stream are merged into one value of their type.
    #[serde(skip_serializing_if = "is_false")]
    pub merge: bool,
    /// It reports its result in parts, each of which is an update. Such a call is never repeated by an executor, since
    /// what was shown cannot be taken back.
    #[serde(skip_serializing_if = "is_false")]
    pub streaming: bool,
    /// Whether almost-right arguments are refused instead of corrected; `None` leaves it to the
    /// registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// How long one attempt may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How long one attempt may go without a sign of life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Duration>,
    /// How long a body has after its cancellation, if it asked for its token; zero for no time at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period: Option<Duration>,
    /// Whether and how a failed attempt is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Whether a person is asked before a call.
    #[serde(skip_serializing_if = "Confirmation::is_never")]
    pub confirmation: Confirmation,
    /// It has a permission check of its own.
    #[serde(skip_serializing_if = "is_false")]
    pub permission: bool,
    /// The set that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<Cow<'static, str>>,
    /// Calls of one group are limited together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Cow<'static, str>>,
    /// How far its results may be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Cow<'static, str>>,
    /// The parameters whose values are hidden in reports, events and spans.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Cow<'static, str>>,
    /// Words to choose it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Cow<'static, str>>,
    /// Whatever else its author says of it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub custom: Map<String, Value>,
}

impl Metadata {
    /// The same, with the hints that were not said as one should take them of a tool that one did not
    /// write: it changes something, destroys something unless it is read-only, does more when it is called
    /// again, and reaches out. Those are the defaults of the Model Context Protocol ([`ToolAnnotations`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_core::Metadata;
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

    /// Whether it says that it changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only == Some(true)
    }

    /// Whether it says that it may destroy something.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.destructive == Some(true)
    }

    /// Whether it says that the same call again changes nothing more.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent == Some(true)
    }

    /// Whether it says that it reaches out to an unknown world.
    #[must_use]
    pub fn is_open_world(&self) -> bool {
        self.open_world == Some(true)
    }

    /// Whether it says that several calls of it may run at once.
    #[must_use]
    pub fn is_concurrency_safe(&self) -> bool {
        self.concurrency_safe == Some(true)
    }

    /// Whether it says that it searches or reads.
    #[must_use]
    pub fn is_search_or_read(&self) -> bool {
        self.search_or_read == Some(true)
    }

    /// Whether it says that its operation goes on after the call.
    #[must_use]
    pub fn is_long_running(&self) -> bool {
        self.long_running == Some(true)
    }
}

/// Whether a person is asked before a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Confirmation {
    /// Never.
    #[default]
    Never,
    /// Before every call.
    Always,
    /// When a function of the tool, given the typed arguments, says so.
    Sometimes,
}

impl Confirmation {
    fn is_never(&self) -> bool {
        *self == Self::Never
    }
}

/// How a failed attempt is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// How many attempts there are in all, the first included.
    pub attempts: u32,
    /// How long the first pause is, in milliseconds.
    pub initial_ms: u64,
    /// How long a pause is at most, in milliseconds.
    pub max_ms: u64,
    /// What each pause is multiplied by to give the next.
    pub multiplier: f64,
    /// Whether a pause is shortened at random, so that callers do not return in step.
    pub jitter: bool,
}

impl Retry {
    /// Three attempts, pauses from 200 ms, doubling, up to 30 s, jittered.
    pub const DEFAULT: Self =
        Self { attempts: 3, initial_ms: 200, max_ms: 30_000, multiplier: 2.0, jitter: true };
}

impl Default for Retry {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a tool's own permission check says of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Permission {
    /// It may run.
    #[default]
    Allow,
    /// It must not run.
    Deny {
        /// Why, for the model.
        reason: String,
    },
    /// It may run when a person agrees.
    Ask {
        /// Why, for that person.
        reason: String,
    },
}

impl Permission {
    /// It must not run, because of `reason`.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// It may run when a person agrees, who is told `reason`.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self::Ask { reason: reason.into() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}
