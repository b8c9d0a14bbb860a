//! Paths of a setting, at which a command may have put something else.

use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::{fs::File, io, path::Path};

#[cfg(target_os = "linux")]
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

/// `path` without links, as far as it exists: a setting is about files, not about names.
pub(crate) fn path_without_links(path: PathBuf) -> PathBuf {
    let path = std::path::absolute(&path).unwrap_or(path);
    let resolved = path.ancestors().find_map(|existing| {
        let rest = path.strip_prefix(existing).ok()?;
        let existing = existing.canonicalize().ok()?;
        Some(if rest.as_os_str().is_empty() { existing } else { existing.join(rest) })
    });
    resolved.unwrap_or(path)
}

/// Opens what is at a path [without links](path_without_links), by `flags`; `None` if nothing is there that this user reaches.
///
/// # Errors
///
/// Returns an error if a part of the path is a link by now, or there is no descriptor left.
#[cfg(target_os = "linux")]
pub(super) fn open_named_path(path: &Path, flags: OFlags) -> io::Result<Option<File>> {
    let flags = flags | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(handle) => Ok(Some(handle.into())),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::NXIO) => Ok(None),
        Err(Errno::LOOP) => Err(io::Error::other(format!(
            "there is a link at `{}`, where there was none, and a command may have put it there; remove it, or make the \
             tools anew",
            path.display()
        ))),
        Err(error) => Err(error.into()),
    }
}
