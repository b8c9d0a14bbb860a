//! Requests to search engines.

use std::time::Duration;

use tool_http::{
    AddressPolicy, HttpClient, RedirectPolicy, deadline_after, has_user, read_body,
    reqwest::{
        Method, Request, StatusCode, Url,
        header::{HeaderMap, HeaderValue, USER_AGENT},
    },
};
use tool_runtime::prelude::*;

use crate::web::{builder, fetch::http_error};

/// Bytes of an answer.
const MAX_ANSWER_BYTES: usize = 2 * 1024 * 1024;

/// The time for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The server of a search engine.
#[derive(Debug, Clone)]
pub(super) struct EngineServer {
    base: String,
    user_agent: String,
    client: Option<HttpClient>,
}

/// The answer of a search engine.
#[derive(Debug)]
pub(super) struct EngineAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

impl EngineServer {
    pub(super) fn new(base: impl Into<String>) -> Self {
        Self { base: base.into(), user_agent: builder::USER_AGENT.to_owned(), client: None }
    }

    pub(super) fn set_base_url(&mut self, url: impl Into<String>) {
        self.base = url.into();
    }

    pub(super) fn set_user_agent(&mut self, agent: impl Into<String>) {
        self.user_agent = agent.into();
    }

    pub(super) fn set_client(&mut self, client: HttpClient) {
        self.client = Some(client);
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.base_url()?;
        HeaderValue::from_str(&self.user_agent)
            .map_err(|_| "the user agent of the search engine is not valid; write it in ASCII".to_owned())?;
        Ok(())
    }

    /// Returns the base URL; an error does not show it, since it may have a password.
    fn base_url(&self) -> Result<Url, String> {
        let url = Url::parse(&self.base).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && !has_user(url)
                && url.query().is_none()
                && url.fragment().is_none()
        });
        url.ok_or_else(|| {
            "the base URL of the search engine is not valid; write it like `https://search.example.com`"
                .to_owned()
        })
    }

    /// Requests `path` below the base URL. A redirect is an answer.
    pub(super) async fn get_answer(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
        headers: HeaderMap,
    ) -> Result<EngineAnswer, ToolError> {
        let mut url = self.base_url().map_err(ToolError::failed)?;
        // The program chose the base URL, and thereby its kind of address.
        let addresses = AddressPolicy::near(&url);
        let prefix = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{prefix}{path}"));
        url.query_pairs_mut().extend_pairs(parameters);
        let mut request = Request::new(Method::GET, url);
        *request.headers_mut() = headers;
        if let Ok(agent) = HeaderValue::from_str(&self.user_agent) {
            request.headers_mut().insert(USER_AGENT, agent);
        }
        let client = match &self.client {
            Some(client) => client.clone(),
            None => {
                let client = HttpClient::builder().addresses(addresses).redirects(RedirectPolicy::Never);
                client.build().map_err(|error| http_error(&error))?
            }
        };
        let response =
            client.execute(request, deadline_after(TIMEOUT)).await.map_err(|error| http_error(&error))?;
        let status = response.status();
        let body = read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| http_error(&error))?;
        match body.is_cut {
            true => Err(ToolError::failed(format!(
                "the answer of the search engine is larger than {MAX_ANSWER_BYTES} bytes; give other words"
            ))),
            false => Ok(EngineAnswer { status, body: body.bytes }),
        }
    }
}

impl EngineAnswer {
    /// Returns the error of an answer without results; `advice` says what the program can do.
    pub(super) fn status_error(&self, name: &str, advice: &str) -> ToolError {
        let status = self.status.as_u16();
        let is_retryable = self.status.is_server_error() || status == 429;
        ToolError::failed(format!("`{name}` answered with status {status}; {advice}")).retryable(is_retryable)
    }
}

/// Returns a text of a JSON object; empty if there is none.
pub(super) fn text_member_or_empty(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Adds the settings that all engines have.
macro_rules! server_settings {
    () => {
        /// Sets the base URL, such as the URL of a proxy or of a local server.
        #[must_use]
        pub fn base_url(mut self, url: impl Into<String>) -> Self {
            self.server.set_base_url(url);
            self
        }

        /// Sets the user agent. Default: `tool-builtins/` and the version.
        #[must_use]
        pub fn user_agent(mut self, agent: impl Into<String>) -> Self {
            self.server.set_user_agent(agent);
            self
        }

        /// Sets the client. Default: one that reaches the kind of address of the base URL.
        #[must_use]
        pub fn client(mut self, client: tool_http::HttpClient) -> Self {
            self.server.set_client(client);
            self
        }
    };
}
pub(super) use server_settings;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_has_no_user_query_or_fragment() {
        for (url, is_valid) in [
            ("https://a.example", true),
            ("http://127.0.0.1:80/sub/", true),
            ("ftp://a.example", false),
            ("https://u@a.example", false),
            ("https://:p@a.example", false),
            ("https://a.example/?", false),
            ("https://a.example/#", false),
            ("a.example", false),
        ] {
            let server = EngineServer::new(url);
            assert_eq!(server.check().is_ok(), is_valid, "{url}");
            assert_eq!(server.base_url().ok(), Url::parse(url).ok().filter(|_| is_valid));
        }
        let mut server = EngineServer::new("https://a.example");
        assert_eq!(server.user_agent, builder::USER_AGENT);
        server.set_user_agent("a\nb");
        let message = "the user agent of the search engine is not valid; write it in ASCII";
        assert_eq!(server.check(), Err(message.to_owned()));
    }

    #[test]
    fn the_error_of_a_server_that_is_busy_can_be_retried() {
        for (status, is_retryable) in
            [(429, true), (500, true), (503, true), (401, false), (430, false), (302, false)]
        {
            let answer = EngineAnswer { status: StatusCode::from_u16(status).unwrap(), body: Vec::new() };
            let error = answer.status_error("own", "do this");
            assert_eq!(error.reason(), format!("`own` answered with status {status}; do this"));
            assert_eq!(error.is_retryable(), is_retryable, "{status}");
        }
    }

    #[test]
    fn a_member_that_is_no_text_is_empty() {
        let value = json!({ "a": "b", "c": 1 });
        assert_eq!(["a", "c", "d"].map(|name| text_member_or_empty(&value, name)), ["b", "", ""]);
        assert_eq!(text_member_or_empty(&json!([]), "a"), "");
    }
}
