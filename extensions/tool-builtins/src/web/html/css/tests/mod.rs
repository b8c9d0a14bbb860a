//! Pages and the text of them that is shown.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod cascade;
mod colours;
mod declarations;
mod hostile;
mod selectors;
mod values;

use crate::web::html::tests::convert;

/// Checks that a page with `style` shows the text of the cases of `seen`, and of no case of `hidden`; a case is HTML with `@` in place
/// of its text.
fn check_cases(style: &str, hidden: &[impl AsRef<str>], seen: &[impl AsRef<str>]) {
    let seen: Vec<&str> = seen.iter().map(AsRef::as_ref).collect();
    let cases: Vec<&str> = hidden.iter().map(AsRef::as_ref).chain(seen.iter().copied()).collect();
    let name = |index: usize| format!("case{index}.");
    let body: String = (cases.iter().enumerate())
        .map(|(index, case)| format!("<div>{}</div>", case.replace('@', &name(index))))
        .collect();
    let start = "<h2 style='visibility:visible!important'>start</h2>";
    let page = convert(&format!("<!doctype html><style>{style}</style>{start}{body}"));
    assert!(page.markdown.contains("start") && !page.is_all_hidden, "{style}: {page:?}");
    let shown = cases.iter().enumerate().filter(|(index, _)| page.markdown.contains(&name(*index)));
    let shown: Vec<&str> = shown.map(|(_, case)| *case).collect();
    assert_eq!(shown, seen, "{style}");
}

/// Checks which declarations hide a text, in an inline style and in a style sheet.
fn check_declarations(hidden: &[impl AsRef<str>], seen: &[impl AsRef<str>]) {
    let (hidden, seen) = (hidden.iter().map(AsRef::as_ref), seen.iter().map(AsRef::as_ref));
    let inline = |declarations: &str| format!("<p style='{declarations}'>@</p>");
    let [inline_hidden, inline_seen]: [Vec<String>; 2] =
        [hidden.clone().map(inline).collect(), seen.clone().map(inline).collect()];
    check_cases("", &inline_hidden, &inline_seen);
    let count = hidden.len();
    let all: Vec<&str> = hidden.chain(seen).collect();
    let style: String = all.iter().enumerate().map(|(index, it)| format!(".c{index}{{{it}}}")).collect();
    // The second attribute names the case that fails.
    let by_class = |(index, it): (usize, &&str)| format!("<p class=c{index} data-style='{it}'>@</p>");
    let cases: Vec<String> = all.iter().enumerate().map(by_class).collect();
    let (hidden, seen) = cases.split_at(count);
    check_cases(&style, hidden, seen);
}
