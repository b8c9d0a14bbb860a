//! The files that references lead to.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::{Component, Path, PathBuf},
};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{Document, DocumentOrigin, DocumentPlace, UnresolvedReference, parse};

/// The maximum number of files beside the document.
const MAX_FILES: usize = 1024;

/// The document and the files below its folder that references lead to.
pub(super) struct ReferencedFiles {
    pub(super) files: Vec<Value>,
    pub(super) names: Vec<String>,
    pub(super) links: HashMap<(usize, String), Result<usize, UnresolvedReference>>,
}

/// Reads the files that references of `document` lead to. `leaves_first`: the first file is `null`.
pub(super) fn read_referenced_files(document: Document, leaves_first: bool) -> ReferencedFiles {
    let Document { root, origin, folder } = document;
    let folder = folder.map(|it| it.canonicalize().unwrap_or(it));
    let main = match &origin {
        DocumentOrigin::File(path) => path.canonicalize().ok(),
        // References of a text are relative to the folder.
        DocumentOrigin::Program | DocumentOrigin::Url(_) => folder.as_ref().map(|it| it.join("document")),
    };
    let (mut files, mut paths, mut names) = match leaves_first {
        true => (vec![Value::Null], vec![None], vec![String::new()]),
        false => Default::default(),
    };
    let first = files.len();
    files.push(root);
    names.push(String::new());
    let known = main.clone().map(|path| (path, first)).into_iter().collect();
    paths.push(main);
    let mut reader = FileReader { folder, known };
    let (mut links, mut waiting) = (HashMap::new(), VecDeque::from([first]));
    while let Some(from) = waiting.pop_front() {
        let mut named = HashSet::new();
        if let Some(file) = files.get(from) {
            collect_referenced_file_names(file, &mut named);
        }
        let mut named: Vec<_> = named.into_iter().map(str::to_owned).collect();
        // The order of the files does not depend on the order of a set.
        named.sort_unstable();
        for name in named {
            let beside = paths.get(from).and_then(Option::as_deref);
            let link = reader.read_file(&name, beside, files.len()).map(|found| match found {
                FileLookup::Known(at) => at,
                FileLookup::New(value, path) => {
                    names.push(reader.relative_name(&path));
                    paths.push(Some(path));
                    waiting.push_back(files.len());
                    files.push(value);
                    files.len() - 1
                }
            });
            links.insert((from, name), link);
        }
    }
    ReferencedFiles { files, names, links }
}

/// The files below a folder.
struct FileReader {
    folder: Option<PathBuf>,
    known: HashMap<PathBuf, usize>,
}

enum FileLookup {
    Known(usize),
    New(Value, PathBuf),
}

impl FileReader {
    /// Reads the file that a reference in the file `from` calls `name`.
    fn read_file(
        &mut self,
        name: &str,
        from: Option<&Path>,
        next: usize,
    ) -> Result<FileLookup, UnresolvedReference> {
        if name.contains("://") || name.starts_with("//") {
            return Err(UnresolvedReference(format!(
                "the reference `{name}` leads to a server, and no reference is fetched"
            )));
        }
        let Some(folder) = &self.folder else {
            return Err(UnresolvedReference(format!(
                "the reference `{name}` leads to another file; name the folder of such files with `Document::with_folder`"
            )));
        };
        let decoded = percent_decode_str(name).decode_utf8_lossy();
        // Separators of Windows, which other systems allow in names.
        let decoded = decoded.replace('\\', "/");
        let beside = from.and_then(Path::parent).unwrap_or(folder);
        let outside = || {
            UnresolvedReference(format!("the file `{name}` is not below the folder `{}`", folder.display()))
        };
        let unreadable =
            |error: std::io::Error| UnresolvedReference(format!("the file `{name}` cannot be read: {error}"));
        let path = beside.join(&decoded);
        // Whether there is a file elsewhere is not told, either.
        if !normalized_path(&path).starts_with(folder) {
            return Err(outside());
        }
        let path = path.canonicalize().map_err(unreadable)?;
        if !path.starts_with(folder) {
            return Err(outside());
        }
        if let Some(at) = self.known.get(&path) {
            return Ok(FileLookup::Known(*at));
        }
        if next > MAX_FILES {
            return Err(UnresolvedReference(format!("the document refers to more than {MAX_FILES} files")));
        }
        // A pipe or a device may never end.
        if !path.is_file() {
            return Err(UnresolvedReference(format!("`{name}` is not a file")));
        }
        let text = parse::read_text(&path).map_err(|error| UnresolvedReference(error.to_string()))?;
        let value = parse::parse_document(&text)
            .map_err(|error| UnresolvedReference(format!("the file `{name}`: {error}")))?;
        self.known.insert(path.clone(), next);
        Ok(FileLookup::New(value, path))
    }

    /// The path relative to the folder.
    fn relative_name(&self, path: &Path) -> String {
        let folder = self.folder.as_deref().unwrap_or(Path::new(""));
        path.strip_prefix(folder).unwrap_or(path).display().to_string()
    }
}

/// Returns the path without `.` and `..`, as if there were no symbolic links.
fn normalized_path(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}

/// Collects the file names of references in `value`.
fn collect_referenced_file_names<'v>(value: &'v Value, found: &mut HashSet<&'v str>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                let name = reference.split('#').next().unwrap_or_default();
                if !name.is_empty() {
                    found.insert(name);
                }
            }
            members.values().for_each(|it| collect_referenced_file_names(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| collect_referenced_file_names(it, found)),
        _ => {}
    }
}

/// Calls `each` with the place, the keyword and the value of each `$anchor`, `$dynamicAnchor` and `$id`.
pub(super) fn visit_anchors_and_ids(
    place: &DocumentPlace,
    value: &Value,
    each: &mut impl FnMut(&DocumentPlace, &str, &str),
) {
    // The place is built only where there is a name, since most documents have none.
    let mut path = Vec::new();
    visit_anchors_and_ids_below(value, &mut path, &mut |path, key, name| {
        let at = path.iter().fold(place.clone(), |place, step| match step {
            PointerStep::Key(key) => place.at(key),
            PointerStep::Item(at) => place.at(&at.to_string()),
        });
        each(&at, key, name);
    });
}

enum PointerStep<'v> {
    Key(&'v str),
    Item(usize),
}

fn visit_anchors_and_ids_below<'v>(
    value: &'v Value,
    path: &mut Vec<PointerStep<'v>>,
    each: &mut impl FnMut(&[PointerStep<'v>], &str, &str),
) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if let ("$anchor" | "$dynamicAnchor" | "$id", Value::String(name)) = (&**key, value) {
                    each(path, key, name);
                }
                path.push(PointerStep::Key(key));
                visit_anchors_and_ids_below(value, path, each);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                path.push(PointerStep::Item(at));
                visit_anchors_and_ids_below(value, path, each);
                path.pop();
            }
        }
        _ => {}
    }
}
