//! Arguments of `git` that run programs, write files, or set what other commands of it run.

use super::{
    danger::matches_argument_pattern,
    script::{ShellWord, SimpleCommand},
};

/// Options of many of its commands.
const RUNNING_OPTIONS: &[&str] = &["--ex*", "--conf*", "--upl*", "--rec*", "--op*", "--ou*", "-O*", "-x*"];

/// Its commands that run what an argument names, with the argument; `*` is any one. Options may be abbreviated as far as no other
/// one of the command begins alike.
const RUNNING_COMMANDS: &[(&str, &[&str])] = &[
    ("apply", &["--bu*"]),
    ("archive", &["-*o*", "--o*", "--e*"]),
    ("bisect", &["run", "view", "visualize"]),
    ("bugreport", &["-*o*", "--o*"]),
    ("checkout-index", &["--p*"]),
    // A strategy is the end of the name of a program, in which a slash leads to one of the repository.
    ("cherry-pick", &["--strategy", "--strategy=*"]),
    // A template has hooks.
    ("clone", &["-*c*", "-*u*", "--co*", "--u*", "--t*"]),
    // It writes what other commands run: aliases, hooks, programs.
    ("config", &["*"]),
    ("credential-store", &["--f*"]),
    ("daemon", &["*"]),
    ("diagnose", &["-*o*", "--o*"]),
    // The name of a tool is a path of a script.
    ("difftool", &["-*x*", "-*t*", "--t*"]),
    ("filter-branch", &["*"]),
    ("filter-repo", &["*"]),
    ("for-each-repo", &["*"]),
    ("format-patch", &["-*o*"]),
    ("grep", &["-*O*"]),
    // The name of a hook is a path.
    ("hook", &["*"]),
    ("http-fetch", &["--ind*"]),
    ("init", &["--t*"]),
    ("init-db", &["--t*"]),
    ("instaweb", &["*"]),
    ("ls-remote", &["--u*"]),
    ("mailsplit", &["-o*"]),
    ("maintenance", &["--c*"]),
    ("merge-index", &["*"]),
    ("mergetool", &["-t*", "--to*"]),
    ("pull", &["-*s*", "--strategy", "--strategy=*"]),
    ("push", &["--e*"]),
    ("read-tree", &["--i*"]),
    ("rebase", &["-*x*", "-*s*", "--strategy", "--strategy=*"]),
    ("receive-pack", &["*"]),
    ("remote-ext", &["*"]),
    ("repack", &["--filter-t*"]),
    ("send-email", &["*"]),
    ("send-pack", &["--e*"]),
    ("shell", &["*"]),
    ("submodule", &["foreach"]),
    ("submodule--helper", &["*"]),
    ("svn", &["*"]),
];

/// Its own options whose value is the next word.
const VALUE_OPTIONS: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];

/// Returns `true` if `git` runs what an argument behind the first `fixed_words` words names, or an expansion may be such an argument.
pub(super) fn git_may_run_argument(command: &SimpleCommand, fixed_words: usize) -> bool {
    let words = &command.words;
    let Some(place) = git_subcommand_position_if_options_fixed(words, fixed_words) else { return true };
    let name = words.get(place).map_or("", |word| word.text.as_str());
    // It is a part of the path of a program.
    if name.contains('/') && place >= fixed_words {
        return true;
    }
    let of_command = RUNNING_COMMANDS.iter().find(|(command, _)| *command == name);
    let arguments = of_command.map_or(&[][..], |(_, arguments)| arguments);
    words.iter().skip(fixed_words.max(1)).any(|word| {
        let mut known = RUNNING_OPTIONS.iter().chain(arguments);
        !word.has_no_expansion() || known.any(|argument| matches_argument_pattern(argument, &word.text))
    })
}

/// The place of the command of `git` in its `words`; `None` if an option before it, which sets the configuration, is behind the
/// first `fixed_words` words.
fn git_subcommand_position_if_options_fixed(words: &[ShellWord], fixed_words: usize) -> Option<usize> {
    let mut place = 1;
    while let Some(word) = words.get(place).filter(|word| word.text.starts_with('-')) {
        let has_value = VALUE_OPTIONS.contains(&word.text.as_str());
        // A rule that names `-C` alone is about all folders.
        let end = place + usize::from(has_value && word.text != "-C");
        if end >= fixed_words {
            return None;
        }
        place += 1 + usize::from(has_value);
    }
    Some(place)
}
