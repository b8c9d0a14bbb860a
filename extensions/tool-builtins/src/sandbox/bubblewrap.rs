//! Commands in the mount namespace of `bubblewrap`.
//!
//! The namespace has the paths of the setting and no others, so that a command neither sees nor changes another file. The
//! first process of the namespace stays in the process group of the command: one signal to the group, whose leader holds
//! the number, ends it at each moment of its start. `--new-session` would take it out of the group before the kernel
//! binds its end to its parent; the command itself gets its session later, by `setsid`.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write as _},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{MemfdFlags, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use seccompiler::BpfProgram;

use super::{
    Confinement,
    command::find_system_program,
    filter::syscall_filter,
    named_path::open_named_path,
    restriction::{DEVICES, SYSTEM_FOLDERS, SYSTEM_SETTINGS},
    scratch::ScratchFolder,
};

/// The descriptor by which `bubblewrap` reads the filter of system calls.
const FILTER_DESCRIPTOR: u8 = 9;

/// The first descriptor of the paths that every shell can name: no script uses it, nor the two after it.
const FIRST_SHELL_DESCRIPTOR: u32 = 4;
const MAX_SHELL_MOUNTS: usize = 3;

/// The first descriptor of more paths: `bash` uses some that are lower.
const FIRST_BASH_DESCRIPTOR: u32 = 30;

/// The filter of system calls in the memory of the program, where no command can change it.
#[derive(Debug)]
struct SealedFilter(File);

impl SealedFilter {
    /// Stores `filter` as `bubblewrap` reads it.
    fn new(filter: &BpfProgram) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(filter.len() * 8);
        for instruction in filter {
            bytes.extend_from_slice(&instruction.code.to_ne_bytes());
            bytes.extend_from_slice(&[instruction.jt, instruction.jf]);
            bytes.extend_from_slice(&instruction.k.to_ne_bytes());
        }
        let mut file =
            File::from(memfd_create("tool-filter", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        file.write_all(&bytes)?;
        fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        Ok(Self(file))
    }

    /// The path by which a child of the program opens it.
    fn descriptor_path(&self) -> String {
        descriptor_path_for_children(&self.0)
    }
}

/// `bubblewrap` with the setting of its commands.
#[derive(Debug)]
pub(super) struct Bubblewrap {
    /// The program with all arguments that are the same for each command.
    words: Vec<String>,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    private: Arc<ScratchFolder>,
    filter: SealedFilter,
    /// The shell that names any descriptor.
    bash: Option<PathBuf>,
}

/// The paths that `bubblewrap` mounts for one command, opened.
#[derive(Debug, Default)]
pub(super) struct OpenedMounts {
    /// Open until the command has ended.
    pub(super) files: Vec<File>,
    /// The shell that names their descriptors, if not each one can.
    pub(super) bash: Option<PathBuf>,
    /// Their redirections, in that shell.
    pub(super) redirections: String,
    /// The arguments that mount them.
    words: Vec<String>,
}

impl Bubblewrap {
    /// # Errors
    ///
    /// Returns an error if a path of the setting is no Unicode, which the command would not see, or if the processor has no filter.
    pub(super) fn new(
        program: &Path,
        confinement: &Confinement,
        private: Arc<ScratchFolder>,
    ) -> io::Result<Self> {
        let filter = syscall_filter(confinement.permits_network).map_err(io::Error::other)?;
        let filter = SealedFilter::new(&filter)?;
        let mut words = vec![unicode_path(program)?.to_owned()];
        let options =
            ["--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"];
        words.extend(options.map(str::to_owned));
        words.extend(["--seccomp".to_owned(), FILTER_DESCRIPTOR.to_string()]);
        if confinement.permits_network {
            words.push("--share-net".to_owned());
        }
        for path in SYSTEM_FOLDERS.map(Path::new) {
            match fs::read_link(path) {
                // `/bin` is a link to `/usr/bin` where the two are merged.
                Ok(target) => words
                    .extend(["--symlink", unicode_path(&target)?, unicode_path(path)?].map(str::to_owned)),
                Err(_) => words.extend(mount_words("--ro-bind-try", path)?),
            }
        }
        for path in SYSTEM_SETTINGS {
            words.extend(mount_words("--ro-bind-try", Path::new(path))?);
        }
        let Confinement { readable, writable, .. } = confinement.clone();
        for path in readable.iter().chain(&writable) {
            unicode_path(path)?;
        }
        Ok(Self { words, readable, writable, private, filter, bash: find_system_program("bash") })
    }

    /// Opens the paths of the setting for a command. A command may have put something else at each of them, and may do so until they
    /// are mounted: a link is refused, and `bubblewrap` gets handles.
    ///
    /// # Errors
    ///
    /// Returns an error if there is a link at one of them, or no descriptor is left.
    pub(super) fn open_mounts(&self) -> io::Result<OpenedMounts> {
        let readable = self.readable.iter().map(|path| ("--ro-bind-fd", path));
        // What is writable comes last: it may contain what is readable, or be a part of it.
        let named = readable.chain(self.writable.iter().map(|path| ("--bind-fd", path)));
        let mut files = Vec::new();
        for (option, path) in named {
            let Some(file) = open_named_path(path, OFlags::RDONLY | OFlags::NONBLOCK)? else { continue };
            let kind = file.metadata()?.file_type();
            if kind.is_dir() || kind.is_file() {
                files.push((option, path, file));
            }
        }
        // The private folder is one more.
        let (bash, first_descriptor) = match (files.len() < MAX_SHELL_MOUNTS, &self.bash) {
            (true, _) => (None, FIRST_SHELL_DESCRIPTOR),
            (false, Some(bash)) => (Some(bash.clone()), FIRST_BASH_DESCRIPTOR),
            (false, None) => {
                let message =
                    "without `bash`, a command has at most two readable and writable paths; install it";
                return Err(io::Error::other(message));
            }
        };
        let mut mounts = OpenedMounts { bash, ..OpenedMounts::default() };
        mounts.add_redirection(FILTER_DESCRIPTOR.into(), &self.filter.descriptor_path());
        let mut descriptor = first_descriptor;
        for (option, path, file) in files {
            mounts.add_mount(option, descriptor, &descriptor_path_for_children(&file), unicode_path(path)?);
            mounts.files.push(file);
            descriptor += 1;
        }
        mounts.add_mount(
            "--bind-fd",
            descriptor,
            &self.private.path_for_children(),
            unicode_path(self.private.path())?,
        );
        Ok(mounts)
    }

    /// The words that run a command in `folder`, before its own.
    ///
    /// # Errors
    ///
    /// Returns an error if a path is no Unicode.
    pub(super) fn words_before_command(
        &self,
        mounts: &OpenedMounts,
        folder: &Path,
    ) -> io::Result<Vec<String>> {
        let mut words = self.words.clone();
        words.extend(mounts.words.iter().cloned());
        for path in DEVICES {
            words.extend(mount_words("--dev-bind-try", Path::new(path))?);
        }
        // The folders that lead to the others are memory.
        if !self.writable.iter().any(|folder| folder == Path::new("/")) {
            words.extend(["--remount-ro", "/"].map(str::to_owned));
        }
        // If it is not there, nothing runs: the folder of the program is no substitute.
        words.extend(["--chdir", unicode_path(folder)?, "--"].map(str::to_owned));
        Ok(words)
    }
}

impl OpenedMounts {
    /// Mounts what is open as `source` at `target`.
    fn add_mount(&mut self, option: &str, descriptor: u32, source: &str, target: &str) {
        self.add_redirection(descriptor, source);
        self.words.extend([option.to_owned(), descriptor.to_string(), target.to_owned()]);
    }

    /// Opens `path` as `descriptor`.
    fn add_redirection(&mut self, descriptor: u32, path: &str) {
        // Writing to a string never fails.
        let _ = write!(self.redirections, " {descriptor}<{path}");
    }
}

/// The words that mount `path` at its own place.
fn mount_words(option: &str, path: &Path) -> io::Result<[String; 3]> {
    let path = unicode_path(path)?;
    Ok([option.to_owned(), path.to_owned(), path.to_owned()])
}

fn unicode_path(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("`{}` is no Unicode", path.display()))
    })
}

/// The path by which a child of the program opens `file` of the program.
pub(super) fn descriptor_path_for_children(file: &impl AsRawFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

#[cfg(test)]
mod tests;
