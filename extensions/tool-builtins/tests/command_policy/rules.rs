//! Rules: what they admit, and which ones are refused.

use tool_builtins::CommandPolicy;
use tool_runtime::definition::Permission;

fn is_allowed(rule: &str, command: &str) -> bool {
    CommandPolicy::builder().allow(rule).unwrap().build().judge(command) == Permission::Allow
}

// R04
#[test]
fn a_rule_admits_its_words_and_what_its_last_word_says() {
    for (rule, admitted, refused) in [
        (
            "git status",
            &["git status", "git 'status'"][..],
            &["git", "git status -s", "git statuses", "status", "./git status"][..],
        ),
        (
            "cargo test *",
            &["cargo test", "cargo test a b"],
            &["cargo", "cargo tests", "cargo test $x", "cargo test *"],
        ),
        (
            "echo **",
            &["echo", "echo $x *", "echo ~ {a,b}"],
            &["echo $(ls)", "echo ${x:=1}", "$x", "echo > x"],
        ),
        (
            "npm run test:*",
            &["npm run test:unit", "npm run test:"],
            &["npm run test", "npm run test:unit x", "npm run test:$x"],
        ),
        (
            "git log --format='%h %s'",
            &["git log --format='%h %s'", "git log \"--format=%h %s\""],
            &["git log --format=%h %s"],
        ),
        ("ls '*'", &["ls '*'", "ls \\*"], &["ls a", "ls *"]),
        (
            "timeout 60 cargo test",
            &["timeout 60 cargo test"],
            &["timeout 61 cargo test", "timeout 60 cargo test x"],
        ),
        ("find . -exec ls", &["find . -exec ls"], &["find . -exec rm"]),
        ("* x", &[], &[]),
    ] {
        if rule.starts_with('*') {
            assert!(CommandPolicy::builder().allow(rule).is_err());
        }
        for command in admitted {
            assert!(is_allowed(rule, command), "{rule}: {command}");
        }
        for command in refused {
            assert!(!is_allowed(rule, command), "{rule}: {command}");
        }
    }
}

// R04
#[test]
fn a_rule_that_would_allow_any_command_is_refused() {
    for rule in [
        "*",
        "**",
        "* status",
        "git*",
        "env *",
        "/usr/bin/env *",
        "bash *",
        "bash -c *",
        "sudo **",
        "xargs *",
        "eval *",
        "exec *",
        "source *",
        ". *",
        "timeout 60 *",
        "timeout * ls",
        "alias *",
        "export *",
        "SUDO *",
        "",
        " ",
        "ls; rm",
        "ls | wc",
        "ls > x",
        "$x",
        "`x`",
        "ls 'x",
        "a\nb",
        "(ls)",
        "a\\ b",
    ] {
        assert!(CommandPolicy::builder().allow(rule).is_err(), "{rule}");
    }
    for rule in ["", "*'", "ls; rm", "**"] {
        assert!(
            CommandPolicy::builder().deny(rule).is_err() && CommandPolicy::builder().ask(rule).is_err(),
            "{rule}"
        );
    }
}

// R04
#[test]
fn deny_and_ask_are_read_widely() {
    let policy = CommandPolicy::builder().allow("git **").unwrap().allow("cat *").unwrap();
    let policy =
        policy.deny("git push *").unwrap().ask("git clean *").unwrap().ask("* *.env").unwrap().build();
    for command in ["git push", "GIT Push x", "/bin/git push", "sudo git push", "git push $x"] {
        assert!(matches!(policy.judge(command), Permission::Deny { .. }), "{command}");
    }
    for command in [
        "git -C . push",
        "git --no-pager push",
        "git $x",
        "git $x origin",
        "git log push",
        "git clean",
        "git -C x clean -f",
        "sudo -u x git push",
        "ls x git push",
        "cat .env",
        "cat a/.ENV",
        "cat a .env b",
        "cat < .env",
        "git log -- .env",
    ] {
        assert!(
            matches!(policy.judge(command), Permission::Ask { .. }),
            "{command} {:?}",
            policy.judge(command)
        );
    }
    for command in ["git log", "git status", "git log $x", "cat env"] {
        let expected = !command.contains('$');
        assert_eq!(policy.judge(command) == Permission::Allow, expected, "{command}");
    }
}

// R04
#[test]
fn redirections_stay_below_the_folder() {
    let reads = CommandPolicy::builder().allow("cat").unwrap().allow("cd *").unwrap();
    let writes = reads.clone().allow_writes().folder("/srv/app/");
    let (reads, writes) = (reads.build(), writes.build());
    for command in ["cat < a", "cat < a/b", "cat < /dev/null", "cat > /dev/null"] {
        assert_eq!(reads.judge(command), Permission::Allow, "{command}");
        assert_eq!(writes.judge(command), Permission::Allow, "{command}");
    }
    for command in
        ["cat > a", "cat >> a/b", "cat >| a", "cat < /srv/app/a", "cat > /srv/app/a 2>&1", "cat &> a"]
    {
        assert_ne!(reads.judge(command), Permission::Allow, "{command}");
        assert_eq!(writes.judge(command), Permission::Allow, "{command}");
    }
    for command in [
        "cat > ../a",
        "cat > a/../../b",
        "cat > /srv/application",
        "cat > /srv/app/../x",
        "cat > /srv/app",
        "cat > /etc/x",
        "cat > ''",
        "cat > ~/a",
        "cat > $x",
        "cat > a*",
        "cd x; cat > a",
        "cat > /dev/tcp/1/2",
        "cat < ..",
        "cat >& $x",
    ] {
        assert_ne!(reads.judge(command), Permission::Allow, "{command}");
        assert_ne!(writes.judge(command), Permission::Allow, "{command}");
    }
}

// R04
#[test]
fn an_option_that_runs_a_program_or_sets_a_variable_is_never_among_any_arguments() {
    for (rule, admitted, refused) in [
        ("printf *", "printf '%s\\n' a n", "printf '%+5n' PATH"),
        ("printf **", "printf '100%'", "printf $x"),
        ("jobs *", "jobs -l", "jobs -lx evil"),
        ("wait *", "wait 1", "wait -np PATH"),
        ("test *", "test -f x", "test -v 'a[$(evil)]'"),
        ("find *", "find . -name x", "find . -execdir evil +"),
        ("git *", "git log -c", "git -c alias.x=!evil x"),
        ("git log *", "git log --oneline", "git log --exec-path=x"),
        ("cargo *", "cargo build --release", "cargo build --config x"),
        ("rg *", "rg x", "rg --pre evil x"),
        ("tar *", "tar -tf x", "tar -xf x --to-command=evil"),
        ("fd *", "fd x", "fd x -X evil"),
        ("sort *", "sort x", "sort --compress-program evil x"),
    ] {
        assert!(is_allowed(rule, admitted), "{rule}: {admitted}");
        assert!(!is_allowed(rule, refused), "{rule}: {refused}");
    }
}
