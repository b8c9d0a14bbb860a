//! Why a call gave no result.
//!
//! One type for every step of a call: callers mostly forward it to a model, and the kinds that
//! matter to them are few. [`ToolError::feedback`] is what a model may read; [`Display`] is for the
//! log, and what lies beneath it is reached through [`source`](std::error::Error::source).
//!
//! [`Display`]: fmt::Display

mod display;
mod from;
mod kind;
mod wire;

use std::{borrow::Cow, error::Error, fmt, io, sync::Arc};

use serde_json::Value;

pub use self::kind::ErrorKind;
use crate::guarded::Guarded;
use crate::{Content, ToolName, Violation, Violations};

/// Why a call gave no result.
///
/// # Examples
///
/// ```
/// use tool_runtime::{ErrorKind, ToolError};
///
/// let error = ToolError::from("disk full");
/// assert_eq!(error.kind(), ErrorKind::Failed);
/// assert_eq!(error.feedback(), "disk full");
/// ```
#[derive(Clone)]
pub struct ToolError {
    // Boxed, so that the `Result` of every call stays small.
    inner: Box<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    tool: Option<Cow<'static, str>>,
    /// Empty where the source's own text is the message.
    message: Cow<'static, str>,
    source: Option<Source>,
    retryable: bool,
    violations: Violations,
    arguments: Option<String>,
    /// Arguments that would fit.
    example: Option<Arc<Value>>,
    /// Whether the arguments may be repeated in a text.
    echo: bool,
    suggestions: Vec<ToolName>,
    details: Option<Value>,
    content: Vec<Content>,
    /// The text for the model, in place of that of the kind.
    feedback: Option<String>,
}

/// What a call failed with, of a type of the user's.
#[derive(Clone)]
struct Source {
    // Whoever drops the last copy, such as a retry, does not see a panic of its `Drop`.
    error: Guarded<Arc<dyn Error + Send + Sync>>,
    /// The text of its `Display`, made once: where the tool gives it, whose panic is an error of the call.
    text: Arc<str>,
}

impl Source {
    fn new(error: Box<dyn Error + Send + Sync>) -> Self {
        let error = Guarded::new(Arc::from(error));
        let text = error.get().map(ToString::to_string).unwrap_or_default().into();
        Self { error, text }
    }

    fn as_error(&self) -> Option<&(dyn Error + 'static)> {
        self.error.get().map(|error| &**error as _)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_error().fmt(f)
    }
}

impl ToolError {
    /// An error of `kind`; `message` is read by models and people.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                tool: None,
                message: message.into(),
                source: None,
                retryable: false,
                violations: Violations::default(),
                arguments: None,
                example: None,
                echo: true,
                suggestions: Vec::new(),
                details: None,
                content: Vec::new(),
                feedback: None,
            }),
        }
    }

    /// The tool said that it failed.
    pub fn failed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// The tool failed because of `source`, whose text (not its chain) is what the model reads. The text is
    /// made here, once.
    pub fn from_source(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        // An error of ours that travelled in a box keeps its kind.
        match source.into().downcast::<Self>() {
            Ok(error) => *error,
            Err(source) => {
                let mut error = Self::failed("");
                error.inner.retryable = source.downcast_ref().is_some_and(is_transient);
                error.inner.source = Some(Source::new(source));
                error
            }
        }
    }

    /// The same, in the words of `source`, which stands around it.
    pub(crate) fn told_as(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.inner.message = Cow::Borrowed("");
        self.inner.source = Some(Source::new(source.into()));
        self
    }

    /// There is no tool `name`; `suggestions` are names that are close to it.
    pub fn unknown_tool(name: impl Into<String>, suggestions: Vec<ToolName>) -> Self {
        let mut error = Self::new(ErrorKind::UnknownTool, "").of_tool(name.into());
        error.inner.suggestions = suggestions;
        error
    }

    /// The arguments do not fit, for the reasons given; `arguments` is what came.
    #[must_use]
    pub fn invalid_arguments(violations: impl Into<Violations>, arguments: &str) -> Self {
        let mut error = Self::new(ErrorKind::InvalidArguments, "").with_violations(violations);
        error.inner.arguments = Some(arguments.to_owned());
        error
    }

    /// Adds arguments that would fit, for a model to copy.
    #[must_use]
    pub fn with_example(mut self, example: Option<Arc<Value>>) -> Self {
        self.inner.example = example;
        self
    }

    /// Repeats nothing of the arguments in any text, since there is a secret among them.
    #[must_use]
    pub fn without_values(mut self) -> Self {
        self.inner.violations.iter_mut().for_each(Violation::hide);
        self.inner.echo = false;
        self
    }

    /// Rewrites the pointers of what is wrong with the arguments.
    pub(crate) fn with_pointers(mut self, rewrite: impl Fn(&mut String)) -> Self {
        self.inner.violations.iter_mut().for_each(|it| rewrite(&mut it.pointer));
        self
    }

    /// The call was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "")
    }

    /// Says which tool failed, unless that is known already.
    #[must_use]
    pub fn of_tool(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        if self.inner.tool.is_none() {
            self.inner.tool = Some(name.into());
        }
        self
    }

    /// Says which tool failed, in place of what was said before: a tool that stands around another one
    /// is known by its own name.
    #[must_use]
    pub fn with_tool(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.inner.tool = Some(name.into());
        self
    }

    /// Adds what is wrong with the arguments.
    #[must_use]
    pub fn with_violations(mut self, violations: impl Into<Violations>) -> Self {
        self.inner.violations = violations.into();
        self
    }

    /// Says whether another attempt may succeed.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.inner.retryable = retryable;
        self
    }

    /// Says it in other words; what the source says is kept for the log.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        if let Some(feedback) = &mut self.inner.feedback {
            *feedback = message.clone().into_owned();
        }
        self.inner.message = message;
        self
    }

    /// Adds details for user interfaces and logs; a model never sees them.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.inner.details = Some(details);
        self
    }

    /// Adds content that the tool made before it failed.
    #[must_use]
    pub fn with_content(mut self, content: Vec<Content>) -> Self {
        self.inner.content = content;
        self
    }

    /// Sets the details for user interfaces and logs, or takes them away.
    pub fn set_details(&mut self, details: Option<Value>) {
        self.inner.details = details;
    }

    /// Sets the text that a model reads, in place of the message and of what the kind puts before it. The log keeps
    /// those.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolError;
    ///
    /// let error = ToolError::failed("no route to 10.0.0.7").with_feedback("The server cannot be reached.");
    /// assert_eq!(error.feedback(), "The server cannot be reached.");
    /// assert_eq!(error.to_string(), "tool failed: no route to 10.0.0.7");
    /// ```
    #[must_use]
    pub fn with_feedback(mut self, feedback: impl Into<String>) -> Self {
        self.inner.feedback = Some(feedback.into());
        self
    }

    /// Which way the call failed.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The name of the tool, where it is known.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.inner.tool.as_deref()
    }

    /// Whether another attempt may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.inner.retryable
    }

    /// What is wrong with the arguments: the first violations, at most
    /// [twenty](Violations::LISTED).
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.inner.violations
    }

    /// The same violations, with the number of all.
    #[must_use]
    pub fn report(&self) -> &Violations {
        &self.inner.violations
    }

    /// The arguments that do not fit, as they came.
    #[must_use]
    pub fn arguments(&self) -> Option<&str> {
        self.inner.arguments.as_deref()
    }

    /// Arguments that would fit, where some are known.
    #[must_use]
    pub fn example(&self) -> Option<&Value> {
        self.inner.example.as_deref()
    }

    /// Names of tools that are close to the unknown one.
    #[must_use]
    pub fn suggestions(&self) -> &[ToolName] {
        &self.inner.suggestions
    }

    /// Details for user interfaces and logs.
    #[must_use]
    pub fn details(&self) -> Option<&Value> {
        self.inner.details.as_ref()
    }

    /// Content that the tool made before it failed.
    #[must_use]
    pub fn content(&self) -> &[Content] {
        &self.inner.content
    }

    /// Our own words, or those of the source.
    fn message(&self) -> Cow<'_, str> {
        match &self.inner.source {
            Some(source) if self.inner.message.is_empty() => Cow::Borrowed(&source.text),
            _ => Cow::Borrowed(&self.inner.message),
        }
    }
}

/// Whether the same may succeed when it is tried again: the other side was not there, or late.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(
        error.kind(),
        K::TimedOut
            | K::UnexpectedEof
            | K::Interrupted
            | K::WouldBlock
            | K::ConnectionRefused
            | K::ConnectionReset
            | K::ConnectionAborted
            | K::BrokenPipe
            | K::NotConnected
    )
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.source.as_ref()?.as_error()
    }
}
