//! The start of commands in the sandbox of one setting.

#[cfg(target_os = "linux")]
use std::fs;
use std::{env, io, path::Path, process::Stdio, sync::Arc};

use tokio::process::Command;

use super::{
    CommandLine, Confinement, Enforced, RunningCommand, Sandbox, command::watched_command_words,
    scratch::ScratchFolder,
};
#[cfg(target_os = "linux")]
use super::{
    command::{SYSTEM_PATH, find_system_program},
    mechanism::SandboxMechanism,
    namespace::{
        CommandNamespace, MAX_SHELL_DESCRIPTOR, PreparedNamespace, bash_words_closing_descriptors,
        confined_command_words,
    },
    restriction::SYSTEM_FOLDERS,
    thread::SandboxThread,
};

/// Variables that every command has, if the program has them; and those that begin with `LC_`.
const KEPT_VARIABLES: [&str; 7] = ["LANG", "LANGUAGE", "LOGNAME", "SHELL", "TERM", "TZ", "USER"];

/// Starts commands. Dropping it ends the thread of its sandbox; the commands are owned by their [`RunningCommand`].
pub(crate) struct Launcher {
    enforced: Enforced,
    environment: Vec<(String, String)>,
    #[cfg(target_os = "linux")]
    confined: Option<ConfinedSpawner>,
    /// The temporary folder of the commands, which outlives their thread. `None` without a sandbox: they have the one of the program.
    private: Option<Arc<ScratchFolder>>,
}

#[cfg(target_os = "linux")]
struct ConfinedSpawner {
    /// Spawns the commands; `None` if the program that makes the namespace guards files, too.
    thread: Option<SandboxThread>,
    namespace: Option<CommandNamespace>,
    limits: super::Limits,
}

impl Launcher {
    /// Prepares the sandbox. Its commands have the temporary folder `private`, or a new one.
    ///
    /// # Errors
    ///
    /// Returns the message of an error if the sandbox is required and a mechanism is missing.
    pub(crate) async fn start(
        confinement: &Confinement,
        private: Option<Arc<ScratchFolder>>,
    ) -> Result<Self, String> {
        if confinement.sandbox == Sandbox::Off {
            return Ok(Self::without_sandbox("sandbox: it is off"));
        }
        let launcher = Self::start_confined(confinement, private).await?;
        match (confinement.sandbox, launcher.enforced.first_missing_guard()) {
            (Sandbox::Required, Some(guard)) => Err(format!(
                "the sandbox is required, and nothing guards {guard} on this machine: {}; nothing was run. Use a \
                 machine that has it, or `Sandbox::Preferred`",
                launcher.enforced.missing.join("; ")
            )),
            _ => Ok(launcher),
        }
    }

    #[cfg(target_os = "linux")]
    async fn start_confined(
        confinement: &Confinement,
        private: Option<Arc<ScratchFolder>>,
    ) -> Result<Self, String> {
        let failure = |error: io::Error| format!("the sandbox cannot be prepared: {error}; nothing was run");
        let private = match private {
            Some(private) => private,
            None => Arc::new(ScratchFolder::create("tool-").map_err(failure)?),
        };
        let mut confinement = confinement.clone();
        confinement.limits = confinement.limits.lowered_to_own_limits();
        let environment = confined_environment(&confinement, private.path());
        let limits = confinement.limits;
        let SandboxMechanism { enforced, thread, namespace } =
            SandboxMechanism::choose(confinement, &private).await.map_err(failure)?;
        let confined = Some(ConfinedSpawner { thread, namespace, limits });
        Ok(Self { enforced, environment, confined, private: Some(private) })
    }

    #[cfg(not(target_os = "linux"))]
    async fn start_confined(_: &Confinement, _: Option<Arc<ScratchFolder>>) -> Result<Self, String> {
        Ok(Self::without_sandbox("sandbox: there is none for this operating system"))
    }

    fn without_sandbox(reason: &str) -> Self {
        let mut environment = inherited_environment();
        let own = ["HOME", "PATH", "TMPDIR"].into_iter();
        let of_windows = ["SystemRoot", "PATHEXT", "TEMP", "TMP", "USERPROFILE"].into_iter();
        let of_windows = of_windows.filter(|_| cfg!(windows));
        environment.extend(own.chain(of_windows).filter_map(inherited_variable));
        Self {
            enforced: Enforced::nothing(reason),
            environment,
            #[cfg(target_os = "linux")]
            confined: None,
            private: None,
        }
    }

    /// The guards of every command of this launcher.
    pub(crate) fn enforced(&self) -> &Enforced {
        &self.enforced
    }

    /// Starts a command.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no process or memory left, the folder is gone, the private folder or another one was exchanged, or
    /// a descriptor of the program cannot be kept from the command.
    pub(crate) async fn spawn(&self, line: CommandLine) -> io::Result<RunningCommand> {
        #[cfg(unix)]
        super::orphans::reap_orphans();
        // An earlier command may reach the folder around it.
        self.private.as_ref().map_or(Ok(()), |private| private.check_not_exchanged())?;
        let command = |words: Vec<String>| self.build_command(words, &line.folder, &line.environment);
        #[cfg(target_os = "linux")]
        if let Some(ConfinedSpawner { thread, namespace, limits }) = &self.confined {
            let prepared = namespace
                .as_ref()
                .map(|namespace| namespace.prepare_for_command(&line.folder))
                .transpose()?;
            let words = confined_command_words(line.words.clone(), prepared.as_ref(), limits);
            let command = command(words_closing_descriptors(inherited_descriptors()?, words)?);
            let child = match thread {
                Some(thread) => thread.spawn(command).await?,
                None => { command }.spawn()?,
            };
            let is_in_namespace = prepared.is_some();
            let files = prepared.map_or_else(Vec::new, PreparedNamespace::into_files);
            return RunningCommand::new(child, files, is_in_namespace);
        }
        RunningCommand::new(command(watched_command_words(line.words.clone())).spawn()?, Vec::new(), false)
    }

    fn build_command(&self, words: Vec<String>, folder: &Path, environment: &[(String, String)]) -> Command {
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(folder);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        // Without a watcher, the pipe would be the input of the command.
        command.stdin(if cfg!(unix) { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command
    }
}

/// The descriptors that the program left open for its children, and that not every shell can close.
#[cfg(target_os = "linux")]
fn inherited_descriptors() -> io::Result<Vec<u32>> {
    /// In `/proc`, as an octal number.
    const CLOSE_ON_EXEC: u32 = 0o2_000_000;
    let is_inherited = |descriptor: &u32| {
        let path = format!("/proc/self/fdinfo/{descriptor}");
        let information = fs::read_to_string(path).unwrap_or_default();
        let flags = information.lines().find_map(|line| line.strip_prefix("flags:"));
        flags
            .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
            .is_some_and(|flags| flags & CLOSE_ON_EXEC == 0)
    };
    let open =
        fs::read_dir("/proc/self/fd")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(open.filter(|descriptor| *descriptor > MAX_SHELL_DESCRIPTOR).filter(is_inherited).collect())
}

/// `words` after which `descriptors` are closed.
#[cfg(target_os = "linux")]
fn words_closing_descriptors(descriptors: Vec<u32>, words: Vec<String>) -> io::Result<Vec<String>> {
    if descriptors.is_empty() {
        return Ok(words);
    }
    let bash = find_system_program("bash").ok_or_else(|| {
        let message = "the program left descriptors above 9 open for its children, and `bash` alone can close them; \
                       install it, or open them with `O_CLOEXEC`";
        io::Error::other(message)
    })?;
    Ok(bash_words_closing_descriptors(&bash, &descriptors, words))
}

fn inherited_variable(name: &str) -> Option<(String, String)> {
    Some((name.to_owned(), env::var(name).ok()?))
}

fn inherited_environment() -> Vec<(String, String)> {
    let is_locale = |name: &str| name.starts_with("LC_") || KEPT_VARIABLES.contains(&name);
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables.filter(|(name, _)| is_locale(name)).collect()
}

/// The variables of a command whose home is the private folder, and whose `PATH` has the folders that it may read.
#[cfg(target_os = "linux")]
fn confined_environment(confinement: &Confinement, private: &Path) -> Vec<(String, String)> {
    let Confinement { writable, readable, .. } = confinement;
    let is_readable = |folder: &Path| {
        let of_system = SYSTEM_FOLDERS.iter().any(|system| folder.starts_with(system));
        of_system || readable.iter().chain(writable).any(|root| folder.starts_with(root))
    };
    let program_path = env::var("PATH").unwrap_or_default();
    let mut folders: Vec<&str> =
        program_path.split(':').filter(|folder| is_readable(Path::new(folder))).collect();
    folders.extend(
        SYSTEM_PATH.split(':').filter(|folder| !program_path.split(':').any(|known| known == *folder)),
    );
    let private = private.to_string_lossy();
    let mut environment = inherited_environment();
    for (name, value) in [("HOME", &*private), ("TMPDIR", &*private), ("PATH", &folders.join(":"))] {
        environment.push((name.to_owned(), value.to_owned()));
    }
    environment
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn variable(environment: &[(String, String)], name: &str) -> Option<String> {
        environment.iter().rev().find(|(it, _)| it == name).map(|(_, value)| value.clone())
    }

    #[test]
    fn a_confined_command_has_the_private_folder_and_the_programs_that_it_may_read() {
        let mut confinement = Confinement::new(Sandbox::Required);
        let program_path = env::var("PATH").unwrap();
        let others = program_path.split(':').filter(|folder| {
            Path::new(folder).is_absolute()
                && !SYSTEM_FOLDERS.iter().any(|system| Path::new(folder).starts_with(system))
        });
        let others: Vec<&str> = others.collect();
        let path_of = |confinement: &Confinement| {
            let environment = confined_environment(confinement, Path::new("/private"));
            assert_eq!(variable(&environment, "HOME").as_deref(), Some("/private"));
            assert_eq!(variable(&environment, "TMPDIR").as_deref(), Some("/private"));
            variable(&environment, "PATH").unwrap().split(':').map(str::to_owned).collect::<Vec<_>>()
        };
        let path = path_of(&confinement);
        for folder in SYSTEM_PATH.split(':') {
            let count = program_path.split(':').filter(|it| *it == folder).count().max(1);
            assert_eq!(path.iter().filter(|it| *it == folder).count(), count, "{path:?}");
        }
        assert!(path.iter().all(|folder| !others.contains(&folder.as_str())), "{path:?}");
        for other in &others {
            confinement.readable = vec![other.into()];
            assert!(path_of(&confinement).iter().any(|folder| folder == other));
            (confinement.writable, confinement.readable) = (vec![other.into()], Vec::new());
            assert!(path_of(&confinement).iter().any(|folder| folder == other));
            confinement.writable.clear();
        }
    }

    #[test]
    fn few_variables_of_the_program_are_inherited() {
        let inherited = inherited_environment();
        let expected =
            env::vars().filter(|(name, _)| name.starts_with("LC_") || KEPT_VARIABLES.contains(&&**name));
        assert_eq!(inherited, expected.collect::<Vec<_>>());
        assert_eq!(inherited_variable("PATH"), Some(("PATH".to_owned(), env::var("PATH").unwrap())));
        assert_eq!(inherited_variable("NO_SUCH_VARIABLE_OF_TESTS"), None);
        let free = Launcher::without_sandbox("a reason");
        assert_eq!(variable(&free.environment, "PATH"), env::var("PATH").ok());
        assert_eq!(variable(&free.environment, "HOME"), env::var("HOME").ok());
        assert_eq!(free.enforced(), &Enforced::nothing("a reason"));
    }

    #[test]
    fn descriptors_are_closed_by_bash_if_there_are_some() {
        let words = || vec!["ls".to_owned()];
        assert_eq!(words_closing_descriptors(Vec::new(), words()).unwrap(), words());
        let bash = find_system_program("bash").unwrap();
        let expected = bash_words_closing_descriptors(&bash, &[10], words());
        assert_eq!(words_closing_descriptors(vec![10], words()).unwrap(), expected);
    }

    #[test]
    fn descriptors_above_nine_without_close_on_exec_are_inherited() {
        use std::os::fd::AsRawFd as _;
        let file = fs::File::open("/dev/null").unwrap();
        let kept = rustix::io::fcntl_dupfd_cloexec(&file, 200).unwrap();
        let number = kept.as_raw_fd().unsigned_abs();
        assert!(!inherited_descriptors().unwrap().contains(&number));
        rustix::io::fcntl_setfd(&kept, rustix::io::FdFlags::empty()).unwrap();
        let inherited = inherited_descriptors().unwrap();
        rustix::io::fcntl_setfd(&kept, rustix::io::FdFlags::CLOEXEC).unwrap();
        assert!(inherited.contains(&number) && inherited.iter().all(|descriptor| *descriptor > 9));
    }
}
