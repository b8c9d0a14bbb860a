//! The file of a database, as the store opened it.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::SessionError;

/// A file that must stay where it is: a connection goes on with a file that was removed or replaced, and its writes are lost.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    id: FileId,
}

/// Device and number of a file; other systems do not remove files that are open.
#[cfg(unix)]
type FileId = (u64, u64);
#[cfg(not(unix))]
type FileId = ();

impl DatabaseFile {
    /// Notes the identity of an existing file.
    pub(super) fn identify(path: &Path) -> Result<Self, SessionError> {
        let id = file_id(path).map_err(|error| unreachable_file_error(path, &error))?;
        Ok(Self { path: path.to_owned(), id })
    }

    /// Checks that the file is where it was.
    pub(super) fn check_not_replaced(&self) -> Result<(), SessionError> {
        match file_id(&self.path) {
            Ok(id) if id == self.id => Ok(()),
            Ok(_) => {
                let problem = format!(
                    "the database {} was replaced by another file; open it again",
                    self.path.display()
                );
                Err(SessionError::Failed(problem))
            }
            Err(error) => Err(unreachable_file_error(&self.path, &error)),
        }
    }
}

fn unreachable_file_error(path: &Path, error: &io::Error) -> SessionError {
    SessionError::Unavailable(format!("the database {} is not reachable: {error}", path.display()))
}

fn file_id(path: &Path) -> io::Result<FileId> {
    let metadata = std::fs::metadata(path)?;
    #[cfg(unix)]
    let id = (std::os::unix::fs::MetadataExt::dev(&metadata), std::os::unix::fs::MetadataExt::ino(&metadata));
    #[cfg(not(unix))]
    let id = drop(metadata);
    Ok(id)
}
