//! Code, whose text has no other Markdown.

use super::{
    markdown::{MAX_MARKDOWN_BYTES, MarkdownWriter},
    tree::{NodeData, NodeId},
    visible::is_dropped,
};

impl MarkdownWriter<'_> {
    /// Returns the text below `id` as it is written, with the ends of its lines.
    fn preformatted_text(&self, id: NodeId) -> String {
        let mut text = String::new();
        for node in self.tree.descendants(id, |it| is_dropped(self.tree, it)) {
            match self.tree.data(node) {
                NodeData::Text(part) => text.push_str(part),
                _ if self.tree.tag(node) == "br" => text.push('\n'),
                _ => {}
            }
        }
        text
    }

    pub(super) fn push_inline_code(&mut self, id: NodeId) -> bool {
        let text = self.preformatted_text(id);
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !self.rows.is_empty() {
            text = text.replace('|', "\\|");
        }
        if !text.is_empty() {
            let fence = code_fence(&text, 1);
            let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
            self.push_raw(&format!("{fence}{pad}{text}{pad}{fence}"));
        }
        false
    }

    pub(super) fn push_code_block(&mut self, id: NodeId) -> bool {
        if self.single_lines > 0 {
            return self.push_inline_code(id);
        }
        let text = self.preformatted_text(id);
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if !text.is_empty() {
            let fence = code_fence(text, 3);
            self.push_raw(&format!("{fence}{}", self.code_language(id)));
            for line in text.lines().chain([&*fence]) {
                self.breaks = 1;
                self.push_raw(line);
                if self.out.len() > MAX_MARKDOWN_BYTES {
                    break;
                }
            }
        }
        false
    }

    fn code_language(&self, id: NodeId) -> String {
        let is_dropped = |it| !matches!(self.tree.tag(it), "pre" | "code");
        let classes = self.tree.descendants(id, is_dropped).filter_map(|it| self.tree.attribute(it, "class"));
        let language = classes
            .flat_map(str::split_ascii_whitespace)
            .find_map(|class| class.strip_prefix("language-").or(class.strip_prefix("lang-")));
        language.unwrap_or_default().chars().filter(|it| it.is_ascii_alphanumeric()).take(20).collect()
    }
}

/// Returns a row of at least `min` backticks that is longer than any in `text`.
fn code_fence(text: &str, min: usize) -> String {
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(min.max(longest + 1))
}
