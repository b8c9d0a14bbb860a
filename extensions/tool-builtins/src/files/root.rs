//! The folders that no path leads out of.

use std::{
    fmt::Write as _,
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, OpenOptions},
};
use tool_runtime::{policy::Escape, prelude::*};

use super::memory::FileKey;

/// The longest path, as on most systems, and its number of parts.
const MAX_PATH_BYTES: usize = 4096;
const MAX_PATH_PARTS: usize = 256;

/// Repetitions of a path whose file is replaced at the same time.
const MAX_PATH_ATTEMPTS: usize = 64;

/// Folders of programs for version control, whose files make these programs run commands.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// The longest name of a folder.
const MAX_NAME_CHARS: usize = 32;

/// A folder, by its handle.
#[derive(Debug)]
pub(super) struct FileRoot {
    pub(super) dir: Dir,
    /// The path at opening, to recognize absolute paths below it; nothing is opened by it.
    path: PathBuf,
    /// The name by which a model writes its paths, as `name:path`; empty for the base folder.
    pub(super) name: String,
    is_read_only: bool,
}

impl FileRoot {
    fn open(name: &str, folder: &Path, is_read_only: bool) -> io::Result<Self> {
        let path = folder.canonicalize()?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { dir, path, name: name.to_owned(), is_read_only })
    }

    /// A path below the folder, for a model, in one line: a name cannot look like another line of the result, nor like the path of
    /// another folder.
    pub(super) fn shown_path(&self, path: &Path) -> String {
        let path = Escape::LINE.text(&path.display().to_string());
        match self.name.is_empty() {
            true if path.split_once(':').is_some_and(|(name, _)| is_valid_folder_name(name)) => {
                format!("./{path}")
            }
            true => path,
            false => format!("{}:{path}", self.name),
        }
    }

    /// Refuses a change below a folder that is only read.
    pub(super) fn check_writable(&self, path: &str) -> Result<(), ToolError> {
        match self.is_read_only {
            true => Err(ToolError::failed(format!(
                "`{path}` is in a folder that is only read; change a file of another folder"
            ))),
            false => Ok(()),
        }
    }

    /// The path without links; empty for the folder itself.
    fn resolve_links(&self, relative: &Path) -> io::Result<PathBuf> {
        if relative.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        let real = self.dir.canonicalize(relative)?;
        Ok(if real.as_os_str() == "." { PathBuf::new() } else { real })
    }

    pub(super) fn open_dir(&self, real: &Path) -> io::Result<Dir> {
        match real.as_os_str().is_empty() {
            true => self.dir.try_clone(),
            false => self.dir.open_dir(real),
        }
    }
}

/// The folders of a tool set: the base folder, and others by their names.
#[derive(Debug, Clone)]
pub(super) struct FileRoots {
    /// The first is the base folder, whose paths have no name.
    roots: Vec<Arc<FileRoot>>,
}

/// A path below one of the folders, which `cap_std` still checks at each use.
pub(super) struct Location {
    pub(super) root: Arc<FileRoot>,
    pub(super) relative: PathBuf,
}

/// The folder in which a walk begins.
pub(super) struct StartFolder {
    pub(super) root: Arc<FileRoot>,
    pub(super) dir: Dir,
    /// The path relative to the root, without links.
    pub(super) real: PathBuf,
}

impl FileRoots {
    pub(super) fn open(base: &Path) -> io::Result<Self> {
        Ok(Self { roots: vec![Arc::new(FileRoot::open("", base, false)?)] })
    }

    /// Adds a folder, whose name must be new.
    pub(super) fn add_root(&mut self, name: &str, folder: &Path, is_read_only: bool) -> io::Result<()> {
        if !is_valid_folder_name(name) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "`{name}` is not a name of a folder; give 2 to {MAX_NAME_CHARS} letters, digits, `-` or `_`"
                ),
            ));
        }
        if self.roots.iter().any(|root| root.name.eq_ignore_ascii_case(name)) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("another folder is named `{name}`; give each its own name"),
            ));
        }
        let new = FileRoot::open(name, folder, is_read_only)?;
        // A file of both could be changed by its other path.
        let overlaps = |root: &&Arc<FileRoot>| {
            root.is_read_only != is_read_only
                && (root.path.starts_with(&new.path) || new.path.starts_with(&root.path))
        };
        if let Some(other) = self.roots.iter().find(overlaps) {
            let (new, other) = (new.path.display(), other.path.display());
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "`{new}` and `{other}` have files in common, and one of them is only read; give separate folders"
                ),
            ));
        }
        self.roots.push(Arc::new(new));
        Ok(())
    }

    pub(super) fn base_path(&self) -> &Path {
        self.roots.first().map_or(Path::new(""), |root| &root.path)
    }

    /// The folder that `path` names, and the path below it.
    pub(super) fn locate_path(&self, path: &str) -> Result<Location, ToolError> {
        if path.contains('\0') {
            return Err(ToolError::failed("`path` contains a NUL character; remove it"));
        }
        if path.len() > MAX_PATH_BYTES || Path::new(path).components().count() > MAX_PATH_PARTS {
            return Err(ToolError::failed(format!(
                "`path` is too long; give one of at most {MAX_PATH_BYTES} bytes and {MAX_PATH_PARTS} folders"
            )));
        }
        let named = path.split_once(':').and_then(|(name, rest)| {
            let root = self.roots.iter().skip(1).find(|root| root.name == name)?;
            Some((root, Path::new(rest)))
        });
        let below = |root: &&Arc<FileRoot>| Path::new(path).starts_with(&root.path);
        let (root, path_below) = match named {
            Some(named) => named,
            None => {
                let innermost =
                    self.roots.iter().filter(below).max_by_key(|root| root.path.as_os_str().len());
                let root = innermost.or(self.roots.first()).ok_or_else(|| self.outside_error(path))?;
                (root, Path::new(path))
            }
        };
        let relative = path_below.strip_prefix(&root.path).unwrap_or(path_below);
        if relative.components().any(|part| matches!(part, Component::RootDir | Component::Prefix(_))) {
            return Err(self.outside_error(path));
        }
        let relative = relative.components().filter(|part| *part != Component::CurDir).collect();
        Ok(Location { root: Arc::clone(root), relative })
    }

    /// The path of the file behind all links, and its open handle.
    ///
    /// The last name is opened without following a link: if a link took its place, the file is refused.
    pub(super) fn open_file(&self, path: &str) -> Result<OpenFile, ToolError> {
        let Location { root, relative } = self.locate_path(path)?;
        if relative.as_os_str().is_empty() {
            return Err(ToolError::failed(format!("`{path}` is the folder itself; give the path of a file")));
        }
        let mut attempts = 0..MAX_PATH_ATTEMPTS;
        loop {
            let open = root.resolve_links(&relative).and_then(|real| open_real_file(&root, real));
            match open {
                // A file that lost its name to another one while its path was found.
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound
                        && attempts.next().is_some()
                        && root.dir.symlink_metadata(&relative).is_ok() => {}
                open => return open.map_err(|error| self.path_error(path, &error)),
            }
        }
    }

    /// The folders that a walk visits: all of them without a path.
    pub(super) fn open_walk_start(&self, path: Option<&str>) -> Result<WalkStart, ToolError> {
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            let start = |root: &Arc<FileRoot>| {
                let dir = root.dir.try_clone().map_err(|error| self.path_error(&root.name, &error))?;
                Ok(StartFolder { root: Arc::clone(root), dir, real: PathBuf::new() })
            };
            return self.roots.iter().map(start).collect::<Result<_, _>>().map(WalkStart::Folders);
        };
        let Location { root, relative } = self.locate_path(path)?;
        let real = root.resolve_links(&relative).map_err(|error| self.path_error(path, &error))?;
        let is_folder = real.as_os_str().is_empty()
            || root.dir.metadata(&real).map_err(|error| self.path_error(path, &error))?.is_dir();
        if !is_folder {
            let open = open_real_file(&root, real).map_err(|error| self.path_error(path, &error))?;
            return Ok(WalkStart::File(open));
        }
        let dir = root.open_dir(&real).map_err(|error| self.path_error(path, &error))?;
        Ok(WalkStart::Folders(vec![StartFolder { root, dir, real }]))
    }

    fn outside_error(&self, path: &str) -> ToolError {
        let mut message = format!(
            "`{path}` is outside of the folder of this tool; give a path relative to the folder, such as `src/main.rs`"
        );
        for root in self.roots.iter().skip(1) {
            let _ = write!(message, ", or below `{}:`", root.name);
        }
        ToolError::failed(message)
    }

    /// The error of a path, for a model.
    pub(super) fn path_error(&self, path: &str, error: &io::Error) -> ToolError {
        match error.kind() {
            // `cap_std` has no kind of its own for a path that leads out; errors of the system have a number.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => self.outside_error(path),
            _ => file_error(path, error),
        }
    }
}

/// Returns `true` for a name that a folder may have; one letter is a drive.
fn is_valid_folder_name(name: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_' || letter == b'-';
    (2..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_letter)
}

/// The files that a search or list visits.
pub(super) enum WalkStart {
    Folders(Vec<StartFolder>),
    File(OpenFile),
}

/// A file of the folder.
pub(super) struct OpenFile {
    pub(super) root: Arc<FileRoot>,
    pub(super) parent: Dir,
    pub(super) name: PathBuf,
    pub(super) file: File,
    /// The path relative to the root, without links.
    pub(super) real: PathBuf,
}

fn open_real_file(root: &Arc<FileRoot>, real: PathBuf) -> io::Result<OpenFile> {
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a folder; give the path of a file"));
    };
    let name = PathBuf::from(name);
    let parent = root.open_dir(parent)?;
    let file = open_regular_file(&parent, &name)?;
    Ok(OpenFile { root: Arc::clone(root), parent, name, file, real })
}

impl OpenFile {
    /// The key by which the file is remembered.
    pub(super) fn key(&self) -> FileKey {
        (self.root.name.clone(), self.real.clone())
    }
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

/// The error of a file that was found, for a model.
pub(super) fn file_error(path: &str, error: &io::Error) -> ToolError {
    match error.kind() {
        io::ErrorKind::NotFound => ToolError::failed(format!(
            "`{path}` does not exist; look for its name, with `grep` or a list of the folder"
        )),
        _ => ToolError::failed(format!("`{path}` cannot be used: {error}")),
    }
}
