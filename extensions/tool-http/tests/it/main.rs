//! The client against servers of this machine.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests may"
)]

mod addresses;
mod bodies;
mod errors;
mod redirects;
mod server;

use std::net::IpAddr;

use tool_http::{
    AddressPolicy, HttpClient, HttpClientBuilder, HttpError, HttpResponse,
    reqwest::{Method, Request, Url},
};

/// The address of the servers of the tests, the only one of this machine that is permitted.
const PERMITTED: &str = "127.0.0.1";

/// An address of this machine that is not permitted.
const OTHER: &str = "127.0.0.2";

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn builder() -> HttpClientBuilder {
    HttpClient::builder().addresses(AddressPolicy::public().allow_address(address(PERMITTED)))
}

async fn get(client: &HttpClient, url: &str) -> Result<HttpResponse, HttpError> {
    client.send(Request::new(Method::GET, Url::parse(url).unwrap())).await
}
