//! Verdicts with their whole reasons.

use tool_builtins::{CommandPolicy, conservative};
use tool_runtime::{definition::Permission, policy::Rule, prelude::*};

fn policy() -> CommandPolicy {
    let allowed = ["git status", "git log **", "cat *", "cd *", "echo **", "ls **", "timeout 60 ls"];
    let policy = allowed.iter().fold(CommandPolicy::builder(), |policy, rule| policy.allow(rule).unwrap());
    policy.ask("ls -Z*").unwrap().deny("rm *").unwrap().deny("git push *").unwrap().build()
}

fn check(policy: &CommandPolicy, command: &str, expected: Permission) {
    assert_eq!(policy.judge(command), expected, "{command}");
}

// R04
#[test]
fn a_reason_to_ask_names_the_first_part_that_is_not_allowed() {
    let policy = policy();
    for (command, reason) in [
        ("", "the command is unclear: it runs no program"),
        ("# ls", "the command is unclear: it runs no program"),
        ("> a", "the command is unclear: it runs no program"),
        ("ls -l & date", "the command is unclear: `ls -l & date` runs in the background"),
        ("date; ls &", "the command is unclear: `ate; ls &` runs in the background"),
        ("(ls", "the command is unclear: `(ls` does not parse"),
        ("PATH=a ls", "the command is unclear: `PATH=a ls` assigns to a variable"),
        ("ls é", "the command is unclear: `ls é` contains a control character, or one outside of ASCII"),
        ("ls; date -u; w", "no rule allows `date -u`"),
        ("/bin/ls", "no rule allows `/bin/ls`"),
        ("git", "no rule allows `git`"),
        ("git status -s", "no rule allows `git status -s`"),
        ("cat a $x ~", "`cat a $x ~` is unclear: a word contains a variable"),
        ("cat `ls`", "`cat `ls`` is unclear: a word contains the output of a command"),
        ("env ls", "`env ls` is unclear: `env` runs other commands, or changes how they are found"),
        (
            "/bin/SUDO ls",
            "`/bin/SUDO ls` is unclear: `SUDO` runs other commands, or changes how they are found",
        ),
        (
            "timeout 6 ls",
            "`timeout 6 ls` is unclear: `timeout` runs other commands, or changes how they are found",
        ),
        ("ls -Za", "the rule `ls -Z*` asks for `ls -Za`"),
        ("git -C a push", "`git -C a push` may be what the rule `git push *` denies"),
        (
            "cd a; git status",
            "`git status` is unclear: another folder may have programs and settings of its own",
        ),
        ("cd a; ./x", "`./x` is unclear: another folder may have programs and settings of its own"),
        ("popd; a/x", "`a/x` is unclear: another folder may have programs and settings of its own"),
        ("cd a; /bin/x", "no rule allows `/bin/x`"),
        ("pushd a; make", "`make` is unclear: another folder may have programs and settings of its own"),
        ("cat > a", "`a` would be written, and the policy allows no redirection that writes"),
        ("cat < /a", "the redirection to `/a` leaves the folder, or may leave it"),
        ("cat < b < ../a", "the redirection to `../a` leaves the folder, or may leave it"),
        ("cd b; cat < a", "the redirection to `a` leaves the folder, or may leave it"),
        ("cat < ''", "the redirection to `` leaves the folder, or may leave it"),
        ("date < /a", "the redirection to `/a` leaves the folder, or may leave it"),
    ] {
        check(&policy, command, Permission::ask(reason));
    }
    for command in
        ["echo $x", "git log $x", "cd a; ls", "cat < a", "cat < /dev/null > /dev/null", "timeout 60 ls"]
    {
        let expected = match command {
            // It may be an option.
            "git log $x" => Permission::ask("`git log $x` may be what the rule `rm *` denies"),
            _ => Permission::Allow,
        };
        check(&policy, command, expected);
    }
}

// R04
#[test]
fn a_denial_names_the_command_and_its_rule() {
    let policy = policy();
    for (command, source, rule) in [
        ("rm", "rm", "rm *"),
        ("ls; RM -r a | cat", "RM -r a", "rm *"),
        ("./rm a", "./rm a", "rm *"),
        ("git push > a", "git push > a", "git push *"),
        ("sudo -u 5 A=b rm a", "sudo -u 5 A=b rm a", "rm *"),
        ("timeout 60 nice env rm", "timeout 60 nice env rm", "rm *"),
        ("bash -c 'ls; rm a'", "rm a", "rm *"),
        ("eval \"sh -c 'rm a; ls'\"", "rm a", "rm *"),
        ("find . -exec rm a +", "find . -exec rm a +", "rm *"),
        ("find . -execdir rm a +", "find . -execdir rm a +", "rm *"),
        ("find . -ok rm a +", "find . -ok rm a +", "rm *"),
        ("fd a -x rm", "fd a -x rm", "rm *"),
        ("fd a -X rm", "fd a -X rm", "rm *"),
        ("fd a --exec rm", "fd a --exec rm", "rm *"),
        ("fd a --exec-batch rm", "fd a --exec-batch rm", "rm *"),
        ("ls & rm a", "rm a", "rm *"),
    ] {
        check(&policy, command, Permission::deny(format!("`{source}` is denied by the rule `{rule}`")));
    }
    // A text in another one is a level, too.
    for (levels, is_denied) in [(31, true), (32, false)] {
        let command = format!("eval '{}rm a{}'", "(".repeat(levels), ")".repeat(levels));
        assert_eq!(matches!(policy.judge(&command), Permission::Deny { .. }), is_denied, "{command}");
    }
    // Others of these words may be no command.
    for (command, reason) in [
        ("sudo ls rm", "`sudo ls rm` may be what the rule `rm *` denies"),
        ("find . rm", "no rule allows `find . rm`"),
        ("find rm a", "no rule allows `find rm a`"),
        ("find . -exec ls rm", "`find . -exec ls rm` may be what the rule `rm *` denies"),
        ("fd rm -a a", "no rule allows `fd rm -a a`"),
        ("sort -x rm", "no rule allows `sort -x rm`"),
        ("git push-x", "no rule allows `git push-x`"),
        ("git x push", "`git x push` may be what the rule `git push *` denies"),
        ("x git push", "no rule allows `x git push`"),
        ("rm2", "no rule allows `rm2`"),
        ("w 'rm a'", "no rule allows `w 'rm a'`"),
        ("$x a", "`$x a` may be what the rule `rm *` denies"),
        ("git $x", "`git $x` may be what the rule `rm *` denies"),
    ] {
        check(&policy, command, Permission::ask(reason));
    }
}

// R04
#[test]
fn a_rule_without_a_star_denies_its_words_alone() {
    let policy = CommandPolicy::builder().allow("git **").unwrap().deny("git push").unwrap();
    let policy = policy.deny("./a.sh x").unwrap().build();
    check(&policy, "git push", Permission::deny("`git push` is denied by the rule `git push`"));
    check(&policy, "git push a", Permission::ask("`git push a` may be what the rule `git push` denies"));
    check(&policy, "./A.SH X", Permission::deny("`./A.SH X` is denied by the rule `./a.sh x`"));
    check(&policy, "a.sh x", Permission::ask("no rule allows `a.sh x`"));
    check(&policy, "git a/push", Permission::ask("no rule allows `git a/push`"));
}

// R04
#[test]
fn a_text_has_at_most_16_kib_and_a_reason_160_characters_of_it() {
    let policy = policy();
    let spaces = |length: usize| format!("ls{}", " ".repeat(length - 2));
    check(&policy, &spaces(16_384), Permission::Allow);
    let reason = "the command is unclear: it has 16385 bytes, and only 16384 are read; split it";
    check(&policy, &spaces(16_385), Permission::ask(reason));
    for (length, shown) in
        [(119, "a".repeat(119)), (120, "a".repeat(120)), (121, format!("{}…", "a".repeat(120)))]
    {
        check(&policy, &"a".repeat(length), Permission::ask(format!("no rule allows `{shown}`")));
    }
}

// R04
#[test]
fn a_rule_that_is_refused_says_why() {
    let message = |rule: &str| CommandPolicy::builder().allow(rule).unwrap_err().to_string();
    let words = "write the words of one command, such as `git status`";
    for (rule, problem) in [
        ("", "the rule `` names no command; begin with the name of a program, such as `git status`".to_owned()),
        ("**", "the rule `**` names no command; begin with the name of a program, such as `git status`".to_owned()),
        ("l*s", "the rule `l*s` allows programs of several names; write one rule for each name".to_owned()),
        (
            "/bin/env a*",
            "the rule `/bin/env a*` allows any command, because `/bin/env` runs others or changes how the shell finds \
             them; write all words, without `*`"
                .to_owned(),
        ),
        ("ls\tx", format!("the rule `ls\tx` contains an operator of the shell; {words}")),
        ("ls \"x'", format!("the rule `ls \"x'` has a quote without an end; {words}")),
    ] {
        assert_eq!(message(rule), problem);
    }
    assert!(CommandPolicy::builder().allow("env").is_ok() && CommandPolicy::builder().allow("env a").is_ok());
    assert!(CommandPolicy::builder().deny("l*s").is_ok() && CommandPolicy::builder().ask("env *").is_ok());
}

// R04
#[test]
fn a_star_in_a_word_stands_for_any_characters() {
    for (rule, admitted, refused) in [
        ("x a*", &["x a", "x ab"][..], &["x", "x b", "x ba", "x a b", "x A"][..]),
        ("x *a", &["x a", "x ba", "x aa", "x aba"], &["x ab", "x b"]),
        ("x a*b", &["x ab", "x axb", "x abab", "x aabb"], &["x a", "x b", "x abc", "x ba"]),
        ("x *a*b*", &["x ab", "x cacbc", "x aab"], &["x ba", "x bba", "x a"]),
        ("x *ab*ab", &["x abab", "x aabab", "x abxab"], &["x ab", "x aba"]),
        ("x 'a b' ''", &["x 'a b' ''", "x a\\ b \"\""], &["x a b ''", "x 'a b'"]),
        ("x \"a*\"", &["x 'a*'"], &["x ab"]),
        ("x a **", &["x a", "x a $b *"], &["x", "x b", "x $a"]),
        ("x ***", &["x y", "x ''"], &["x", "x $y", "x y z"]),
    ] {
        let policy = CommandPolicy::builder().allow(rule).unwrap().build();
        for command in admitted {
            assert_eq!(policy.judge(command), Permission::Allow, "{rule}: {command}");
        }
        for command in refused {
            assert_ne!(policy.judge(command), Permission::Allow, "{rule}: {command}");
        }
    }
}

// R04
#[test]
fn an_expansion_that_may_be_an_option_is_asked_about_for_programs_with_such_options() {
    let rules = ["git **", "git -C a log *", "sort **", "sort '%n' *", "ls **", "tar *", "printf *", "cat *"];
    let policy =
        rules.iter().fold(CommandPolicy::builder(), |policy, rule| policy.allow(rule).unwrap()).build();
    for command in [
        "ls $x",
        "sort '%n'",
        "cat '%n'",
        "git log",
        "git -C a log",
        "git -C a log -n 1",
        "tar tf I",
        "cat -oF",
    ] {
        check(&policy, command, Permission::Allow);
    }
    for command in [
        "git $x",
        "git log $x",
        "sort $x",
        "sort a $x",
        "tar tIf x a",
        "tar xF a",
        "printf '%d %-3n' 1 x",
        "git x/y",
    ] {
        assert!(matches!(policy.judge(command), Permission::Ask { .. }), "{command}");
    }
}

// I02
#[test]
fn the_conservative_policy_gives_these_reasons() {
    let policy = conservative();
    for (tool, arguments, reason) in [
        ("edit_file", json!({}), "`edit_file` asks first: it changes files"),
        ("RunCode", json!({}), "`RunCode` asks first: it runs code"),
        ("WebFetch", json!({}), "`WebFetch` asks first: it sends data to other hosts"),
        ("read_file", json!({ "path": "a/.ENV" }), "`read_file` may read a secret by this path"),
        ("Grep", json!({ "glob": "*.key" }), "`Grep` may read a secret by this path"),
        ("search", json!({ "file_pattern": "id_?" }), "`search` may read a secret by this path"),
        ("bash", json!({}), "the command is unclear: the argument `command` is not a text"),
        ("Bash", json!({ "command": "w" }), "no rule allows `w`"),
        ("bash", json!({ "command": "ls", "cwd": "a\nb" }), "the command would start in the folder `a\\nb`"),
        ("bash", json!({ "command": "ls", "workdir": 1 }), "the command would start in the folder `1`"),
        (
            "bash",
            json!({ "command": "ls", "folder": "./", "working_directory": "b" }),
            "the command would start in the folder `b`",
        ),
        ("weather", json!({}), "`weather` is no tool that the policy knows"),
    ] {
        assert_eq!(policy.judge(tool, &arguments), Permission::ask(reason), "{tool} {arguments}");
    }
    for tool in [
        "task_output",
        "task_stop",
        "TaskOutput",
        "TaskStop",
        "todo_write",
        "todo_declare_blocker",
        "search_tools",
    ] {
        assert_eq!(policy.judge(tool, &json!({})), Permission::Allow, "{tool}");
    }
    let policy = policy.rules([Rule::deny("bash").reason("no added rule"), Rule::ask("Bash").reason("why")]);
    assert_eq!(policy.judge("Bash", &json!({ "command": "ls" })), Permission::ask("why"));
}

// I18
#[test]
fn a_tool_with_two_commands_is_allowed_if_both_are() {
    let policy = CommandPolicy::builder().tool("run", "first").tool("run", "second").allow("ls").unwrap();
    let policy = conservative().commands(policy.deny("rm").unwrap().build());
    for (first, second, expected) in [
        ("ls", "ls", Permission::Allow),
        ("ls", "w", Permission::ask("no rule allows `w`")),
        ("w", "ls", Permission::ask("no rule allows `w`")),
        ("w", "rm", Permission::deny("`rm` is denied by the rule `rm`")),
        ("rm", "ls", Permission::deny("`rm` is denied by the rule `rm`")),
    ] {
        assert_eq!(
            policy.judge("run", &json!({ "first": first, "second": second })),
            expected,
            "{first} {second}"
        );
    }
    assert_eq!(
        policy.judge("run", &json!({ "second": "ls" })),
        Permission::ask("the command is unclear: the argument `first` is not a text")
    );
    let folder = "a".repeat(81);
    let Permission::Ask { reason } =
        policy.judge("run", &json!({ "first": "ls", "second": "ls", "cwd": folder }))
    else {
        panic!("it is asked about");
    };
    assert!(reason.contains(&"a".repeat(79)) && !reason.contains(&"a".repeat(81)), "{reason}");
}

// R04
#[test]
fn a_rule_of_words_in_their_order_asks_for_files_of_any_command_and_redirection() {
    let policy = CommandPolicy::builder().allow("cat *").unwrap().allow("ls **").unwrap();
    let policy = policy.ask("* *.env").unwrap().build();
    for (command, source) in [
        ("cat a .env", "cat a .env"),
        ("cat A.ENV", "cat A.ENV"),
        ("ls -l a.env b", "ls -l a.env b"),
        ("cat < a.env", "< a.env"),
        ("ls; cat < b < .env", "< .env"),
        ("ls $x", "ls $x"),
    ] {
        check(&policy, command, Permission::ask(format!("the rule `* *.env` asks for `{source}`")));
    }
    for command in ["ls", "cat env", "cat a.envs", "cat .env.d"] {
        check(&policy, command, Permission::Allow);
    }
    check(&policy, ".env", Permission::ask("no rule allows `.env`"));
}
