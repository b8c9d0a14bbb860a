//! The part of a page that its readers see.

use super::tree::{DOCUMENT, HtmlTree, NodeId};

/// Elements whose content is not the text of the page.
const DROPPED_TAGS: [&str; 25] = [
    "applet", "area", "audio", "base", "canvas", "datalist", "embed", "frame", "frameset", "head", "iframe",
    "link", "meta", "meter", "noembed", "noframes", "noscript", "object", "param", "progress", "script",
    "select", "style", "template", "video",
];

/// Elements around the text of a page, which are left out if the page does not mark its main part.
const SURROUNDING_TAGS: [&str; 3] = ["aside", "footer", "nav"];

/// Characters that a main part has at least; a page with less marks something else by it.
const MIN_MAIN_CHARS: usize = 80;

/// Returns `true` for elements and text that a browser does not show, and for elements without text.
pub(crate) fn is_dropped(tree: &HtmlTree, id: NodeId) -> bool {
    tree.is_hidden(id) || is_never_text(tree, id)
}

/// Returns `true` for elements that have no text, whatever their style is.
pub(super) fn is_never_text(tree: &HtmlTree, id: NodeId) -> bool {
    let tag = tree.tag(id);
    if tree.is_foreign(id) || DROPPED_TAGS.contains(&tag) {
        return true;
    }
    if tag.is_empty() {
        return false;
    }
    tree.attribute(id, "hidden").is_some()
        || tree.attribute(id, "aria-hidden").is_some_and(|it| it.eq_ignore_ascii_case("true"))
        || (tag == "dialog" && tree.attribute(id, "open").is_none())
        || tree.attribute(id, "popover").is_some()
        || (tag == "img" && ["width", "height"].iter().any(|side| is_tiny_side(tree, id, side)))
}

/// Returns `true` for an image of a single point, which counts readers and has no visible description.
fn is_tiny_side(tree: &HtmlTree, id: NodeId, side: &str) -> bool {
    tree.attribute(id, side).is_some_and(|it| matches!(it.trim().trim_end_matches("px"), "0" | "1"))
}

/// Returns the element with the text of the page, and `true` if the elements around its text are inside of it.
pub(crate) fn find_readable_part(tree: &HtmlTree) -> (NodeId, bool) {
    let visible = || tree.descendants(DOCUMENT, |id| is_dropped(tree, id));
    let main = visible().find(|id| tree.tag(*id) == "main" || tree.attribute(*id, "role") == Some("main"));
    let mut articles = visible().filter(|id| tree.tag(*id) == "article");
    // Of several articles, none is the page.
    let article = articles.next().filter(|_| articles.next().is_none());
    for part in main.into_iter().chain(article) {
        if tree.text_line(part, MIN_MAIN_CHARS, |id| is_dropped(tree, id)).chars().count() > MIN_MAIN_CHARS {
            return (part, false);
        }
    }
    (visible().find(|id| tree.tag(*id) == "body").unwrap_or(DOCUMENT), true)
}

/// Returns `true` for a menu, a footer or the like.
pub(crate) fn is_surrounding(tree: &HtmlTree, id: NodeId) -> bool {
    SURROUNDING_TAGS.contains(&tree.tag(id))
        || matches!(
            tree.attribute(id, "role"),
            Some("navigation" | "contentinfo" | "complementary" | "banner")
        )
        || (tree.tag(id) == "header" && tree.parent(id).is_some_and(|parent| tree.tag(parent) == "body"))
}
