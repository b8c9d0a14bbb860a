#![allow(clippy::unwrap_used, reason = "tests may")]

use super::*;
use crate::web::html::HiddenText;

fn url(text: &str) -> Url {
    text.parse().unwrap()
}

fn page(text: &str) -> PageText {
    PageText {
        title: "The title".to_owned(),
        hidden: HiddenText { chars: 4, unread: 5 },
        notes: vec!["[a note]".to_owned(), "[one more]".to_owned()],
        ..PageText::plain(text.to_owned(), "UTF-8")
    }
}

fn report(page: &PageText, offset: usize, max_length: usize, cut_at: Option<usize>) -> ToolOutput {
    let query = FetchQuery { url: String::new(), prompt: None, max_length, offset };
    let media_type = MediaType { name: "text/html".to_owned(), charset: None };
    page_report(&query, page, &media_type, cut_at, &url("https://a.example/x"), 203)
}

#[test]
fn a_report_has_the_notes_of_the_page_and_all_details() {
    let output = report(&page("déf"), 0, 10, Some(99));
    assert_eq!(
        output.text(),
        format!(
            "{UNTRUSTED_NOTE}\nURL: https://a.example/x\nTitle: The title\n[a note]\n[one more]\n\ndéf\n\n\
             [the page is larger than 99 bytes; the rest was not read]\n"
        )
    );
    let details = json!({
        "title": "The title", "url": "https://a.example/x", "status": 203, "media_type": "text/html",
        "charset": "UTF-8", "total_chars": 3, "offset": 0, "next_offset": null, "is_cut": true, "hidden_chars": 4,
        "unread_selectors": 5, "trust": "web",
    });
    assert_eq!(output.details(), Some(&details));
}

#[test]
fn a_report_names_its_part_and_the_next_one() {
    let page = PageText::plain("abcdé".to_owned(), "UTF-8");
    let start = format!("{UNTRUSTED_NOTE}\nURL: https://a.example/x\n");
    let next = |first: usize, end: usize| {
        format!(
            "\n[characters {first} to {end} of 5; continue with `web_fetch`, the same `url` and `offset` {end}]\n"
        )
    };
    for (offset, max_length, rest, next_offset) in [
        (0, 5, "\nabcdé\n".to_owned(), None),
        (0, 4, format!("\nabcd\n{}", next(0, 4)), Some(4)),
        (1, 2, format!("\nbc\n{}", next(1, 3)), Some(3)),
        (4, 1, "\né\n".to_owned(), None),
        (5, 1, "`offset` 5 is past the end of the 5 characters.\n".to_owned(), None),
        (
            usize::MAX,
            usize::MAX,
            format!("`offset` {} is past the end of the 5 characters.\n", usize::MAX),
            None,
        ),
    ] {
        let output = report(&page, offset, max_length, None);
        assert_eq!(output.text(), format!("{start}{rest}"));
        let details = output.details().unwrap();
        assert_eq!((&details["next_offset"], &details["is_cut"]), (&json!(next_offset), &json!(false)));
        assert_eq!(details["offset"], json!(offset));
    }
    let empty = report(&PageText::plain(String::new(), "UTF-8"), 0, 5, None);
    assert_eq!(empty.text(), format!("{start}The page has no text.\n"));
    let query = FetchQuery { url: String::new(), prompt: Some("Who?".to_owned()), max_length: 9, offset: 0 };
    let media_type = MediaType { name: String::new(), charset: None };
    let output = page_report(&query, &page, &media_type, None, &url("https://a.example/x"), 200);
    assert_eq!(output.text(), format!("{start}Find in the text: Who?\n\nabcdé\n"));
}

#[test]
fn a_url_has_up_to_2000_bytes_and_no_fragment() {
    assert_eq!(
        parse_url_without_fragment(" https://a.example/x?y#z ").unwrap(),
        url("https://a.example/x?y")
    );
    let long = |bytes: usize| format!("https://a.example/{}", "x".repeat(bytes - 18));
    assert!(parse_url_without_fragment(&long(2000)).is_ok());
    let error = parse_url_without_fragment(&long(2001)).unwrap_err().to_string();
    assert!(error.ends_with("the URL is longer than 2000 bytes; give a shorter one"), "{error}");
    let error = parse_url_without_fragment("a.example").unwrap_err().to_string();
    assert!(error.ends_with("; write it like `https://example.com/page`"), "{error}");
}

#[test]
fn another_host_of_the_web_is_one_that_a_model_can_be_told() {
    let current = url("https://a.example/");
    let long = |bytes: usize| format!("https://b.example/{}", "x".repeat(bytes - 18));
    for (target, is_other) in [
        ("https://b.example/", true),
        ("http://b.example/", true),
        ("https://a.example:8443/", true),
        ("https://A.example./x", false),
        ("http://a.example/", false),
        ("https://u@b.example/", false),
        ("ftp://b.example/", false),
        ("data:text/plain,a", false),
        (&*long(2000), true),
        (&*long(2001), false),
    ] {
        assert_eq!(is_other_web_host(&current, &url(target)), is_other, "{target}");
    }
}

#[test]
fn a_host_may_move_from_http_to_https_without_a_port() {
    for (from, expected) in [
        ("http://a.example/", Some("https://a.example")),
        ("http://a.example:80/x", Some("https://a.example")),
        ("http://a.example:8080/", None),
        ("https://a.example/", None),
    ] {
        let origins = match same_host_policy(&url(from)) {
            RedirectPolicy::Origins(origins) => Some(origins),
            _ => None,
        };
        let expected = expected.map(|origin| vec![Origin::of(&url(origin)).unwrap()]);
        assert_eq!(origins, expected, "{from}");
    }
}
