//! Attempts against wide rules: those with `*` for programs that have options which run others.

use tool_builtins::CommandPolicy;
use tool_runtime::definition::Permission;

/// Rules that a careless user may write.
const WIDE_RULES: &[&str] = &[
    "git status",
    "git log *",
    "git diff *",
    "git bisect *",
    "git clone *",
    "git config *",
    "git rebase *",
    "git submodule *",
    "git fetch *",
    "cargo test *",
    "go test *",
    "rsync *",
    "tar *",
    "zip *",
    "man *",
    "split *",
    "scp *",
    "sort *",
    "diff3 *",
    "bat *",
    "find *",
    "test *",
    "[ *",
    "printf *",
    "echo **",
    "cat *",
    "ls *",
    "grep *",
    "wc **",
    "cd *",
    "make *",
    "true",
];

/// None of them may be allowed.
const ATTACKS: &[&str] = &[
    // Arithmetic evaluates the values of variables, and subscripts.
    "echo $((a[$(evil)]))",
    "echo $((a[`evil`]))",
    "echo ${a[$(evil)]}",
    "echo ${a[x]:-y}",
    "echo ${!a[@]}",
    "echo ${x:$(evil):1}",
    "echo ${x:a[$(evil)]}",
    "test -v 'a[$(evil)]'",
    "[ a = a -a -v 'a[$(evil)]' ]",
    "test ! -v 'a[$(evil)]'",
    "[[ 'a[$(evil)]' -eq 0 ]]",
    "(( a[$(evil)] ))",
    "let 'a[$(evil)]=1'",
    "for ((i = a[$(evil)]; i < 1; i++)); do true; done",
    "ls | while read -r 'a[$(evil)]'; do true; done",
    "printf -v 'a[$(evil)]' x",
    "printf '%d%n' 1 'a[$(evil)]'",
    "unset 'a[$(evil)]'",
    "wait -np 'a[$(evil)]'",
    // Transformations, and variables that the shell expands later.
    "echo ${x@P}",
    "echo ${x@E}",
    "echo ${PS4@P}",
    "PS4='$(evil)' true; set -x",
    "echo ${x=$(evil)}",
    "echo ${x:=/tmp} && cd $x",
    "echo ${PATH:=/tmp}; git status",
    "echo ${x//a/$(evil)}",
    "echo ${x^^}",
    "echo ${x%$(evil)}",
    "echo ${x#`evil`}",
    // Other processes of the shell.
    "coproc git status",
    "coproc evil { git status; }",
    "trap evil DEBUG; git status",
    "trap -- 'evil' RETURN ERR EXIT",
    "git status & disown",
    "ls |& evil",
    "exec {x}<>evil",
    "ls <(evil) >/dev/null",
    "tee >(evil) < a",
    "cat < <(evil)",
    // Names that are another program.
    "alias ls=evil\nls",
    "shopt -s expand_aliases; alias ls=evil\nls",
    "ls() { evil; }; ls",
    "function ls { evil; }; ls",
    "function ls() (evil); ls",
    "hash -p ./evil ls; ls",
    "enable -f ./evil.so ls; ls",
    "BASH_ENV=./evil ls",
    "ENV=./evil ls",
    "PATH=. git status",
    "PATH=.:$PATH git status",
    "LD_PRELOAD=./evil.so ls",
    "LD_AUDIT=./evil.so ls",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=evil git status",
    "SHELLOPTS=xtrace PS4='$(evil)' ls",
    "ls_x=1 ls",
    "export -n PATH",
    "declare -n x=PATH",
    ". <(echo evil)",
    "source /dev/stdin <<< evil",
    // Options that run programs.
    "find . -fprintf .git/hooks/post-checkout evil",
    "find . -fprint0 x",
    "find . '-ex''ec' evil ';'",
    "find . \"-execdir\" evil +",
    "git -c core.pager=evil log",
    "git -c core.fsmonitor=evil status",
    "git --exec-path=. status",
    "git --config-env=core.pager=X log",
    "git -p status",
    "git log --output=.git/config --format='[core] fsmonitor = evil'",
    "git diff --outp=.git/hooks/x",
    "git log --ext-diff -p",
    "git bisect run evil",
    "git bisect start && git bisect 'run' ./evil",
    "git clone -c core.fsmonitor=evil a b",
    "git clone --upload-pack=evil a b",
    "git clone -uevil a b",
    "git config alias.x '!evil'",
    "git config core.fsmonitor evil",
    "git rebase -x evil main",
    "git rebase -xevil main",
    "git rebase --exec=evil main",
    "git submodule foreach evil",
    "git submodule --quiet foreach evil",
    "git fetch --upload-pack evil a",
    "cargo test --config 'build.rustc-wrapper=\"evil\"'",
    "cargo test --config=evil.toml",
    "cargo test --manifest-path ../evil/Cargo.toml",
    "cd evil && cargo test",
    "cd evil && make",
    "cd evil; ./ls",
    "go test -exec evil",
    "go test -toolexec=evil",
    "tar --to-command=evil -xf a.tar",
    "tar --checkpoint=1 --checkpoint-action=exec=evil -cf a.tar b",
    "tar -cf a.tar b -I evil",
    "tar -cIevil -f a.tar b",
    "tar --rsh-command=evil -xf host:a.tar",
    "rsync -e evil a b:",
    "rsync -ave evil a b:",
    "rsync --rsh=evil a b:",
    "rsync --rsync-path=evil a b:",
    "zip -T -TT evil a.zip b",
    "zip --unzip-command=evil a.zip b",
    "man -P evil ls",
    "man --pager=evil ls",
    "man -Hevil ls",
    "split --filter=evil a",
    "scp -S evil a b:",
    "scp -oProxyCommand=evil a b:",
    "sort --compress-program=evil a",
    "sort -o .git/config a",
    "sort -ro .git/config a",
    "sort --output .git/config a",
    "diff3 --diff-program=evil a b c",
    "bat --pager=evil a",
    // Programs without a rule, in the forms of a model that tries.
    "sed 1e\\ evil a",
    "sed -n '1w .git/config' a",
    "awk 'BEGIN { system(\"evil\") }'",
    "gawk -f evil",
    "env -S 'ls -l'",
    "env -Svls",
    "perl -e 'exec q(evil)'",
    "vim -c '!evil'",
    "xargs -I{} ls {}",
    "busybox ls",
    "ld.so ls",
    "/lib64/ld-linux-x86-64.so.2 ./evil",
    "x86_64 ls",
    "ssh-agent ls",
    "hyperfine ls",
    // Quotes, blanks and characters.
    "ls $\"$(evil)\"",
    "ls $'\\x3b'evil",
    "ls <<< \"$(evil)\"",
    "ls <<< $'a'",
    "ls\u{a0};evil",
    "ls\u{2003}-l",
    "ls\u{3000}x",
    "ls \u{00ad}x",
    "ls\u{1680}x",
    "ls \0x",
    "ls\rx",
    "ls \r\n",
    "ls \u{8}\u{8}evil",
    "ls !-1",
    "ls !?evil",
    "ls ^x^y !!:s/a/b",
    "ls \"!evil\"",
    "ls -l\\\n;evil",
    "ls {-l,}",
    "ls ~evil",
    "ls -- $(evil)",
    "cat <<-'E' <<F\n\tE\n$(evil)\nF",
    "cat <<\"E\nF\"\nE\nevil\nF",
];

fn wide_policy() -> CommandPolicy {
    WIDE_RULES.iter().fold(CommandPolicy::builder(), |policy, rule| policy.allow(rule).unwrap()).build()
}

// R04
#[test]
fn no_attack_on_wide_rules_is_allowed() {
    let policy = wide_policy();
    let allowed: Vec<_> =
        ATTACKS.iter().filter(|command| policy.judge(command) == Permission::Allow).collect();
    assert!(allowed.is_empty(), "{allowed:#?}");
    assert!(ATTACKS.len() >= 150, "{}", ATTACKS.len());
}

// R04
#[test]
fn the_ordinary_use_of_wide_rules_is_allowed() {
    let policy = wide_policy();
    for command in [
        "git log --oneline -n 5",
        "git bisect start",
        "git bisect good v1.0",
        "git clone --depth 1 a b",
        "git rebase main",
        "git submodule update --init",
        "cargo test -p app -- --nocapture",
        "go test ./... -run Name",
        "rsync -av a/ b/",
        "tar -xzf a.tar.gz",
        "tar czf a.tar.gz src",
        "zip -r a.zip src",
        "man ls",
        "split -l 100 a",
        "sort -u -k1,1 a",
        "sort --reverse --version-sort a",
        "diff3 a b c",
        "bat --plain a",
        "find . -name '*.rs' -newer a",
        "cd src && ls && grep -n TODO lib.rs | wc -l",
        "make test",
        "echo ${x:-none} $((1 + 2)) $?",
    ] {
        assert_eq!(policy.judge(command), Permission::Allow, "{command}");
    }
}

// R04
#[test]
fn an_option_that_runs_a_program_is_allowed_where_a_rule_spells_it_out() {
    let rules =
        ["git bisect run cargo test", "cargo test --manifest-path app/Cargo.toml *", "git config --list"];
    let policy =
        rules.iter().fold(CommandPolicy::builder(), |policy, rule| policy.allow(rule).unwrap()).build();
    for command in
        ["git bisect run cargo test", "cargo test --manifest-path app/Cargo.toml name", "git config --list"]
    {
        assert_eq!(policy.judge(command), Permission::Allow, "{command}");
    }
    for command in
        ["git bisect run evil", "cargo test --manifest-path app/Cargo.toml --config x", "git config x y"]
    {
        assert!(matches!(policy.judge(command), Permission::Ask { .. }), "{command}");
    }
}
