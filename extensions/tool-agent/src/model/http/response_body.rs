//! The body of a response while it arrives.

use std::fmt;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};

use super::failure;
use crate::model::{ModelError, ModelErrorKind};

/// The chunks of a body.
pub(super) trait Chunks: Stream<Item = Result<Bytes, BodyError>> + Send + Unpin {}

impl<S: Stream<Item = Result<Bytes, BodyError>> + Send + Unpin> Chunks for S {}

/// A body whose first bytes are read.
pub(super) struct PeekedBody<C> {
    /// The first bytes, without a byte order mark and blanks before them.
    peeked: Vec<u8>,
    rest: C,
}

impl<C: Chunks> PeekedBody<C> {
    /// Reads the body up to the bytes that tell what it is.
    pub(super) async fn read_until_recognized(mut chunks: C) -> Result<Self, ModelError> {
        let mut peeked = Vec::new();
        while bytes_after_blanks(&peeked).len() < MAX_FIELD_BYTES {
            match chunks.next().await {
                Some(chunk) => peeked.extend_from_slice(&chunk.map_err(BodyError::into_model_error)?),
                None => break,
            }
            // Blanks are read once, however many there are.
            peeked = bytes_after_blanks(&peeked).to_vec();
        }
        Ok(Self { peeked, rest: chunks })
    }

    /// Returns `true` for a stream of events and `false` for JSON, by the first bytes: servers send both with the content
    /// type of the other. `None` if the bytes are neither.
    pub(super) fn is_event_stream(&self) -> Option<bool> {
        is_event_stream(&self.peeked)
    }

    pub(super) fn into_chunks(self) -> impl Chunks {
        stream::iter([Ok(Bytes::from(self.peeked))]).chain(self.rest)
    }
}

/// The length of the longest name of a field of an event, with its colon.
const MAX_FIELD_BYTES: usize = "event:".len();

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

fn is_event_stream(start: &[u8]) -> Option<bool> {
    match bytes_after_blanks(start) {
        [b'{' | b'[', ..] => Some(false),
        [b':', ..] => Some(true),
        content => ["data:", "event:", "id:", "retry:"]
            .iter()
            .any(|field| content.starts_with(field.as_bytes()))
            .then_some(true),
    }
}

/// Returns the bytes after a byte order mark and blanks.
fn bytes_after_blanks(start: &[u8]) -> &[u8] {
    start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start()
}

/// Reads the whole body.
pub(super) async fn read_text(mut chunks: impl Chunks) -> Result<String, ModelError> {
    let mut body = Vec::new();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(BodyError::into_model_error)?);
    }
    String::from_utf8(body)
        .map_err(|_| ModelError::new(ModelErrorKind::Malformed, "the response is not UTF-8 text"))
}

/// An error of a body that arrives.
#[derive(Debug)]
pub(super) enum BodyError {
    Connection { error: reqwest::Error, url: String },
    TooLong(usize),
}

impl BodyError {
    pub(super) fn into_model_error(self) -> ModelError {
        match self {
            Self::Connection { error, url } => failure::connection_error(error, Some(&url)),
            Self::TooLong(_) => ModelError::new(ModelErrorKind::Other, self.to_string()),
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection { url, .. } => write!(f, "the connection to `{url}` failed"),
            Self::TooLong(most) => {
                write!(f, "the response is longer than {most} bytes; see `HttpModel::with_longest_response`")
            }
        }
    }
}

impl std::error::Error for BodyError {}

/// The error of a stream that breaks off.
pub(super) fn broken_stream(error: sse_stream::Error) -> ModelError {
    match error {
        sse_stream::Error::Body(error) => match error.downcast::<BodyError>() {
            Ok(error) => error.into_model_error(),
            Err(error) => ModelError::new(ModelErrorKind::Connection, "the stream of the response broke")
                .with_source(error),
        },
        error => {
            let message = "the stream of the response is not a stream of events";
            ModelError::new(ModelErrorKind::Malformed, message).with_source(error)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    type Chunk = Result<Bytes, BodyError>;

    fn chunks(parts: &[&'static str]) -> stream::Iter<std::vec::IntoIter<Chunk>> {
        let parts: Vec<_> = parts.iter().map(|part| Ok(Bytes::from_static(part.as_bytes()))).collect();
        stream::iter(parts)
    }

    #[tokio::test]
    async fn a_body_says_by_its_start_whether_it_is_a_stream_of_events() {
        for (parts, expected) in [
            (&["{\"a\":1}"][..], Some(false)),
            (&[" \n", "\t[1]"], Some(false)),
            (&["\u{feff}{}"], Some(false)),
            (&["da", "ta", ": 1\n\n"], Some(true)),
            (&["\r\n", "event: a"], Some(true)),
            (&["id: 1"], Some(true)),
            (&["retry: 1"], Some(true)),
            (&[": alive"], Some(true)),
            (&["<html>"], None),
            (&["data"], None),
            (&[""], None),
            (&[], None),
        ] {
            let body = PeekedBody::read_until_recognized(chunks(parts)).await.unwrap();
            assert_eq!(body.is_event_stream(), expected, "{parts:?}");
            let text = read_text(body.into_chunks()).await.unwrap();
            let whole = parts.concat();
            assert_eq!(text, whole.trim_start_matches('\u{feff}').trim_start(), "{parts:?}");
        }
    }

    #[test]
    fn a_body_is_recognized_by_as_few_bytes_as_the_longest_field_has() {
        for (part, is_recognized) in
            [("event:", true), ("\u{feff} event:", true), ("event", false), ("{", false)]
        {
            let body = chunks(&[part]).chain(stream::pending());
            let read = PeekedBody::read_until_recognized(body).now_or_never();
            assert_eq!(read.is_some(), is_recognized, "{part}");
        }
    }

    #[tokio::test]
    async fn a_body_that_cannot_be_read_is_an_error() {
        let latin = stream::iter([Chunk::Ok(Bytes::from_static(b"\xe4"))]);
        let error = read_text(latin).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ModelErrorKind::Malformed, "the response is not UTF-8 text")
        );
        let long = || stream::iter([Err(BodyError::TooLong(5))]);
        let expected = "the response is longer than 5 bytes; see `HttpModel::with_longest_response`";
        let errors = [
            read_text(long()).await.unwrap_err(),
            PeekedBody::read_until_recognized(long()).await.err().unwrap(),
        ];
        for error in errors {
            assert_eq!((error.kind(), error.to_string().as_str()), (ModelErrorKind::Other, expected));
        }
        let broken = broken_stream(sse_stream::Error::Body(Box::new(BodyError::TooLong(5))));
        assert_eq!((broken.kind(), broken.to_string().as_str()), (ModelErrorKind::Other, expected));
        let broken = broken_stream(sse_stream::Error::Body("it broke".into()));
        assert_eq!(broken.kind(), ModelErrorKind::Connection);
    }
}
