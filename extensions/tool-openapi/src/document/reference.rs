//! References to values of the document and of files beside it.
//!
//! All files that references lead to are read before the import, so that resolution only borrows.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    path::{Path, PathBuf},
};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{Document, Origin, parse};

/// The maximum number of references from one to the next.
const LONGEST_CHAIN: usize = 32;

/// The maximum number of files beside the document.
const MOST_FILES: usize = 1024;

/// A document and the files that its references lead to.
pub(crate) struct Documents {
    files: Vec<Value>,
    /// The files by what a reference of another file calls them.
    links: HashMap<(usize, String), Result<usize, Unresolved>>,
}

/// The place of a value: a file, and a JSON pointer in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: usize,
    pub(crate) pointer: String,
}

impl Place {
    pub(crate) fn new(file: usize, pointer: impl Into<String>) -> Self {
        Self { file, pointer: pointer.into() }
    }

    /// The place of the member or item `key`.
    pub(crate) fn at(&self, key: &str) -> Self {
        Self { file: self.file, pointer: format!("{}/{}", self.pointer, escaped(key)) }
    }
}

/// The reason why a reference leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unresolved(String);

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key as a token of a JSON pointer.
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

impl Documents {
    /// Reads the files that references of `document` lead to.
    pub(crate) fn new(document: Document) -> Self {
        let Document { root, origin, folder } = document;
        let mut reader =
            Reader { folder: folder.map(|it| it.canonicalize().unwrap_or(it)), known: HashMap::new() };
        let main = match &origin {
            Origin::File(path) => path.canonicalize().ok(),
            // References of a text are relative to the folder.
            _ => reader.folder.as_ref().map(|it| it.join("document")),
        };
        let (mut files, mut paths) = (vec![root], vec![main.clone()]);
        reader.known.extend(main.map(|path| (path, 0)));
        let mut links = HashMap::new();
        let mut waiting = VecDeque::from([0]);
        while let Some(from) = waiting.pop_front() {
            let mut named = Vec::new();
            external(&files[from], &mut named);
            for name in named {
                if links.contains_key(&(from, name.clone())) {
                    continue;
                }
                let read = reader.read(&name, paths[from].as_deref(), files.len());
                let link = read.map(|found| match found {
                    Found::Known(at) => at,
                    Found::New(value, path) => {
                        files.push(value);
                        paths.push(Some(path));
                        waiting.push_back(files.len() - 1);
                        files.len() - 1
                    }
                });
                links.insert((from, name), link);
            }
        }
        Self { files, links }
    }

    /// Returns the main document.
    pub(crate) fn root(&self) -> &Value {
        &self.files[0]
    }

    /// Returns the value at `place`.
    pub(crate) fn get(&self, place: &Place) -> Option<&Value> {
        self.files.get(place.file)?.pointer(&place.pointer)
    }

    /// Returns the place that `reference`, in the file of `from`, leads to.
    pub(crate) fn target(&self, from: usize, reference: &str) -> Result<(Place, &Value), Unresolved> {
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let file = match name {
            "" => from,
            name => match self.links.get(&(from, name.to_owned())) {
                Some(link) => link.clone()?,
                None => {
                    return Err(Unresolved(format!(
                        "the reference `{reference}` leads to a file that was not read"
                    )));
                }
            },
        };
        let pointer = percent_decode_str(fragment).decode_utf8_lossy().into_owned();
        let place = Place { file, pointer };
        match self.get(&place) {
            Some(value) => Ok((place, value)),
            None if !place.pointer.is_empty() && !place.pointer.starts_with('/') => Err(Unresolved(format!(
                "the reference `{reference}` is an anchor; only JSON pointers are resolved"
            ))),
            None => Err(Unresolved(format!("the reference `{reference}` leads to nothing"))),
        }
    }

    /// Follows references from the value at `place` to one that is no reference.
    pub(crate) fn resolved<'d>(
        &'d self,
        place: Place,
        value: &'d Value,
    ) -> Result<(Place, &'d Value), Unresolved> {
        let (mut place, mut value) = (place, value);
        for _ in 0..LONGEST_CHAIN {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return Ok((place, value));
            };
            (place, value) = self.target(place.file, reference)?;
        }
        let reference = value.get("$ref").and_then(Value::as_str).unwrap_or_default();
        Err(Unresolved(format!(
            "the reference `{reference}` leads to itself, or over more than {LONGEST_CHAIN} others"
        )))
    }
}

/// The files below a folder.
struct Reader {
    folder: Option<PathBuf>,
    known: HashMap<PathBuf, usize>,
}

enum Found {
    Known(usize),
    New(Value, PathBuf),
}

impl Reader {
    /// Reads the file that a reference in the file `from` calls `name`.
    fn read(&mut self, name: &str, from: Option<&Path>, next: usize) -> Result<Found, Unresolved> {
        if name.contains("://") || name.starts_with("//") {
            return Err(Unresolved(format!(
                "the reference `{name}` leads to a server, and no reference is fetched"
            )));
        }
        let Some(folder) = &self.folder else {
            return Err(Unresolved(format!(
                "the reference `{name}` leads to another file; name the folder of such files with `Document::with_folder`"
            )));
        };
        let decoded = percent_decode_str(name).decode_utf8_lossy();
        let beside = from.and_then(Path::parent).unwrap_or(folder);
        let unreadable =
            |error: std::io::Error| Unresolved(format!("the file `{name}` cannot be read: {error}"));
        let path = beside.join(&*decoded).canonicalize().map_err(unreadable)?;
        if !path.starts_with(folder) {
            return Err(Unresolved(format!(
                "the file `{name}` is not below the folder `{}`",
                folder.display()
            )));
        }
        if let Some(at) = self.known.get(&path) {
            return Ok(Found::Known(*at));
        }
        if next >= MOST_FILES {
            return Err(Unresolved(format!("the document refers to more than {MOST_FILES} files")));
        }
        let text = parse::read(&path).map_err(|error| Unresolved(error.to_string()))?;
        let value = parse::parse(&text).map_err(|error| Unresolved(format!("the file `{name}`: {error}")))?;
        self.known.insert(path.clone(), next);
        Ok(Found::New(value, path))
    }
}

/// Collects the file names of references in `value`.
fn external(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                let name = reference.split('#').next().unwrap_or_default();
                if !name.is_empty() && !found.iter().any(|it| it == name) {
                    found.push(name.to_owned());
                }
            }
            members.values().for_each(|it| external(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| external(it, found)),
        _ => {}
    }
}
