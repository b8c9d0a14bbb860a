#![allow(clippy::panic, reason = "a test may")]

use proptest::prelude::*;
use regex_syntax::hir::{Class as HirClass, HirKind};

use super::{Escape, is_invisible};

fn is_of(property: &str) -> impl Fn(char) -> bool {
    let parsed = regex_syntax::parse(property).map(regex_syntax::hir::Hir::into_kind);
    let Ok(HirKind::Class(HirClass::Unicode(class))) = parsed else { panic!("{property}") };
    move |character| {
        let ranges = class.ranges();
        let after = ranges.partition_point(|range| range.start() <= character);
        after > 0 && character <= ranges[after - 1].end()
    }
}

#[test]
fn invisible_characters_agree_with_unicode_data() {
    let unicode = is_of(r"[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u{2800}\u{1d159}]--\p{PCM}]");
    for character in '\0'..=char::MAX {
        assert_eq!(is_invisible(character), unicode(character), "{}", character.escape_unicode());
    }
}

#[test]
fn unprintable_characters_are_escaped() {
    let unseen = is_of(r"[[\p{C}\p{Z}\p{Bidi_Control}\p{Variation_Selector}]--[\p{PCM}\p{Cn} ]]");
    for character in ('\0'..=char::MAX).filter(|character| unseen(*character)) {
        let shown = Escape::LINE.text(&format!("a{character}b"));
        assert!(shown.starts_with("a\\") && shown.is_ascii(), "{}", character.escape_unicode());
    }
}

#[test]
fn words_of_all_scripts_are_unchanged() {
    for text in [
        "Zürich",
        "e\u{301}te\u{301}",
        "नमस्ते दुनिया",
        "שָׁלוֹם",
        "السَّلامُ",
        "ภาษาไทยที่ดี",
        "日本語 が",
        "🇳🇴 👍🏽 ✓ │",
        "C:\\a",
    ] {
        assert_eq!(Escape::LINE.text(text), text);
    }
}

#[test]
fn marks_without_a_base_or_beyond_the_limit_are_escaped() {
    assert_eq!(Escape::LINE.text("\u{338}a"), "\\u{338}a");
    assert_eq!(Escape::LINE.text("a \u{338}"), "a \\u{338}");
    let flood = format!("a{}", "\u{301}".repeat(6));
    assert_eq!(Escape::LINE.text(&flood), format!("a{}\\u{{301}}\\u{{301}}", "\u{301}".repeat(4)));
}

#[test]
fn a_mark_on_a_sign_is_escaped() {
    assert_eq!(Escape::LINE.text("!\u{338}"), "!\\u{338}");
    assert_eq!(Escape::LINE.text("✓\u{338}"), "✓\u{338}");
    assert_eq!(Escape::LINE.text("a\u{200b}\u{301}"), "a\\u{200b}\\u{301}");
}

#[test]
fn line_breaks_are_escaped_in_a_single_line_and_a_lone_return_always() {
    assert_eq!(Escape::LINE.text("a\r\nb\tc"), r"a\r\nb\tc");
    assert_eq!(Escape::LINES.text("a\r\nb\rc\r"), "a\nb\\rc\\r");
    for (text, shown) in [("\n", r"\n"), ("\r", r"\r"), ("\t", r"\t"), ("\u{7}", r"\u{7}")] {
        assert_eq!(Escape::LINE.at_most(shown.len()).text(text), shown);
        let left_out = "… [1 more characters]";
        assert_eq!(Escape::LINE.at_most(shown.len() - 1).text(text), left_out);
    }
}

#[test]
fn json_stays_equal_and_is_printable() {
    let text = "{\"a\": \"\u{9b}\u{e0041}é\u{202e}\"}\n";
    let shown = Escape::json(text);
    assert_eq!(shown, "{\"a\": \"\\u009b\\udb40\\udc41é\\u202e\"}\n");
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    assert_eq!(value(&shown), value(text));
}

#[test]
fn omitted_characters_are_counted_with_blanks_and_line_breaks() {
    let shown = |most: usize, text: &str| Escape::LINES.at_most(most).text(text);
    assert_eq!(shown(5, "abcdefgh"), "abcde… [3 more characters]");
    assert_eq!(shown(3, "ab\n\ncdef"), "ab… [6 more characters]");
    assert_eq!(shown(3, "ab  cdef"), "ab… [6 more characters]");
    assert_eq!(shown(3, "ab  \ncd"), "ab… [5 more characters]");
    assert_eq!(shown(1, "a"), "a");
    assert_eq!(shown(0, "a"), "… [1 more characters]");
}

#[test]
fn tabs_end_at_tab_stops_and_trailing_blanks_are_kept() {
    assert_eq!(Escape::LINES.text("\ta\tb"), "        a       b");
    assert_eq!(Escape::LINES.text("abcdefgh\ti\n\tj"), "abcdefgh        i\n        j");
    assert_eq!(Escape::LINES.text("a  \nb"), "a  \nb");
    assert_eq!(Escape::LINES.text("a\n\tj\tk"), "a\n        j       k");
}

#[test]
fn a_visible_character_has_a_width_and_no_effect_on_others() {
    for (character, is_seen) in
        [('a', true), ('界', true), ('\u{200b}', false), ('\u{301}', false), ('\n', false)]
    {
        assert_eq!(Escape::is_seen(character), is_seen, "{character:?}");
    }
}

#[test]
fn runs_of_blanks_are_counted() {
    let text = format!("a{}b\n{}c{}", " ".repeat(101), " \n".repeat(30), "\n".repeat(50));
    assert_eq!(Escape::LINES.text(&text), "a[101 blanks]b\n[30 blank lines]\nc\n[49 blank lines]\n");
    assert_eq!(Escape::LINES.text("\n\n  a\n\nb\n"), "\n\n  a\n\nb\n");
    assert_eq!(Escape::LINE.text(&" ".repeat(17)), "[17 blanks]");
    let indented = |blanks: usize| format!("a{}b", " ".repeat(blanks));
    assert_eq!(Escape::LINE.text(&indented(16)), indented(16));
    assert_eq!(Escape::LINES.text(&indented(100)), indented(100));
    assert_eq!(Escape::LINE.at_most(5).text(&format!("abc{}", " ".repeat(16))), "abc… [16 more characters]");
}

proptest! {
    #[test]
    fn escaped_text_has_no_invisible_characters(
        parts in prop::collection::vec(prop_oneof![
            any::<String>(),
            any::<char>().prop_map(String::from),
            "[\u{0}-\u{9f}]{0,40}",
            "[\u{300}-\u{36f}\u{200b}-\u{206f}\u{fe00}-\u{fe0f}\u{e0000}-\u{e01ef}]{0,40}",
            "[ \t\r\n]{0,300}",
        ], 0..12),
        most in 0_usize..400,
    ) {
        let text = parts.concat();
        for how in [Escape::LINE, Escape::LINES] {
            let shown = how.at_most(most).text(&text);
            prop_assert!(shown.chars().count() <= most + 45, "{shown}");
            for shown in [shown, how.text(&text), Escape::json(&text)] {
                prop_assert!(shown.chars().all(|it| it == '\n' || !it.is_control() && !is_invisible(it)), "{shown:?}");
            }
            let whole = how.text(&text);
            prop_assert!(how == Escape::LINES || !whole.contains('\n'));
            prop_assert_eq!(how.text(&whole), whole);
        }
    }

    #[test]
    fn json_stays_the_same_value(text in any::<String>()) {
        let json = serde_json::json!({ &text: [&text] }).to_string();
        let shown: serde_json::Value = serde_json::from_str(&Escape::json(&json)).unwrap_or_default();
        prop_assert_eq!(shown.to_string(), json);
    }
}
