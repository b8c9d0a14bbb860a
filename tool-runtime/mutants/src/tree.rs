//! The copy of the repository that contains the mutants.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Result,
    find::{Edit, Mutant, find_mutants},
};

/// The folders that are mutated.
const PLACES: &[&str] = &[
    "tool-schema/src",
    "tool-core/src",
    "tool-runtime/src",
    "extensions/tool-agent/src",
    "extensions/tool-builtins/src",
    "extensions/tool-cli/src",
    "extensions/tool-fleet/src",
    "extensions/tool-http/src",
    "extensions/tool-kit/src",
    "extensions/tool-mcp/src",
    "extensions/tool-openapi/src",
    "extensions/tool-session/src",
];

/// The switch, which is appended to [`SWITCH_FILES`].
const SWITCH: &str = include_str!("switch.rs");

/// The roots of the crates below which no crate with a switch lies.
const SWITCH_FILES: [&str; 2] = ["tool-schema/src/lib.rs", "extensions/tool-http/src/lib.rs"];

/// Re-exports by which the other crates reach the switch.
const SWITCH_EXPORTS: [(&str, &str); 2] = [
    ("tool-core/src/lib.rs", "\n#[doc(hidden)]\npub use tool_schema::__mutant;\n"),
    ("tool-runtime/src/lib.rs", "\n#[doc(hidden)]\npub use tool_core::__mutant;\n"),
];

/// Returns the path of the switch in a file.
fn switch_path(file: &str) -> &'static str {
    let mut folders = file.split('/');
    match (folders.next(), folders.next()) {
        (Some("tool-schema"), _) | (_, Some("tool-http")) => "crate::__mutant",
        (Some("tool-core"), _) => "::tool_schema::__mutant",
        (Some("tool-runtime"), _) => "::tool_core::__mutant",
        _ => "::tool_runtime::__mutant",
    }
}

/// Returns the files of the repository, including uncommitted changes.
fn list_files(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()?;
    let names = String::from_utf8(output.stdout)?;
    // The list includes files whose removal is not committed.
    Ok(names.split('\0').filter(|it| root.join(it).is_file()).map(str::to_owned).collect())
}

/// Returns all mutants of the repository in files whose path begins with `under`.
pub fn all_mutants(root: &Path, under: &str) -> Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for file in list_files(root)? {
        let path = Path::new(&file);
        let is_test = path.iter().any(|it| it == "tests" || it == "tests.rs") || file.ends_with("_tests.rs");
        if path.extension().is_some_and(|it| it == "rs")
            && PLACES.iter().any(|it| path.starts_with(it))
            && file.starts_with(under)
            && !is_test
        {
            all.extend(find_mutants(&file, &fs::read_to_string(root.join(&file))?)?);
        }
    }
    Ok(all)
}

/// The places of the mutants of a file in its copy.
pub type Ranges = BTreeMap<String, Vec<(usize, Range<usize>)>>;

/// Makes `tree` a copy of the repository with the mutants `chosen`, by their numbers. Unchanged files are not
/// written, so that they are not rebuilt.
pub fn write_copy(root: &Path, tree: &Path, chosen: &BTreeMap<usize, Mutant>) -> Result<Ranges> {
    let mut all = Ranges::new();
    for file in list_files(root)? {
        let mut text = fs::read(root.join(&file))?;
        let mut edits: Vec<_> =
            chosen.iter().filter(|(_, it)| it.file == file).map(|(number, it)| (*number, it)).collect();
        if !edits.is_empty() {
            edits.sort_by_key(|(number, it)| {
                let range = it.edit.range();
                (range.start, Reverse(range.end), *number)
            });
            let (new, ranges) = apply_edits(&String::from_utf8(text)?, &edits, switch_path(&file));
            text = new.into_bytes();
            all.insert(file.clone(), ranges);
        }
        if SWITCH_FILES.contains(&file.as_str()) {
            text.extend_from_slice(SWITCH.as_bytes());
        }
        if let Some((_, export)) = SWITCH_EXPORTS.iter().find(|(path, _)| *path == file) {
            text.extend_from_slice(export.as_bytes());
        }
        let path = tree.join(&file);
        if fs::read(&path).ok().as_ref() != Some(&text) {
            fs::create_dir_all(path.parent().unwrap_or(tree))?;
            fs::write(&path, text)?;
        }
        // Scripts stay executable.
        let permissions = fs::metadata(root.join(&file))?.permissions();
        if fs::metadata(&path)?.permissions() != permissions {
            fs::set_permissions(&path, permissions)?;
        }
    }
    remove_others(root, tree, tree)?;
    Ok(all)
}

/// Removes files that the repository no longer has.
fn remove_others(root: &Path, tree: &Path, folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        let original = root.join(path.strip_prefix(tree)?);
        if path.is_dir() {
            remove_others(root, tree, &path)?;
        } else if !original.is_file() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Applies `edits` to `text` and returns their new places. Edits are sorted by their starts, outer edits
/// first.
fn apply_edits(text: &str, edits: &[(usize, &Mutant)], switch: &str) -> (String, Vec<(usize, Range<usize>)>) {
    // The edits that start and end at a place; among those that end there, inner edits first.
    let mut starts: BTreeMap<usize, Vec<(usize, String)>> = BTreeMap::new();
    let mut ends: BTreeMap<usize, Vec<(usize, String)>> = BTreeMap::new();
    let mut replaced: BTreeMap<usize, usize> = BTreeMap::new();
    for (number, mutant) in edits {
        let with = |text: &str| (*number, text.replace('@', &format!("{switch}({number})")));
        let range = mutant.edit.range();
        match &mutant.edit {
            Edit::Around(_, before, after) if after.is_empty() => {
                starts.entry(range.start).or_default().push(with(before));
            }
            Edit::Around(_, before, after) => {
                starts.entry(range.start).or_default().push(with(before));
                ends.entry(range.end).or_default().insert(0, with(after));
            }
            Edit::Instead(_, new) => {
                starts.entry(range.start).or_default().push(with(new));
                replaced.insert(range.start, range.end);
            }
        }
    }
    let mut places = vec![0, text.len()];
    places.extend(starts.keys().chain(ends.keys()).chain(replaced.values()));
    places.sort_unstable();
    places.dedup();
    let mut new = String::new();
    let mut ranges: BTreeMap<usize, Range<usize>> = BTreeMap::new();
    let mut kept_from = 0;
    for (at, place) in places.iter().enumerate() {
        for (number, piece) in ends.remove(place).into_iter().chain(starts.remove(place)).flatten() {
            let start = new.len();
            new.push_str(&piece);
            ranges.entry(number).or_insert(start..start).end = new.len();
        }
        kept_from = kept_from.max(replaced.get(place).copied().unwrap_or(0));
        if let Some(next) = places.get(at + 1)
            && *place >= kept_from
        {
            new.push_str(&text[*place..*next]);
        }
    }
    (new, ranges.into_iter().collect())
}
