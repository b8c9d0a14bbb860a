//! The output of a tool: content for the model, a structured value, details for the user interface, and actions.
//!
//! A [`ToolOutput`] has blocks of [`Content`]: text, images, audio and [`Resource`]s, with binary data in a [`Blob`]. A tool
//! may return raw [`Bytes`], whose media type is detected. [`Actions`] ask the caller to act, for instance to end the run. A
//! tool that returns a [`Stream`] reports its items while it runs.

#[doc(inline)]
pub use tool_core::{Actions, Blob, Bytes, Content, Resource, ResourceBody, Stream, ToolOutput};

/// Streams for tools that return one, from `futures_util`, so that no other dependency is needed.
///
/// Any other type that implements [`Stream`] of `futures-core` 0.3 may be returned as well, such as the streams of `futures`,
/// `tokio-stream` and `async-stream`.
///
/// # Examples
///
/// ```
/// use tool_runtime::{output::stream, prelude::*};
///
/// /// Counts down.
/// #[tool(read_only)]
/// fn count_down(from: u32) -> impl Stream<Item = String> {
///     stream::unfold(from, |left| async move {
///         if left == 0 {
///             return None; // the end
///         }
///         Some((format!("{left} "), left - 1)) // an item, and the next state
///     })
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let tools = Registry::builder().tool::<count_down>().build()?;
/// assert_eq!(tools.call("count_down", json!({ "from": 3 })).await?.text(), "3 2 1 ");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[cfg(feature = "executor")]
pub mod stream {
    pub use futures_util::stream::{iter, unfold};
}
