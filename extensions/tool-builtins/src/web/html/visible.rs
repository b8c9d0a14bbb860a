//! The part of a page that its readers see.

use super::tree::{DOCUMENT, NodeId, Tree};

/// Elements whose content is not the text of the page.
const DROPPED_TAGS: [&str; 23] = [
    "applet", "area", "audio", "base", "canvas", "datalist", "embed", "frame", "frameset", "head", "iframe",
    "link", "meta", "noembed", "noframes", "noscript", "object", "param", "script", "select", "style",
    "template", "video",
];

/// Elements around the text of a page, which are left out if the page does not mark its main part.
const SURROUNDING_TAGS: [&str; 3] = ["aside", "footer", "nav"];

/// Characters that a main part has at least; a page with less marks something else by it.
const MIN_MAIN_CHARS: usize = 80;

/// Returns `true` for elements that a browser does not show, and for those without text.
///
/// A style sheet is not read: text that one hides, by a colour or a position, is part of the result.
pub(crate) fn is_dropped(tree: &Tree, id: NodeId) -> bool {
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
        || tree.attribute(id, "style").is_some_and(is_hiding_style)
}

/// Returns `true` if a declaration of an inline style hides the element, or moves its text away.
fn is_hiding_style(style: &str) -> bool {
    style.split(';').any(|declaration| {
        let Some((property, value)) = declaration.split_once(':') else { return false };
        let value: String =
            value.chars().filter(|it| !it.is_whitespace()).collect::<String>().to_ascii_lowercase();
        let value = value.trim_end_matches("!important");
        match property.trim().to_ascii_lowercase().as_str() {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "content-visibility" => value == "hidden",
            "color" | "-webkit-text-fill-color" => matches!(value, "transparent" | "rgba(0,0,0,0)"),
            "opacity" | "font-size" | "zoom" => is_near_zero(value),
            "max-height" | "max-width" | "height" | "width" => is_near_zero(value) || value == "1px",
            "left" | "right" | "top" | "bottom" | "text-indent" | "margin-left" | "margin-top" => {
                is_far_away(value)
            }
            "clip" => value.starts_with("rect(0") || value.starts_with("rect(1px"),
            "clip-path" => matches!(value, "inset(50%)" | "inset(100%)"),
            "transform" => value == "scale(0)",
            _ => false,
        }
    })
}

fn number(value: &str) -> Option<f64> {
    let end =
        value.find(|it: char| !it.is_ascii_digit() && !matches!(it, '.' | '-' | '+')).unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

fn is_near_zero(value: &str) -> bool {
    number(value).is_some_and(|it| it.abs() < 0.05)
}

fn is_far_away(value: &str) -> bool {
    number(value).is_some_and(|it| it <= -500.0)
}

/// Returns the element with the text of the page, and `true` if the elements around its text are inside of it.
pub(crate) fn readable_part(tree: &Tree) -> (NodeId, bool) {
    let visible = || tree.descendants(DOCUMENT, |id| is_dropped(tree, id));
    let mut body = DOCUMENT;
    let (mut main, mut articles) = (None, Vec::new());
    for id in visible() {
        match tree.tag(id) {
            "body" if body == DOCUMENT => body = id,
            "main" if main.is_none() => main = Some(id),
            "article" if articles.len() < 2 => articles.push(id),
            tag if !tag.is_empty() && main.is_none() && tree.attribute(id, "role") == Some("main") => {
                main = Some(id)
            }
            _ => {}
        }
    }
    // Of several articles, none is the page.
    let article = articles.first().copied().filter(|_| articles.len() == 1);
    for part in main.into_iter().chain(article) {
        if tree.line(part, MIN_MAIN_CHARS, |id| is_dropped(tree, id)).chars().count() > MIN_MAIN_CHARS {
            return (part, false);
        }
    }
    (body, true)
}

/// Returns `true` for a menu, a footer or the like.
pub(crate) fn is_surrounding(tree: &Tree, id: NodeId) -> bool {
    SURROUNDING_TAGS.contains(&tree.tag(id))
        || matches!(
            tree.attribute(id, "role"),
            Some("navigation" | "contentinfo" | "complementary" | "banner")
        )
        || (tree.tag(id) == "header" && tree.parent(id).is_some_and(|parent| tree.tag(parent) == "body"))
}
