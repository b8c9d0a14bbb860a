//! The removal of a tree that is hostile: by handles alone, so that no link leads out of it.
//!
//! The tree may be deeper than a stack or the number of open files: a folder below another one is moved up to the top before its
//! parent is removed, so that there are three handles at each moment.

use std::{ffi::CString, io, os::fd::OwnedFd};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, fchmod, openat, renameat, unlinkat},
    io::Errno,
};

/// Names of a folder that are in memory.
const MAX_NAMES: usize = 1000;

/// Files and folders of one removal. Something that adds files may be as fast.
const MAX_ENTRIES: u64 = 20_000_000;

/// Opens the folder `name` of `parent`, which is no link.
///
/// # Errors
///
/// Returns an error if it is no folder, or cannot be read.
pub(super) fn open_folder(parent: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    Ok(openat(parent, name, FOLDER.union(OFlags::RDONLY), Mode::empty())?)
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes all that is below `top`.
///
/// # Errors
///
/// Returns an error if something is left.
pub(super) fn remove_contents(top: &OwnedFd) -> io::Result<()> {
    fchmod(top, Mode::RWXU)?;
    let mut removal = ContentsRemoval { top, entries: 0 };
    loop {
        let names = read_some_names(top)?;
        if names.is_empty() {
            return Ok(());
        }
        // One that cannot be removed keeps no other.
        let mut result = Ok(());
        for name in &names {
            let removed = removal.remove_top_entry(name);
            result = result.and(removed);
        }
        result?;
    }
}

struct ContentsRemoval<'a> {
    top: &'a OwnedFd,
    entries: u64,
}

impl ContentsRemoval<'_> {
    /// Removes a file of the top, or a folder of it, whose folders are moved to the top.
    fn remove_top_entry(&mut self, name: &CString) -> io::Result<()> {
        if self.remove_unless_folder(self.top, name)? {
            return Ok(());
        }
        let folder = make_writable_and_open_folder(self.top, name)?;
        loop {
            let names = read_some_names(&folder)?;
            if names.is_empty() {
                break;
            }
            for inner in &names {
                if !self.remove_unless_folder(&folder, inner)? {
                    self.move_folder_to_top(&folder, inner)?;
                }
            }
        }
        Ok(unlinkat(self.top, name, AtFlags::REMOVEDIR)?)
    }

    /// Returns `false` if it is a folder.
    fn remove_unless_folder(&mut self, folder: &OwnedFd, name: &CString) -> io::Result<bool> {
        self.count_entry_within_limit()?;
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            // POSIX has the second one.
            Err(Errno::ISDIR | Errno::PERM) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn move_folder_to_top(&mut self, parent: &OwnedFd, name: &CString) -> io::Result<()> {
        // The entry `..` of it changes, for which it has to be writable.
        make_writable_and_open_folder(parent, name)?;
        loop {
            self.count_entry_within_limit()?;
            match renameat(parent, name, self.top, format!("removed-{}", self.entries)) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                moved => return Ok(moved?),
            }
        }
    }

    fn count_entry_within_limit(&mut self) -> io::Result<()> {
        self.entries += 1;
        match self.entries > MAX_ENTRIES {
            true => Err(io::Error::other(format!("there are more than {MAX_ENTRIES} files"))),
            false => Ok(()),
        }
    }
}

/// Opens a folder after its owner was permitted to change it.
fn make_writable_and_open_folder(parent: &OwnedFd, name: &CString) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;

        use rustix::fs::{CWD, fstat};
        // It opens what cannot be read. Modes are changed by its path alone, which is the folder itself.
        let found = openat(parent, name, FOLDER.union(OFlags::PATH), Mode::empty())?;
        if !Mode::from_raw_mode(fstat(&found)?.st_mode).contains(Mode::RWXU) {
            // If it fails, the next step says why.
            let path = format!("/proc/self/fd/{}", found.as_raw_fd());
            let _ = rustix::fs::chmodat(CWD, path, Mode::RWXU, AtFlags::empty());
        }
        Ok(openat(&found, c".", FOLDER.union(OFlags::RDONLY), Mode::empty())?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW);
        open_folder(parent, name.as_bytes())
    }
}

/// Some of the names in a folder; none if it is empty.
fn read_some_names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let names = Dir::read_from(folder)?.map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    let is_inner = |name: &Result<CString, Errno>| {
        !name.as_ref().is_ok_and(|name| matches!(name.as_bytes(), b"." | b".."))
    };
    Ok(names.filter(is_inner).take(MAX_NAMES).collect::<Result<_, _>>()?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::{
        fs::{self, File, Permissions},
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use super::*;

    #[test]
    fn files_folders_and_moves_beyond_the_limit_are_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("c/inner")).unwrap();
        for name in ["a", "b"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let top = OwnedFd::from(File::open(folder.path()).unwrap());
        let remove = |name: &str, left: u64| {
            let mut removal = ContentsRemoval { top: &top, entries: MAX_ENTRIES - left };
            removal.remove_top_entry(&CString::new(name).unwrap()).map_err(|error| error.to_string())
        };
        let refusal = Err("there are more than 20000000 files".to_owned());
        assert_eq!(remove("a", 1), Ok(()));
        assert_eq!(remove("b", 0), refusal);
        // The folder, the one within it, and its move to the top.
        for left in 0..3 {
            assert_eq!(remove("c", left), refusal);
        }
        assert!(folder.path().join("b").exists() && folder.path().join("c/inner").exists());
        assert_eq!(remove("c", 3), Ok(()));
        assert!(!folder.path().join("c").exists());
    }

    #[test]
    fn all_of_a_hostile_tree_is_removed_and_nothing_beside_it() {
        // More than the open files that a program usually has.
        const DEPTH: usize = 1100;
        let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (file, inner) = (kept.path().join("kept.txt"), kept.path().join("inner"));
        fs::write(&file, "kept").unwrap();
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(0o500)).unwrap();
        for count in 0..=MAX_NAMES {
            fs::write(folder.path().join(format!("removed-{count}")), "").unwrap();
        }
        let top = OwnedFd::from(File::open(folder.path()).unwrap());
        let mut deep = top.try_clone().unwrap();
        for _ in 0..DEPTH {
            rustix::fs::mkdirat(&deep, "d", Mode::RWXU).unwrap();
            deep = open_folder(&deep, b"d").unwrap();
        }
        for parent in [folder.path().to_owned(), folder.path().join("d/d")] {
            symlink(kept.path(), parent.join("link")).unwrap();
            symlink(&file, parent.join("file")).unwrap();
        }
        for path in ["d/d", "d", ""] {
            fs::set_permissions(folder.path().join(path), Permissions::from_mode(0o0)).unwrap();
        }
        remove_contents(&top).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(fs::read(&file).unwrap(), b"kept");
        assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o500);
        fs::set_permissions(&inner, Permissions::from_mode(0o700)).unwrap();
    }
}
