//! Skills in folders.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};

use super::{
    Skill, SkillDiagnostic, SkillError, SkillFile, SkillList, Skills, error::short_line,
    front_matter::MAX_SKILL_MD_BYTES, shared::too_long_file_error,
};

const SKILL_MD: &str = "SKILL.md";

/// The maximum number of skills of a store.
const MAX_SKILLS: usize = 1_000;
/// The maximum number of names in a folder that are considered, and of those that begin with a dot and are passed over.
const MAX_ENTRIES: usize = 10_000;
const MAX_DOT_ENTRIES: usize = 100_000;
/// The maximum number of files in a list, and of folders below each other.
const MAX_FILES: usize = 200;
const MAX_FOLDER_DEPTH: usize = 8;

/// Skills in folders: each has a folder of its name with a file `SKILL.md` (feature `skills`, which needs Rust 1.89).
///
/// Files are read when they are needed, so that changes apply to the next call. No path and no link leads out of the folder of a skill. What is
/// neither a file nor a folder, such as a pipe, is not opened. Names that begin with a dot are left out.
///
/// A skill that cannot be read is a [diagnostic](SkillList::diagnostics). If several folders have a valid skill of one name, the first
/// one counts.
///
/// # Examples
///
/// ```no_run
/// use tool_agent::skills::{AgentSkills, SkillFolders};
///
/// let skills = AgentSkills::new(SkillFolders::open(["skills", "/usr/share/clerk/skills"])?);
/// # drop(skills);
/// # Ok::<(), tool_agent::skills::SkillError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SkillFolders(Arc<[SkillRoot]>);

/// A folder of skills, by its handle.
#[derive(Debug)]
struct SkillRoot {
    dir: Dir,
    /// The name of the folder, for messages.
    name: String,
}

/// The folder of one skill.
struct SkillFolder {
    dir: Dir,
    skill: Skill,
}

impl SkillFolders {
    /// Opens folders of skills.
    ///
    /// # Errors
    ///
    /// Returns an error if one of them cannot be opened.
    pub fn open(folders: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, SkillError> {
        let open = |folder: &Path| {
            let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(|error| {
                let folder = short_line(&folder.display().to_string());
                SkillError::failed(format!("the folder `{folder}` cannot be opened: {error}"))
            })?;
            let name = folder.file_name().map_or_else(String::new, |name| name.display().to_string());
            Ok(SkillRoot { dir, name: short_line(&name) })
        };
        folders.into_iter().map(|folder| open(folder.as_ref())).collect::<Result<Arc<[_]>, _>>().map(Self)
    }

    /// Runs work on the files on a thread that may block.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&[SkillRoot]) -> Result<T, SkillError> + Send + 'static,
    ) -> Result<T, SkillError> {
        let roots = Arc::clone(&self.0);
        #[expect(clippy::disallowed_methods, reason = "the call waits for it, and it ends by itself")]
        let work = tokio::task::spawn_blocking(move || work(&roots));
        work.await.unwrap_or_else(|error| Err(SkillError::failed(error.to_string())))
    }
}

impl Skills for SkillFolders {
    async fn list(&self) -> Result<SkillList, SkillError> {
        self.run_blocking(|roots| Ok(list_skills(roots))).await
    }

    async fn load(&self, name: &str) -> Result<Skill, SkillError> {
        let name = name.to_owned();
        self.run_blocking(move |roots| {
            let SkillFolder { dir, mut skill } = find_skill(roots, &name)?;
            let mut walk = FileWalk::default();
            walk.add_files_below(&dir, "", 0);
            walk.files.sort_by(|one, other| one.path.cmp(&other.path));
            (skill.files, skill.unlisted_files) = (walk.files, walk.unlisted);
            Ok(skill)
        })
        .await
    }

    async fn read_file(&self, skill: &str, path: &str) -> Result<Vec<u8>, SkillError> {
        let (skill, path) = (skill.to_owned(), path.to_owned());
        self.run_blocking(move |roots| {
            let folder = find_skill(roots, &skill)?;
            // Of a link, the name of its target counts, too.
            let target = folder.dir.canonicalize(&path).unwrap_or_default();
            if has_dot_name(&path) || has_dot_name(&target.to_string_lossy()) {
                return Err(SkillError::UnknownFile { skill, path });
            }
            let max = usize::try_from(Skill::MAX_FILE_BYTES).unwrap_or(usize::MAX);
            match read_regular_file(&folder.dir, &path, max) {
                Ok(Some(content)) => Ok(content),
                Ok(None) => Err(too_long_file_error(&path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Err(SkillError::UnknownFile { skill, path })
                }
                Err(error) => Err(unreadable_file_error(&path, &error)),
            }
        })
        .await
    }
}

/// Lists the skills of all folders.
fn list_skills(roots: &[SkillRoot]) -> SkillList {
    let (mut list, mut names) = (SkillList::default(), HashSet::new());
    for root in roots {
        let folders = match FolderNames::of(&root.dir) {
            Ok(folders) => folders,
            Err(error) => {
                let problem = format!("its folder cannot be listed: {error}");
                list.diagnostics.push(SkillDiagnostic::new(&root.name, problem));
                continue;
            }
        };
        if folders.has_more {
            let problem =
                format!("its folder has more than {MAX_ENTRIES} names, and only those are read; remove some");
            list.diagnostics.push(SkillDiagnostic::new(&root.name, problem));
        }
        for (at, folder) in folders.names.iter().enumerate() {
            if list.headers.len() >= MAX_SKILLS {
                let rest = folders.names.get(at..).unwrap_or_default();
                list.diagnostics.extend(root.unread_folders_diagnostic(rest));
                break;
            }
            let Some(problem) = root.add_skill_to_list(folder, &mut list, &mut names) else { continue };
            let place = if roots.len() > 1 { format!(" (in `{}`)", root.name) } else { String::new() };
            let folder = folder.display().to_string();
            list.diagnostics.push(SkillDiagnostic::new(&folder, format!("{problem}{place}")));
        }
    }
    list
}

/// Returns the first valid skill of this name, or else the error of the first one.
fn find_skill(roots: &[SkillRoot], name: &str) -> Result<SkillFolder, SkillError> {
    let mut first = None;
    for root in roots {
        match root.open_skill(name) {
            Ok(Some(folder)) => return Ok(folder),
            Ok(None) => {}
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    Err(first.unwrap_or_else(|| SkillError::UnknownSkill { name: name.to_owned() }))
}

impl SkillRoot {
    /// Adds the skill in `folder`, if it is one; returns the problem of one that is not added.
    fn add_skill_to_list(
        &self,
        folder: &OsStr,
        list: &mut SkillList,
        names: &mut HashSet<String>,
    ) -> Option<String> {
        let Some(name) = folder.to_str() else {
            return Some("the name of its folder is not UTF-8; rename it".to_owned());
        };
        match self.open_skill(name) {
            Ok(None) => None,
            Ok(Some(found)) if names.insert(name.to_owned()) => {
                list.headers.push(found.skill.header);
                None
            }
            Ok(Some(_)) => {
                Some("another folder has a skill of this name, which comes first; rename one".to_owned())
            }
            Err(error) => Some(error.to_string()),
        }
    }

    /// Returns the diagnostic of folders that are not read since the list is full; `None` if there is no folder among `names`.
    fn unread_folders_diagnostic(&self, names: &[OsString]) -> Option<SkillDiagnostic> {
        let is_folder = |name: &&OsString| self.dir.metadata(name).is_ok_and(|it| it.is_dir());
        let unread = names.iter().filter(is_folder).count();
        let problem =
            format!("there are {MAX_SKILLS} skills, and {unread} further folders are not read; remove some");
        (unread > 0).then(|| SkillDiagnostic::new(&self.name, problem))
    }

    /// Reads the skill in the folder `name`; `None` if it is no folder of a skill.
    fn open_skill(&self, name: &str) -> Result<Option<SkillFolder>, SkillError> {
        let dir = match self.dir.open_dir(name) {
            Ok(dir) => dir,
            // A file beside the skills, or a folder that was removed meanwhile.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => {
                return Ok(None);
            }
            Err(error) => return Err(unreadable_file_error(name, &error)),
        };
        let content = match read_regular_file(&dir, SKILL_MD, MAX_SKILL_MD_BYTES) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable_file_error(SKILL_MD, &error)),
        };
        let too_long = || {
            SkillError::invalid(format!(
                "`{SKILL_MD}` has more than {MAX_SKILL_MD_BYTES} bytes; move a part to other files"
            ))
        };
        let text = String::from_utf8(content.ok_or_else(too_long)?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            SkillError::invalid(format!("`{SKILL_MD}` is not UTF-8 at byte {at}; save it as UTF-8"))
        })?;
        let skill = Skill::parse(&text)?;
        match *skill.header.name == *name {
            true => Ok(Some(SkillFolder { dir, skill })),
            false => Err(SkillError::invalid(format!(
                "its folder is named `{}`, but its `name` is `{}`; rename one",
                short_line(name),
                skill.header.name
            ))),
        }
    }
}

/// The files of a skill, as far as they are listed.
#[derive(Default)]
struct FileWalk {
    files: Vec<SkillFile>,
    unlisted: u64,
    entries: usize,
}

impl FileWalk {
    /// Adds the files below `dir`, whose path ends with `/` unless it is empty. What cannot be read is not listed.
    fn add_files_below(&mut self, dir: &Dir, prefix: &str, depth: usize) {
        for name in FolderNames::of(dir).unwrap_or_default().names {
            self.entries += 1;
            let Some(name) = name.to_str().filter(|_| self.entries <= MAX_ENTRIES) else {
                self.unlisted += 1;
                continue;
            };
            let path = format!("{prefix}{name}");
            // A link to a folder is left out, since it may lead above itself; one to a file within the skill is a file.
            let is_link = dir.symlink_metadata(name).is_ok_and(|it| it.is_symlink());
            match dir.metadata(name) {
                Ok(it) if it.is_dir() && !is_link && depth < MAX_FOLDER_DEPTH => {
                    if let Ok(below) = dir.open_dir(name) {
                        self.add_files_below(&below, &format!("{path}/"), depth + 1);
                    }
                }
                Ok(it) if it.is_file() && path == SKILL_MD => {}
                Ok(it) if it.is_file() && self.files.len() < MAX_FILES => {
                    self.files.push(SkillFile::new(path, it.len()));
                }
                _ => self.unlisted += 1,
            }
        }
    }
}

/// The names in a folder that are considered.
#[derive(Default)]
struct FolderNames {
    /// Sorted, without those that begin with a dot.
    names: Vec<OsString>,
    /// `true` if the folder has more names than are considered.
    has_more: bool,
}

impl FolderNames {
    fn of(dir: &Dir) -> io::Result<Self> {
        Ok(Self::of_names(dir.entries()?.filter_map(|entry| Some(entry.ok()?.file_name()))))
    }

    fn of_names(names: impl Iterator<Item = OsString>) -> Self {
        let (mut found, mut dot_entries) = (Self::default(), 0);
        for name in names {
            let is_dot_entry = name.as_encoded_bytes().starts_with(b".");
            dot_entries += usize::from(is_dot_entry);
            found.has_more =
                dot_entries > MAX_DOT_ENTRIES || (!is_dot_entry && found.names.len() >= MAX_ENTRIES);
            if found.has_more {
                break;
            }
            if !is_dot_entry {
                found.names.push(name);
            }
        }
        found.names.sort_unstable();
        found
    }
}

/// Returns `true` if a part of a path begins with a dot.
fn has_dot_name(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part.starts_with('.'))
}

/// Reads a file, unless it is longer than `max_bytes`. Opens nothing but a regular file, and never waits for the other end of a pipe.
fn read_regular_file(dir: &Dir, path: &str, max_bytes: usize) -> io::Result<Option<Vec<u8>>> {
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    if !dir.metadata(path)?.is_file() {
        return Err(irregular());
    }
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    let file = dir.open_with(path, &options)?;
    // Another file may have taken its place.
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(irregular());
    }
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    if metadata.len() > limit {
        return Ok(None);
    }
    let mut content = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    Ok(Some(content).filter(|content| content.len() <= max_bytes))
}

/// Returns the error of a file, for a model.
fn unreadable_file_error(path: &str, error: &io::Error) -> SkillError {
    let path = short_line(path);
    match error.kind() {
        // `cap_std` has no kind of its own for a path that leads out; errors of the system have a number.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => SkillError::invalid(format!(
            "`{path}` leads out of the folder of the skill; replace the link by the file"
        )),
        _ => SkillError::invalid(format!("`{path}` cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_more_names_from_one_above_each_maximum_on() {
        for (entries, dot_entries, has_more) in [
            (MAX_ENTRIES, MAX_DOT_ENTRIES, false),
            (MAX_ENTRIES, MAX_DOT_ENTRIES + 1, true),
            (MAX_ENTRIES + 1, MAX_DOT_ENTRIES, true),
        ] {
            let names = (0..entries).map(|at| format!("{at:05}"));
            let dot_names = (0..dot_entries).map(|at| format!(".{at}"));
            let found = FolderNames::of_names(names.chain(dot_names).map(OsString::from));
            assert_eq!(found.has_more, has_more, "{entries} {dot_entries}");
            assert_eq!(found.names.len(), entries.min(MAX_ENTRIES));
        }
        let found = FolderNames::of_names(["b", ".a", "a"].map(OsString::from).into_iter());
        assert_eq!((found.names, found.has_more), (vec!["a".into(), "b".into()], false));
    }
}
