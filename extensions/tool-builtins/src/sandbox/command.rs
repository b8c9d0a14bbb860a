//! The command line around a command.
//!
//! The outer shell sets limits and has a watcher: standard input of the outer shell is a pipe whose other end the
//! program holds. When the program ends, by whatever means, the watcher reads the end of the pipe and kills the process
//! group, and with it the namespace. The inner shell is the first process of the namespace: it waits for the command
//! and collects orphans; when it ends, the kernel ends what is left.

use std::path::{Path, PathBuf};

use super::Limits;

/// The shell of every Unix, in which the scripts below are written.
pub(super) const SHELL: &str = "/bin/sh";

/// The folders with the programs of the system.
pub(super) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Starts the watcher.
pub(super) const WATCHER_SCRIPT: &str = r#"exec 3<&0 </dev/null
(read -r _ <&3; kill -s KILL 0) >/dev/null 2>&1 &
watcher=$!
exec 3<&-"#;

/// Starts the watcher in `bash` itself, and runs the text of the command there: a shell around it takes as long as `bash`. The watcher is
/// no job and no child of it, so that nothing waits for it. In one line, so that errors name the lines of the text.
const WATCHED_BASH_SCRIPT: &str = r#"exec 3<&0 </dev/null; ( { read -r _ <&3; kill -s KILL 0; } >/dev/null 2>&1 & ); exec 3<&-; command_text=$1; shift; eval "$command_text""#;

/// Closes what the program left open for its children, as far as every shell can name it.
const CLOSE_INHERITED: &str = "exec 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-";

/// Leaves the watcher in the group, which the program kills next: if the program has ended, the watcher does it. A
/// command that ends because its output has no reader any more is such a case.
pub(super) const RUN_IN_GROUP: &str = r#"
"$@"
status=$?
exit "$status""#;

/// The program of the system with that name.
pub(crate) fn find_system_program(name: &str) -> Option<PathBuf> {
    SYSTEM_PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// A command, before the sandbox is around it.
#[derive(Clone, Debug)]
pub(crate) struct CommandLine {
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
}

/// Scripts that set limits.
pub(super) struct LimitScript<'a> {
    limits: &'a Limits,
}

impl<'a> LimitScript<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Self { limits }
    }

    /// Sets the limits of each process alone.
    pub(super) fn set_process_limits(&self) -> String {
        let limits = self.limits_in_ulimit_units().map(|(name, limit)| format!("ulimit -{name} {limit}"));
        format!("{{ ulimit -c 0; {}; {CLOSE_INHERITED}; }} 2>/dev/null", limits.join("; "))
    }

    /// Fails unless the limits of each process hold.
    pub(super) fn set_and_check_process_limits(&self) -> String {
        let checks = self
            .limits_in_ulimit_units()
            .map(|(name, limit)| format!("[ \"$(ulimit -{name})\" -le {limit} ]"));
        format!("{}; {}", self.set_process_limits(), checks.join(" && "))
    }

    /// Sets the limit of all processes of the user, which a namespace counts by itself.
    pub(super) fn set_process_count_limit(&self) -> String {
        let limit = self.limits.processes;
        format!("{{ ulimit -u {limit} || ulimit -p {limit}; }} 2>/dev/null")
    }

    /// The limits in the units of `ulimit`.
    fn limits_in_ulimit_units(&self) -> [(&'static str, u64); 3] {
        let Limits { memory_bytes, file_bytes, open_files, .. } = self.limits;
        [("d", memory_bytes / 1024), ("f", file_bytes / 512), ("n", *open_files)]
    }
}

/// The words that run `command` watched, without a sandbox. Elsewhere than on Unix, there is no watcher.
pub(super) fn watched_command_words(command: Vec<String>) -> Vec<String> {
    if !cfg!(unix) {
        return command;
    }
    match &*command {
        [bash, option, text] if option == "-c" && Path::new(bash).file_name() == Some("bash".as_ref()) => {
            [bash, option, WATCHED_BASH_SCRIPT, "bash", text].map(str::to_owned).into()
        }
        _ => shell_script_words(format!("{WATCHER_SCRIPT}{RUN_IN_GROUP}"), command),
    }
}

/// The words that run `script` with `arguments`.
pub(super) fn shell_script_words(script: String, arguments: Vec<String>) -> Vec<String> {
    let mut words = vec![SHELL.to_owned(), "-c".to_owned(), script, "sh".to_owned()];
    words.extend(arguments);
    words
}

/// The same in `bash`, which reads no file that a variable of the command names: it is not in the sandbox, where that file may have been
/// written.
pub(super) fn bash_script_words(bash: &Path, script: String, arguments: Vec<String>) -> Vec<String> {
    let mut words = vec![bash.to_string_lossy().into_owned(), "-p".to_owned()];
    words.extend(shell_script_words(script, arguments).into_iter().skip(1));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { memory_bytes: 4 << 20, file_bytes: 3 << 20, open_files: 100, processes: 50 };

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn limits_are_set_in_the_units_of_ulimit_and_checked() {
        let script = LimitScript::new(&LIMITS);
        let set = "{ ulimit -c 0; ulimit -d 4096; ulimit -f 6144; ulimit -n 100; exec 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; } \
                   2>/dev/null";
        assert_eq!(script.set_process_limits(), set);
        let checks =
            r#"[ "$(ulimit -d)" -le 4096 ] && [ "$(ulimit -f)" -le 6144 ] && [ "$(ulimit -n)" -le 100 ]"#;
        assert_eq!(script.set_and_check_process_limits(), format!("{set}; {checks}"));
        assert_eq!(script.set_process_count_limit(), "{ ulimit -u 50 || ulimit -p 50; } 2>/dev/null");
    }

    #[test]
    fn words_run_a_script_with_its_arguments() {
        let arguments = || owned(&["a", "b c"]);
        let expected = owned(&["/bin/sh", "-c", "the script", "sh", "a", "b c"]);
        assert_eq!(shell_script_words("the script".to_owned(), arguments()), expected);
        let expected = owned(&["/usr/bin/bash", "-p", "-c", "the script", "sh", "a", "b c"]);
        assert_eq!(
            bash_script_words(Path::new("/usr/bin/bash"), "the script".to_owned(), arguments()),
            expected
        );
    }

    #[cfg(unix)]
    #[test]
    fn bash_watches_its_own_text_and_another_command_has_a_shell_around_it() {
        for bash in ["bash", "/bin/bash"] {
            let expected = owned(&[bash, "-c", WATCHED_BASH_SCRIPT, "bash", "echo"]);
            assert_eq!(watched_command_words(owned(&[bash, "-c", "echo"])), expected);
        }
        let script = format!("{WATCHER_SCRIPT}{RUN_IN_GROUP}");
        for command in [
            &["sh", "-c", "echo"][..],
            &["bash", "-x", "echo"],
            &["bash", "a.sh"],
            &["bash", "-c", "echo", "a"],
            &["ls"],
        ] {
            let words = watched_command_words(owned(command));
            assert_eq!(words, shell_script_words(script.clone(), owned(command)));
        }
    }

    #[test]
    fn a_program_of_the_system_is_found_in_its_folders_alone() {
        assert!(find_system_program("sh").is_some_and(|path| path.is_absolute() && path.ends_with("sh")));
        assert_eq!(find_system_program("no-such-program"), None);
        assert_eq!(find_system_program("."), None);
    }
}
