//! The folder that no path leads out of.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, OpenOptions},
};
use tool_runtime::prelude::*;

/// The longest path, as on most systems, and its number of parts.
const MAX_PATH_BYTES: usize = 4096;
const MAX_PATH_PARTS: usize = 256;

/// Folders of programs for version control, whose files make these programs run commands.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// A folder, by its handle.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) dir: Dir,
    /// The path at opening, to recognize absolute paths below it; nothing is opened by it.
    path: PathBuf,
}

impl Root {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.canonicalize()?;
        Ok(Self { dir: Dir::open_ambient_dir(&path, ambient_authority())?, path })
    }

    /// The path relative to the folder, which `cap_std` still checks at each use.
    pub(super) fn relative_path(&self, path: &str) -> Result<PathBuf, ToolError> {
        if path.contains('\0') {
            return Err(ToolError::failed("`path` contains a NUL character; remove it"));
        }
        if path.len() > MAX_PATH_BYTES || Path::new(path).components().count() > MAX_PATH_PARTS {
            return Err(ToolError::failed(format!(
                "`path` is too long; give one of at most {MAX_PATH_BYTES} bytes and {MAX_PATH_PARTS} folders"
            )));
        }
        let path = Path::new(path);
        let relative = path.strip_prefix(&self.path).unwrap_or(path);
        if relative.components().any(|part| matches!(part, Component::RootDir | Component::Prefix(_))) {
            return Err(outside_error(path));
        }
        Ok(relative.components().filter(|part| *part != Component::CurDir).collect())
    }

    /// The path of the file behind all links, and its open handle.
    ///
    /// The last name is opened without following a link: if a link took its place, the file is refused.
    pub(super) fn open_file(&self, path: &str) -> Result<OpenFile, ToolError> {
        let relative = self.relative_path(path)?;
        if relative.as_os_str().is_empty() {
            return Err(ToolError::failed(format!("`{path}` is the folder itself; give the path of a file")));
        }
        let real = self.dir.canonicalize(&relative).map_err(|error| path_error(path, &error))?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(ToolError::failed(format!("`{path}` is a folder; give the path of a file")));
        };
        let parent = match parent.as_os_str().is_empty() {
            true => self.dir.try_clone(),
            false => self.dir.open_dir(parent),
        };
        let parent = parent.map_err(|error| path_error(path, &error))?;
        let file = open_regular_file(&parent, Path::new(name)).map_err(|error| path_error(path, &error))?;
        Ok(OpenFile { parent, name: PathBuf::from(name), file, real })
    }
}

/// A file of the folder.
pub(super) struct OpenFile {
    pub(super) parent: Dir,
    pub(super) name: PathBuf,
    pub(super) file: File,
    /// The path relative to the folder, without links.
    pub(super) real: PathBuf,
}

/// Opens a regular file, without following a link, and without waiting for the other end of a pipe.
pub(super) fn open_regular_file(dir: &Dir, name: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = dir.open_with(name, &options)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file; give the path of a file"))
}

/// Refuses to change a file of a program for version control.
pub(super) fn check_not_version_control(path: &str, real: &Path) -> Result<(), ToolError> {
    let is_one =
        |part: Component<'_>| VERSION_CONTROL.iter().any(|name| part.as_os_str().eq_ignore_ascii_case(name));
    match real.components().any(is_one) {
        true => {
            Err(ToolError::failed(format!("`{path}` belongs to version control; change it by its program")))
        }
        false => Ok(()),
    }
}

fn outside_error(path: &Path) -> ToolError {
    let path = path.display();
    ToolError::failed(format!(
        "`{path}` is outside of the folder of this tool; give a path relative to the folder, such as `src/main.rs`"
    ))
}

/// The error of a path, for a model.
pub(super) fn path_error(path: &str, error: &io::Error) -> ToolError {
    match error.kind() {
        io::ErrorKind::NotFound => ToolError::failed(format!(
            "`{path}` does not exist; look for its name, with `grep` or a list of the folder"
        )),
        // `cap_std` has no kind of its own for a path that leads out; errors of the system have a number.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => outside_error(Path::new(path)),
        _ => ToolError::failed(format!("`{path}` cannot be used: {error}")),
    }
}
