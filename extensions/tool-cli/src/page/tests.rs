//! Tests of text for a terminal: line breaks, styles and tables.

use super::{Page, TextStyle, wrap_lines};

const HOSTILE: &str = "a\u{1b}[8mb\u{202e}\u{9b}H\r\u{7}\u{1b}]8;;http://x\u{7}\u{200b}\tc";

fn escapes(page: &Page) -> Vec<&str> {
    page.as_str()
        .split('\u{1b}')
        .skip(1)
        .map(|it| it.split_inclusive('m').next().unwrap_or_default())
        .collect()
}

#[test]
fn names_are_whole_where_programs_read_them() {
    let name = format!("{}_name", "long_".repeat(12));
    let rows = || [[(TextStyle::Name, name.clone()), (TextStyle::Plain, "words ".repeat(30))]];
    let mut piped = Page::new(false, 80).with_whole_names();
    piped.add_table(["Tool", "Description"], rows());
    assert!(piped.as_str().contains(&name), "{piped:?}");
    let mut shown = Page::new(false, 80);
    shown.add_table(["Tool", "Description"], rows());
    assert!(shown.as_str().lines().all(|line| line.len() <= 80), "{shown:?}");
}

#[test]
fn a_text_adds_no_styles_to_a_page() {
    let mut page = Page::new(true, 60);
    page.add(HOSTILE).add_wrapped_text(HOSTILE).add_item(TextStyle::Plain, "note", HOSTILE).add_item(
        TextStyle::Plain,
        HOSTILE,
        "",
    );
    assert!(escapes(&page).is_empty(), "{page:?}");
    page.add_styled_text(TextStyle::Name, HOSTILE);
    assert_eq!(escapes(&page), ["[1m", "[0m"]);
    page.add_usage_error(&format!("error: {HOSTILE}\n  -x, {HOSTILE}  {HOSTILE}\n{HOSTILE}:\n"));
    assert!(escapes(&page).iter().all(|it| matches!(*it, "[0m" | "[1m" | "[4m" | "[31m")), "{page:?}");
    page.add_table(
        [HOSTILE, "b"],
        [[(TextStyle::Warning, HOSTILE.to_owned()), (TextStyle::Plain, HOSTILE.to_owned())]],
    );
    let own =
        |it: char| it == '\n' || it == '\u{1b}' || !it.is_control() && !matches!(it, '\u{200b}' | '\u{202e}');
    assert!(page.as_str().chars().all(own) && !page.as_str().contains("\u{1b}[8m"), "{page:?}");
    let mut help = Page::new(true, 60);
    help.add_clap_help("error: all is lost\nerror:\n");
    assert!(!help.as_str().contains("[31m"), "{help:?}");
    let mut plain = Page::new(false, 60);
    plain
        .add_styled_text(TextStyle::Error, HOSTILE)
        .add_table([HOSTILE], [[(TextStyle::Error, HOSTILE.to_owned())]])
        .add_usage_error("error: x");
    assert!(!plain.as_str().contains('\u{1b}'), "{plain:?}");
}

#[test]
fn lines_break_between_words_at_the_width() {
    for (text, width, indent, lines) in [
        ("", 5, "  ", ""),
        ("ab cd", 5, "  ", "ab cd"),
        ("ab cd", 4, "  ", "ab\n  cd"),
        ("ab cd ef", 4, "  ", "ab\n  cd\n  ef"),
        ("ab cd ef", 7, "  ", "ab cd\n  ef"),
        ("a b c d", 4, "  ", "a b\n  c\n  d"),
        ("a b c d", 5, "  ", "a b c\n  d"),
        ("abcdef g", 4, "  ", "abcdef\n  g"),
        ("a abcdef g", 4, "", "a\nabcdef\ng"),
        // A line begins like the line that it continues.
        ("   ab cd", 6, " ", "   ab\n   cd"),
        ("   ab cd", 8, " ", "   ab cd"),
        (" ab cd", 5, "  ", " ab\n  cd"),
        ("ab\n\ncd ef\n", 5, "  ", "ab\n\ncd ef"),
        // Two columns for each character.
        ("東京 東京", 9, "", "東京 東京"),
        ("東京 東京", 8, "", "東京\n東京"),
    ] {
        assert_eq!(wrap_lines(text, width, indent), lines, "{text:?} in {width}");
    }
}

/// The text of a page with styles, with escape sequences as `^`.
fn styled(add: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(true, 20);
    add(&mut page);
    page.as_str().replace("\u{1b}[", "^")
}

#[test]
fn each_style_has_its_sequence() {
    for (style, expected) in [
        (TextStyle::Plain, "a"),
        (TextStyle::Heading, "^1m^4ma^0m"),
        (TextStyle::Name, "^1ma^0m"),
        (TextStyle::Error, "^1m^31ma^0m"),
        (TextStyle::Warning, "^33ma^0m"),
        (TextStyle::Dim, "^2ma^0m"),
    ] {
        assert_eq!(
            styled(|page| {
                page.add_styled_text(style, "a");
            }),
            expected,
            "{style:?}"
        );
        assert_eq!(
            styled(|page| {
                page.add_styled_text(style, "");
            }),
            "",
            "{style:?}"
        );
        let table = |text: &str| {
            styled(|page| {
                page.add_table(["T"], [[(style, text.to_owned())]]);
            })
        };
        let cell = match style {
            TextStyle::Error => "^38;5;1ma^39m",
            TextStyle::Warning => "^38;5;3ma^39m",
            _ => expected,
        };
        assert_eq!(table("a"), format!("^1m^4mT^0m\n{cell}\n"), "{style:?}");
        assert_eq!(table(""), "^1m^4mT^0m\n\n", "{style:?}");
    }
}

#[test]
fn help_has_styles_for_headings_and_flags_only() {
    for (help, expected) in [
        ("Usage: a <B>", "^1m^4mUsage:^0m a <B>\n"),
        ("  tip: a 'b'", "  ^1m^4mtip:^0m a 'b'\n"),
        ("Options:", "^1m^4mOptions:^0m\n"),
        ("Some: words", "Some: words\n"),
        (" Options:", " Options:\n"),
        ("  -h, --help  Print help", "  ^1m-h, --help^0m  Print help\n"),
        ("      --json <JSON>", "      ^1m--json <JSON>^0m\n"),
        ("  <FILE>  A file", "  ^1m<FILE>^0m  A file\n"),
        ("  [FILE]  A file", "  ^1m[FILE]^0m  A file\n"),
        // Descriptions, which are deeper, and values.
        ("       - ask: a", "       - ask: a\n"),
        ("          - ask: a", "          - ask: a\n"),
        ("          [default: a]", "          [default: a]\n"),
        ("  [possible values: a]", "  [possible values: a]\n"),
        ("-x", "-x\n"),
        (" -x", " -x\n"),
        ("  word  Does", "  word  Does\n"),
        ("a  \n   \n\n\nb\n\n", "a\n\nb\n"),
        // Blank lines at the start are one.
        ("\na", "\na\n"),
        ("\n \n\na", "\na\n"),
    ] {
        assert_eq!(
            styled(|page| {
                page.add_clap_help(help);
            }),
            expected,
            "{help:?}"
        );
    }
    assert_eq!(
        styled(|page| {
            page.add_usage_error("error: a\n\n  <B>\n");
        }),
        "^1m^31merror:^0m a\n\n  ^1m<B>^0m\n"
    );
    assert_eq!(
        styled(|page| {
            page.add_usage_error("Usage: a");
        }),
        "^1m^4mUsage:^0m a\n"
    );
}

#[test]
fn messages_and_items_are_indented_where_they_continue() {
    let message = |text: &str| {
        styled(|page| {
            page.add_message(TextStyle::Dim, "it\u{7}:", text);
        })
    };
    assert_eq!(message("one two three four\n\n"), "^2mit\\u{7}:^0m one two\n    three four\n");
    assert_eq!(message(""), "^2mit\\u{7}:^0m \n");
    let item = styled(|page| {
        page.add_item(TextStyle::Name, "one", ": two three four five");
    });
    assert_eq!(item, "  ^1mone^0m: two three\n      four five\n");
    let item = styled(|page| {
        page.add_indented_item("    ", TextStyle::Name, "one", " two");
    });
    assert_eq!(item, "    ^1mone^0m two\n");
    // The word itself is broken.
    let item = styled(|page| {
        page.add_item(TextStyle::Name, "one two three four five", "");
    });
    assert_eq!(item, "  one two three four\n      five\n");
    assert_eq!(
        styled(|page| {
            page.add_line_below_item("one two three four");
        }),
        "    one two three\n      four\n"
    );
    assert_eq!(
        styled(|page| {
            page.add_wrapped_text("one\u{7} two three");
        }),
        "one\\u{7} two three"
    );
    assert_eq!(
        styled(|page| {
            page.add_wrapped_text("one\u{7} two threeeee");
        }),
        "one\\u{7} two\nthreeeee"
    );
    assert_eq!(
        styled(|page| {
            page.add_blanks(3).add("a\u{7}\nb");
        }),
        "   a\\u{7}\nb"
    );
}

#[test]
fn the_first_column_takes_at_most_half_of_the_page() {
    let table = |width: usize, name: &str, whole: bool| {
        let page = Page::new(false, width);
        let mut page = if whole { page.with_whole_names() } else { page };
        let text = |text: &str| (TextStyle::Plain, text.to_owned());
        page.add_table(["N", "About"], [[text(name), text("one two three four")]]);
        page.as_str().to_owned()
    };
    assert_eq!(table(40, "name", false), "N     About\nname  one two three four\n");
    assert_eq!(table(20, "name", false), "N     About\nname  one two three\n      four\n");
    assert_eq!(table(20, "namename", false), "N         About\nnamename  one two\n          three four\n");
    assert_eq!(table(20, "namenamen", false), "N         About\nnamename  one two\nn         three four\n");
    assert_eq!(table(20, "namenamen", true), "N          About\nnamenamen  one two\n           three four\n");
    let long = table(20, &"x".repeat(700), true);
    assert!(long.contains("… [100 more characters]"), "{long}");
}
