/// The reason why a text is ambiguous, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ambiguity {
    what: &'static str,
    at: usize,
}

impl Ambiguity {
    /// `what` contains no part of the text, which may hold a secret.
    pub(super) fn new(what: &'static str, at: usize) -> Self {
        Self { what, at }
    }

    /// Returns the message with the position in `text`, counted as in `serde_json`.
    pub(super) fn in_text(self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, str::len) + 1;
        format!("{} at line {line} column {column}", self.what)
    }
}
