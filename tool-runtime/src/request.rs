//! Additions to a request before it is sent to a model: instructions, native tools and messages.
//!
//! A tool adds to the request with the key `on_request`; a [`RequestHook`] (or a function in [`request_fn`]) adds to it
//! without being a tool. Both receive a [`ModelRequest`]; the result is a set of [`RequestAdditions`], which
//! [`BoundTools::build_request`](crate::dialect::BoundTools::build_request) applies.

#[doc(inline)]
pub use tool_core::{
    AddedMessage, ModelRequest, OnRequest, RequestAdditions, RequestFn, RequestHook, RequestMessage,
    RequestMessages, RequestResult, RequestRole, SharedRequestHook, request_fn,
};
