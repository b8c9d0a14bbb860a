//! An HTTP client for URLs that a model, a document or another server chose.
//!
//! ```no_run
//! use tool_http::{HttpClient, reqwest::{Method, Request, Url}};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = HttpClient::builder().body_limit(1 << 20).build()?;
//! let response = client.send(Request::new(Method::GET, Url::parse("https://example.com/")?)).await?;
//! println!("{} {}", response.status(), response.text().await?);
//! # Ok(())
//! # }
//! ```
//!
//! | | default | setting |
//! | --- | --- | --- |
//! | addresses | public ones, in any spelling, and for each address of a name | [`addresses`](HttpClientBuilder::addresses) |
//! | origins | all | [`only_origin`](HttpClientBuilder::only_origin) |
//! | redirects | of GET and HEAD within the origin, at most 5 | [`redirects`](HttpClientBuilder::redirects), [`max_redirects`](HttpClientBuilder::max_redirects) |
//! | body | 8 MiB after decompression | [`body_limit`](HttpClientBuilder::body_limit) |
//! | time | 30 seconds for the whole request | [`timeout`](HttpClientBuilder::timeout) |
//! | proxies | none | [`proxy_from_environment`](HttpClientBuilder::proxy_from_environment) |
//!
//! The address of a name is checked when the client connects, and the connection goes to the address that was checked: a name whose
//! address changes between two resolutions (DNS rebinding) gains nothing. Another origin never receives a header of the request that
//! may have a credential.
//!
//! Not bounded are headers of a response, beyond what `hyper` bounds, and the number of requests.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

mod address;
mod client;
mod error;
mod origin;
mod redirect;
mod response;

pub use reqwest;

pub use self::{
    address::{AddressError, AddressPolicy},
    client::{HttpClient, HttpClientBuilder, deadline_after},
    error::{HttpError, HttpErrorKind},
    origin::{Origin, has_user},
    redirect::{RedirectPolicy, RedirectStep, Redirects, RepeatableRequest},
    response::{HttpBody, HttpResponse, read_body},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
