//! Additions to a request before it is sent to a model: instructions, native tools and messages.
//!
//! A tool adds to the request with the key `on_request`; a [`RequestHook`] adds to it without being a tool.

#[doc(inline)]
pub use tool_core::{
    AddedMessage, ModelRequest, OnRequest, RequestAdditions, RequestFn, RequestHook, SharedRequestHook,
    request_fn,
};
