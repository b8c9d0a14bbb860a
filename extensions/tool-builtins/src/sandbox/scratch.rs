//! Temporary folders that commands write.

#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[cfg(unix)]
use super::removal::{open_folder, remove_contents};

/// A temporary folder whose content is hostile. Dropping it removes it, also what its owner may not change, and follows no
/// link.
///
/// A command may reach the folder around it, and exchange it: it is opened once, and all that the program does to it is by
/// that handle.
#[derive(Debug)]
pub(crate) struct ScratchFolder {
    path: PathBuf,
    #[cfg(unix)]
    parent: OwnedFd,
    #[cfg(unix)]
    opened: OwnedFd,
}

impl ScratchFolder {
    /// Makes a folder whose name begins with `prefix`.
    ///
    /// # Errors
    ///
    /// Returns an error if the temporary folder of the system cannot be written.
    pub(crate) fn create(prefix: &str) -> io::Result<Self> {
        // Guards know paths without links.
        let parent = std::env::temp_dir().canonicalize()?;
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(&parent)?;
        #[cfg(unix)]
        let (parent, opened) = {
            let parent = OwnedFd::from(fs::File::open(&parent)?);
            let opened = open_folder(&parent, file_name_bytes(folder.path()))?;
            (parent, opened)
        };
        Ok(Self {
            path: folder.keep(),
            #[cfg(unix)]
            parent,
            #[cfg(unix)]
            opened,
        })
    }

    /// Its path, at which something else may be: see [`check_not_exchanged`](Self::check_not_exchanged).
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A path by which this program reaches the folder, also after it was exchanged.
    #[cfg(target_os = "linux")]
    pub(crate) fn path_for_this_process(&self) -> PathBuf {
        use std::os::fd::AsRawFd as _;
        format!("/proc/self/fd/{}", self.opened.as_raw_fd()).into()
    }

    /// A path by which a child of this program reaches the folder, also after it was exchanged.
    #[cfg(target_os = "linux")]
    pub(super) fn path_for_children(&self) -> String {
        super::bubblewrap::descriptor_path_for_children(&self.opened)
    }

    /// A handle of the folder.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no descriptor left.
    #[cfg(feature = "code")]
    pub(crate) fn open_dir(&self) -> io::Result<cap_std::fs::Dir> {
        #[cfg(unix)]
        return Ok(cap_std::fs::Dir::from_std_file(self.opened.try_clone()?.into()));
        #[cfg(not(unix))]
        cap_std::fs::Dir::open_ambient_dir(&self.path, cap_std::ambient_authority())
    }

    /// Makes the file `name`.
    ///
    /// # Errors
    ///
    /// Returns an error if something has that name.
    #[cfg(any(feature = "files", feature = "web"))]
    pub(crate) fn create_file(&self, name: &str) -> io::Result<fs::File> {
        #[cfg(unix)]
        {
            use rustix::fs::{Mode, OFlags, openat};
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(openat(&self.opened, name, flags, Mode::RUSR | Mode::WUSR)?.into())
        }
        #[cfg(not(unix))]
        fs::File::create_new(self.path.join(name))
    }

    /// Removes all that is in it. Blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if something is left, or the folder is not at its path any more.
    pub(crate) fn remove_all_contents(&self) -> io::Result<()> {
        #[cfg(unix)]
        remove_contents(&self.opened)?;
        #[cfg(not(unix))]
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        self.check_not_exchanged()
    }

    /// Fails if something else is at its path.
    ///
    /// # Errors
    ///
    /// Returns an error that says what to do.
    pub(crate) fn check_not_exchanged(&self) -> io::Result<()> {
        #[cfg(unix)]
        {
            use rustix::fs::{AtFlags, fstat, statat};
            let opened = fstat(&self.opened)?;
            let found = statat(&self.parent, file_name_bytes(&self.path), AtFlags::SYMLINK_NOFOLLOW);
            if !found.is_ok_and(|found| (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)) {
                return Err(io::Error::other(format!(
                    "a command exchanged the private folder `{}`; make the tools anew, with folders that do not contain the \
                     temporary folder of the system",
                    self.path.display()
                )));
            }
        }
        Ok(())
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if self.remove_all_contents().is_err() {
            return;
        }
        // No file and no folder with content, whatever is there by now.
        #[cfg(unix)]
        let _ =
            rustix::fs::unlinkat(&self.parent, file_name_bytes(&self.path), rustix::fs::AtFlags::REMOVEDIR);
        #[cfg(not(unix))]
        let _ = fs::remove_dir(&self.path);
    }
}

#[cfg(unix)]
fn file_name_bytes(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt as _;
    path.file_name().unwrap_or_default().as_bytes()
}

/// Runs work that blocks for a bounded time on a thread for it.
#[cfg(any(feature = "code", feature = "files", feature = "web"))]
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    #[expect(clippy::disallowed_methods, reason = "the call waits for it, and it ends by itself")]
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
