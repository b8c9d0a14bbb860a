//! Commands in the mount namespace of `bubblewrap`.
//!
//! The namespace has the paths of the setting and no others, so that a command neither sees nor changes another file. The
//! first process of the namespace stays in the process group of the command: one signal to the group, whose leader holds
//! the number, ends it at each moment of its start. `--new-session` would take it out of the group before the kernel
//! binds its end to its parent; the command itself gets its session later, by `setsid`.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::fd::AsRawFd as _,
    path::Path,
};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use seccompiler::BpfProgram;

use super::{
    Confinement,
    restriction::{DEVICES, SYSTEM_FOLDERS, SYSTEM_SETTINGS},
};

/// The filter of system calls in the memory of the program, where no command can change it.
#[derive(Debug)]
pub(super) struct SealedFilter(File);

impl SealedFilter {
    /// Stores `filter` as `bubblewrap` reads it.
    pub(super) fn new(filter: &BpfProgram) -> io::Result<Self> {
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
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// `bubblewrap` with its arguments, before those of the command. It reads the filter from `filter_descriptor`.
///
/// # Errors
///
/// Returns an error if a path of the setting is no Unicode: the command would not see it.
pub(super) fn bubblewrap_words(
    program: &Path,
    confinement: &Confinement,
    private: &Path,
    filter_descriptor: u8,
) -> io::Result<Vec<String>> {
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("`{}` is no Unicode", path.display()))
        })
    };
    let mut words = vec![text(program)?];
    let options = ["--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"];
    words.extend(options.map(str::to_owned));
    words.extend(["--seccomp".to_owned(), filter_descriptor.to_string()]);
    if confinement.permits_network {
        words.push("--share-net".to_owned());
    }
    for path in SYSTEM_FOLDERS.map(Path::new) {
        match fs::read_link(path) {
            // `/bin` is a link to `/usr/bin` where the two are merged.
            Ok(target) => words.extend(["--symlink".to_owned(), text(&target)?, text(path)?]),
            Err(_) => words.extend(["--ro-bind-try".to_owned(), text(path)?, text(path)?]),
        }
    }
    let readable = confinement.readable.iter().map(|path| ("--ro-bind-try", &**path));
    let writable = confinement.writable.iter().map(|folder| ("--bind-try", &**folder));
    let settings = SYSTEM_SETTINGS.iter().map(|path| ("--ro-bind-try", Path::new(*path)));
    let devices = DEVICES.iter().map(|path| ("--dev-bind-try", Path::new(*path)));
    // What is writable comes last: it may contain what is readable, or be a part of it.
    let mounts = settings.chain(readable).chain(writable).chain([("--bind", private)]).chain(devices);
    for (option, path) in mounts {
        words.extend([option.to_owned(), text(path)?, text(path)?]);
    }
    // The folders that lead to the others are memory.
    if !confinement.writable.iter().any(|folder| folder == Path::new("/")) {
        words.extend(["--remount-ro", "/"].map(str::to_owned));
    }
    words.push("--".to_owned());
    Ok(words)
}
