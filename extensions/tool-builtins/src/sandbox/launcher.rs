//! The start of commands in the sandbox of one setting.

use std::{env, io, path::Path, process::Stdio};

use tempfile::TempDir;
use tokio::process::Command;

#[cfg(target_os = "linux")]
use super::thread::SandboxThread;
use super::{CommandLine, Confinement, Enforced, Running, Sandbox, command::watched_words};
#[cfg(target_os = "linux")]
use super::{
    command::{Namespace, SYSTEM_PATH, confined_words},
    restriction::SYSTEM_FOLDERS,
};

/// Variables that every command has, if the program has them; and those that begin with `LC_`.
const KEPT_VARIABLES: [&str; 7] = ["LANG", "LANGUAGE", "LOGNAME", "SHELL", "TERM", "TZ", "USER"];

/// Starts commands. Dropping it ends the thread of its sandbox; the commands are owned by their [`Running`].
pub(crate) struct Launcher {
    enforced: Enforced,
    /// The temporary folder of the commands. `None` without a sandbox: they have the one of the program.
    #[allow(dead_code, reason = "it is removed when it is dropped")]
    private: Option<TempDir>,
    environment: Vec<(String, String)>,
    #[cfg(target_os = "linux")]
    confined: Option<Confined>,
}

#[cfg(target_os = "linux")]
struct Confined {
    thread: SandboxThread,
    namespace: Option<Namespace>,
    limits: super::Limits,
}

impl Launcher {
    /// Prepares the sandbox.
    ///
    /// # Errors
    ///
    /// Returns the message of an error if the sandbox is required and a mechanism is missing.
    pub(crate) async fn start(confinement: &Confinement) -> Result<Self, String> {
        if confinement.sandbox == Sandbox::Off {
            return Ok(Self::without_sandbox("sandbox: it is off"));
        }
        let launcher = Self::start_confined(confinement).await?;
        match (confinement.sandbox, launcher.enforced.first_gap()) {
            (Sandbox::Required, Some(guard)) => Err(format!(
                "the sandbox is required, and nothing guards {guard} on this machine: {}; nothing was run. Use a \
                 machine that has it, or `Sandbox::Preferred`",
                launcher.enforced.missing.join("; ")
            )),
            _ => Ok(launcher),
        }
    }

    #[cfg(target_os = "linux")]
    async fn start_confined(confinement: &Confinement) -> Result<Self, String> {
        let failure = |error: io::Error| format!("the sandbox cannot be prepared: {error}; nothing was run");
        let private = tempfile::Builder::new().prefix("tool-").tempdir().map_err(failure)?;
        let mut confinement = confinement.clone();
        confinement.limits = confinement.limits.below_those_of_the_program();
        let environment = confined_environment(&confinement, private.path());
        let limits = confinement.limits;
        let (thread, report) = SandboxThread::start(confinement, private.path()).await.map_err(failure)?;
        Ok(Self {
            enforced: report.enforced,
            private: Some(private),
            environment,
            confined: Some(Confined { thread, namespace: report.namespace, limits }),
        })
    }

    #[cfg(not(target_os = "linux"))]
    async fn start_confined(_: &Confinement) -> Result<Self, String> {
        Ok(Self::without_sandbox("sandbox: there is none for this operating system"))
    }

    fn without_sandbox(reason: &str) -> Self {
        let mut environment = kept_environment();
        environment.extend(["HOME", "PATH", "TMPDIR"].into_iter().filter_map(program_variable));
        Self {
            enforced: Enforced::nothing(reason),
            private: None,
            environment,
            #[cfg(target_os = "linux")]
            confined: None,
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
    /// Returns an error if there is no process or memory left, or the folder is gone.
    pub(crate) async fn spawn(&self, line: CommandLine) -> io::Result<Running> {
        let command = |words: Vec<String>| self.prepared_command(words, &line.folder, &line.environment);
        #[cfg(target_os = "linux")]
        if let Some(Confined { thread, namespace, limits }) = &self.confined {
            let words = confined_words(line.words.clone(), namespace.as_ref(), limits);
            let child = thread.spawn(command(words)).await?;
            return Running::new(child, namespace.is_some());
        }
        Running::new(command(watched_words(line.words.clone())).spawn()?, false)
    }

    fn prepared_command(
        &self,
        words: Vec<String>,
        folder: &Path,
        environment: &[(String, String)],
    ) -> Command {
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(folder);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command
    }
}

fn program_variable(name: &str) -> Option<(String, String)> {
    Some((name.to_owned(), env::var(name).ok()?))
}

fn kept_environment() -> Vec<(String, String)> {
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
    let mut environment = kept_environment();
    for (name, value) in [("HOME", &*private), ("TMPDIR", &*private), ("PATH", &folders.join(":"))] {
        environment.push((name.to_owned(), value.to_owned()));
    }
    environment
}
