//! `conservative`, by calls.

use tool_builtins::{CommandPolicy, conservative};
use tool_runtime::{definition::Permission, policy::Rule, prelude::*};

fn is_allowed(tool: &str, arguments: &Value) -> bool {
    conservative().judge(tool, arguments) == Permission::Allow
}

// I02
#[test]
fn files_are_read_without_a_question_unless_they_look_like_secrets() {
    for (tool, argument) in
        [("read_file", "path"), ("Read", "file_path"), ("grep", "path"), ("Grep", "path"), ("glob", "path")]
    {
        for path in [
            "src/main.rs",
            "./README.md",
            "a/b c.txt",
            "environment.rs",
            "/srv/app/notes.txt",
            "keys.rs",
            "env",
        ] {
            assert!(is_allowed(tool, &json!({ argument: path })), "{tool} {path}");
        }
        for path in [
            ".env",
            "./.env",
            "app/.env",
            "app/../.env",
            ".//.env",
            ".ENV",
            ".env.local",
            "prod.env",
            "a/server.pem",
            "A.PEM",
            "id_rsa",
            "/home/x/.ssh/id_ed25519",
            "~/.ssh/config",
            ".ssh/config",
            ".aws/credentials",
            "x/secrets.yml",
            ".netrc",
            "terraform.tfstate",
            "",
        ] {
            assert!(!is_allowed(tool, &json!({ argument: path })), "{tool} {path}");
        }
    }
    assert!(is_allowed("list_files", &json!({})));
    assert!(is_allowed("grep", &json!({ "pattern": "TODO" })));
}

// I02
#[test]
fn changes_code_and_the_web_are_asked_about() {
    for tool in [
        "edit_file",
        "write_file",
        "notebook_edit",
        "Edit",
        "Write",
        "NotebookEdit",
        "run_code",
        "web_fetch",
        "fetch",
        "WebFetch",
        "web_search",
        "WebSearch",
    ] {
        let verdict = conservative().judge(tool, &json!({ "path": "a.txt", "url": "https://example.com" }));
        assert!(
            matches!(&verdict, Permission::Ask { reason } if reason.contains(tool)),
            "{tool} {verdict:?}"
        );
    }
    assert!(is_allowed("task_output", &json!({ "task_id": "task_1" })));
}

#[test]
fn a_tool_that_the_policy_does_not_know_is_asked_about_until_a_rule_decides() {
    let arguments = json!({ "city": "Rome" });
    let verdict = conservative().judge("weather", &arguments);
    assert!(matches!(&verdict, Permission::Ask { reason } if reason.contains("`weather`")), "{verdict:?}");
    let policy = conservative().rules([Rule::allow("weather")]);
    assert_eq!(policy.judge("weather", &arguments), Permission::Allow);
}

// R04
#[test]
fn commands_that_only_read_are_allowed() {
    for command in [
        "git status",
        "git status --short",
        "git log --oneline -n 5",
        "git diff main..HEAD -- src",
        "git show HEAD:src/lib.rs",
        "git blame -L 1,5 src/lib.rs",
        "git branch",
        "ls -la src",
        "cat src/lib.rs | head -n 20",
        "wc -l src/lib.rs",
        "pwd && ls",
        "grep -n TODO src/lib.rs",
        "cd src && ls",
        "echo done",
        "test -f a && cat a",
        "date +%F",
        "tail -n 5 log.txt 2>&1",
    ] {
        assert!(
            is_allowed("bash", &json!({ "command": command })),
            "{:?}",
            conservative().judge("bash", &json!({ "command": command }))
        );
        assert!(is_allowed("Bash", &json!({ "command": command })), "{command}");
    }
}

// R04
#[test]
fn commands_that_change_or_run_something_are_asked_about() {
    for command in [
        "cargo test",
        "rm a",
        "touch a",
        "mv a b",
        "git commit -m x",
        "git push",
        "git checkout x",
        "git branch x",
        "git diff --output=x",
        "git log --outp=x",
        "git diff --ext-diff",
        "git diff --no-index a b",
        "git -c x=y status",
        "curl example.com",
        "python3 x.py",
        "ls > x",
        "echo x > .git/config",
        "date -s x",
        "find .",
        "sort x",
        "sed -i s/a/b/ x",
        "awk x",
        "env",
        "printenv",
        "set",
        "ps",
        "kill 1",
        "xargs ls",
    ] {
        assert!(!is_allowed("bash", &json!({ "command": command })), "{command}");
    }
    assert!(!is_allowed("bash", &json!({ "command": 1 })));
    assert!(!is_allowed("bash", &json!({})));
}

// R04
#[test]
fn commands_that_leave_the_folder_or_read_secrets_are_asked_about() {
    for command in [
        "cat /etc/passwd",
        "cat ../x",
        "cat a/../../x",
        "ls ..",
        "ls /",
        "cd",
        "cd /",
        "cd ..",
        "cd -",
        "cat ~/x",
        "grep -f/etc/shadow x",
        "grep --file=/etc/shadow x",
        "grep --file=../x y",
        "grep -r KEY .",
        "grep -R KEY .",
        "grep --recursive KEY .",
        "grep -nr KEY",
        "git show HEAD:/x",
        "cat .env",
        "cat app/.env",
        "cat < .env",
        "cat .env.local",
        "git show HEAD:.env",
        "git show HEAD:app/.env",
        "cat a.pem",
        "cat id_rsa",
        "cat x/id_ed25519",
        "cat .ssh/config",
        "grep -f.env x",
        "grep --file=.env x",
        "cat .ENV",
        "cat secrets/x",
        "git show HEAD:secrets/x",
        "git show HEAD:credentials/x",
        "grep --file=secrets/x y",
        "grep -fsecrets/x y",
        "du --files0-from=list",
        "du --files0-from list",
        "wc --f list",
        "cat .en*",
        "cat $x",
        "cat \"$(ls)\"",
    ] {
        assert!(!is_allowed("bash", &json!({ "command": command })), "{command}");
    }
}

// I02
#[test]
fn added_rules_and_other_commands_replace_the_defaults() {
    let policy = conservative()
        .rules([Rule::allow("edit_file"), Rule::deny("read_file").reason("no files")])
        .commands(
            CommandPolicy::builder()
                .tool("bash", "command")
                .allow_reading()
                .allow("cargo test *")
                .unwrap()
                .build(),
        );
    assert_eq!(policy.judge("edit_file", &json!({})), Permission::Allow);
    assert_eq!(policy.judge("read_file", &json!({ "path": "a" })), Permission::deny("no files"));
    assert!(matches!(policy.judge("write_file", &json!({})), Permission::Ask { .. }));
    assert_eq!(policy.judge("bash", &json!({ "command": "cargo test && git status" })), Permission::Allow);
    assert!(matches!(policy.judge("bash", &json!({ "command": "cargo run" })), Permission::Ask { .. }));
}

// I02
#[test]
fn secrets_in_named_folders_and_by_patterns_of_files_are_asked_about() {
    for path in ["docs:.env", "home:.netrc", "home:.ssh/config", "docs:id_rsa", "docs:sub/.aws/x"] {
        assert!(!is_allowed("read_file", &json!({ "path": path })), "{path}");
    }
    assert!(is_allowed("read_file", &json!({ "path": "docs:index.md" })));
    assert!(!is_allowed("grep", &json!({ "pattern": ".", "glob": ".env" })));
    assert!(!is_allowed("Grep", &json!({ "pattern": ".", "glob": "*.pem" })));
    assert!(!is_allowed("search", &json!({ "query": ".", "file_pattern": "id_*" })));
    assert!(is_allowed("grep", &json!({ "pattern": ".", "glob": "*.rs" })));
    for command in ["grep -d recurse KEY .", "grep -drecurse KEY .", "grep --directories=recurse KEY ."] {
        assert!(!is_allowed("bash", &json!({ "command": command })), "{command}");
    }
}

// I02: a path of 2 MB takes a minute to compare.
#[test]
fn a_path_that_is_too_long_to_be_compared_with_secrets_is_asked_about() {
    for (tool, argument) in
        [("read_file", "path"), ("Read", "file_path"), ("grep", "glob"), ("search", "path")]
    {
        assert!(is_allowed(tool, &json!({ argument: "a/".repeat(2048) })), "{tool}");
        let verdict = conservative().judge(tool, &json!({ argument: "a/".repeat(2049) }));
        let reason = format!("`{tool}` has a path of 4098 bytes, and only 4096 are compared with secrets");
        assert_eq!(verdict, Permission::ask(reason));
    }
    assert!(is_allowed("grep", &json!({ "pattern": "a".repeat(5000) })));
}

// I02
#[test]
fn git_and_programs_of_another_folder_are_asked_about() {
    for command in ["cd docs && git status", "cd docs; git log", "cd sub && ./check.sh"] {
        let policy = CommandPolicy::builder()
            .allow_reading()
            .allow("./check.sh")
            .unwrap()
            .allow("git status")
            .unwrap();
        let verdict = policy.build().judge(command);
        assert!(matches!(verdict, Permission::Ask { .. }), "{command} {verdict:?}");
    }
    assert!(is_allowed("bash", &json!({ "command": "cd docs && ls" })));
    for folder in ["docs", ".ssh", "../x", "/etc"] {
        let arguments = json!({ "command": "git status", "folder": folder });
        assert!(!is_allowed("bash", &arguments), "{arguments}");
    }
    for folder in [json!("."), json!(""), Value::Null] {
        assert!(is_allowed("bash", &json!({ "command": "git status", "folder": folder })));
    }
}

#[test]
fn options_that_run_programs_are_known_abbreviated_and_in_one_word() {
    let policy = ["sort *", "tar *", "git grep *", "fd *", "fdfind *", "rg *"]
        .into_iter()
        .fold(CommandPolicy::builder(), |policy, rule| policy.allow(rule).unwrap())
        .build();
    for command in [
        "sort --comp=evil a",
        "tar --use=evil -xf a.tar",
        "tar tIf evil a.tar",
        "tar --checkpoint-act=exec=evil -cf a.tar a",
        "git grep -Oevil x",
        "git grep --open-fi=evil x",
        "fd -Hx evil",
        "fdfind -x evil",
        "rg --pre evil x",
    ] {
        assert!(matches!(policy.judge(command), Permission::Ask { .. }), "{command}");
    }
    for command in ["sort a.txt", "tar tf a.tar", "git grep -n x", "fd name", "rg x"] {
        assert_eq!(policy.judge(command), Permission::Allow, "{command}");
    }
}
