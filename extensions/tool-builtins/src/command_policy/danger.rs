//! Programs and options that run other programs, or change how the shell finds them.

use super::{
    git::git_may_run_argument,
    script::{SimpleCommand, base_name},
};

/// Builtins and programs whose arguments are commands, or which change the meaning of later commands. No rule with a
/// `*` can allow them.
const INDIRECT_COMMANDS: &[&str] = &[
    // Builtins.
    ".",
    "alias",
    "bind",
    "builtin",
    "command",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "getopts",
    "hash",
    "history",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "time",
    "trap",
    "typeset",
    "unalias",
    "unset",
    // Shells.
    "elvish",
    "nu",
    "posh",
    "powershell",
    "xonsh",
    "yash",
    "ash",
    "bash",
    "busybox",
    "csh",
    "dash",
    "fish",
    "ksh",
    "mksh",
    "pwsh",
    "rbash",
    "sh",
    "tcsh",
    "toybox",
    "zsh",
    // Programs that run others.
    "aa-exec",
    "abduco",
    "byobu",
    "chpst",
    "cpulimit",
    "daemon",
    "daemonize",
    "dbus-launch",
    "dtach",
    "envdir",
    "hyperfine",
    "i386",
    "logsave",
    "mosh",
    "newgrp",
    "nocache",
    "rlogin",
    "rsh",
    "run0",
    "runcon",
    "setlock",
    "ssh-agent",
    "systemd-cat",
    "systemd-inhibit",
    "trickle",
    "uname26",
    "x86_64",
    "zellij",
    "catchsegv",
    "ccache",
    "cgexec",
    "chronic",
    "dumb-init",
    "eatmydata",
    "faketime",
    "gosu",
    "numactl",
    "proxychains",
    "proxychains4",
    "softlimit",
    "su-exec",
    "tini",
    "torsocks",
    "at",
    "batch",
    "bwrap",
    "capsh",
    "choom",
    "chroot",
    "chrt",
    "crontab",
    "dbus-run-session",
    "doas",
    "entr",
    "env",
    "expect",
    "fakeroot",
    "firejail",
    "flock",
    "gdb",
    "ionice",
    "linux32",
    "linux64",
    "ltrace",
    "nice",
    "nohup",
    "nsenter",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "rlwrap",
    "run-parts",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "sudoedit",
    "systemd-run",
    "taskset",
    "timeout",
    "tmux",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "xargs",
    "xvfb-run",
];

/// Options that run programs, write files or set variables, by the name of the program. `*` stands for any characters: long options may be
/// abbreviated, and short ones stand in one word, so that `-*x*` is each word of short options with `x`.
const RUNNING_OPTIONS: &[(&str, &[&str])] = &[
    ("[", &["-v", "-R"]),
    ("ag", &["--pa*"]),
    ("bat", &["--pa*"]),
    ("batcat", &["--pa*"]),
    ("cargo", &["--config*", "--cod*", "-*Z*", "-*C*", "--manifest-path*"]),
    ("diff3", &["--d*"]),
    ("fd", &["-*x*", "-*X*", "--ex*"]),
    ("fdfind", &["-*x*", "-*X*", "--ex*"]),
    ("find", &["-exec*", "-ok*", "-delete", "-fls", "-fprint*"]),
    (
        "go",
        &[
            "-exec*",
            "--exec*",
            "-toolexec*",
            "--toolexec*",
            "-vettool*",
            "--vettool*",
            "-ldflags*",
            "--ldflags*",
            "-C*",
        ],
    ),
    ("jobs", &["-*x*"]),
    ("man", &["-*P*", "-*H*", "-*p*", "-*C*", "--pa*", "--ht*", "--b*", "--pr*", "--con*"]),
    ("printf", &["-v*"]),
    ("rg", &["--pre*", "--hos*"]),
    ("rsync", &["-*e*", "--rs*", "--daemon", "--config*"]),
    ("rustc", &["-*C*", "--cod*", "-*Z*", "@*"]),
    ("scp", &["-*S*", "-*o*", "-*F*", "-*D*"]),
    ("sdiff", &["--d*", "-*o*", "--o*"]),
    ("sftp", &["-*S*", "-*o*", "-*F*", "-*D*", "-*b*"]),
    ("sort", &["-*o*", "--o*", "--co*"]),
    ("split", &["--f*"]),
    ("tar", &["--ch*", "--to-*", "--us*", "--in*", "--ne*", "--rs*", "--rm*", "-*I*", "-*F*"]),
    ("test", &["-v", "-R"]),
    ("wait", &["-*p*"]),
    ("zip", &["-*T*", "--un*"]),
];

/// Returns `true` if the program `name` runs others, or changes how the shell finds them.
pub(super) fn runs_or_redefines_commands(name: &str) -> bool {
    INDIRECT_COMMANDS.iter().any(|command| command.eq_ignore_ascii_case(name)) || name.starts_with("ld-linux")
}

/// Builtins and programs that read an argument as a shell text.
const TEXT_READERS: &[&str] = &[
    "alias", "ash", "bash", "dash", "eval", "ksh", "mksh", "rbash", "script", "sh", "ssh", "su", "trap",
    "watch", "zsh",
];

/// Returns `true` if the program `name` may read an argument as a shell text.
pub(super) fn interprets_argument_as_shell(name: &str) -> bool {
    TEXT_READERS.iter().any(|command| command.eq_ignore_ascii_case(name))
}

/// Returns the places of the commands that `command` runs by its arguments, where they are easily found: behind the
/// options of `sudo` and its like, and behind `-exec`.
pub(super) fn wrapped_command_positions(command: &SimpleCommand) -> Vec<usize> {
    let words = &command.words;
    if !runs_or_redefines_commands(command.program_name()) {
        let is_option =
            |text: &str| matches!(text, "-x" | "-X") || text.starts_with("-exec") || text.starts_with("-ok");
        let is_option = |text: &str| is_option(text) || text.starts_with("--exec");
        let has_options = matches!(command.program_name(), "find" | "fd");
        let options = words.iter().enumerate().filter(|(_, word)| has_options && is_option(&word.text));
        return options.map(|(at, _)| at + 1).collect();
    }
    let mut inner = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let is_argument =
            word.text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) || word.text.contains('=');
        if !is_argument {
            inner.push(at);
            if !runs_or_redefines_commands(base_name(&word.text)) {
                break;
            }
        }
        at += 1;
    }
    inner
}

/// Returns `true` if an option behind the first `fixed_words` words runs programs, or an expansion may be such an option.
pub(super) fn may_run_program_by_option(command: &SimpleCommand, fixed_words: usize) -> bool {
    let name = command.program_name();
    if name == "git" {
        return git_may_run_argument(command, fixed_words);
    }
    // The first word of `tar` needs no dash.
    if name == "tar" && command.words.get(1).is_some_and(|word| word.text.contains(['I', 'F'])) {
        return true;
    }
    let Some((_, options)) = RUNNING_OPTIONS.iter().find(|(program, _)| *program == name) else {
        return false;
    };
    command.words.iter().skip(fixed_words.max(1)).any(|word| {
        let is_count = name == "printf" && may_store_printf_count(&word.text);
        !word.has_no_expansion()
            || is_count
            || options.iter().any(|option| matches_argument_pattern(option, &word.text))
    })
}

/// Returns `true` if `word` is an argument of the lists: `-*x*` is each word of short options with `x`.
pub(super) fn matches_argument_pattern(pattern: &str, word: &str) -> bool {
    match pattern.split_once('*') {
        Some(("-", _)) if word.starts_with("--") => false,
        Some((start, rest)) => {
            word.strip_prefix(start).is_some_and(|end| end.contains(rest.trim_end_matches('*')))
        }
        None => word == pattern,
    }
}

/// Returns `true` if a format of `printf` may contain `%n`, which `bash` stores in the variable that an argument names.
fn may_store_printf_count(format: &str) -> bool {
    format.split('%').skip(1).any(|directive| {
        let is_modifier = |c: char| c.is_ascii_digit() || "#-+ '*.hlqjzLt".contains(c);
        directive.trim_start_matches(is_modifier).starts_with('n')
    })
}
