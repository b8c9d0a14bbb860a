//! Patterns have the same meaning in a plan and in the `jsonschema` crate.

use jsonschema::PatternOptions;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::{agreement::compare, drawn::nested, plan};

#[test]
fn plan_and_jsonschema_agree_on_patterns() {
    compare(&(pattern(), vec(text(), 12)), |(pattern, texts), tally| {
        let schema = json!({ "pattern": pattern });
        let plan = plan(&schema);
        // Its usual engine, `fancy-regex` 0.19, holds that `a+a?a+` matches "a".
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex()).offline();
        // The crate rejects some valid patterns, such as `(?:)*`.
        let Ok(reference) = options.build(&schema) else {
            tally.leave_out(texts.len());
            return Ok(());
        };
        // The crate uses Unicode word boundaries, where `é` is a word character.
        let has_boundary = pattern.contains(r"\b") || pattern.contains(r"\B");
        for text in texts {
            if has_boundary && !text.is_ascii() {
                tally.leave_out(1);
                continue;
            }
            let text = Value::from(text);
            let admits = plan.admits(&text);
            prop_assert_eq!(admits, reference.is_valid(&text), "{} {}", pattern, text);
            tally.add(admits);
        }
        Ok(())
    });
}

/// Characters that the sets below distinguish. Some line terminators are left out, since the crate's `.` matches
/// them.
fn text() -> impl Strategy<Value = String> {
    const CHARS: &str = "aaabbcAZ_-7٣é😀[]{}&~^.\\ \t\u{A0}\u{FEFF}\u{85}\u{2003}";
    vec(select(CHARS.chars().collect::<Vec<_>>()), 0..6).prop_map(|it| it.into_iter().collect())
}

fn one() -> impl Strategy<Value = String> {
    let chars =
        vec!["a", "b", "é", "😀", "-", "&", r"\]", r"\{", r"\}", r"\.", r"\[", r"\\", r"\/", r"\-", r"\t"];
    let escapes =
        vec![r"\x61", r"\u0062", r"\u{1F600}", r"\cI", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"];
    let classes = vec![
        "[ab]",
        "[^ab]",
        "[a-c]",
        "[^a-c_]",
        "[[]",
        "[&&a]",
        "[~~]",
        "[^[\\]]",
        r"[\w-]",
        r"[^\s\d]",
        r"[^\W]",
        r"[\S]",
        "[-a]",
        "[a-]",
        "[+--]",
        r"[\-\]\\^]",
        r"[^é-😀]",
        "[{}]",
        r"[\u0061-\u0063]",
        r"[\x00-\x7F]",
    ];
    prop_oneof![select(chars), select(escapes), select(classes)].prop_map(str::to_owned)
}

fn repeated(what: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let times = vec!["", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "*?", "+?", "??", "{1,2}?"];
    (what, select(times)).prop_map(|(what, times)| what + times)
}

/// Mostly a sequence of classes.
fn pattern() -> impl Strategy<Value = String> {
    let row = |what: BoxedStrategy<String>| vec(repeated(what), 1..4).prop_map(|it| it.concat()).boxed();
    let nested = nested(row(one().boxed()), 2, 8, 3, move |inner| {
        let group = (select(&["(", "(?:", "(?<name>"][..]), inner.clone()).prop_map(|(open, it)| {
            if it.contains("?<") { format!("({it})") } else { format!("{open}{it})") }
        });
        let boundary = select(&[r"\b", r"\B", "^", "$"][..]).prop_map(str::to_owned);
        let either = (inner.clone(), inner).prop_map(|(left, right)| format!("(?:{left}|{right})"));
        prop_oneof![
            4 => row(prop_oneof![one(), group, either].boxed()),
            1 => boundary,
        ]
        .boxed()
    });
    let anchored = (any::<bool>(), prop_oneof![row(one().boxed()), nested], any::<bool>());
    anchored.prop_map(|(start, it, end)| {
        // Only one group may have the name.
        let it = it.replacen("(?<name>", "\0", 1).replace("(?<name>", "(").replace('\0', "(?<name>");
        format!("{}{it}{}", if start { "^" } else { "" }, if end { "$" } else { "" })
    })
}
