//! The Markdown of a part of a tree.

use std::sync::atomic::{AtomicBool, Ordering};

use tool_http::reqwest::Url;

use super::{
    tree::{HtmlTree, NodeData, NodeId, TreeLimit, Visit},
    visible::{is_dropped, is_surrounding},
};

/// Bytes of Markdown, after which a page is cut.
pub(super) const MAX_MARKDOWN_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of the quotes and indents before a line; deeper ones are not indented more.
const MAX_PREFIX_BYTES: usize = 64;

/// Bytes of the address of a link; a longer one is left out.
pub(super) const MAX_LINK_BYTES: usize = 2000;

/// Characters of the description of an image.
const MAX_ALT_CHARS: usize = 200;

/// Nodes between two looks at `stop`.
const NODES_PER_CHECK: usize = 4096;

/// An inline mark whose element is open.
struct InlineMark {
    element: NodeId,
    opening: &'static str,
    closing: String,
    /// `false` until there is text in it.
    is_written: bool,
}

/// Writes each node once, and calls nothing for its children.
pub(super) struct MarkdownWriter<'t> {
    pub(super) tree: &'t HtmlTree,
    base: &'t Url,
    pub(super) out: String,
    /// Line ends before the next text.
    pub(super) breaks: usize,
    has_space: bool,
    /// Quotes and indents of each line.
    prefix: String,
    /// The lengths of `prefix` before the open quotes and list items.
    prefix_lengths: Vec<usize>,
    /// The mark of a list item without text so far, and the length of `prefix` before it.
    item_mark: Option<(usize, String)>,
    /// The level of a heading without text so far.
    heading_level: usize,
    /// The next number of each open list; `None` for one with bullets.
    lists: Vec<Option<u64>>,
    marks: Vec<InlineMark>,
    /// Elements around the text that stay on one line: headings and cells.
    pub(super) single_lines: usize,
    /// Cells of the open rows.
    pub(super) rows: Vec<usize>,
    /// Rows of the open tables.
    tables: Vec<usize>,
}

impl<'t> MarkdownWriter<'t> {
    /// Writes the part of `tree` below `root`, with links relative to `base`.
    pub(super) fn markdown_of_part(
        tree: &'t HtmlTree,
        root: NodeId,
        base: &'t Url,
        omits_surroundings: bool,
        stop: &AtomicBool,
    ) -> Result<String, TreeLimit> {
        let mut writer = Self::new(tree, base);
        let mut upcoming = Some(Visit::Enter(root));
        let mut visits: usize = 0;
        while let Some(visit) = upcoming {
            visits += 1;
            if visits.is_multiple_of(NODES_PER_CHECK) && stop.load(Ordering::Relaxed) {
                return Err(TreeLimit::Stopped);
            }
            upcoming = match visit {
                Visit::Enter(id)
                    if is_dropped(tree, id)
                        || omits_surroundings && id != root && is_surrounding(tree, id) =>
                {
                    // No text, and no end either.
                    tree.next_visit(root, Visit::Leave(id))
                }
                Visit::Enter(id) if !writer.begin_element(id) => Some(Visit::Leave(id)),
                Visit::Enter(_) => tree.next_visit(root, visit),
                Visit::Leave(id) => {
                    writer.end_element(id);
                    tree.next_visit(root, visit)
                }
            };
            if writer.out.len() > MAX_MARKDOWN_BYTES {
                writer.out.push_str("\n\n[the rest of the page was left out]");
                break;
            }
        }
        Ok(writer.out)
    }

    fn new(tree: &'t HtmlTree, base: &'t Url) -> Self {
        Self {
            tree,
            base,
            out: String::new(),
            breaks: 0,
            has_space: false,
            prefix: String::new(),
            prefix_lengths: Vec::new(),
            item_mark: None,
            heading_level: 0,
            lists: Vec::new(),
            marks: Vec::new(),
            single_lines: 0,
            rows: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Begins an element; `false` if its children are written already.
    fn begin_element(&mut self, id: NodeId) -> bool {
        if let NodeData::Text(text) = self.tree.data(id) {
            self.push_text(text);
            return true;
        }
        let tag = self.tree.tag(id);
        self.request_breaks(block_breaks(tag));
        match tag {
            "pre" => return self.push_code_block(id),
            "code" | "kbd" | "samp" => return self.push_inline_code(id),
            "br" => self.request_breaks(1),
            "hr" => self.push_raw("---"),
            "img" => self.push_image(id),
            "strong" | "b" => self.open_mark(id, "**", "**".to_owned()),
            "em" | "i" => self.open_mark(id, "*", "*".to_owned()),
            "a" => self.open_link(id),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.heading_level = tag.trim_start_matches('h').parse().unwrap_or(1);
                self.single_lines += 1;
            }
            "blockquote" => self.push_prefix("> "),
            "ul" | "menu" => self.lists.push(None),
            "ol" => {
                let start = self.tree.attribute(id, "start").and_then(|it| it.parse().ok());
                self.lists.push(Some(start.unwrap_or(1)));
            }
            "li" => self.open_item(),
            "table" => self.tables.push(0),
            "tr" => self.rows.push(0),
            "td" | "th" => self.open_cell(),
            _ => {}
        }
        true
    }

    fn end_element(&mut self, id: NodeId) {
        let tag = self.tree.tag(id);
        match tag {
            "strong" | "b" | "em" | "i" | "a" => self.close_mark(id),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.heading_level = 0;
                self.single_lines = self.single_lines.saturating_sub(1);
            }
            "blockquote" => self.pop_prefix(),
            "ul" | "menu" | "ol" => drop(self.lists.pop()),
            "li" => {
                self.item_mark = None;
                self.pop_prefix();
            }
            "td" | "th" => self.single_lines = self.single_lines.saturating_sub(1),
            "tr" => self.close_row(),
            "table" => drop(self.tables.pop()),
            _ => {}
        }
        self.request_breaks(block_breaks(tag));
    }

    fn request_breaks(&mut self, count: usize) {
        match self.single_lines {
            0 => self.breaks = self.breaks.max(count),
            _ => self.has_space |= count > 0,
        }
    }

    fn push_prefix(&mut self, part: &str) {
        self.prefix_lengths.push(self.prefix.len());
        if self.prefix.len() < MAX_PREFIX_BYTES {
            self.prefix.push_str(part);
        }
    }

    fn pop_prefix(&mut self) {
        if let Some(length) = self.prefix_lengths.pop() {
            self.prefix.truncate(length);
        }
    }

    fn open_item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "- ".to_owned(),
        };
        let start = self.prefix.len();
        self.push_prefix(&" ".repeat(mark.len()));
        self.item_mark = Some((start, mark));
    }

    fn open_cell(&mut self) {
        if let Some(cells) = self.rows.last_mut() {
            *cells += 1;
            let mark = if *cells == 1 { "| " } else { " | " };
            match self.single_lines {
                0 => {
                    self.has_space = false;
                    self.push_raw(mark);
                }
                _ => self.has_space = true,
            }
        }
        self.single_lines += 1;
    }

    /// Ends a row; after the first one of a table stands the line that makes it a table.
    fn close_row(&mut self) {
        let cells = self.rows.pop().unwrap_or_default();
        if cells == 0 || self.single_lines > 0 {
            return;
        }
        self.has_space = false;
        self.push_raw(" |");
        self.breaks = 1;
        if let Some(rows) = self.tables.last_mut() {
            *rows += 1;
            if *rows == 1 {
                self.push_raw(&format!("|{}", " --- |".repeat(cells)));
                self.breaks = 1;
            }
        }
    }

    fn open_link(&mut self, id: NodeId) {
        if let Some(url) = self.tree.attribute(id, "href").and_then(|it| self.link_target(it)) {
            self.open_mark(id, "[", format!("]({url})"));
        }
    }

    /// Returns an absolute address that a model may follow.
    fn link_target(&self, href: &str) -> Option<String> {
        let href = Some(href.trim()).filter(|it| it.len() <= MAX_LINK_BYTES)?;
        let url = self.base.join(href).ok()?;
        let is_known =
            matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= MAX_LINK_BYTES;
        is_known.then(|| url.as_str().replace('(', "%28").replace(')', "%29").replace('|', "%7C"))
    }

    fn open_mark(&mut self, element: NodeId, opening: &'static str, closing: String) {
        self.marks.push(InlineMark { element, opening, closing, is_written: false });
    }

    fn close_mark(&mut self, element: NodeId) {
        if let Some(mark) = self.marks.pop_if(|mark| mark.element == element)
            && mark.is_written
        {
            self.out.push_str(&mark.closing);
        }
    }

    /// Writes what stands before the next text: line ends, marks, a space.
    fn write_pending_marks(&mut self) {
        let is_start = self.out.is_empty();
        if self.breaks > 0 || is_start {
            let (start, mark) = self.item_mark.take().unwrap_or((self.prefix.len(), String::new()));
            let (before, item) = self.prefix.split_at_checked(start).unwrap_or((&self.prefix, ""));
            let breaks = if is_start { 0 } else { self.breaks };
            for number in 1..=breaks {
                self.out.push('\n');
                if number < breaks {
                    self.out.push_str(before.trim_end());
                }
            }
            self.out.push_str(before);
            self.out.push_str(&mark);
            // Quotes inside of the item, after its indent.
            self.out.push_str(item.get(mark.len()..).unwrap_or_default());
            let level = std::mem::take(&mut self.heading_level);
            if level > 0 {
                self.out.push_str(&"#".repeat(level));
                self.out.push(' ');
            }
        } else if self.has_space && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
        (self.breaks, self.has_space) = (0, false);
        for mark in self.marks.iter_mut().filter(|mark| !mark.is_written) {
            self.out.push_str(mark.opening);
            mark.is_written = true;
        }
    }

    /// Writes Markdown that has no end of a line.
    pub(super) fn push_raw(&mut self, text: &str) {
        self.write_pending_marks();
        self.out.push_str(text);
    }

    fn push_text(&mut self, text: &str) {
        for (index, word) in text.split(char::is_whitespace).enumerate() {
            self.has_space |= index > 0;
            if !word.is_empty() {
                self.push_word(word);
            }
        }
    }

    fn push_word(&mut self, word: &str) {
        let is_in_table = !self.rows.is_empty();
        let is_line_start = self.breaks > 0 || self.out.is_empty();
        self.write_pending_marks();
        if is_line_start && word.starts_with(['#', '>', '-', '+', '=', '~']) {
            self.out.push('\\');
        }
        for character in word.chars() {
            match character {
                '\\' | '`' | '*' | '[' | ']' | '<' => self.out.push('\\'),
                '|' if is_in_table => self.out.push('\\'),
                _ => {}
            }
            self.out.push(character);
        }
    }

    fn push_image(&mut self, id: NodeId) {
        let alt = self.tree.attribute(id, "alt").unwrap_or_default();
        let alt: String = alt.chars().take(MAX_ALT_CHARS).collect();
        let alt = alt.replace(['[', ']', '|', '`', '<', '\\'], " ");
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        let source = self.tree.attribute(id, "src").and_then(|it| self.link_target(it));
        if let (false, Some(source)) = (alt.is_empty(), source) {
            self.push_raw(&format!("![{alt}]({source})"));
        }
    }
}

/// Returns the line ends around an element.
fn block_breaks(tag: &str) -> usize {
    match tag {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" | "pre" | "table" | "hr" | "ul"
        | "ol" | "menu" | "dl" | "article" | "main" | "section" | "figure" | "header" | "footer"
        | "aside" | "nav" | "form" | "fieldset" | "details" => 2,
        "address" | "body" | "button" | "caption" | "center" | "dd" | "dialog" | "dir" | "div" | "dt"
        | "figcaption" | "html" | "legend" | "li" | "option" | "search" | "summary" | "tbody"
        | "textarea" | "tfoot" | "thead" | "tr" => 1,
        _ => 0,
    }
}
