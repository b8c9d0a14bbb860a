//! The Markdown of elements.

use std::sync::atomic::AtomicBool;

use super::{convert, parse};
use crate::web::html::{
    DOCUMENT, TreeLimit,
    markdown::{MAX_MARKDOWN_BYTES, MarkdownWriter},
};

fn check(html: &str, expected: &str) {
    assert_eq!(convert(html).markdown, expected, "{html}");
}

#[test]
fn an_article_with_each_kind_of_element_has_the_markdown_that_a_person_would_write() {
    let html = "
        <h1>Title <em>one</em></h1>
        <p>First <b>bold</b>, <strong>strong</strong>,
           <i>italic</i> and <a href=/l>a <b>link</b></a>.<br>Next line.
        <ul><li>one<li><p>two</p><p>more</p><ul><li>inner<li></ul><li><h3>three</h3>text</ul>
        <ol start=9><li>nine<li>ten<br>line<pre>code</pre><li><blockquote>quote</blockquote></ol>
        <menu><li>item</menu>
        <blockquote>outer<blockquote><p>inner<p>more</blockquote>outer</blockquote>
        <hr>
        <table><caption>Caption</caption><thead><tr><th>a<th>b|c</thead>
          <tr><td><p>1</p><p>2</p><td><code>x|y</code><tr><td><h2>3</h2><td></table>
        <dl><dt>term<dd>text</dl>
        <h6>Six</h6>
        <p><kbd>Ctrl</kbd> + <samp>`x`</samp> <code> </code><img src=i.png alt=Picture>
        <pre><code class='lang-py thon'>a
  b
</code></pre>";
    let expected = "\
# Title *one*

First **bold**, **strong**, *italic* and [a **link**](https://a.example/l).
Next line.

- one

- two

  more

  - inner

- ### three

  text

9. nine
10. ten
    line

    ```
    code
    ```

11. > quote

- item
>
> outer
> >
> > inner
> >
> > more
>
> outer

---

Caption
| a | b\\|c |
| --- | --- |
| 1 2 | `x\\|y` |
| 3 |  |

term
text

###### Six

`Ctrl` + `` `x` `` ![Picture](https://a.example/i.png)

```py
a
  b
```";
    check(html, expected);
}

#[test]
fn marks_stand_around_text_and_never_around_nothing() {
    for (html, expected) in [
        ("a<b>b</b>c", "a**b**c"),
        ("a <b> b </b> c", "a **b** c"),
        ("<b><i>a</i></b>", "***a***"),
        ("<b></b><i> </i><a href=/> </a>a", "a"),
        ("<a href=/><b>a</b></a>", "[**a**](https://a.example/)"),
        ("<b>a<p>b</b>c", "**a**\n\n**b**c"),
        ("<a href=/><img src=i alt=a></a>", "[![a](https://a.example/i)](https://a.example/)"),
        ("<a href=/><code>a</code></a>", "[`a`](https://a.example/)"),
        ("<a>a</a><a href=>b</a>", "a[b](https://a.example/)"),
        ("a<br>b<br><br>c<br>", "a\nb\nc"),
        ("<br>a<hr>b<hr>", "a\n\n---\n\nb\n\n---"),
        ("<div>a</div><div>b</div>c<section>d</section>e", "a\nb\nc\n\nd\n\ne"),
        ("<h2></h2>a<ul><li></li></ul>b", "a\n\nb"),
        ("<h2>a<br>b<p>c</h2>d", "## a b c\n\nd"),
        ("<h3>a<pre>b\nc</pre></h3>", "### a `b c`"),
        ("<ul><li>a</ul><ol><li>b</ol><li>c", "- a\n\n1. b\n\n- c"),
        ("<ul><li><ul><li>a</ul><li>b</ul>", "  - a\n\n- b"),
        (
            "<ol start=x><li>a</ol><ol start=18446744073709551615><li>b<li>c",
            "1. a\n\n18446744073709551615. b\n18446744073709551615. c",
        ),
        ("<ul><li><blockquote>a<br>b<ul><li>c</ul></blockquote>d</ul>", "- > a\n  > b\n  >\n  > - c\n\n  d"),
        ("<ul><li><h3></h3>a</ul>", "- a"),
        ("<blockquote><ul><li>a<p>b</ul></blockquote>c", "> - a\n>\n>   b\n\nc"),
    ] {
        check(html, expected);
    }
}

#[test]
fn characters_that_would_be_marks_are_escaped_where_they_would() {
    for (html, expected) in [
        ("# a", "\\# a"),
        ("<p>> a", "\\> a"),
        ("<p>- a", "\\- a"),
        ("<p>+ a", "\\+ a"),
        ("<p>===", "\\==="),
        ("<p>~~~", "\\~~~"),
        ("<p>a # > - + = ~", "a # > - + = ~"),
        ("<p>a<br># b", "a\n\\# b"),
        ("<p>a <b># b</b>", "a **# b**"),
        ("<b># a</b>", "**\\# a**"),
        ("\\ ` * [ ] &lt; > | _", "\\\\ \\` \\* \\[ \\] \\< > | _"),
        (
            "<table><tr><td>a|b<td># c<td><code>d|e</code></table>f|g",
            "| a\\|b | # c | `d\\|e` |\n| --- | --- | --- |\n\nf|g",
        ),
        ("<img src=i alt='a[b]c|d`e<f\\g  h'>", "![a b c d e f g h](https://a.example/i)"),
        ("<a href='/(a)|b'>c</a>", "[c](https://a.example/%28a%29%7Cb)"),
    ] {
        check(html, expected);
    }
}

#[test]
fn code_stands_between_more_backticks_than_it_has() {
    for (html, expected) in [
        ("<code>a  b|\nc</code>", "`a b| c`"),
        ("<code>a``b`c</code>", "```a``b`c```"),
        ("<code>`</code>", "`` ` ``"),
        ("<code></code><pre> \n</pre>a", "a"),
        ("<pre>\n\na\n\n  b\n\n</pre>c", "```\na\n\n  b\n```\n\nc"),
        ("<pre>a<br>b<i hidden>c</i></pre>", "```\na\nb\n```"),
        ("<pre>a````b</pre>", "`````\na````b\n`````"),
        ("<pre class='x language-c++ lang-d'>a</pre>", "```c\na\n```"),
        (
            "<pre><code class=lang-abcdefghijklmnopqrstuvwxyz>a</code></pre>",
            "```abcdefghijklmnopqrst\na\n```",
        ),
        ("<pre><b class=lang-b>a</b></pre>", "```\na\n```"),
        ("<blockquote><pre>a\n\nb</pre></blockquote>", "> ```\n> a\n> \n> b\n> ```"),
    ] {
        check(html, expected);
    }
}

#[test]
fn tables_have_a_line_below_their_first_row_and_no_table_inside() {
    for (html, expected) in [
        ("a<table><tr><td>b</table>c", "a\n\n| b |\n| --- |\n\nc"),
        ("<table><tr><td><td>a<td></table>", "|  | a |  |\n| --- | --- | --- |"),
        ("<table><tr><td>a</table><table><tr><td>b</table>", "| a |\n| --- |\n\n| b |\n| --- |"),
        ("<table><tr><td>a<table><tr><td>b<tr><td>c</table><tr><td>d</table>", "| a b c |\n| --- |\n| d |"),
        ("<table><tr><td>a<br>b<ul><li>c</ul>d<td>e</table>", "| a b c d | e |\n| --- | --- |"),
        ("<ul><li>a<table><tr><td>b<tr><td>c</table></ul>", "- a\n\n  | b |\n  | --- |\n  | c |"),
        ("<ul><li><table><tr><td>b</table></ul>", "- | b |\n  | --- |"),
    ] {
        check(html, expected);
    }
}

#[test]
fn addresses_are_absolute_and_of_at_most_2000_bytes() {
    let address = |length: usize| format!("https://b.example/{}", "x".repeat(length - 18));
    let link = |href: &str| format!("<a href='{href}'>a</a><img src='{href}' alt=b>");
    let whole = |url: &str| format!("[a]({url})![b]({url})");
    for (href, url) in [
        (" /x ", Some("https://a.example/x".to_owned())),
        ("//b.example", Some("https://b.example/".to_owned())),
        ("?q#f", Some("https://a.example/?q#f".to_owned())),
        ("mailto:a@b.example", Some("mailto:a@b.example".to_owned())),
        ("http://b.example/", Some("http://b.example/".to_owned())),
        ("ftp://b.example/", None),
        ("data:,x", None),
        ("javascript:x", None),
        ("http://[", None),
        (&address(2000), Some(address(2000))),
        (&address(2001), None),
        // Each of these becomes three bytes.
        (&"é".repeat(330), Some(format!("https://a.example/{}", "%C3%A9".repeat(330)))),
        (&"é".repeat(331), None),
    ] {
        let expected = url.map_or("a".to_owned(), |url| whole(&url));
        check(&link(href), &expected);
    }
    let alt = |count: usize| format!("<img src=i alt='{}'>", "é".repeat(count));
    let image = format!("![{}](https://a.example/i)", "é".repeat(200));
    check(&alt(200), &image);
    check(&alt(201), &image);
    for nothing in ["<img src=i>", "<img src=i alt=' [] '>", "<img alt=a>", "<img src=data:, alt=a>"] {
        check(nothing, "");
    }
}

#[test]
fn quotes_are_indented_to_64_bytes_and_back() {
    let nested =
        |levels: usize| format!("{}a{}b", "<blockquote>".repeat(levels), "</blockquote>".repeat(levels - 1));
    for levels in [2, 32, 33, 40] {
        check(&nested(levels), &format!("{}a\n>\n> b", "> ".repeat(levels.min(32))));
    }
}

#[test]
fn the_rest_of_a_page_of_more_than_16_mebibytes_is_left_out() {
    let html = format!("{}<pre>{}</pre><p>end", "<blockquote>".repeat(32), "x\n".repeat(300_000));
    let markdown = convert(&html).markdown;
    let note = "\n\n[the rest of the page was left out]";
    assert!(markdown.ends_with(note), "{}", &markdown[markdown.len() - 100..]);
    assert!((MAX_MARKDOWN_BYTES..MAX_MARKDOWN_BYTES + 200).contains(&markdown.len()), "{}", markdown.len());
}

#[test]
fn a_page_is_written_until_its_reader_stops() {
    let url = "https://a.example/".parse().unwrap();
    let stopped = AtomicBool::new(true);
    let write =
        |html: &str| MarkdownWriter::markdown_of_part(&parse(html).unwrap(), DOCUMENT, &url, false, &stopped);
    // Of 4,096 steps: three elements and the document are seven of them, each other element is two.
    assert_eq!(write(&("<br>".repeat(2043) + "a")), Ok("a".to_owned()));
    assert_eq!(write(&("<br>".repeat(2044) + "a")), Err(TreeLimit::Stopped));
}
