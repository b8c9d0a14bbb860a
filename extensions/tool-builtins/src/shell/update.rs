//! The text of updates: whole lines of a stream, as far as they come.

use std::time::Duration;

use tokio::time::Instant;

/// The part of a line that is held until its end.
const MAX_HELD_BYTES: usize = 8 << 10;

/// The time for which a part of a line waits for its end.
pub(super) const MAX_HELD: Duration = Duration::from_millis(100);

/// A stream whose lines are shown when they have ended. The rest is shown when the command pauses or ends.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    held: Vec<u8>,
    /// When the first byte of that part came; `None` after an attempt to show it.
    held_since: Option<Instant>,
}

impl LineBuffer {
    /// Returns the lines that `bytes` end; of a long line, what is there. A carriage return ends a line, too: displays of progress
    /// have no other end.
    pub(super) fn push_and_take_lines(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let line_end = self.held.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        let mut end = line_end.map_or(0, |place| place + 1);
        if self.held.len() - end > MAX_HELD_BYTES {
            end = self.length_of_whole_characters();
        }
        let text = self.take_front(end);
        if self.held.is_empty() {
            self.held_since = None;
        } else if end > 0 || self.held_since.is_none() {
            self.held_since = Some(Instant::now());
        }
        text
    }

    /// Returns all that is held, but no part of a character.
    pub(super) fn take_rest(&mut self) -> String {
        self.held_since = None;
        self.take_front(self.length_of_whole_characters())
    }

    /// The moment at which the part of a line is shown that waits for its end.
    pub(super) fn next_show_time(&self) -> Option<Instant> {
        Some(self.held_since? + MAX_HELD)
    }

    /// Returns that part if its moment has come.
    pub(super) fn take_due(&mut self, now: Instant) -> String {
        match self.next_show_time().is_some_and(|moment| moment <= now) {
            true => self.take_rest(),
            false => String::new(),
        }
    }

    fn take_front(&mut self, length: usize) -> String {
        let text = String::from_utf8_lossy(&self.held[..length]).into_owned();
        self.held.drain(..length);
        text
    }

    fn length_of_whole_characters(&self) -> usize {
        match std::str::from_utf8(&self.held) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // Text with bytes that are no text may end anywhere.
            _ => self.held.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    // R02
    #[test]
    fn a_line_is_shown_when_it_has_ended_and_the_rest_when_the_command_pauses() {
        let mut text = LineBuffer::default();
        assert_eq!(text.push_and_take_lines(b"one\ntw"), "one\n");
        assert_eq!(text.push_and_take_lines(b"o"), "");
        assert_eq!(text.push_and_take_lines(b"\n10 %\r20"), "two\n10 %\r");
        assert_eq!(text.take_rest(), "20");
        assert!(text.held.is_empty());
        assert_eq!(text.push_and_take_lines(b" %\n"), " %\n");
    }

    // R02
    #[test]
    fn no_character_is_cut_and_a_long_line_is_bounded() {
        let mut text = LineBuffer::default();
        let euro = "€".as_bytes();
        assert_eq!(text.push_and_take_lines(&euro[..2]), "");
        assert_eq!(text.take_rest(), "");
        assert!(!text.held.is_empty());
        assert_eq!(text.push_and_take_lines(&euro[2..]), "");
        assert_eq!(text.take_rest(), "€");
        let mut shown = String::new();
        for byte in "€".repeat(10_000).as_bytes() {
            shown.push_str(&text.push_and_take_lines(&[*byte]));
            assert!(text.held.len() <= MAX_HELD_BYTES + 4);
        }
        shown.push_str(&text.take_rest());
        assert_eq!(shown, "€".repeat(10_000));
        assert_eq!(text.push_and_take_lines(b"\xff\n\xe2\x82"), "\u{fffd}\n");
    }

    // R02
    #[test]
    fn a_part_of_a_line_of_up_to_8_kib_is_held() {
        let mut text = LineBuffer::default();
        let long = "a".repeat(MAX_HELD_BYTES);
        assert_eq!(text.push_and_take_lines(long.as_bytes()), "");
        assert_eq!(text.push_and_take_lines(b"b"), format!("{long}b"));
        let line = format!("{}\n", "a".repeat(MAX_HELD_BYTES - 1));
        assert_eq!(text.push_and_take_lines(format!("{line}b").as_bytes()), line);
        assert_eq!(text.take_rest(), "b");
    }

    // R02
    #[tokio::test(start_paused = true)]
    async fn a_part_of_a_line_waits_100_ms_from_its_first_byte() {
        let mut text = LineBuffer::default();
        let start = Instant::now();
        let after = |millis: u64| Some(start + Duration::from_millis(millis));
        assert_eq!(text.next_show_time(), None);
        text.push_and_take_lines(b"a");
        assert_eq!(text.next_show_time(), after(100));
        time::advance(Duration::from_millis(10)).await;
        text.push_and_take_lines(b"b");
        assert_eq!(text.next_show_time(), after(100));
        // A line ends, and another one begins.
        assert_eq!(text.push_and_take_lines(b"\nc"), "ab\n");
        assert_eq!(text.next_show_time(), after(110));
        assert_eq!(text.take_due(start + Duration::from_millis(109)), "");
        assert_eq!(text.take_due(start + Duration::from_millis(110)), "c");
        assert_eq!(
            (text.next_show_time(), text.take_due(start + Duration::from_secs(1))),
            (None, String::new())
        );
        text.push_and_take_lines(b"d");
        assert_eq!(text.push_and_take_lines(b"\n"), "d\n");
        assert_eq!(text.next_show_time(), None);
        // A part of a character stays after an attempt to show it, and waits for another byte.
        text.push_and_take_lines(b"\xe2");
        assert_eq!((text.take_rest(), text.next_show_time()), (String::new(), None));
        text.push_and_take_lines(b"\x82");
        assert_eq!(text.next_show_time(), after(110));
    }
}
