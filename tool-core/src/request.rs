//! Additions of tools and programs to the requests that are sent to a model.

mod messages;

use std::{
    any::{Any, type_name},
    borrow::Cow,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use serde_json::{Map, Value};

use tool_schema::guard::GuardedArc;

pub use self::messages::{RequestMessage, RequestMessages, RequestResult, RequestRole};
use crate::{BoxFuture, Content, RunContext, ToolError};

/// A request before it is sent to a model. The tools of the request, by
/// [`Tool::on_request`](crate::Tool::on_request), and each [`RequestHook`] may add to it. A handle that is cheap to
/// clone.
///
/// The request is independent of providers: the dialect puts the additions in their place. They apply to this request
/// only.
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
    dialect: Cow<'static, str>,
    body: Value,
    run: Arc<RunContext>,
    added: Mutex<RequestAdditions>,
    messages: OnceLock<RequestMessages>,
    /// The messages, once a hook asked for them.
    shown: OnceLock<Vec<RequestMessage>>,
    /// Values that tools share for this request, by their owners.
    values: Mutex<Vec<(usize, Arc<dyn Any + Send + Sync>)>>,
}

/// The additions to one request, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RequestAdditions {
    /// Texts added to the instructions.
    pub instructions: Vec<String>,
    /// Native tools of the provider.
    pub native: Vec<Value>,
    /// Messages added after those of the request.
    pub messages: Vec<AddedMessage>,
    /// Members that override those of the request.
    pub members: Map<String, Value>,
    /// Sentences about parts that the provider of this request does not have.
    pub notices: Vec<String>,
}

/// A message added to a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AddedMessage {
    /// A text of the user, for any provider.
    Text(String),
    /// Texts, images, audio and documents of the user, for any provider. A file of a type that the provider does not accept becomes
    /// a text that names it.
    Content(Vec<Content>),
    /// A message in the provider's format.
    Native(Value),
}

impl ModelRequest {
    /// Creates a request of `run` with the members `body`, for the provider `dialect`.
    #[must_use]
    pub fn new(dialect: impl Into<Cow<'static, str>>, body: Value, run: Arc<RunContext>) -> Self {
        let (added, messages, shown, values) = Default::default();
        let shared = Shared { dialect: dialect.into(), body, run, added, messages, shown, values };
        Self { shared: Arc::new(shared), tool_name: None }
    }

    /// Returns a handle to the same request for the tool that the model knows as `tool_name`.
    #[must_use]
    pub fn of_tool(&self, tool_name: impl Into<Arc<str>>) -> Self {
        Self { tool_name: Some(tool_name.into()), ..self.clone() }
    }

    /// Returns the name of the provider's dialect, such as `openai-chat` or `anthropic`; `neutral` for a model whose
    /// requests are not in the format of a provider, which has no place for native tools and messages.
    #[must_use]
    pub fn dialect(&self) -> &str {
        &self.shared.dialect
    }

    /// Returns the name by which the model knows the current tool; `None` for a [`RequestHook`].
    #[must_use]
    pub fn tool_name(&self) -> Option<&str> {
        self.tool_name.as_deref()
    }

    /// Returns the run that the request belongs to.
    #[must_use]
    pub fn run(&self) -> &Arc<RunContext> {
        &self.shared.run
    }

    /// Returns the user's message that started the run.
    #[must_use]
    pub fn user_content(&self) -> Option<&str> {
        self.shared.run.user_content()
    }

    /// Returns the members of the request in the provider's format, including the declarations of all tools but
    /// without additions.
    #[must_use]
    pub fn body(&self) -> &Value {
        &self.shared.body
    }

    /// Adds `text` to the instructions, unless they contain it already.
    pub fn instruct(&self, text: impl Into<String>) {
        self.lock_additions().instructions.push(text.into());
    }

    /// Adds a native tool of the provider, such as a search, in the provider's format, unless it is present already.
    ///
    /// For tools that the provider runs itself. A native tool whose calls are sent to the program is configured in
    /// the dialect (`Dialect::with_native`), which reserves its name and formats its results.
    pub fn add_native(&self, tool: Value) {
        self.lock_additions().native.push(tool);
    }

    /// Adds a message of the user after all messages.
    pub fn add_text(&self, text: impl Into<String>) {
        self.lock_additions().messages.push(AddedMessage::Text(text.into()));
    }

    /// Adds a message of the user with texts, images, audio and documents after all messages; none if `content` is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Content, ToolError, request::ModelRequest};
    ///
    /// async fn show_map(request: ModelRequest) -> Result<(), ToolError> {
    ///     let map = vec![0x89, b'P', b'N', b'G'];
    ///     request.add_content([Content::text("The map:"), Content::image(map, "image/png")]);
    ///     Ok(())
    /// }
    /// # let _ = show_map;
    /// ```
    pub fn add_content(&self, content: impl IntoIterator<Item = Content>) {
        let content: Vec<_> = content.into_iter().collect();
        if !content.is_empty() {
            self.lock_additions().messages.push(AddedMessage::Content(content));
        }
    }

    /// Adds a message in the provider's format after all messages.
    pub fn add_message(&self, message: Value) {
        self.lock_additions().messages.push(AddedMessage::Native(message));
    }

    /// Sets a member of the request, such as `temperature`, in the provider's format, overriding a present value.
    /// Members are set before the other additions are applied; the last value wins.
    pub fn set(&self, member: impl Into<String>, value: Value) {
        self.lock_additions().members.insert(member.into(), value);
    }

    /// Reports a part that the provider of this request does not have, in a sentence for the user of the run. It is no part of the request.
    pub fn notify(&self, notice: impl Into<String>) {
        self.lock_additions().notices.push(notice.into());
    }

    /// Returns the members of the request and the additions. Later additions are lost.
    #[must_use]
    pub fn finish(self) -> (Value, RequestAdditions) {
        let added = std::mem::take(&mut *self.lock_additions());
        let body = match Arc::try_unwrap(self.shared) {
            Ok(shared) => shared.body,
            Err(shared) => shared.body.clone(),
        };
        (body, added)
    }

    /// Returns the value that the tools of `owner`, a number of their own, share for this request; the first one makes it.
    #[doc(hidden)]
    pub fn shared_value<T: Any + Send + Sync + Default>(&self, owner: usize) -> Arc<T> {
        let mut values = self.shared.values.lock().unwrap_or_else(PoisonError::into_inner);
        let known = values.iter().filter(|(of, _)| *of == owner);
        let known = known.filter_map(|(_, value)| Arc::clone(value).downcast::<T>().ok()).next();
        known.unwrap_or_else(|| {
            let value = Arc::new(T::default());
            values.push((owner, Arc::clone(&value) as Arc<dyn Any + Send + Sync>));
            value
        })
    }

    /// Locks the additions. No code of the user runs under the lock.
    fn lock_additions(&self) -> MutexGuard<'_, RequestAdditions> {
        self.shared.added.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints the request without its body, which contains the conversation.
impl fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest")
            .field("dialect", &self.shared.dialect)
            .field("tool_name", &self.tool_name)
            .field("run", self.shared.run.id())
            .finish_non_exhaustive()
    }
}

/// A hook that adds to requests before they are sent to a model. Unlike a tool, it has no name and no schema, is not
/// listed, and cannot be called.
///
/// # Examples
///
/// ```
/// use tool_runtime::{ToolError, request::{ModelRequest, RequestHook}};
///
/// /// Adds the name of the user to the instructions.
/// struct Greeting;
///
/// impl RequestHook for Greeting {
///     async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
///         let user = request.run().user().ok_or_else(|| ToolError::failed("no user is logged in"))?;
///         request.instruct(format!("You talk to {user}."));
///         Ok(())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request hook",
    note = "implement `RequestHook`, or pass the closure to `request_fn(|request| async move {{ .. }})`"
)]
pub trait RequestHook: Send + Sync {
    /// Adds to a request. Called for every request; a request whose hook fails is not sent.
    ///
    /// # Errors
    ///
    /// Returns an error if the request must not be sent without the additions.
    fn on_request(&self, request: ModelRequest) -> impl Future<Output = Result<(), ToolError>> + Send;

    /// Returns the name for error messages. Default: the name of the type.
    fn name(&self) -> &str {
        type_name::<Self>()
    }
}

/// A request hook made from a closure by [`request_fn`].
#[derive(Clone)]
pub struct RequestFn<F>(F);

/// Creates a request hook from a closure.
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

/// A [`RequestHook`] of any type, chosen at run time. Cheap to clone.
#[derive(Clone)]
pub struct SharedRequestHook(GuardedArc<dyn ErasedRequestHook>);

/// The object-safe form of [`RequestHook`].
trait ErasedRequestHook: Send + Sync {
    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>>;
    fn name(&self) -> &str;
}

impl<H: RequestHook> ErasedRequestHook for H {
    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(RequestHook::on_request(self, request))
    }

    fn name(&self) -> &str {
        RequestHook::name(self)
    }
}

impl SharedRequestHook {
    /// Wraps `hook` and erases its type.
    pub fn new(hook: impl RequestHook + 'static) -> Self {
        Self(GuardedArc::new(Arc::new(hook)))
    }

    /// Runs [`RequestHook::on_request`] in a boxed future.
    pub fn add_to(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        self.0.on_request(request)
    }
}

impl RequestHook for SharedRequestHook {
    fn on_request(&self, request: ModelRequest) -> impl Future<Output = Result<(), ToolError>> + Send {
        self.add_to(request)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

impl fmt::Debug for SharedRequestHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRequestHook")
    }
}
