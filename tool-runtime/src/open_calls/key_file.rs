//! The files of keys: the program's, and those of its pools.

use std::{
    fmt,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{PoolKey, ProgramKey};

/// The size of a key.
const KEY_BYTES: usize = 32;

/// The permissions of the file: only its owner can read and write it.
#[cfg(unix)]
const KEY_FILE_MODE: u32 = 0o600;

impl ProgramKey {
    /// Returns the key in the file at `path`; if there is none, creates it with a random key of 32 bytes.
    ///
    /// The file has mode 0600. It appears with its whole content: several processes that start at once return the same
    /// key. Keep it apart from backups of the store: a reader of both can answer the open calls in the store.
    /// If it is lost, open calls that were stored under its key are refused as
    /// [altered](super::OpenCallError::Altered), and their secret arguments are lost.
    ///
    /// Reads and writes the file in place: call it before the program serves requests. Requires the feature
    /// `sealed-calls`.
    ///
    /// # Errors
    ///
    /// Returns an error if
    ///
    /// - there is a folder, a symbolic link or anything else but a file at `path`
    /// - the file has another size than 32 bytes
    /// - another user than its owner can read or write the file (on Unix)
    /// - the file cannot be read or created, for example because its folder does not exist
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::open_calls::ProgramKey;
    ///
    /// # let folder = std::env::temp_dir().join(tool_runtime::call::CallId::generate().to_string());
    /// # std::fs::create_dir(&folder)?;
    /// let path = folder.join("program.key");
    /// let key = ProgramKey::load_or_create(&path)?;
    /// assert_eq!(std::fs::read(&path)?.len(), 32);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_or_create(path: impl AsRef<Path>) -> Result<Self, KeyFileError> {
        let path = path.as_ref();
        let failed = |reason| KeyFileError { path: path.to_owned(), reason };
        if let Some(key) = read_key(path).map_err(failed)? {
            return Ok(Self::new(key));
        }
        let created = random_bytes().and_then(|key| create_key(path, &key));
        created.map_err(|error| failed(KeyFileProblem::Io(error)))?;
        // Another process may have created the file meanwhile.
        let missing = || KeyFileProblem::Io(io::ErrorKind::NotFound.into());
        read_key(path).and_then(|key| key.ok_or_else(missing)).map(Self::new).map_err(failed)
    }
}

impl PoolKey {
    /// Returns the key of the pool `pool` in the file at `path`, which [`save`](Self::save) wrote. The file has no name of a pool: with another
    /// one, workers and callers do not understand each other.
    ///
    /// # Errors
    ///
    /// As [`ProgramKey::load_or_create`], and if there is no file.
    pub fn load(pool: impl Into<String>, path: impl AsRef<Path>) -> Result<Self, KeyFileError> {
        let path = path.as_ref();
        let missing = || KeyFileProblem::Io(io::ErrorKind::NotFound.into());
        let key = read_key(path).and_then(|key| key.ok_or_else(missing));
        let key = key.map_err(|reason| KeyFileError { path: path.to_owned(), reason })?;
        Ok(Self::from_bytes(pool, key))
    }

    /// Writes the key to a new file at `path`, which its owner alone can read, for workers that do not have the [`ProgramKey`]. A file that
    /// has the key already is left as it is.
    ///
    /// # Errors
    ///
    /// If there is a file with another key, and as [`ProgramKey::load_or_create`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::open_calls::{PoolKey, ProgramKey};
    ///
    /// # let folder = std::env::temp_dir().join(tool_runtime::call::CallId::generate().to_string());
    /// # std::fs::create_dir(&folder)?;
    /// let path = folder.join("weather.key");
    /// let key = ProgramKey::new([7; 32]).pool_key("weather");
    /// key.save(&path)?;
    /// assert_eq!(PoolKey::load("weather", &path)?.to_bytes(), key.to_bytes());
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), KeyFileError> {
        let path = path.as_ref();
        let failed = |reason| KeyFileError { path: path.to_owned(), reason };
        if read_key(path).map_err(failed)?.is_none() {
            create_key(path, &self.to_bytes()).map_err(|error| failed(KeyFileProblem::Io(error)))?;
        }
        // Another process may have created the file meanwhile.
        match read_key(path).map_err(failed)? {
            Some(key) if key == self.to_bytes() => Ok(()),
            _ => Err(failed(KeyFileProblem::OtherKey)),
        }
    }
}

/// Reads the key in the file at `path`; `None` if nothing is there.
fn read_key(path: &Path) -> Result<Option<[u8; KEY_BYTES]>, KeyFileProblem> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => check_file(&metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(KeyFileProblem::Io(error)),
    }
    let mut file = File::open(path).map_err(KeyFileProblem::Io)?;
    // The opened file may be another one than before.
    check_file(&file.metadata().map_err(KeyFileProblem::Io)?)?;
    let mut key = [0; KEY_BYTES];
    file.read_exact(&mut key).map_err(KeyFileProblem::Io)?;
    Ok(Some(key))
}

/// Checks the type, the permissions and the size of a file.
fn check_file(metadata: &Metadata) -> Result<(), KeyFileProblem> {
    if metadata.is_symlink() {
        return Err(KeyFileProblem::SymbolicLink);
    }
    if metadata.is_dir() {
        return Err(KeyFileProblem::Folder);
    }
    if !metadata.is_file() {
        return Err(KeyFileProblem::Special);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let mode = metadata.mode() & 0o777;
        if mode & !KEY_FILE_MODE != 0 {
            return Err(KeyFileProblem::Permissions(mode));
        }
    }
    match metadata.len() {
        len if len == KEY_BYTES as u64 => Ok(()),
        len => Err(KeyFileProblem::Size(len)),
    }
}

fn random_bytes<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random)
}

/// Creates the file at `path` with `key`, unless there is one.
fn create_key(path: &Path, key: &[u8; KEY_BYTES]) -> io::Result<()> {
    let id: String = random_bytes::<8>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{id}.new"));
    let new = path.with_file_name(name);
    let linked = write_new(&new, key).and_then(|()| match fs::hard_link(&new, path) {
        // Of several processes, one creates the file.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    // Where it was not written, the reason for that is the error.
    let removed = fs::remove_file(&new);
    linked.and(removed).and_then(|()| sync_folder(path))
}

/// Writes a file that does not exist yet, which its owner alone can read.
fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(KEY_FILE_MODE);
    }
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Writes the entry of `path` in its folder to the disk, so that a key that was used survives a power cut.
fn sync_folder(path: &Path) -> io::Result<()> {
    // A folder cannot be opened as a file elsewhere.
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// An error of [`ProgramKey::load_or_create`], [`PoolKey::load`] and [`PoolKey::save`].
#[derive(Debug)]
pub struct KeyFileError {
    path: PathBuf,
    reason: KeyFileProblem,
}

impl KeyFileError {
    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
enum KeyFileProblem {
    Folder,
    SymbolicLink,
    Special,
    /// It has another key than the one to write.
    OtherKey,
    /// With the mode of the file.
    Permissions(u32),
    /// With the size in bytes.
    Size(u64),
    Io(io::Error),
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.reason {
            KeyFileProblem::Folder => write!(f, "the key file `{path}` is a folder; add the name of a file"),
            KeyFileProblem::SymbolicLink => {
                write!(f, "the key file `{path}` is a symbolic link; give the path of the file itself")
            }
            KeyFileProblem::Special => write!(f, "the key file `{path}` is not a file; give another path"),
            KeyFileProblem::OtherKey => {
                write!(f, "the key file `{path}` has another key; give another path, or remove the file")
            }
            KeyFileProblem::Permissions(mode) => write!(
                f,
                "the key file `{path}` can be read by others (mode {mode:03o}); replace the key if they may have read it, \
                 and set the mode 600"
            ),
            KeyFileProblem::Size(bytes) => write!(
                f,
                "the key file `{path}` has {bytes} bytes, and a key has {KEY_BYTES}; restore the file, or remove it to \
                 create another key"
            ),
            KeyFileProblem::Io(_) => write!(f, "the key file `{path}` cannot be read or created"),
        }
    }
}

impl std::error::Error for KeyFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            KeyFileProblem::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may")]
mod tests {
    use std::{sync::Barrier, thread};

    use tool_core::CallId;

    use super::{super::AuthenticatedText, *};

    /// A folder that is removed at the end of a test.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let folder = std::env::temp_dir().join(format!("tool-runtime-key-{}", CallId::generate()));
            fs::create_dir(&folder).unwrap();
            Self(folder)
        }

        fn file(&self) -> PathBuf {
            self.0.join("program.key")
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn code(key: &ProgramKey) -> tool_core::ContentHash {
        key.sign(&AuthenticatedText::new("test"))
    }

    fn error_of(path: &Path) -> String {
        ProgramKey::load_or_create(path).unwrap_err().to_string()
    }

    // I20
    #[test]
    fn a_key_is_created_once_with_mode_600_and_read_afterwards() {
        let folder = Folder::new();
        let key = ProgramKey::load_or_create(folder.file()).unwrap();
        let bytes = fs::read(folder.file()).unwrap();
        assert_eq!(code(&key), code(&ProgramKey::new(bytes.clone().try_into().unwrap())));
        assert_ne!(bytes, [0; 32]);
        assert_eq!(code(&key), code(&ProgramKey::load_or_create(folder.file()).unwrap()));
        assert_eq!(fs::read(folder.file()).unwrap(), bytes);
        assert_eq!(folder.names(), ["program.key"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            assert_eq!(fs::metadata(folder.file()).unwrap().mode() & 0o7777, 0o600);
        }
        let other = Folder::new();
        assert_ne!(code(&key), code(&ProgramKey::load_or_create(other.file()).unwrap()));
    }

    // I20: processes differ from threads in nothing that the file system sees.
    #[test]
    fn all_that_create_a_key_at_once_get_the_same_one() {
        for _ in 0..20 {
            let (folder, barrier) = (Folder::new(), Barrier::new(8));
            let codes: Vec<_> = thread::scope(|scope| {
                let load = || {
                    barrier.wait();
                    code(&ProgramKey::load_or_create(folder.file()).unwrap())
                };
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
            assert_eq!(folder.names(), ["program.key"]);
        }
    }

    #[test]
    fn a_file_of_another_size_is_refused_and_unchanged() {
        for size in [0, 31, 33, 64] {
            let folder = Folder::new();
            write_new(&folder.file(), &vec![7; size]).unwrap();
            let expected = format!("has {size} bytes, and a key has 32; restore the file, or remove it");
            let error = error_of(&folder.file());
            assert!(error.contains(&expected), "{error}");
            assert_eq!(fs::read(folder.file()).unwrap(), vec![7; size]);
        }
    }

    #[test]
    fn a_folder_and_a_missing_folder_are_refused() {
        let folder = Folder::new();
        assert!(error_of(&folder.0).ends_with("is a folder; add the name of a file"));
        let missing = folder.0.join("missing/program.key");
        let error = ProgramKey::load_or_create(&missing).unwrap_err();
        assert_eq!(error.path(), missing);
        assert!(error.to_string().ends_with("cannot be read or created"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
        assert!(folder.names().is_empty());
    }

    #[test]
    fn the_key_of_a_pool_is_written_once_and_never_over_another_key() {
        let folder = Folder::new();
        let [weather, mail] = ["weather", "mail"].map(|pool| ProgramKey::new([7; 32]).pool_key(pool));
        let error = PoolKey::load("weather", folder.file()).unwrap_err();
        assert!(error.to_string().ends_with("cannot be read or created"), "{error}");
        assert!(folder.names().is_empty());
        weather.save(folder.file()).unwrap();
        weather.save(folder.file()).unwrap();
        let error = mail.save(folder.file()).unwrap_err();
        assert!(error.to_string().contains("has another key; give another path"), "{error}");
        assert_eq!(PoolKey::load("weather", folder.file()).unwrap().to_bytes(), weather.to_bytes());
        assert_eq!(folder.names(), ["program.key"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_and_a_symbolic_link_are_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new();
        ProgramKey::load_or_create(folder.file()).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o666] {
            fs::set_permissions(folder.file(), fs::Permissions::from_mode(mode)).unwrap();
            let expected = format!("can be read by others (mode {mode:03o})");
            assert!(error_of(&folder.file()).contains(&expected));
        }
        fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o600)).unwrap();
        let link = folder.0.join("link");
        symlink(folder.file(), &link).unwrap();
        assert!(error_of(&link).contains("is a symbolic link"));
        // A link to nothing creates no file.
        let dangling = folder.0.join("dangling");
        symlink(folder.0.join("other"), &dangling).unwrap();
        assert!(error_of(&dangling).contains("is a symbolic link"));
        assert!(!folder.names().contains(&"other".to_owned()));
    }
}
