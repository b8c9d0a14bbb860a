//! Text that the style sheets of a page hide.

use tool_builtins::WebTools;
use tool_runtime::prelude::*;

use crate::{Site, builder, call};

/// The result for a page, with its details.
async fn page(web: &WebTools, html: &str) -> ToolOutput {
    let site = Site::html(html).await;
    call(web, "web_fetch", json!({ "url": site.url("/") })).await.unwrap()
}

/// The text of a page with a style sheet, without the lines above it.
async fn text_with(style: &str, body: &str) -> String {
    let html = format!("<!doctype html><style>{style}</style><p>before</p>{body}<p>after");
    let output = page(&builder().build().unwrap(), &html).await;
    let text = output.text().to_string();
    text.split_once("\n\n").map_or("", |it| it.1).trim_end().to_owned()
}

const NOTHING: &str = "before\n\nafter";

// R19
#[tokio::test]
async fn text_that_a_rule_hides_is_dropped_whatever_its_selector() {
    let body = "<div id=i class='c d' data-x='ab-c' lang=en><b>evil</b></div>";
    for selector in [
        ".c",
        "#i",
        "div",
        "div *, div",
        "div.c.d#i",
        "body .c",
        "html > body > div",
        "p + div",
        "p ~ .d",
        "[data-x]",
        "[data-x=ab-c]",
        "[data-x='AB-C' i]",
        "[data-x^=ab]",
        "[data-x$='-c']",
        "[data-x*=b-]",
        "[data-x|=ab]",
        "[class~=d]",
        "div:not(p)",
        ":is(.c, .x)",
        ":where(section, div)",
        "div:nth-child(2)",
        "div:nth-child(even)",
        "div:nth-last-child(-n + 2)",
        "div:first-of-type",
        "div:only-of-type",
        "b",
        "b:only-child",
        ":root .c",
        "p:not(:checked) ~ .c",
        "div:not(:disabled)",
        ".x, .c",
        ".c:hover, .c",
        "/* a */.c/* b */",
        "\\.c, .\\63 ",
        "@media screen { .c",
        "@media (min-width: 600px) { .c",
        "@supports (display: grid) { .c",
        "@layer base { .c",
        "@media all { @media screen { .c",
        "body { .c",
        "div { &.c",
        ".d { body &",
        "p { + .c",
        "@import url(x.css); .c",
        "@unknown x { .y { display: block } } .c",
        "<!-- .c",
        ".y { x: \"}\" } .c",
    ] {
        let ends = "}".repeat(selector.matches('{').count());
        let style = format!("{selector} {{ display: none }} {ends}");
        let text = text_with(&style, body).await;
        assert!(!text.contains("evil"), "{selector}: {text}");
    }
}

async fn check_hidden(declarations: &str) {
    let text = text_with(&format!(".c{{{declarations}}}"), "<div class=c>evil</div>").await;
    assert_eq!(text, NOTHING, "{declarations}");
}

async fn check_seen(style: &str, body: &str) {
    let text = text_with(style, body).await;
    assert!(text.contains("seen"), "{style} {body}: {text}");
}

// R19
#[tokio::test]
async fn a_rule_hides_by_each_property_by_which_an_inline_style_does() {
    for declarations in [
        "display:none",
        "DISPLAY : None ! IMPORTANT",
        "dis\\70 lay: n\\6fne",
        "display:none;display:nonsense",
        "visibility:hidden;visibility:no",
        "opacity:0;opacity:5px",
        "opacity:calc(0)",
        "font-size:0;font-size:nonsense",
        "font-size:0;font:nonsense",
        "color:transparent;color:nonsense",
        "color:#fff;background:#fff;background:nonsense",
        "position:absolute;left:-9999px;left:5;left:5xy",
        "position:absolute;left:calc(-9999px);position:nonsense",
        "transform:scale(0);transform:nonsense(1)",
        "transform:matrix(0,0,0,0,0,0)",
        "transform:matrix(1,0,0,1,-9999,0)",
        "transform:matrix(1,0,0,1,0,-9999)",
        "overflow:hidden;height:0;overflow:nonsense",
        "display:none;display:inline-block!nonsense",
        "visibility:hidden",
        "visibility:collapse",
        "content-visibility:hidden",
        "opacity:0",
        "opacity:1e-3",
        "font-size:0",
        "font-size:1px",
        "font:0/0 a",
        "font:italic 700 0px serif",
        "color:transparent",
        "color:#0000",
        "color:rgb(0 0 0 / 0%)",
        "-webkit-text-fill-color:transparent",
        "color:#fefefe;background:#fff",
        "background:white no-repeat;color:rgb(255 255 255)",
        "position:absolute;left:-9999px",
        "position:fixed;inset:0 0 0 -9999px",
        "margin:0 0 0 -9999px",
        "text-indent:-9999px",
        "letter-spacing:-1000px",
        "height:0;overflow:hidden",
        "overflow-y:hidden;max-height:0",
        "position:absolute;clip:rect(0 0 0 0)",
        "clip-path:inset(50%)",
        "clip-path:polygon(0 0, 0 0)",
        "transform:scale(0)",
        "transform:rotate(3deg) translateX(-9999px)",
        "translate:0 -200vh",
        "scale:1 0",
        "filter:blur(1px) opacity(0)",
    ] {
        check_hidden(declarations).await;
    }
}

// R19
#[tokio::test]
async fn a_rule_hides_by_what_its_values_come_to() {
    for declarations in [
        "opacity:-1",
        "opacity:4%",
        "opacity:0;opacity:calc(0)nonsense",
        "height:0;overflow:hidden;height:-5px",
        "height:.01em;overflow:hidden",
        "height:calc(-5px);overflow:hidden",
        "position:absolute;left:-1e99px",
        "position:absolute;left:-10in",
        "position:absolute;left:-9999pt",
        "position:absolute;left:50%;margin-left:-3000px",
        "position:absolute;right:-9999px",
        "position:absolute;bottom:0;margin-bottom:-9999px",
        "float:left;margin-left:-9999px",
        "float:right;margin-right:-9999px",
        "margin-top:-9999px",
        "display:block;flex:1;max-height:0;overflow:auto",
        "height:0;overflow:hidden;flex:none",
        "height:0;overflow:hidden;padding:0 9px;min-height:0",
        "color:#fff;background:#fff;background:PICTURE",
        "color:#fff;background:#fff;background-image:nonsense",
        "background:url(a.png);color:#fff;background:#fff",
        "background-image:url(a.png);color:#fff;background-color:#fff;background-image:none",
        "color:rgb(255 255 255 / 50%);background:rgb(255 255 255 / 99%)",
        "color:rgb(0 0 0 / 4%)",
        "clip-path:inset(50% 0)",
        "clip-path:inset(0 60% 0 40% round 3px)",
        "position:absolute;clip:rect(1px,1px,1px,1px)",
        "transform:rotate(3deg)translateX(-9999px)",
        "transform:translateX(calc(-9999px))",
    ] {
        check_hidden(declarations).await;
    }
}

// R19
#[tokio::test]
async fn text_that_people_see_stays() {
    for (style, body) in [
        (".x{display:none}", "<p class=c>seen</p>"),
        (".C{display:none}", "<p class=c>seen</p>"),
        (".c{display:none}.c{display:block}", "<p class=c>seen</p>"),
        ("p.c{display:block}.c{display:none}", "<p class=c>seen</p>"),
        (".c{display:block!important}#i{display:none}", "<p id=i class=c>seen</p>"),
        (".c{display:none}", "<p class=c style='display:block'>seen</p>"),
        (".c{visibility:hidden}.d{visibility:visible}", "<div class=c><p class=d>seen</p></div>"),
        (".c{font-size:0}.d{font-size:12px}", "<div class=c><p class=d>seen</p></div>"),
        (".c{color:transparent}.d{color:#123}", "<div class=c><p class=d>seen</p></div>"),
        (".c:hover{display:none}", "<p class=c>seen</p>"),
        (".c::before{display:none}", "<p class=c>seen</p>"),
        ("@media print{.c{display:none}}", "<p class=c>seen</p>"),
        ("@media (max-width:600px){.c{display:none}}", "<p class=c>seen</p>"),
        ("@media (prefers-color-scheme:dark){.c{opacity:0}}", "<p class=c>seen</p>"),
        ("@keyframes c{from{opacity:0}}", "<p class=c>seen</p>"),
        (".c:not(p){display:none}", "<p class=c>seen</p>"),
        (".c:nth-child(3){display:none}", "<p class=c>seen</p>"),
        (".a>.c{display:none}", "<div class=a><div><p class=c>seen</p></div></div>"),
        (".c{margin-bottom:-9999px;padding-bottom:9999px}", "<p class=c>seen</p>"),
        (".c{width:0;flex:1}", "<p class=c>seen</p>"),
        (".c{position:static;left:-9999px}", "<p class=c>seen</p>"),
        (".c{color:#fff;background:url(a.png) #fff}", "<p class=c>seen</p>"),
        (
            ".a{background:#fff}.b{background:linear-gradient(red,blue)}.c{color:#fff}",
            "<div class=a><div class=b><p class=c>seen</p></div></div>",
        ),
        (
            ".c{background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent}",
            "<p class=c>seen</p>",
        ),
        ("body{background:#fff;color:#fff}.c{color:#000}", "<p class=c>seen</p>"),
        (".c{transform:translate(-50%,-50%)}", "<p class=c>seen</p>"),
        (".c{position:absolute;left:-9pt}", "<p class=c>seen</p>"),
        (".c{color:#000000f0}", "<p class=c>seen</p>"),
        (".c{opacity:var(--x);display:var(--y)}", "<p class=c>seen</p>"),
        (
            "@layer{.c{display:none!important}}@layer a{.d{display:none}} .d{display:block}",
            "<p class=d>seen</p>",
        ),
        ("p{color:red}}.c{display:none}", "<p class=c>seen</p>"),
        ("", "<template><style>.c{display:none}</style></template><p class=c>seen</p>"),
        ("", "<style type=text/less>.c{display:none}</style><p class=c>seen</p>"),
        ("", "<style media=print>.c{display:none}</style><p class=c>seen</p>"),
    ] {
        check_seen(style, body).await;
    }
}

// R19
#[tokio::test]
async fn values_that_cannot_be_read_exactly_hide_nothing() {
    for (style, body) in [
        (".c{opacity:calc(0 + 1);height:calc(0px + 3em);overflow:hidden}", "<p class=c>seen</p>"),
        (".c{position:absolute;left:calc(-600px + 50vw)}", "<p class=c>seen</p>"),
        (".c{font-size:calc(1px + 1vw)}", "<p class=c>seen</p>"),
        (".c{font-size:1.5vmin}.d{font-size:.05in}", "<p class=c>a<p class=d>seen</p>"),
        (".c{font-size:1px}.d{font-size:20em}", "<div class=c><p class=d>seen</p></div>"),
        (".c{height:.04in;overflow:hidden}", "<p class=c>seen</p>"),
        (".c{position:absolute;clip:rect(0,1in,1in,0)}", "<p class=c>seen</p>"),
        (".c{position:relative;clip:rect(0,0,0,0)}", "<p class=c>seen</p>"),
        (".c{clip-path:inset(60% 0 0 0)}", "<p class=c>seen</p>"),
        (".c{clip-path:circle(calc(0px + 50%))}", "<p class=c>seen</p>"),
    ] {
        check_seen(style, body).await;
    }
}

// R19
#[tokio::test]
async fn boxes_that_are_larger_than_their_sizes_hide_nothing() {
    for (style, body) in [
        (".c{flex:1;height:0;overflow:auto}", "<p class=c>seen</p>"),
        (
            ".b{display:flex;flex-flow:column}.c{flex:1;height:0;overflow:auto}",
            "<div class=b><p class=c>seen</div>",
        ),
        (".b{display:flex}.c{flex-grow:1;width:0;overflow:auto}", "<div class=b><p class=c>seen</div>"),
        (".c{height:0;min-height:100%;overflow:hidden}", "<p class=c>seen</p>"),
        (".c{width:1px;min-width:100%;overflow:auto}", "<p class=c>seen</p>"),
        (".c{height:0;padding-bottom:56%;overflow:hidden}", "<p class=c>seen</p>"),
        (".c{max-width:0;overflow:hidden}", "<table><tr><td class=c>seen</table>"),
        ("", "<table><tr><td style='width:1px'>seen</table>"),
    ] {
        check_seen(style, body).await;
    }
}

// R19
#[tokio::test]
async fn offsets_that_others_undo_and_columns_hide_nothing() {
    for (style, body) in [
        (".c{position:absolute;left:50%;margin-left:-600px}", "<p class=c>seen</p>"),
        (".c{margin-top:-600px;padding-top:600px}", "<p class=c>seen</p>"),
        (".c{float:left;margin-left:-100%}", "<p class=c>seen</p>"),
        (".c{float:left;margin-left:-820px}", "<p class=c>seen</p>"),
        (".c{float:left;margin-left:-100%;position:relative;left:-200px}", "<p class=c>seen</p>"),
        (".c{margin-right:-9999px}", "<p class=c>seen</p>"),
        (".c{margin-top:-600px}", "<p class=c>seen</p>"),
        ("", "<p style='margin-bottom:-9999px;padding-bottom:9999px'>seen</p>"),
    ] {
        check_seen(style, body).await;
    }
}

// R19
#[tokio::test]
async fn colours_that_others_shine_through_and_pictures_that_are_taken_away_hide_nothing() {
    for (style, body) in [
        (
            ".b{background:#000}.c{color:#fff;background:rgba(255,255,255,.1)}",
            "<div class=b><p class=c>seen</div>",
        ),
        (".c{color:#fff;background:#ffffff80}", "<p class=c>seen</p>"),
        (
            ".a{background:#fff}.b{background:#000;background-image:none;color:#fff}",
            "<div class=a><p class=b>seen</div>",
        ),
        (".c{background-image:url(a.png);color:#fff;background-color:#fff}", "<p class=c>seen</p>"),
    ] {
        check_seen(style, body).await;
    }
}

// R19
#[tokio::test]
async fn controls_have_the_states_in_which_a_page_begins() {
    for (style, body) in [
        (".t:not(:checked)+.c{display:none}", "<input type=checkbox class=t checked><p class=c>seen</p>"),
        (".t:checked+.c{display:none}", "<input type=checkbox class=t><p class=c>seen</p>"),
        ("p:checked,p:disabled{display:none}", "<p checked disabled>seen</p>"),
        (".t:checked+.c{display:none}", "<input class=t checked><p class=c>seen</p>"),
    ] {
        check_seen(style, body).await;
    }
}

// R19: without a document type, names have no case; a sheet in a graphic holds for the page.
#[tokio::test]
async fn a_sheet_holds_for_the_page_as_it_does_in_a_browser() {
    for html in [
        "<style>.C{display:none}</style><p>seen<p class=c>evil",
        "<style>#I{display:none}</style><p>seen<p id=i>evil",
        "<!doctype html><svg><style>.c{display:none}</style></svg><p>seen<p class=c>evil",
        "<!doctype html><svg><template><style>.c{display:none}</style></template></svg><p>seen<p class=c>evil",
        "<!doctype html><p>seen<p class=c>evil<style>.c{display:none}</style>",
    ] {
        let output = page(&builder().build().unwrap(), html).await;
        assert!(
            output.text().contains("seen") && !output.text().contains("evil"),
            "{html}: {}",
            output.text()
        );
    }
}

// R19
#[tokio::test]
async fn the_result_says_what_was_left_out_and_what_was_not_read() {
    let web = builder().build().unwrap();
    let hidden =
        "<!doctype html><style>.c{display:none}</style><p>seen<p class=c>evil <b>text</b><script>x</script>";
    let output = page(&web, hidden).await;
    let note = "[8 characters that a style sheet hides from people were left out]\n\nseen\n";
    assert!(output.text().ends_with(note), "{}", output.text());
    assert_eq!(output.details().unwrap()["hidden_chars"], 8);
    // A script may show what a style sheet hides: the page is not empty.
    let all = page(&web, "<style>body{opacity:0}</style><p>text<p style='display:none'>evil").await;
    let note = "[a style sheet hides all text of the page, which is shown here]\n\ntext\n";
    assert!(all.text().ends_with(note), "{}", all.text());
    for (html, unread) in [
        ("<style>.c:has(b){display:none}</style><p class=c>text", 1),
        ("<style>:lang(en), .x:dir(ltr){opacity:0}</style><p>text", 2),
        ("<style>.c:has(b){border:0}</style><p class=c>text", 0),
        ("<link rel=stylesheet href='data:text/css,p{display:none}'><p>text", 1),
        ("<link rel=stylesheet href='/a.css'><p>text", 0),
    ] {
        let output = page(&web, html).await;
        assert_eq!(output.details().unwrap()["unread_selectors"], unread, "{html}");
        let note = format!(
            "[{unread} selectors of style sheets were not read; the text may have parts that people do not see]"
        );
        assert_eq!(output.text().contains(&note), unread > 0, "{}", output.text());
    }
}

// R19: neither a long style nor many attributes lead past the rules.
#[tokio::test]
async fn what_hides_an_element_is_read_in_any_length() {
    let long = "x".repeat(20_000);
    let attributes: String = (0..100).map(|it| format!(" a{it}")).collect();
    for body in [
        format!("<p style='display:none;/*{long}*/'>evil"),
        format!("<p class='{long} c'>evil"),
        format!("<p{attributes} class=c>evil"),
        format!("<p{attributes} hidden>evil"),
        format!("<p{attributes} popover>evil"),
        format!("<p{attributes} data-x>evil"),
        format!("<p data-y='{long}z'>evil"),
        format!("<style{attributes} media=print>p{{display:none}}</style>"),
    ] {
        let style = ".c,[data-x],[data-y$=z]{display:none}";
        let text = text_with(style, &body).await;
        assert_eq!(text, NOTHING);
    }
}
