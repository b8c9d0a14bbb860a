//! A folder of prompt files.

use std::{
    collections::BTreeMap,
    error::Error,
    ffi::OsStr,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use super::{Prompt as _, PromptError, PromptFile};

/// The extensions of prompt files.
const EXTENSIONS: [&str; 2] = ["md", "prompt"];

/// The maximum number of files.
const MAX_FILES: usize = 10_000;

/// The prompts of a folder: its files `*.md` and `*.prompt`, without those of folders below, links, and names that begin with a dot.
///
/// A folder is loaded whole or not at all, and blocks while it is read.
///
/// # Examples
///
/// ```no_run
/// use tool_kit::prompt::PromptFolder;
///
/// let prompts = PromptFolder::load("prompts")?;
/// // Later: after a file was edited.
/// for change in prompts.reload()? {
///     println!("{change}");
/// }
/// # Ok::<(), tool_kit::prompt::FolderError>(())
/// ```
#[derive(Debug)]
pub struct PromptFolder {
    path: PathBuf,
    prompts: RwLock<Arc<BTreeMap<String, Arc<PromptFile>>>>,
    /// Held while the folder is read again, and until its changes have taken effect.
    reloading: Mutex<()>,
}

/// A change of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FolderChange {
    /// A prompt of this name is new.
    Added(String),
    /// The prompt has another text.
    Changed(String),
    /// There is no prompt of this name any more.
    Removed(String),
}

/// The problems of a folder, of all its files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderError {
    /// One problem or more.
    pub problems: Vec<PromptError>,
}

impl PromptFolder {
    /// Loads a folder.
    ///
    /// # Errors
    ///
    /// Returns the problems of all files, and two files with one name.
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, FolderError> {
        let path = path.into();
        let prompts = read_folder(&path)?;
        Ok(Self { path, prompts: RwLock::new(Arc::new(prompts)), reloading: Mutex::default() })
    }

    /// Returns the prompts, by name.
    #[must_use]
    pub fn prompts(&self) -> Vec<Arc<PromptFile>> {
        self.loaded_prompts().values().cloned().collect()
    }

    /// Returns the prompt of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<PromptFile>> {
        self.loaded_prompts().get(name).cloned()
    }

    /// Loads the folder again, and returns what has changed, by name. Threads do so in turn.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load); nothing changes then.
    pub fn reload(&self) -> Result<Vec<FolderChange>, FolderError> {
        self.reload_then(|_| ())
    }

    /// Loads the folder again; `take_effect` ends before anything else changes it.
    pub(crate) fn reload_then(
        &self,
        take_effect: impl FnOnce(&[FolderChange]),
    ) -> Result<Vec<FolderChange>, FolderError> {
        let _reloading = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let after = Arc::new(read_folder(&self.path)?);
        let mut state = self.prompts.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *state, Arc::clone(&after));
        drop(state);
        let changes = folder_changes(&before, &after);
        take_effect(&changes);
        Ok(changes)
    }

    fn loaded_prompts(&self) -> Arc<BTreeMap<String, Arc<PromptFile>>> {
        Arc::clone(&self.prompts.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn folder_changes(
    before: &BTreeMap<String, Arc<PromptFile>>,
    after: &BTreeMap<String, Arc<PromptFile>>,
) -> Vec<FolderChange> {
    let mut changes = BTreeMap::new();
    for (name, prompt) in after {
        match before.get(name) {
            None => changes.insert(name, FolderChange::Added(name.clone())),
            Some(old) if !old.is_unchanged_from(prompt) => {
                changes.insert(name, FolderChange::Changed(name.clone()))
            }
            Some(_) => None,
        };
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        changes.insert(name, FolderChange::Removed(name.clone()));
    }
    changes.into_values().collect()
}

fn read_folder(folder: &Path) -> Result<BTreeMap<String, Arc<PromptFile>>, FolderError> {
    let mut problems = Vec::new();
    let mut prompts: BTreeMap<String, (PathBuf, Arc<PromptFile>)> = BTreeMap::new();
    for path in prompt_paths(folder)? {
        let prompt = match PromptFile::load(&path) {
            Ok(prompt) => prompt,
            Err(error) => {
                problems.push(error);
                continue;
            }
        };
        let name = prompt.definition().name().to_owned();
        if let Some((other, _)) = prompts.get(&name) {
            let problem =
                format!("the prompt of `{}` has the name `{name}`, too; rename one of them", other.display());
            problems.push(PromptError::new(problem).in_file(path));
            continue;
        }
        prompts.insert(name, (path, Arc::new(prompt)));
    }
    match problems.is_empty() {
        true => Ok(prompts.into_iter().map(|(name, (_, prompt))| (name, prompt)).collect()),
        false => Err(FolderError { problems }),
    }
}

/// Returns the paths of the prompt files, sorted.
fn prompt_paths(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let failed = |error: std::io::Error| {
        FolderError::of_problem(
            PromptError::new(format!("the folder cannot be read: {error}")).in_file(folder),
        )
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let has_extension =
            path.extension().and_then(OsStr::to_str).is_some_and(|it| EXTENSIONS.contains(&it));
        if is_hidden || !has_extension || !entry.file_type().map_err(failed)?.is_file() {
            continue;
        }
        if paths.len() == MAX_FILES {
            let problem = format!("the folder has more than {MAX_FILES} prompt files; divide it");
            return Err(FolderError::of_problem(PromptError::new(problem).in_file(folder)));
        }
        paths.push(path);
    }
    paths.sort_unstable();
    Ok(paths)
}

impl FolderError {
    fn of_problem(problem: PromptError) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for FolderChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(name) => write!(f, "the prompt `{name}` was added"),
            Self::Changed(name) => write!(f, "the prompt `{name}` was changed"),
            Self::Removed(name) => write!(f, "the prompt `{name}` was removed"),
        }
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl Error for FolderError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn changes_take_effect_before_the_folder_is_read_again() {
        let path = tempfile::tempdir().unwrap();
        let folder = PromptFolder::load(path.path()).unwrap();
        let mut is_locked = false;
        let changes = folder.reload_then(|_| is_locked = folder.reloading.try_lock().is_err());
        assert_eq!((changes, is_locked), (Ok(Vec::new()), true));
        assert!(folder.reloading.try_lock().is_ok());
    }
}
