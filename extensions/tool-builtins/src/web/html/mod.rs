//! HTML to Markdown, in time and memory that grow with the page alone.
//!
//! The parser is a browser's (`html5ever`); the tree and the text are our own, since each converter that was measured can be made to
//! take seconds or gigabytes by a page of 200 kB: nested elements, elements inside of tables, or a wide cell to which each other
//! row is padded. In a release build with a stack of 2 MiB, 5,000 nested elements (55 kB) overflow the stack of `htmd` 0.5.6, and take
//! `dom_smoothie` 0.19.0 3.1 seconds; 20,000 take it more than 30.

mod code;
mod colour;
mod css;
mod markdown;
#[cfg(test)]
mod tests;
mod tree;
mod tree_builder;
mod visible;

use std::sync::atomic::AtomicBool;

use tool_http::reqwest::Url;

use self::markdown::{MAX_LINK_BYTES, MarkdownWriter};
pub(super) use self::{
    css::HiddenText,
    tree::{DOCUMENT, HtmlTree, MAX_DEPTH, NodeId, TreeLimit},
    visible::is_dropped,
};
use super::content::without_invisible_characters;

/// Characters of a title.
pub(super) const MAX_TITLE_CHARS: usize = 200;

/// A page as it is shown to a model.
#[derive(Debug)]
pub(super) struct ConvertedPage {
    pub(super) title: String,
    pub(super) markdown: String,
    pub(super) hidden: HiddenText,
    /// A style sheet hides all of the text, which is shown nevertheless: a script may do so, too.
    pub(super) is_all_hidden: bool,
}

impl ConvertedPage {
    /// Converts a page that was served at `url`.
    pub(super) fn convert(html: &str, url: &Url, stop: &AtomicBool) -> Result<Self, TreeLimit> {
        let mut tree = HtmlTree::parse(html, stop)?;
        let mut title = String::new();
        let mut base = None;
        for id in tree.descendants(DOCUMENT, |id| tree.is_foreign(id)) {
            match tree.tag(id) {
                "title" if title.is_empty() => title = tree.text_line(id, MAX_TITLE_CHARS, |_| false),
                "base" if base.is_none() => {
                    // Each link has it as its start.
                    let href = tree.attribute(id, "href").filter(|it| it.len() <= MAX_LINK_BYTES);
                    base = href.and_then(|it| url.join(it).ok());
                }
                _ => {}
            }
        }
        let base = base.filter(|it| matches!(it.scheme(), "http" | "https"));
        let base = base.as_ref().unwrap_or(url);
        let mut markdown = write_readable_part(&tree, base, stop)?;
        let hidden = tree.hidden;
        let is_all_hidden = markdown.is_empty() && hidden.chars > 0;
        if is_all_hidden {
            css::hide_nodes(&mut tree, false, stop)?;
            markdown = write_readable_part(&tree, base, stop)?;
        }
        Ok(Self { title: without_invisible_characters(&title), markdown, hidden, is_all_hidden })
    }
}

fn write_readable_part(tree: &HtmlTree, base: &Url, stop: &AtomicBool) -> Result<String, TreeLimit> {
    let (part, has_surroundings) = visible::find_readable_part(tree);
    let markdown = MarkdownWriter::markdown_of_part(tree, part, base, has_surroundings, stop)?;
    match markdown.is_empty() && has_surroundings {
        true => MarkdownWriter::markdown_of_part(tree, part, base, false, stop),
        false => Ok(markdown),
    }
}
