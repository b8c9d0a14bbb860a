//! The output of a command: its beginning and its end, in bounded memory.

use std::{collections::VecDeque, fmt::Write as _};

use tool_runtime::policy::ResultStore;

/// The part of a stream that a result has, half of it from each end.
pub(crate) const MAX_STREAM_BYTES: usize = 128 << 10;

/// The part of a stream that is kept for a store of results.
const MAX_WHOLE_BYTES: usize = 8 << 20;

const MAX_HALF_BYTES: usize = MAX_STREAM_BYTES / 2;

/// One stream.
#[derive(Debug, Default)]
pub(crate) struct StreamCapture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
    /// The whole stream; `None` if there is no store for it, or it is too long.
    whole: Option<Vec<u8>>,
    /// The handle of the whole stream in the store.
    handle: Option<u64>,
}

impl StreamCapture {
    /// With `keeps_all`, the stream is kept for a store.
    pub(crate) fn new(keeps_all: bool) -> Self {
        Self { whole: keeps_all.then(Vec::new), ..Self::default() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes = self.total_bytes.saturating_add(bytes.len() as u64);
        match &mut self.whole {
            Some(whole) if whole.len() + bytes.len() <= MAX_WHOLE_BYTES => whole.extend_from_slice(bytes),
            whole => *whole = None,
        }
        let room = MAX_HALF_BYTES - self.head.len();
        let (of_head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(of_head);
        let of_tail = &rest[rest.len().saturating_sub(MAX_HALF_BYTES)..];
        let surplus = (self.tail.len() + of_tail.len()).saturating_sub(MAX_HALF_BYTES);
        self.tail.drain(..surplus);
        self.tail.extend(of_tail);
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The text, with a note in place of the part that is left out. The stream moves to the store, once.
    pub(crate) fn excerpt_and_store_whole(&mut self, store: Option<&ResultStore>) -> String {
        let shown_bytes = (self.head.len() + self.tail.len()) as u64;
        if self.total_bytes == shown_bytes {
            let all: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
            let text = String::from_utf8_lossy(&all);
            if text.len() <= MAX_STREAM_BYTES {
                return text.into_owned();
            }
        }
        let head = decode_head(&self.head);
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let tail = decode_tail(&tail);
        let omitted_bytes = self.total_bytes.saturating_sub((head.len() + tail.len()) as u64);
        if let Some((store, whole)) = store.and_then(|store| Some((store, self.whole.take()?))) {
            self.handle = store.insert(&String::from_utf8_lossy(&whole));
        }
        let handle = self.handle.map(|handle| (handle, head.len()));
        let note = ResultStore::note(&format!("{omitted_bytes} of {} bytes", self.total_bytes), handle);
        let mut text = head;
        // Writing to a string never fails.
        let _ = write!(text, "\n{note}\n{tail}");
        text
    }
}

/// The text of the beginning of a stream, up to its last whole character.
fn decode_head(head: &[u8]) -> String {
    let whole = match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() => &head[..error.valid_up_to()],
        _ => head,
    };
    let mut text = String::from_utf8_lossy(whole).into_owned();
    // Bytes that are no text become longer.
    let mut end = MAX_HALF_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

/// The text of the end of a stream, from its first whole character.
fn decode_tail(tail: &[u8]) -> String {
    const MAX_CONTINUATION_BYTES: usize = 3;
    let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let cut = tail.iter().take(MAX_CONTINUATION_BYTES).take_while(is_continuation).count();
    let text = String::from_utf8_lossy(&tail[cut..]);
    let mut start = text.len().saturating_sub(MAX_HALF_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}
