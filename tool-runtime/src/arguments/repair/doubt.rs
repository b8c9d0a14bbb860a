/// Why a text cannot be read with certainty, and where that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doubt {
    what: &'static str,
    at: usize,
}

impl Doubt {
    /// `what` names no part of the text: it may hold a secret.
    pub(super) fn new(what: &'static str, at: usize) -> Self {
        Self { what, at }
    }

    /// In words, with the place in `text` counted as `serde_json` counts.
    pub(super) fn in_text(self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, str::len) + 1;
        format!("{} at line {line} column {column}", self.what)
    }
}
