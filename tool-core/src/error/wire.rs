//! The serialised form of a [`ToolError`]; absent parts are left out.

use std::{error::Error, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use tool_schema::{
    __private::{FormatVersion, present},
    guard::catch,
};

use super::{ErrorKind, ErrorSource, ToolError};
use crate::{Content, ToolName, Violation, Violations};

/// The maximum number of stored sources, since a chain of sources may be cyclic.
const SOURCES: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default, rename = "v", skip_serializing)]
    _version: FormatVersion,
    kind: ErrorKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    /// The text for a model, unless it is the default of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feedback: Option<String>,
    /// The texts of the source, of its own source, and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    retryable: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    violations: Vec<Violation>,
    /// The number of all violations, if not all are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    violations_total: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    /// `true` if one of the arguments is a secret; the arguments are then not stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    hidden: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    example: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<ToolName>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    content: Vec<Content>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    child_run_id: Option<String>,
}

/// Stores sources as their texts. Arguments are left out if one of them is a secret.
impl Serialize for ToolError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let violations = self.report();
        Wire {
            _version: FormatVersion,
            kind: self.kind(),
            tool: self.tool().map(str::to_owned),
            message: self.inner.message.to_string(),
            feedback: self.inner.feedback.clone(),
            sources: self.inner.source.as_ref().map(ErrorSource::chain_texts).unwrap_or_default(),
            retryable: self.is_retryable(),
            violations: violations.to_vec(),
            violations_total: (violations.total() > violations.len()).then_some(violations.total()),
            arguments: self.arguments().filter(|_| self.inner.echo).map(str::to_owned),
            hidden: !self.inner.echo,
            example: self.example().cloned(),
            suggestions: self.suggestions().to_vec(),
            details: self.details().cloned(),
            content: self.content().to_vec(),
            child_run_id: self.child_run_id().map(str::to_owned),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let total = wire.violations_total.unwrap_or(wire.violations.len());
        let mut error = Self::new(wire.kind, wire.message)
            .with_violations(Violations::new(wire.violations, total))
            .retryable(wire.retryable)
            .with_example(wire.example.map(Into::into))
            .with_content(wire.content);
        let inner = &mut *error.inner;
        inner.tool = wire.tool.map(Into::into);
        inner.source = StoredSource::chain_from_texts(wire.sources).map(ErrorSource::new);
        inner.arguments = wire.arguments;
        inner.echo = !wire.hidden;
        inner.suggestions = wire.suggestions;
        inner.details = wire.details;
        inner.feedback = wire.feedback;
        inner.child_run_id = wire.child_run_id;
        Ok(error)
    }
}

impl ErrorSource {
    /// Returns the texts of the source, of its own source, and so on.
    fn chain_texts(&self) -> Vec<String> {
        // The chain is user code; the part behind a panic is left out.
        let below = || {
            let below = self.as_error().and_then(Error::source);
            let chain = std::iter::successors(below, |error: &&(dyn Error + 'static)| Error::source(*error));
            chain.map(ToString::to_string).take(SOURCES - 1).collect()
        };
        let mut texts: Vec<String> = catch(below).unwrap_or_default();
        texts.insert(0, self.text.to_string());
        texts
    }
}

/// A deserialised source: its text.
#[derive(Debug)]
struct StoredSource {
    text: String,
    source: Option<Box<StoredSource>>,
}

impl StoredSource {
    fn chain_from_texts(texts: Vec<String>) -> Option<Box<dyn Error + Send + Sync>> {
        let chain = texts.into_iter().take(SOURCES).rev();
        let outermost = chain.fold(None, |source, text| Some(Box::new(Self { text, source })));
        outermost.map(|stored| stored as Box<dyn Error + Send + Sync>)
    }
}

impl fmt::Display for StoredSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for StoredSource {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
