//! The lines of an event stream that the parser of events reads.
//!
//! The parser gives up a stream at a field that it does not know, and loses an event that the end of the stream ends. Here,
//! such a field costs itself, as the standard of event streams has it, and the end of the stream ends its last event: the
//! server has done the work.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::{Stream, stream::BoxStream};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

/// The maximum number of digits of a pause, in milliseconds.
const MAX_RETRY_DIGITS: usize = 15;

/// The lines of a body. It ends with an error at an event that is too large.
pub(super) struct NormalizedEventLines<S> {
    stream: Pin<Box<S>>,
    /// The beginning of a line whose end is not here yet.
    line: Vec<u8>,
    /// The size of the lines of the current event.
    event_bytes: usize,
    max_event_bytes: usize,
    is_first_line: bool,
    /// The last byte was a carriage return: a line feed behind it belongs to the same end of a line.
    follows_return: bool,
    has_ended: bool,
}

impl<S> NormalizedEventLines<S> {
    pub(super) fn new(stream: S, max_event_bytes: usize) -> Self {
        Self {
            stream: Box::pin(stream),
            line: Vec::new(),
            event_bytes: 0,
            max_event_bytes,
            is_first_line: true,
            follows_return: false,
            has_ended: false,
        }
    }

    /// Reads a part of the body; `None` if an event is too large.
    fn normalized_lines_of_part(&mut self, mut part: &[u8]) -> Option<Vec<u8>> {
        let mut lines = Vec::new();
        while let Some(&first) = part.first() {
            if std::mem::take(&mut self.follows_return) && first == b'\n' {
                part = &part[1..];
                continue;
            }
            let end = part.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let text = &part[..end.unwrap_or(part.len())];
            if self.event_bytes + self.line.len() + text.len() > self.max_event_bytes {
                return None;
            }
            self.line.extend_from_slice(text);
            let Some(end) = end else { break };
            self.follows_return = part[end] == b'\r';
            part = &part[end + 1..];
            self.push_normalized_line(&mut lines);
        }
        Some(lines)
    }

    /// Adds the line to `lines`, unless it is of no use.
    fn push_normalized_line(&mut self, lines: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        let is_first_line = std::mem::take(&mut self.is_first_line);
        let mark = "\u{feff}".as_bytes();
        let text = line.strip_prefix(mark).filter(|_| is_first_line).unwrap_or(&line);
        if text.is_empty() {
            self.event_bytes = 0;
            lines.push(b'\n');
        } else if let Some((name, value)) = parse_known_field(text) {
            self.event_bytes += text.len() + 1;
            for part in [name, b": ", value, b"\n"] {
                lines.extend_from_slice(part);
            }
        }
    }

    /// Ends the last line and the last event.
    fn end_last_event(&mut self) -> Vec<u8> {
        self.has_ended = true;
        let mut lines = Vec::new();
        if !self.line.is_empty() {
            self.push_normalized_line(&mut lines);
        }
        lines.push(b'\n');
        lines
    }
}

/// Returns the name and the value of a field; `None` for a comment, and for a field that has no meaning.
fn parse_known_field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, value) = match line.iter().position(|&byte| byte == b':') {
        Some(colon) => (&line[..colon], &line[colon + 1..]),
        None => (line, &b""[..]),
    };
    let value = value.strip_prefix(b" ").unwrap_or(value);
    let value = match name {
        b"data" => value,
        b"event" if value.trim_ascii().eq_ignore_ascii_case(b"message") => b"message",
        b"event" => value.trim_ascii(),
        b"id" if !value.is_empty() && !value.contains(&0) => value,
        b"retry" if (1..=MAX_RETRY_DIGITS).contains(&value.len()) && value.iter().all(u8::is_ascii_digit) => {
            value
        }
        _ => return None,
    };
    Some((name, value))
}

impl<S: Stream<Item = Result<Bytes, reqwest::Error>>> Stream for NormalizedEventLines<S> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            if self.has_ended {
                return Poll::Ready(None);
            }
            return Poll::Ready(Some(match ready!(self.stream.as_mut().poll_next(task)) {
                Some(Ok(part)) => match self.normalized_lines_of_part(&part) {
                    Some(lines) if lines.is_empty() => continue,
                    Some(lines) => Ok(lines.into()),
                    None => {
                        self.has_ended = true;
                        Err(io::Error::other("an event of the server is too large"))
                    }
                },
                Some(Err(error)) => {
                    self.has_ended = true;
                    Err(io::Error::other(error.without_url()))
                }
                None => Ok(self.end_last_event().into()),
            }));
        }
    }
}

/// The events of a server.
pub(super) type EventStream = BoxStream<'static, Result<Sse, SseError>>;

/// Returns the events of a response, the size of each of which is bounded.
pub(super) fn bounded_events(response: reqwest::Response, max_event_bytes: usize) -> EventStream {
    let bytes = NormalizedEventLines::new(response.bytes_stream(), max_event_bytes);
    Box::pin(SseStream::from_bytes_stream(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of a body that comes in parts of this size.
    fn lines_of(body: &str, part_bytes: usize) -> String {
        let mut lines = NormalizedEventLines::new((), 1_000);
        let mut read = Vec::new();
        for part in body.as_bytes().chunks(part_bytes) {
            read.extend(lines.normalized_lines_of_part(part).unwrap_or_default());
        }
        read.extend(lines.end_last_event());
        String::from_utf8_lossy(&read).into_owned()
    }

    #[test]
    fn fields_without_a_meaning_cost_themselves() {
        for (body, expected) in [
            ("data: a\n\n", "data: a\n\n\n"),
            ("data:a\r\rdata: b\r\n\r\n", "data: a\n\ndata: b\n\n\n"),
            ("\u{feff}data: a", "data: a\n\n"),
            ("unknown: x\nid\nretry: soon\nretry: 5\n: comment\nDATA: b\nid: \0\n", "retry: 5\n\n"),
            ("event: Message \nid: 1\ndata\ndata:  a\n", "event: message\nid: 1\ndata: \ndata:  a\n\n"),
            ("event: ping\nretry: 99999999999999999999\n", "event: ping\n\n"),
        ] {
            for part_bytes in 1..6 {
                assert_eq!(lines_of(body, part_bytes), expected, "{body:?} in parts of {part_bytes}");
            }
        }
    }

    #[test]
    fn an_event_is_bounded_and_comments_count_by_the_line() {
        let mut lines = NormalizedEventLines::new((), 100);
        let comment = format!(": {}\n", "x".repeat(90));
        for _ in 0..100 {
            assert_eq!(lines.normalized_lines_of_part(comment.as_bytes()), Some(Vec::new()));
        }
        let data = format!("data: {}\n", "x".repeat(60));
        assert!(lines.normalized_lines_of_part(data.as_bytes()).is_some());
        assert_eq!(lines.normalized_lines_of_part(data.as_bytes()), None);
        assert_eq!(NormalizedEventLines::new((), 100).normalized_lines_of_part(&[b'x'; 101]), None);
    }

    #[test]
    fn the_ends_of_its_lines_count_towards_an_event_and_the_next_one_begins_anew() {
        let read = |parts: &[&str]| {
            let mut lines = NormalizedEventLines::new((), 20);
            parts
                .iter()
                .map(|part| lines.normalized_lines_of_part(part.as_bytes()).is_some())
                .collect::<Vec<_>>()
        };
        // 10 bytes with its end, and 10 more.
        assert_eq!(read(&["data: abc\n", "data: defg"]), [true, true]);
        assert_eq!(read(&["data: abc\n", "data: defgh"]), [true, false]);
        assert_eq!(read(&["data: abc\n", "data: de", "fg", "h"]), [true, true, true, false]);
        assert_eq!(read(&["data: abc\n", "\n", "data: 0123456789abcd"]), [true, true, true]);
        assert_eq!(read(&["data: abc\n\ndata: 0123456789abcd\n"]), [true]);
        // A comment has no part in it.
        assert_eq!(read(&[": comment\n", "data: 0123456789abcd"]), [true, true]);
    }

    #[test]
    fn a_mark_is_ignored_before_the_first_line_alone() {
        assert_eq!(lines_of("data: a\n\u{feff}data: b\n", 64), "data: a\n\n");
        assert_eq!(lines_of("\ndata: a\r\n\r\n\ndata: b\r", 64), "\ndata: a\n\n\ndata: b\n\n");
    }

    #[test]
    fn a_pause_has_fifteen_digits_at_most() {
        let longest = "9".repeat(MAX_RETRY_DIGITS);
        assert_eq!(lines_of(&format!("retry: {longest}\n"), 64), format!("retry: {longest}\n\n"));
        assert_eq!(lines_of(&format!("retry: {longest}9\n"), 64), "\n");
        assert_eq!(lines_of("retry: \nretry\nid: a\nid:\n", 64), "id: a\n\n");
    }

    #[tokio::test]
    async fn a_stream_ends_after_its_last_event_or_with_one_that_is_too_large() {
        use futures_util::StreamExt as _;

        let read = |parts: Vec<&'static str>| async move {
            let parts = parts.into_iter().map(|part| Ok(Bytes::from_static(part.as_bytes())));
            let lines = NormalizedEventLines::new(futures_util::stream::iter(parts), 20);
            let read = lines.map(|part| part.map_err(|error| error.to_string()));
            read.map(|part| part.map(|part| String::from_utf8_lossy(&part).into_owned()))
                .collect::<Vec<_>>()
                .await
        };
        let text = |text: &str| Ok(text.to_owned());
        assert_eq!(
            read(vec!["data: a", ": more\n", ": x\n", "id: 1"]).await,
            [text("data: a: more\n"), text("id: 1\n\n"),]
        );
        let too_large = Err("an event of the server is too large".to_owned());
        assert_eq!(read(vec!["data: a\n", "data: 0123456\n", "\n"]).await, [text("data: a\n"), too_large]);
        assert_eq!(read(Vec::new()).await, [text("\n")]);
    }
}
