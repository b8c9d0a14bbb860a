//! Bodies of tools from closures.

use std::{fmt, future::Future, sync::Arc};

use tool_core::{
    __private::{Call, Described, Generator, Returned, TypeProbe},
    BoxFuture, ToolContext,
};

use super::{HandlerError, HandlerOutput};

/// The body of a tool with arguments of type `A`, made by [`tool_body!`](crate::tool_body) for
/// [`ToolBuilder::body`](crate::ToolBuilder::body).
pub struct ToolBody<A> {
    pub(super) run: Box<dyn RunBody<A>>,
    pub(super) returned: Returned,
    pub(super) blocking: bool,
    pub(super) merges: bool,
}

impl<A> fmt::Debug for ToolBody<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBody").finish_non_exhaustive()
    }
}

/// A body with its captured values.
pub(super) trait RunBody<A>: Send + Sync {
    fn run<'a>(&'a self, args: A, call: Call<'a>) -> BoxFuture<'a>;
}

/// A user's closure, and the function that calls it.
struct Called<F, R> {
    closure: F,
    call: R,
}

impl<A, F, R> RunBody<A> for Called<F, R>
where
    F: Send + Sync,
    R: for<'a> Fn(&'a F, A, Call<'a>) -> BoxFuture<'a> + Send + Sync,
{
    fn run<'a>(&'a self, args: A, call: Call<'a>) -> BoxFuture<'a> {
        (self.call)(&self.closure, args, call)
    }
}

fn boxed_body<A, F, R>(closure: F, call: R) -> Box<dyn RunBody<A>>
where
    A: 'static,
    F: Send + Sync + 'static,
    R: for<'a> Fn(&'a F, A, Call<'a>) -> BoxFuture<'a> + Send + Sync + 'static,
{
    Box::new(Called { closure, call })
}

/// Creates a body that `call` builds from `closure`; the flags are `blocking` and `merges`.
pub fn body<A, F, R>(
    closure: F,
    (blocking, merges): (bool, bool),
    describe: impl FnOnce(&mut Generator) -> Described,
    call: R,
) -> ToolBody<A>
where
    A: 'static,
    F: Send + Sync + 'static,
    R: for<'a> Fn(&'a F, A, Call<'a>) -> BoxFuture<'a> + Send + Sync + 'static,
{
    ToolBody { run: boxed_body(closure, call), returned: Returned::described(describe), blocking, merges }
}

impl<A: Send + 'static> ToolBody<A> {
    pub(super) fn of_handler<F, T, E, Fut, Output, Error>(handler: F) -> Self
    where
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: HandlerOutput<Output>,
        E: HandlerError<Error>,
    {
        let run = boxed_body(handler, |handler, args, call| {
            let cx = call.context().clone();
            Box::pin(async move {
                handler(args, cx).await.map_err(HandlerError::into_error).and_then(HandlerOutput::into_output)
            })
        });
        Self { run, returned: T::returned(), blocking: false, merges: false }
    }
}

/// Fixes the types of a closure with arguments only.
pub fn one<A, T, F: Fn(A) -> T + Send + Sync + 'static>(closure: F) -> Arc<F> {
    Arc::new(closure)
}

/// Fixes the types of a closure with arguments and context.
pub fn two<A, T, F: Fn(A, ToolContext) -> T + Send + Sync + 'static>(closure: F) -> Arc<F> {
    Arc::new(closure)
}

/// A marker for the return type of a closure.
pub fn output_of_one<A, T, F: Fn(A) -> T>(_: &Arc<F>) -> TypeProbe<T> {
    TypeProbe::new()
}

/// A marker for the return type of a closure with a context.
pub fn output_of_two<A, T, F: Fn(A, ToolContext) -> T>(_: &Arc<F>) -> TypeProbe<T> {
    TypeProbe::new()
}

/// Creates the body of a tool from a closure with the return types of a `#[tool]` function, for
/// [`ToolBuilder::body`](crate::ToolBuilder::body).
///
/// The closure takes the arguments, with an explicit type, and optionally the context. It returns a result
/// directly or as a future (`async move { .. }`): a value, `()`, an `Option`, a
/// [`ToolOutput`](crate::ToolOutput), a [`Stream`](crate::output::Stream), or a `Result` of those with any
/// error that implements `Display`. `blocking` before the closure runs it on a blocking thread; `merge` merges
/// the items of a stream into one value of their type. `move` may precede the closure. If the error type of a
/// body with `?` cannot be inferred, name it: `Ok::<_, ToolError>(value)`.
///
/// # Examples
///
/// ```
/// use tool_runtime::prelude::*;
///
/// #[tool_args]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// let add = ToolBuilder::new("add").description("Adds.").body(tool_body!(|args: Add| args.a + args.b))?;
/// let read = ToolBuilder::new("read")
///     .description("Reads a file.")
///     .body(tool_body!(blocking |_: Add, cx| std::fs::read_to_string(cx.tool_name().as_str())))?;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let tools = Registry::builder().add(add).add(read).build()?;
/// assert_eq!(tools.call("add", r#"{"a":1,"b":2}"#).await?.text(), "3");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[macro_export]
macro_rules! tool_body {
    (blocking $($closure:tt)+) => { $crate::__tool_body!(blocking $($closure)+) };
    (merge $($closure:tt)+) => { $crate::__tool_body!(merge $($closure)+) };
    ($($closure:tt)+) => { $crate::__tool_body!(plain $($closure)+) };
}

/// Dispatches [`tool_body!`] by the number of parameters.
#[doc(hidden)]
#[macro_export]
macro_rules! __tool_body {
    ($form:ident $(move)? |$args:tt : $ty:ty $(,)?| $body:expr) => {{
        let closure = $crate::__private::one(move |$args: $ty| $body);
        let of = $crate::__private::output_of_one(&closure);
        $crate::__tool_body_of!($form, closure, of, $ty, |closure, args, call| closure(args))
    }};
    ($form:ident $(move)? |$args:tt : $ty:ty, $cx:tt $(: $of:ty)? $(,)?| $body:expr) => {{
        let closure = $crate::__private::two(move |$args: $ty, $cx $(: $of)?| $body);
        let of = $crate::__private::output_of_two(&closure);
        $crate::__tool_body_of!($form, closure, of, $ty, |closure, args, call| {
            closure(args, call.context().clone())
        })
    }};
    ($($other:tt)*) => {
        ::std::compile_error!(
            "write a closure with the type of its arguments: `|args: Args| ..` or `|args: Args, cx| ..`, after `blocking`, \
             `merge` or nothing; where it is async, let it return `async move { .. }`"
        )
    };
}

/// Dispatches by the handling of the result.
#[doc(hidden)]
#[macro_export]
macro_rules! __tool_body_of {
    (plain, $($rest:tt)+) => { $crate::__tool_body_async!((outcome, (false, false), []), $($rest)+) };
    (merge, $($rest:tt)+) => { $crate::__tool_body_async!((merged, (false, true), [.merged()]), $($rest)+) };
    (blocking, $closure:ident, $of:ident, $ty:ty, |$f:ident, $args:ident, $call:ident| $run:expr) => {
        $crate::__private::body(
            $closure,
            (true, false),
            |generator| {
                #[allow(unused_imports, reason = "each type needs some of them")]
                use $crate::__private::probe::*;
                (&&&&&$of.payload()).schema(generator)
            },
            |$f, $args: $ty, $call| {
                let $f = $crate::__private::Arc::clone($f);
                $crate::__private::boxed($crate::__private::blocking($call, move |$call| {
                    $crate::__private::outcome_sync!($call, $run)
                }))
            },
        )
    };
}

/// Dispatches by synchronous or asynchronous body.
#[doc(hidden)]
#[macro_export]
macro_rules! __tool_body_async {
    (
        ($outcome:ident, $marks:expr, [$($merged:tt)*]),
        $closure:ident, $of:ident, $ty:ty, |$f:ident, $args:ident, $call:ident| $run:expr
    ) => {
        $crate::__private::body(
            $closure,
            $marks,
            |generator| {
                #[allow(unused_imports, reason = "each type needs some of them")]
                use $crate::__private::probe::*;
                (&&&&&$of.awaited().payload().items().payload()$($merged)*).schema(generator)
            },
            |$f, $args: $ty, $call| {
                $crate::__private::boxed(async move {
                    let future = {
                        #[allow(unused_imports, reason = "each type needs some of them")]
                        use $crate::__private::probe::*;
                        let given = $run;
                        (&&$crate::__private::Tag::of(&given)).future(given)
                    };
                    $crate::__private::$outcome!($call, future.await)
                })
            },
        )
    };
}
