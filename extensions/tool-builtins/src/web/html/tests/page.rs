//! The tree of a page, and the part of it that its readers see.

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::{convert, parse};
use crate::web::html::tree::{DOCUMENT, HtmlTree, NodeData, NodeId, TreeLimit};

const PIECES: [&str; 40] = [
    "<div>",
    "</div>",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "</td>",
    "<caption>",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<p>",
    "</p>",
    "<a href=x>",
    "</a>",
    "<template>",
    "</template>",
    "<select>",
    "<option>",
    "<svg>",
    "</svg>",
    "<math>",
    "<form>",
    "</form>",
    "<frameset>",
    "<body hidden>",
    "<html>",
    "<li>",
    "<ul>",
    "</ul>",
    "<pre>",
    "<code>",
    "<h1>",
    "</h1>",
    "<blockquote>",
    "<!-- x",
    "-->",
    "text ",
    "\0",
];

/// A tree as tags around texts.
fn outline(tree: &HtmlTree, id: NodeId) -> String {
    let children = std::iter::successors(tree.first_child(id), |child| tree.next(*child));
    let inside: String = children.map(|child| outline(tree, child)).collect();
    match tree.data(id) {
        NodeData::Document => inside,
        NodeData::Element { name, .. } => format!("<{}>{inside}</>", name.local),
        NodeData::Text(text) => text.clone(),
    }
}

proptest! {
    #[test]
    fn any_order_of_tags_is_converted(pieces in prop::collection::vec(prop::sample::select(&PIECES), 0..60)) {
        let html = pieces.concat();
        let page = convert(&html);
        prop_assert!(page.markdown.matches("text").count() <= html.matches("text").count());
    }

    #[test]
    fn the_neighbours_of_a_node_are_neighbours_of_each_other(
        pieces in prop::collection::vec(prop::sample::select(&PIECES), 0..60),
    ) {
        let tree = parse(&pieces.concat()).unwrap();
        let mut reached = vec![DOCUMENT];
        for place in 0.. {
            let Some(parent) = reached.get(place).copied() else { break };
            let children: Vec<_> =
                std::iter::successors(tree.first_child(parent), |child| tree.next(*child)).collect();
            let last = tree.node(parent).and_then(|it| it.last_child);
            let backwards: Vec<_> = std::iter::successors(last, |child| tree.previous(*child)).collect();
            prop_assert!(backwards.iter().rev().eq(&children), "{backwards:?} {children:?}");
            prop_assert!(children.iter().all(|child| tree.parent(*child) == Some(parent)));
            prop_assert!(children.iter().all(|child| !reached.contains(child)));
            reached.extend(children);
        }
        let walked: Vec<_> = tree.descendants(DOCUMENT, |_| false).collect();
        prop_assert_eq!(walked.len(), reached.len());
    }
}

// The trees of the specification of HTML, by its rules for elements that overlap or stand in a wrong place.
#[test]
fn a_page_has_the_tree_that_browsers_make_of_it() {
    for (html, expected) in [
        ("a<b>b<i>c</b>d</i>e", "a<b>b<i>c</></><i>d</>e"),
        ("<b>1<p>2</b>3</p>", "<b>1</><p><b>2</>3</>"),
        ("<a>1<div>2<div>3</a>4</div>5", "<a>1</><div><a>2</><div><a>3</>4</>5</>"),
        ("<a>1<a>2", "<a>1</><a>2</>"),
        ("<b><b><b><b>1<p>2", "<b><b><b><b>1<p>2</></></></></>"),
        ("<p>1<b>2<p>3</b>4", "<p>1<b>2</></><p><b>3</>4</>"),
        ("<table>1<tr><td>2</table>3", "1<table><tbody><tr><td>2</></></></>3"),
        ("0<table>1<b>2<tr>3<td>4", "01<b>2</><b>3</><table><tbody><tr><td>4</></></></>"),
        (
            "<table><td>1<table>2<td>3",
            "<table><tbody><tr><td>12<table><tbody><tr><td>3</></></></></></></></>",
        ),
        ("1<!-- x -->2<?x?>3", "123"),
        ("<ul><li>1<li>2</ul>3", "<ul><li>1</><li>2</></>3"),
        ("<body><p>1<html a><body b>2", "<p>12</>"),
        ("<select><option>1<option>2</select>3", "<select><option>1</><option>2</></>3"),
    ] {
        let tree = parse(html).unwrap();
        let body = tree.descendants(DOCUMENT, |_| false).find(|id| tree.tag(*id) == "body").unwrap();
        let inside = outline(&tree, body);
        assert_eq!(inside, format!("<body>{expected}</>"), "{html}");
    }
}

#[test]
fn a_page_has_at_most_512_levels_and_is_read_until_its_reader_stops() {
    // The page and its body are two of them.
    assert!(parse(&"<div>".repeat(510)).is_ok());
    assert_eq!(parse(&"<div>".repeat(511)).unwrap_err(), TreeLimit::Depth);
    assert_eq!(parse(&("<div>".repeat(510) + "x")).unwrap_err(), TreeLimit::Depth);
    let stopped = AtomicBool::new(true);
    assert_eq!(HtmlTree::parse("<p>x", &stopped).unwrap_err(), TreeLimit::Stopped);
    assert!(HtmlTree::parse("", &stopped).is_ok());
}

#[test]
fn a_character_on_the_border_of_two_chunks_is_whole() {
    let text = "é".repeat(10_000);
    assert_eq!(convert(&format!("<p>{text}")).markdown.trim(), text);
}

#[test]
fn a_title_is_the_first_one_on_one_line_of_at_most_200_characters() {
    let letters = |count: usize| "é ".repeat(count).trim().to_owned();
    for (html, expected) in [
        ("<title> a\n b\t</title><title>c</title>".to_owned(), "a b".to_owned()),
        ("<title></title><title>b</title>".to_owned(), "b".to_owned()),
        ("<svg><title>a</title></svg><title>b</title>".to_owned(), "b".to_owned()),
        ("<title>a<b>c</title>".to_owned(), "a<b>c".to_owned()),
        ("<title>a\u{200b}b</title>".to_owned(), "ab".to_owned()),
        (format!("<title>{} </title>", letters(200)), letters(200)),
        (format!("<title>{}</title>", letters(201)), letters(200) + "…"),
        ("<p>a".to_owned(), String::new()),
    ] {
        assert_eq!(convert(&html).title, expected, "{html}");
    }
}

#[test]
fn links_are_relative_to_the_first_base_that_is_an_address_of_the_web() {
    let long = "d".repeat(1982);
    for (base, expected) in [
        ("".to_owned(), "https://a.example/x".to_owned()),
        ("<base href=/d/>".to_owned(), "https://a.example/d/x".to_owned()),
        ("<base href=http://b.example/d/e>".to_owned(), "http://b.example/d/x".to_owned()),
        ("<base href=/d/><base href=/e/>".to_owned(), "https://a.example/d/x".to_owned()),
        (
            "<base target=x><base href='http://['><base href=/e/>".to_owned(),
            "https://a.example/e/x".to_owned(),
        ),
        ("<base href=ftp://b.example/>".to_owned(), "https://a.example/x".to_owned()),
        ("<base href=data:x>".to_owned(), "https://a.example/x".to_owned()),
        ("<svg><base href=/d/></svg>".to_owned(), "https://a.example/x".to_owned()),
        (format!("<base href=https://b.example/{long}>"), "https://b.example/x".to_owned()),
        (format!("<base href=https://b.example/{long}d>"), "https://a.example/x".to_owned()),
    ] {
        assert_eq!(convert(&format!("{base}<a href=x>y</a>")).markdown, format!("[y]({expected})"), "{base}");
    }
}

#[test]
fn the_main_part_has_more_than_80_characters_or_the_page_is_without_its_surroundings() {
    let around = |part: &str| format!("<p>around</p>{part}<nav>menu</nav>");
    let part = |tag: &str, letters: usize| {
        format!("<{tag}>{}</{}>", "x".repeat(letters), tag.split(' ').next().unwrap())
    };
    for tag in ["main", "article", "div role=main", "section role=main"] {
        assert_eq!(convert(&around(&part(tag, 81))).markdown, "x".repeat(81), "{tag}");
        let short = convert(&around(&part(tag, 80))).markdown;
        assert!(short.starts_with("around") && !short.contains("menu"), "{tag}: {short}");
    }
    let [main, article] = ["main", "article"].map(|tag| part(tag, 81));
    for (html, expected) in [
        // The first of several main parts, and none of several articles.
        (format!("<main>{}</main><div role=main>y</div>", "x".repeat(81)), "x".repeat(81)),
        (format!("<div role=main>{}</div><main>y</main>", "x".repeat(81)), "x".repeat(81)),
        (format!("<article>y</article>{main}"), "x".repeat(81)),
        (format!("<main>y</main>{article}<p>z"), "x".repeat(81)),
        (format!("{article}<article>y</article>"), format!("{}\n\ny", "x".repeat(81))),
        (format!("<p>y</p><main hidden>{}</main>", "x".repeat(81)), "y".to_owned()),
        (format!("<p>y</p><main>z<b hidden>{}</b></main>", "x".repeat(81)), "y\n\nz".to_owned()),
        // Surroundings inside of a main part belong to it.
        (format!("<main><nav>y</nav>{}</main>", "x".repeat(81)), format!("y\n\n{}", "x".repeat(81))),
    ] {
        assert_eq!(convert(&html).markdown, expected, "{html}");
    }
    for surrounding in [
        "<aside>x</aside>",
        "<footer>x</footer>",
        "<nav>x</nav>",
        "<header>x</header>",
        "<div role=navigation>x</div>",
        "<div role=contentinfo>x</div>",
        "<div role=complementary>x</div>",
        "<div role=banner>x</div>",
        "<div><nav>x</nav></div>",
    ] {
        assert_eq!(convert(&format!("<p>a</p>{surrounding}<p>b")).markdown, "a\n\nb", "{surrounding}");
        assert_eq!(convert(surrounding).markdown, "x", "{surrounding}");
    }
    assert_eq!(convert("<body role=navigation><nav>x</nav><p>y").markdown, "y");
    for part in ["<div><header>x</header></div>", "<div role=form>x</div>", "<section>x</section>"] {
        assert!(convert(&format!("<p>a</p>{part}<p>b")).markdown.contains('x'), "{part}");
    }
}

#[test]
fn elements_that_a_browser_does_not_show_are_dropped_and_others_not() {
    let image = |attributes: &str| format!("<img src=a.png alt=x {attributes}>");
    for hidden in [
        "<p hidden>x</p>".to_owned(),
        "<p aria-hidden=True>x</p>".to_owned(),
        "<dialog>x</dialog>".to_owned(),
        "<p popover>x</p>".to_owned(),
        "<title>x</title>".to_owned(),
        "<svg hidden><text>x</text></svg><math><mi>x</mi></math>".to_owned(),
        image("width=0"),
        image("height=' 1 '"),
        image("width=1px"),
    ] {
        assert_eq!(convert(&format!("{hidden}<p>b")).markdown, "b", "{hidden}");
    }
    for seen in [
        "<p aria-hidden=false>x</p>".to_owned(),
        "<dialog open>x</dialog>".to_owned(),
        "<p open width=1>x</p>".to_owned(),
        image("width=2"),
        image("height=10"),
        image("width=1%"),
        image(""),
    ] {
        assert!(convert(&format!("{seen}<p>b")).markdown.contains('x'), "{seen}");
    }
}
