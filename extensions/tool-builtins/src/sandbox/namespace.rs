//! The namespaces around a command, and what its shell closes and limits first.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use super::{
    Limits,
    bubblewrap::{Bubblewrap, OpenedMounts},
    command::{LimitScript, RUN_IN_GROUP, SHELL, WATCHER_SCRIPT, bash_script_words, shell_script_words},
};

/// The last descriptor that every shell can name.
pub(super) const MAX_SHELL_DESCRIPTOR: u32 = 9;

/// Ends the watcher after a namespace, of which nothing is left; `bash` would report that. The shell ends by a signal that nothing in the namespace
/// can send if its first process did not start.
const END_OF_NAMESPACE: &str = r#"
exec 2>/dev/null
kill -s KILL "$watcher"
wait "$watcher"
[ "$started" ] || kill -s USR1 "$$"
exit "$status""#;

/// The maker of the namespaces of commands.
#[derive(Debug)]
pub(super) struct CommandNamespace {
    maker: NamespaceMaker,
    /// The path of `setsid`: in a session of its own, the command cannot signal the group of the watcher.
    own_session: PathBuf,
}

#[derive(Debug)]
enum NamespaceMaker {
    /// The words of `unshare`, before those of the command. The first one is a path: a name would be looked up where commands may
    /// write.
    Unshare(Vec<String>),
    Bubblewrap(Box<Bubblewrap>),
}

/// The namespace of one command.
#[derive(Debug)]
pub(super) struct PreparedNamespace {
    /// The words that make it, before those of the command.
    words: Vec<String>,
    own_session: PathBuf,
    mounts: OpenedMounts,
}

impl CommandNamespace {
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
        let words = arguments.into_iter().map(str::to_owned).collect();
        Self { maker: NamespaceMaker::Unshare(words), own_session }
    }

    pub(super) fn of_bubblewrap(bubblewrap: Bubblewrap, own_session: PathBuf) -> Self {
        Self { maker: NamespaceMaker::Bubblewrap(Box::new(bubblewrap)), own_session }
    }

    /// Prepares the namespace of a command that starts in `folder`.
    ///
    /// # Errors
    ///
    /// Returns an error if a path of the setting is a link by now, or no descriptor is left.
    pub(super) fn prepare_for_command(&self, folder: &Path) -> io::Result<PreparedNamespace> {
        let (words, mounts) = match &self.maker {
            NamespaceMaker::Unshare(words) => (words.clone(), OpenedMounts::default()),
            NamespaceMaker::Bubblewrap(bubblewrap) => {
                let mounts = bubblewrap.open_mounts()?;
                (bubblewrap.words_before_command(&mounts, folder)?, mounts)
            }
        };
        Ok(PreparedNamespace { words, own_session: self.own_session.clone(), mounts })
    }
}

impl PreparedNamespace {
    /// The words that make the namespace and end.
    pub(super) fn probe_words(&self) -> Vec<String> {
        let mut words = self.words.clone();
        words.extend([SHELL, "-c", ":"].map(str::to_owned));
        self.script_words(format!("\"$@\"{}", self.mounts.redirections), words)
    }

    /// The files that are open until the command has ended.
    pub(super) fn into_files(self) -> Vec<File> {
        self.mounts.files
    }

    /// The words that run `script`, which may name the descriptors of the files.
    fn script_words(&self, script: String, arguments: Vec<String>) -> Vec<String> {
        match &self.mounts.bash {
            Some(bash) => bash_script_words(bash, script, arguments),
            None => shell_script_words(script, arguments),
        }
    }

    /// Runs the program, and keeps what its first process writes to descriptor 8.
    fn script_that_runs_program(&self) -> String {
        let redirections = &self.mounts.redirections;
        format!("\nexec 7>&1\nstarted=$(\"$@\" 8>&1 >&7 7>&-{redirections})\nstatus=$?")
    }
}

/// The words that run `command` watched and limited, in a namespace if there is one.
pub(super) fn confined_command_words(
    command: Vec<String>,
    namespace: Option<&PreparedNamespace>,
    limits: &Limits,
) -> Vec<String> {
    let limits = LimitScript::new(limits);
    let script = |run: &str| format!("{}\n{WATCHER_SCRIPT}{run}", limits.set_process_limits());
    let Some(namespace) = namespace else { return shell_script_words(script(RUN_IN_GROUP), command) };
    let (own_session, limit) = (namespace.own_session.display(), limits.set_process_count_limit());
    let inner = format!("echo started >&8; exec 8>&-; {limit}; {own_session} \"$@\"; exit \"$?\"");
    let mut words = namespace.words.clone();
    words.extend(shell_script_words(inner, command));
    namespace.script_words(script(&(namespace.script_that_runs_program() + END_OF_NAMESPACE)), words)
}

/// The words that close `descriptors` and run `command`. `bash` alone can name those above 9.
pub(super) fn bash_words_closing_descriptors(
    bash: &Path,
    descriptors: &[u32],
    command: Vec<String>,
) -> Vec<String> {
    let closed: String = descriptors.iter().map(|descriptor| format!(" {descriptor}<&-")).collect();
    let script = format!("exec{closed}; exec \"$@\"");
    bash_script_words(bash, script, command)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn unshare(maps_user: bool, has_network: bool) -> PreparedNamespace {
        let namespace = CommandNamespace::of_unshare(
            Path::new("/bin/unshare"),
            "/bin/setsid".into(),
            maps_user,
            has_network,
        );
        namespace.prepare_for_command(Path::new("/")).unwrap()
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_namespace_of_unshare_has_no_network_and_no_user_unless_it_is_said() {
        for (maps_user, has_network, options) in [
            (false, false, &["--net"][..]),
            (false, true, &[]),
            (true, false, &["--map-current-user", "--net"]),
            (true, true, &["--map-current-user"]),
        ] {
            let start = ["/bin/unshare", "--user", "--pid", "--ipc", "--fork", "--kill-child=SIGKILL"];
            let words = [&start[..], options, &["--"]].concat();
            let namespace = unshare(maps_user, has_network);
            assert_eq!(namespace.words, owned(&words));
            let probe = [&["/bin/sh", "-c", "\"$@\"", "sh"][..], &words, &["/bin/sh", "-c", ":"]].concat();
            assert_eq!(namespace.probe_words(), owned(&probe));
            assert!(namespace.into_files().is_empty());
        }
    }

    #[test]
    fn a_command_is_limited_and_watched_within_a_namespace_and_without_one() {
        let limits = Limits { memory_bytes: 1024, file_bytes: 512, open_files: 3, processes: 4 };
        let set = LimitScript::new(&limits).set_process_limits();
        let command = || owned(&["ls", "a b"]);
        let script = format!("{set}\n{WATCHER_SCRIPT}{RUN_IN_GROUP}");
        assert_eq!(confined_command_words(command(), None, &limits), shell_script_words(script, command()));
        let namespace = unshare(true, true);
        let outer = format!(
            "{set}\n{WATCHER_SCRIPT}\nexec 7>&1\nstarted=$(\"$@\" 8>&1 >&7 7>&-)\nstatus=$?{END_OF_NAMESPACE}"
        );
        let inner = "echo started >&8; exec 8>&-; { ulimit -u 4 || ulimit -p 4; } 2>/dev/null; /bin/setsid \"$@\"; exit \"$?\"";
        let mut words = namespace.words.clone();
        words.extend(shell_script_words(inner.to_owned(), command()));
        assert_eq!(
            confined_command_words(command(), Some(&namespace), &limits),
            shell_script_words(outer, words)
        );
    }

    #[test]
    fn bash_names_the_descriptors_that_other_shells_cannot() {
        let bash = Path::new("/bin/bash");
        let words = bash_words_closing_descriptors(bash, &[10, 123], owned(&["ls"]));
        let script = "exec 10<&- 123<&-; exec \"$@\"".to_owned();
        assert_eq!(words, bash_script_words(bash, script, owned(&["ls"])));
        let mut namespace = unshare(false, false);
        namespace.mounts.bash = Some(bash.to_owned());
        namespace.mounts.redirections = " 30</a".to_owned();
        let mut inner = namespace.words.clone();
        inner.extend(owned(&["/bin/sh", "-c", ":"]));
        assert_eq!(namespace.probe_words(), bash_script_words(bash, "\"$@\" 30</a".to_owned(), inner));
    }
}
