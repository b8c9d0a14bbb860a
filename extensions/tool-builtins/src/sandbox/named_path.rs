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

#[cfg(test)]
#[cfg(target_os = "linux")]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn the_part_of_a_path_that_exists_is_without_links() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        fs::create_dir(real.join("a")).unwrap();
        symlink("a", real.join("link")).unwrap();
        for (path, expected) in [
            ("a", "a"),
            ("link", "a"),
            ("link/b/c", "a/b/c"),
            ("b/link", "b/link"),
            ("a/../a", "a"),
            (".", ""),
        ] {
            assert_eq!(
                path_without_links(real.join(path)),
                real.join(expected).components().collect::<PathBuf>()
            );
        }
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(path_without_links("no-such-file".into()), here.join("no-such-file"));
    }

    #[test]
    fn what_is_there_is_opened_unless_a_link_leads_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        fs::create_dir(real.join("a")).unwrap();
        fs::write(real.join("a/file"), "text").unwrap();
        symlink("a", real.join("link")).unwrap();
        let open = |path: &str| open_named_path(&real.join(path), OFlags::RDONLY);
        assert!(open("a").unwrap().unwrap().metadata().unwrap().is_dir());
        assert_eq!(std::io::read_to_string(open("a/file").unwrap().unwrap()).unwrap(), "text");
        for path in ["b", "a/b", "a/file/b"] {
            assert!(open(path).unwrap().is_none(), "{path}");
        }
        for path in ["link", "link/file"] {
            let error = open(path).unwrap_err().to_string();
            let start = format!("there is a link at `{}`, where there was none", real.join(path).display());
            assert!(error.starts_with(&start), "{error}");
        }
        assert!(open("a\0").is_err());
        let file = open("a").unwrap().unwrap();
        let flags = rustix::io::fcntl_getfd(&file).unwrap();
        assert_eq!(flags, rustix::io::FdFlags::CLOEXEC);
    }
}
