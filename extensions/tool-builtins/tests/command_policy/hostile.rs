//! Texts of any size and nesting.

use tool_builtins::{CommandPolicy, conservative};
use tool_runtime::{definition::Permission, prelude::*};

use crate::policy;

/// A thread with 256 KiB of stack judges `text`.
fn judge_with_small_stack(text: String) -> Permission {
    let judge = move || policy().judge(&text);
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(256 << 10);
        builder.spawn_scoped(scope, judge).unwrap().join().unwrap()
    })
}

// R04
#[test]
fn nesting_and_length_are_bounded() {
    for (open, middle, close) in [
        ("(", "git status", ")"),
        ("(", "", ""),
        ("( ", "git status", " )"),
        ("{ ", "git status", "; }"),
        ("{ ", "", ""),
        ("$(", "git status", ")"),
        ("$(", "", ""),
        ("echo $(", "git status", ")"),
        ("echo \"$(", "git status", ")\""),
        ("echo \"", "", ""),
        ("${x:-", "x", "}"),
        ("echo ${x:-", "", ""),
        ("$((", "1", "))"),
        ("echo $((", "", ""),
        ("echo $(( $((", "", ""),
        ("`", "", ""),
        ("echo `", "git status", "`"),
        ("if ", "git status", "; then git status; fi"),
        ("if ", "", ""),
        ("while ", "", ""),
        ("for x in a; do ", "git status", "; done"),
        ("case x in x) ", "", ";; esac"),
        ("function f ", "", ""),
        ("f() ", "", ""),
        ("coproc ", "", ""),
        ("! ", "git status", ""),
        ("time ", "", ""),
        ("cat <(", "git status", ")"),
        ("cat <<E\n$(", "", ""),
        ("cat <<E <<E ", "", ""),
        ("x=(", "", ")"),
        ("x=", "", ""),
        ("[[ ", "", " ]]"),
        ("bash -c '", "", "'"),
        ("eval ", "git push", ""),
        ("env ", "git push", ""),
        ("\\", "", ""),
        ("\\\n", "", ""),
        ("'", "", ""),
        ("#", "", ""),
        ("<", "", ""),
        (">", "", ""),
        ("&", "", ""),
        (";", "", ""),
        ("é", "", ""),
        ("\0", "", ""),
    ] {
        for count in [31, 33, 100, 5_000] {
            let text = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
            let verdict = judge_with_small_stack(text);
            // These are allowed: no nesting, or quotes and backticks that end at the next one.
            let is_flat = matches!(open, "! " | "echo \"" | "echo `");
            let may_be_allowed = is_flat || (count < 32 && middle == "git status");
            assert!(may_be_allowed || verdict != Permission::Allow, "{open} {count} {verdict:?}");
        }
    }
}

// R04
#[test]
fn a_text_of_a_megabyte_is_asked_about_unread_and_a_shorter_one_is_read() {
    let policy = policy();
    for part in ["git status;", "a ", "$(", "'", "\\", "(", "{ ", "<<E\n", "`"] {
        let verdict = policy.judge(&part.repeat((1 << 20) / part.len()));
        assert!(matches!(&verdict, Permission::Ask { reason } if reason.contains("16384")), "{verdict:?}");
    }
    let most = "git status;".repeat(CommandPolicy::MAX_COMMAND_BYTES / 11);
    assert_eq!(policy.judge(&most), Permission::Allow);
    assert!(matches!(
        policy.judge(&format!("{}git push", &most[..most.len() - 44])),
        Permission::Deny { .. }
    ));
}

// R04
#[test]
fn the_longest_texts_are_judged_by_all_built_in_rules() {
    let policy = conservative();
    for part in [
        "a ",
        "*",
        "ls a;",
        "-",
        "/",
        "env ",
        "cat < a ",
        ".env",
        "'",
        "x=",
        "bash -c a ",
        "eval 'a b' ",
        "a/",
        "id_",
    ] {
        let text = format!("cat {}", part.repeat((CommandPolicy::MAX_COMMAND_BYTES - 4) / part.len()));
        let verdict = policy.judge("bash", &json!({ "command": text }));
        // Some of them are plain arguments of `cat`.
        let is_short = matches!(&verdict, Permission::Ask { reason } if reason.len() < 600);
        assert!(is_short || verdict == Permission::Allow, "{part} {verdict:?}");
    }
}

// R04
#[test]
fn a_reason_shows_no_control_characters_and_is_short() {
    let Permission::Ask { reason } =
        policy().judge(&format!("evil \u{1b}[2J\u{202e}\n{}", "x".repeat(5_000)))
    else {
        panic!("it is asked about");
    };
    assert!(reason.len() < 600 && !reason.contains(['\u{1b}', '\u{202e}', '\n']), "{reason}");
}
