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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;

    fn excerpt_of(parts: &[&[u8]]) -> String {
        let mut capture = StreamCapture::new(false);
        parts.iter().for_each(|part| capture.push(part));
        capture.excerpt_and_store_whole(None)
    }

    /// The excerpt of a stream whose middle is left out.
    fn cut_text(head: &str, omitted_bytes: usize, all_bytes: usize, tail: &str) -> String {
        let note = ResultStore::note(&format!("{omitted_bytes} of {all_bytes} bytes"), None);
        format!("{head}\n{note}\n{tail}")
    }

    #[test]
    fn a_stream_has_both_of_its_ends_whatever_its_parts_are() {
        let (first, last) = ("a".repeat(MAX_HALF_BYTES), "b".repeat(MAX_HALF_BYTES));
        let whole = format!("{first}{last}");
        assert_eq!(excerpt_of(&[]), "");
        assert_eq!(excerpt_of(&[b"one ", b"two"]), "one two");
        assert_eq!(excerpt_of(&[whole.as_bytes()]), whole);
        for middle in ["x", "xyz"] {
            let all = format!("{first}{middle}{last}");
            let expected = cut_text(&first, middle.len(), all.len(), &last);
            assert_eq!(excerpt_of(&[all.as_bytes()]), expected);
            for size in [1, 7, MAX_HALF_BYTES - 1, MAX_HALF_BYTES + 1, MAX_STREAM_BYTES] {
                let parts: Vec<&[u8]> = all.as_bytes().chunks(size).collect();
                assert_eq!(excerpt_of(&parts), expected, "{size}");
            }
        }
        let mut capture = StreamCapture::new(false);
        capture.push(b"one");
        capture.push(b"four");
        assert_eq!(capture.total_bytes(), 7);
    }

    #[test]
    fn no_character_is_cut_and_bytes_that_are_no_text_do_not_lengthen_an_excerpt() {
        // The last byte of the head and the first ones of the tail are parts of characters.
        for (character, before, after) in [("é", 1, 1), ("€", 1, 2), ("€", 2, 1), ("😀", 3, 3), ("😀", 1, 1)]
        {
            let length = character.len();
            let head = "a".repeat(MAX_HALF_BYTES - before);
            let tail = "b".repeat(MAX_HALF_BYTES - after);
            let all = format!("{head}{character}{character}{tail}");
            let expected = cut_text(&head, 2 * length, all.len(), &tail);
            assert_eq!(excerpt_of(&[all.as_bytes()]), expected, "{character} {before} {after}");
        }
        // Each byte is shown as three.
        for (byte, bytes) in [(0xff, MAX_STREAM_BYTES), (0xff, MAX_STREAM_BYTES / 3 + 1)] {
            let half = "\u{fffd}".repeat(MAX_HALF_BYTES / 3);
            let shown = 2 * half.len();
            let text = excerpt_of(&[&vec![byte; bytes]]);
            if bytes == MAX_STREAM_BYTES {
                assert_eq!(text, cut_text(&half, bytes - shown, bytes, &half));
            }
            assert!(text.len() <= MAX_STREAM_BYTES + 200, "{}", text.len());
        }
        let text = "\u{fffd}".repeat(MAX_STREAM_BYTES / 3);
        assert_eq!(excerpt_of(&[&vec![0xff; MAX_STREAM_BYTES / 3]]), text);
        // Bytes in the middle of a text, and at its ends.
        assert_eq!(excerpt_of(&[b"a\xffb\x80"]), "a\u{fffd}b\u{fffd}");
        let all = [
            &b"a\xffa".repeat(MAX_HALF_BYTES)[..],
            &b"\x81\x81\x81\x81"[..],
            &vec![b'b'; MAX_HALF_BYTES - 4],
        ]
        .concat();
        let text = excerpt_of(&[&all]);
        assert!(text.contains(&format!("\n\u{fffd}{}", "b".repeat(MAX_HALF_BYTES - 4))));
    }

    #[test]
    fn a_whole_stream_of_up_to_8_mib_moves_to_the_store_once() {
        for (bytes, is_stored) in [(MAX_WHOLE_BYTES, true), (MAX_WHOLE_BYTES + 1, false)] {
            let store = ResultStore::new(64 << 20);
            let mut capture = StreamCapture::new(true);
            capture.push(b"first");
            let rest = vec![b'a'; bytes - 10];
            capture.push(&rest);
            capture.push(b"final");
            let text = capture.excerpt_and_store_whole(Some(&store));
            assert_eq!(capture.excerpt_and_store_whole(Some(&store)), text);
            let handle = is_stored.then_some((capture.handle.unwrap_or_default(), MAX_HALF_BYTES));
            assert_eq!(capture.handle.is_some(), is_stored);
            let note = ResultStore::note(&format!("{} of {bytes} bytes", bytes - MAX_STREAM_BYTES), handle);
            assert_eq!(text.lines().nth(1), Some(&*note));
            if let Some((handle, _)) = handle {
                assert_eq!(store.read(handle, bytes - 6, 10).unwrap().split('\n').next(), Some("afinal"));
            }
        }
        // What a result has whole is not stored.
        let store = ResultStore::new(64 << 20);
        let mut capture = StreamCapture::new(true);
        capture.push(b"short");
        assert_eq!(capture.excerpt_and_store_whole(Some(&store)), "short");
        assert_eq!(capture.handle, None);
    }
}
