//! The namespaces around a command, and what its shell closes and limits first.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Limits,
    bubblewrap::SealedFilter,
    command::{LimitScript, RUN_IN_GROUP, SHELL, WATCHER_SCRIPT, shell_words},
};

/// The descriptor by which `bubblewrap` reads the filter of system calls.
pub(super) const FILTER_DESCRIPTOR: u8 = 9;

/// The last descriptor that every shell can name.
pub(super) const MAX_SHELL_DESCRIPTOR: u32 = 9;

/// Ends the watcher after a namespace, of which nothing is left. The shell ends by a signal that nothing in the namespace
/// can send if its first process did not start.
const END_OF_NAMESPACE: &str = r#"
kill -s KILL "$watcher"
wait "$watcher" 2>/dev/null
[ "$started" ] || kill -s USR1 "$$"
exit "$status""#;

/// The namespaces of a command.
#[derive(Clone, Debug)]
pub(super) struct Namespace {
    /// The program that makes them with its arguments, before those of the command. It is a path: a name would be looked up
    /// where commands may write.
    pub(super) words: Vec<String>,
    /// The path of `setsid`: in a session of its own, the command cannot signal the group of the watcher.
    pub(super) own_session: PathBuf,
    /// The filter that the program sets; `None` if the thread has set it.
    pub(super) filter: Option<Arc<SealedFilter>>,
}

impl Namespace {
    /// Namespaces by `unshare`. Without `maps_user`, the user has no name: `/proc` would have to be writable for it.
    pub(super) fn of_unshare(
        program: &Path,
        own_session: PathBuf,
        maps_user: bool,
        has_network: bool,
    ) -> Self {
        let program = program.to_string_lossy();
        let mut arguments = vec![&*program, "--user", "--pid", "--ipc", "--fork", "--kill-child=SIGKILL"];
        if maps_user {
            arguments.push("--map-current-user");
        }
        if !has_network {
            arguments.push("--net");
        }
        arguments.push("--");
        Self { words: arguments.into_iter().map(str::to_owned).collect(), own_session, filter: None }
    }

    /// The words that make the namespaces and end.
    pub(super) fn probe_words(&self) -> Vec<String> {
        let mut words = self.words.clone();
        words.extend([SHELL, "-c", ":"].map(str::to_owned));
        match self.filter_redirection() {
            None => words,
            Some(redirection) => shell_words(format!("\"$@\"{redirection}"), words),
        }
    }

    /// Opens the filter for the program.
    fn filter_redirection(&self) -> Option<String> {
        self.filter.as_ref().map(|filter| format!(" {FILTER_DESCRIPTOR}<{}", filter.path()))
    }

    /// Runs the program, and keeps what its first process writes to descriptor 8.
    fn run_script(&self) -> String {
        let redirection = self.filter_redirection().unwrap_or_default();
        format!("\nexec 7>&1\nstarted=$(\"$@\" 8>&1 >&7 7>&-{redirection})\nstatus=$?")
    }
}

/// The words that run `command` watched and limited, in a namespace if there is one.
pub(super) fn confined_words(
    command: Vec<String>,
    namespace: Option<&Namespace>,
    limits: &Limits,
) -> Vec<String> {
    let limits = LimitScript::new(limits);
    let (command, run) = match namespace {
        None => (command, RUN_IN_GROUP.to_owned()),
        Some(namespace) => {
            let (own_session, limit) = (namespace.own_session.display(), limits.of_all_processes());
            let script = format!("echo started >&8; exec 8>&-; {limit}; {own_session} \"$@\"; exit \"$?\"");
            let mut words = namespace.words.clone();
            words.extend(shell_words(script, command));
            (words, namespace.run_script() + END_OF_NAMESPACE)
        }
    };
    shell_words(format!("{}\n{WATCHER_SCRIPT}{run}", limits.of_each_process()), command)
}

/// The words that close `descriptors` and run `command`. `bash` alone can name those above 9.
pub(super) fn closing_words(bash: &Path, descriptors: &[u32], command: Vec<String>) -> Vec<String> {
    let closed: String = descriptors.iter().map(|descriptor| format!(" {descriptor}<&-")).collect();
    let script = format!("exec{closed}; exec \"$@\"");
    let mut words = shell_words(script, command);
    words[0] = bash.to_string_lossy().into_owned();
    words
}
