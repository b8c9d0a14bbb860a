//! What tools and programs add to the requests that a model is sent.

use std::{
    any::type_name,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};

use crate::{BoxFuture, RunContext, ToolError, guarded::Guarded};

/// A request that is about to be sent to a model, as those see it who may add to it: the tools of the request, by
/// [`Tool::on_request`](crate::Tool::on_request), and each [`RequestHook`]. A handle that is cheap to clone.
///
/// It knows nothing of providers: what is added finds its place by whoever writes the request, and counts for this request
/// alone.
///
/// # Examples
///
/// ```
/// use tool_runtime::{ToolError, request::ModelRequest};
///
/// async fn remember(request: ModelRequest) -> Result<(), ToolError> {
///     if request.user_content().is_some_and(|text| text.contains("yesterday")) {
///         request.instruct("Search the notes before you answer.");
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct ModelRequest {
    shared: Arc<Shared>,
    tool_name: Option<Arc<str>>,
}

struct Shared {
    dialect: &'static str,
    body: Value,
    run: Arc<RunContext>,
    added: Mutex<RequestAdditions>,
}

/// Additions to one request, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RequestAdditions {
    /// The texts for the instructions.
    pub instructions: Vec<String>,
    /// Tools of the provider's own.
    pub native: Vec<Value>,
    /// Messages that come after those of the request.
    pub messages: Vec<AddedMessage>,
    /// Members that are set, in place of what the request has.
    pub members: Map<String, Value>,
}

/// A message that is added to a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AddedMessage {
    /// A text of the user, for any provider.
    Text(String),
    /// A message in the provider's form.
    Native(Value),
}

impl ModelRequest {
    /// A request of `run` with the members `body`, for a provider whose wire is called `dialect`.
    #[must_use]
    pub fn new(dialect: &'static str, body: Value, run: Arc<RunContext>) -> Self {
        let shared = Shared { dialect, body, run, added: Mutex::default() };
        Self { shared: Arc::new(shared), tool_name: None }
    }

    /// The same request, for a tool that the model knows by the name `tool_name`.
    #[must_use]
    pub fn of_tool(&self, tool_name: impl Into<Arc<str>>) -> Self {
        Self { tool_name: Some(tool_name.into()), ..self.clone() }
    }

    /// Returns the provider's wire: `openai-chat`, `anthropic`, ..
    #[must_use]
    pub fn dialect(&self) -> &str {
        self.shared.dialect
    }

    /// Returns the name by which the model knows the tool that is asked; `None` for a [`RequestHook`].
    #[must_use]
    pub fn tool_name(&self) -> Option<&str> {
        self.tool_name.as_deref()
    }

    /// Returns the run that the request belongs to.
    #[must_use]
    pub fn run(&self) -> &Arc<RunContext> {
        &self.shared.run
    }

    /// Returns the text of the user that started the run.
    #[must_use]
    pub fn user_content(&self) -> Option<&str> {
        self.shared.run.user_content()
    }

    /// Returns the members of the request in the provider's form, with the declarations of all tools, and without what is
    /// added to this request.
    #[must_use]
    pub fn body(&self) -> &Value {
        &self.shared.body
    }

    /// Adds `text` to what the model is told before all else. A text that is there already is not added again.
    pub fn instruct(&self, text: impl Into<String>) {
        self.added().instructions.push(text.into());
    }

    /// Adds a tool of the provider's own, such as a search, in the provider's form. One that is there already is not
    /// added again.
    ///
    /// It is for those that the provider runs by itself. One whose calls come to the program is for the dialect to know
    /// (`Dialect::with_native`), which keeps its name free and answers in its form.
    pub fn add_native(&self, tool: Value) {
        self.added().native.push(tool);
    }

    /// Adds a message of the user after all messages.
    pub fn add_text(&self, text: impl Into<String>) {
        self.added().messages.push(AddedMessage::Text(text.into()));
    }

    /// Adds a message in the provider's form after all messages.
    pub fn add_message(&self, message: Value) {
        self.added().messages.push(AddedMessage::Native(message));
    }

    /// Sets a member of the request, such as `temperature`, in the provider's form, in place of what it has. It is set
    /// before the other additions are made; the last value counts.
    pub fn set(&self, member: impl Into<String>, value: Value) {
        self.added().members.insert(member.into(), value);
    }

    /// Returns the members of the request and what was added. What is added later is lost.
    #[must_use]
    pub fn finish(self) -> (Value, RequestAdditions) {
        let added = std::mem::take(&mut *self.added());
        let body = match Arc::try_unwrap(self.shared) {
            Ok(shared) => shared.body,
            Err(shared) => shared.body.clone(),
        };
        (body, added)
    }

    /// No code of the user's runs under the lock.
    fn added(&self) -> MutexGuard<'_, RequestAdditions> {
        self.shared.added.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the body, which holds what was said.
impl fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest")
            .field("dialect", &self.shared.dialect)
            .field("tool_name", &self.tool_name)
            .field("run", self.shared.run.id())
            .finish_non_exhaustive()
    }
}

/// Adds to the requests that a model is sent, and is no tool: it has no name for the model and no schema, is not listed and
/// cannot be called.
///
/// # Examples
///
/// ```
/// use tool_runtime::{ToolError, request::{ModelRequest, RequestHook}};
///
/// /// Says which user the model talks to.
/// struct Greeting;
///
/// impl RequestHook for Greeting {
///     async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
///         let user = request.run().user().ok_or_else(|| ToolError::failed("nobody is logged in"))?;
///         request.instruct(format!("You talk to {user}."));
///         Ok(())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no request hook",
    note = "implement `RequestHook`, or put the closure into `request_fn(|request| async move {{ .. }})`"
)]
pub trait RequestHook: Send + Sync {
    /// Adds to a request. Called for every request; the request is not sent if it fails.
    ///
    /// # Errors
    ///
    /// If the request must not be sent without what could not be added.
    fn on_request(&self, request: ModelRequest) -> impl Future<Output = Result<(), ToolError>> + Send;

    /// Returns the name for error messages. Default: that of the type.
    fn name(&self) -> &str {
        type_name::<Self>()
    }
}

/// A request hook that is a closure, made by [`request_fn`].
#[derive(Clone)]
pub struct RequestFn<F>(F);

/// Makes a request hook of a closure.
///
/// # Examples
///
/// ```
/// use tool_runtime::request::request_fn;
///
/// let clock = request_fn(|request| async move {
///     request.add_text("It is noon.");
///     Ok(())
/// });
/// # let _: tool_runtime::request::SharedRequestHook = tool_runtime::request::SharedRequestHook::new(clock);
/// ```
pub fn request_fn<F, Fut>(add: F) -> RequestFn<F>
where
    F: Fn(ModelRequest) -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), ToolError>> + Send,
{
    RequestFn(add)
}

impl<F, Fut> RequestHook for RequestFn<F>
where
    F: Fn(ModelRequest) -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), ToolError>> + Send,
{
    fn on_request(&self, request: ModelRequest) -> impl Future<Output = Result<(), ToolError>> + Send {
        (self.0)(request)
    }
}

impl<F> fmt::Debug for RequestFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name::<Self>())
    }
}

/// A [`RequestHook`] of any type, for a choice at run time. Cheap to clone.
#[derive(Clone)]
pub struct SharedRequestHook(Arc<Guarded<Box<dyn Erased>>>);

trait Erased: Send + Sync {
    fn add(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>>;
    fn called(&self) -> &str;
}

impl<H: RequestHook> Erased for H {
    fn add(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(self.on_request(request))
    }

    fn called(&self) -> &str {
        self.name()
    }
}

impl SharedRequestHook {
    /// Erases the type of `hook`.
    pub fn new(hook: impl RequestHook + 'static) -> Self {
        Self(Arc::new(Guarded::new(Box::new(hook))))
    }

    /// As [`RequestHook::on_request`], in a box.
    pub fn asked(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        match self.0.get() {
            Some(hook) => hook.add(request),
            // It is taken nowhere.
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

impl RequestHook for SharedRequestHook {
    fn on_request(&self, request: ModelRequest) -> impl Future<Output = Result<(), ToolError>> + Send {
        self.asked(request)
    }

    fn name(&self) -> &str {
        self.0.get().map_or("", |hook| hook.called())
    }
}

impl fmt::Debug for SharedRequestHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRequestHook")
    }
}
