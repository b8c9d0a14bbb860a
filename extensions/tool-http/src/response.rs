//! Responses, whose bodies are read within a limit.

use reqwest::{
    Response, StatusCode, Url,
    header::{HeaderMap, HeaderValue},
};

use crate::{HttpError, HttpErrorKind, Origin};

/// A response, of which the body is not read yet.
#[derive(Debug)]
pub struct HttpResponse {
    response: Response,
    /// `true` if a redirect led here.
    is_redirected: bool,
    body_limit: usize,
}

/// The body of a response, or its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpBody {
    /// The bytes, after their decompression.
    pub bytes: Vec<u8>,
    /// `true` if there are more, which were not read.
    pub is_cut: bool,
}

impl HttpResponse {
    pub(crate) fn new(response: Response, is_redirected: bool, body_limit: usize) -> Self {
        Self { response, is_redirected, body_limit }
    }

    /// Returns the status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Returns the headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Returns the value of a header; of several, the first.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&HeaderValue> {
        self.headers().get(name)
    }

    /// Returns the URL that answered: of the request, or of its last redirect.
    #[must_use]
    pub fn url(&self) -> &Url {
        self.response.url()
    }

    /// Returns `true` if a redirect was followed.
    #[must_use]
    pub fn is_redirected(&self) -> bool {
        self.is_redirected
    }

    /// Reads the body.
    ///
    /// # Errors
    ///
    /// If it is larger than the limit of the client, breaks off, or does not arrive in time.
    pub async fn bytes(self) -> Result<Vec<u8>, HttpError> {
        let (origin, limit) = (Origin::of(self.url()), self.body_limit);
        let HttpBody { bytes, is_cut } = read_body(self.response, limit).await?;
        match is_cut {
            true => {
                let reason = format!("the body of the response is larger than {limit} bytes");
                Err(HttpError::new(HttpErrorKind::TooLarge, origin, reason))
            }
            false => Ok(bytes),
        }
    }

    /// Reads the body as text; what is not UTF-8 becomes `\u{fffd}`.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes).
    pub async fn text(self) -> Result<String, HttpError> {
        let bytes = self.bytes().await?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Reads the body, or its beginning if it is larger than the limit of the client.
    ///
    /// # Errors
    ///
    /// If it breaks off, or does not arrive in time.
    pub async fn beginning(self) -> Result<HttpBody, HttpError> {
        read_body(self.response, self.body_limit).await
    }
}

/// Reads at most `limit` bytes of a body, after decompression.
///
/// # Errors
///
/// If the response breaks off, or the time is over.
pub async fn read_body(mut response: Response, limit: usize) -> Result<HttpBody, HttpError> {
    let mut bytes = Vec::new();
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(HttpBody { bytes, is_cut: false }),
            Err(error) => return Err(HttpError::from(error).with_origin_if_missing(response.url())),
        };
        let room = limit - bytes.len();
        bytes.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            return Ok(HttpBody { bytes, is_cut: true });
        }
    }
}
