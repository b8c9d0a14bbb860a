//! References to values of the document and of files beside it.
//!
//! All files that references lead to are read before the import, so that resolution only borrows.

use std::{borrow::Cow, collections::HashMap, fmt};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{Document, DocumentOrigin, OpenApiVersion, files, swagger};

/// The maximum number of references from one to the next.
const MAX_REFERENCE_CHAIN: usize = 32;

/// A document and the files that its references lead to.
pub(crate) struct Documents {
    /// The document, converted if it is of version 2.0, and the files.
    files: Vec<Value>,
    /// The names of the files; empty for the document.
    names: Vec<String>,
    version: OpenApiVersion,
    /// The files by what a reference of another file calls them.
    links: HashMap<(usize, String), Result<usize, UnresolvedReference>>,
    /// Pointers by file and `$anchor`.
    anchors: HashMap<(usize, String), Option<String>>,
    /// Schemas by their `$id`.
    ids: HashMap<String, DocumentPlace>,
    /// Places of the document before its conversion, by pointers afterwards.
    moved: HashMap<String, DocumentPlace>,
}

/// The place of a value: a file, and a JSON pointer in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DocumentPlace {
    pub(crate) file: usize,
    pub(crate) pointer: String,
}

impl DocumentPlace {
    pub(crate) fn new(file: usize, pointer: impl Into<String>) -> Self {
        Self { file, pointer: pointer.into() }
    }

    /// The place of the member or item `key`.
    pub(crate) fn at(&self, key: &str) -> Self {
        let token = match key.contains(['~', '/']) {
            true => Cow::Owned(pointer_token(key)),
            false => Cow::Borrowed(key),
        };
        Self { file: self.file, pointer: [&*self.pointer, "/", &*token].concat() }
    }
}

/// The reason why a reference leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnresolvedReference(pub(super) String);

impl fmt::Display for UnresolvedReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key as a token of a JSON pointer.
pub(crate) fn pointer_token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

impl Documents {
    /// Reads the files that references of `document` lead to.
    pub(crate) fn new(document: Document) -> Self {
        let version = OpenApiVersion::of(&document.root).unwrap_or(OpenApiVersion::V3_1);
        let scheme = match &document.origin {
            DocumentOrigin::Url(url) => Some(url.url.scheme().to_owned()),
            DocumentOrigin::Program | DocumentOrigin::File(_) => None,
        };
        let is_old = version == OpenApiVersion::V2;
        let files::ReferencedFiles { files, names, links } = files::read_referenced_files(document, is_old);
        let (anchors, ids, moved) = Default::default();
        let mut documents = Self { files, names, version, links, anchors, ids, moved };
        documents.collect_anchors_and_ids();
        if is_old {
            documents.convert_main_document(scheme.as_deref());
        }
        documents
    }

    /// Replaces the first file by the second one, converted.
    fn convert_main_document(&mut self, scheme: Option<&str>) {
        let swagger::SwaggerConversion { root, moved, broken } = swagger::convert_swagger(self, 1, scheme);
        if let Some(first) = self.files.first_mut() {
            *first = root;
        }
        self.moved = moved;
        self.links.extend((1..self.files.len()).map(|at| ((0, format!("{at}:")), Ok(at))));
        self.links.extend(broken.into_iter().map(|(name, reason)| ((0, name), Err(reason))));
    }

    /// Collects anchors and ids of schemas.
    fn collect_anchors_and_ids(&mut self) {
        let (mut anchors, mut ids) = (HashMap::new(), HashMap::new());
        for (at, file) in self.files.iter().enumerate() {
            files::visit_anchors_and_ids(
                &DocumentPlace::new(at, ""),
                file,
                &mut |place, key, name| match key {
                    "$id" => drop(ids.entry(name.to_owned()).or_insert_with(|| place.clone())),
                    _ => {
                        // An anchor that several schemas have leads to none of them.
                        let pointer = anchors.entry((place.file, name.to_owned()));
                        pointer.and_modify(|it| *it = None).or_insert_with(|| Some(place.pointer.clone()));
                    }
                },
            );
        }
        (self.anchors, self.ids) = (anchors, ids);
    }

    /// Returns the main document.
    pub(crate) fn root_value(&self) -> &Value {
        self.files.first().unwrap_or(&Value::Null)
    }

    /// Returns the version that the document states.
    pub(crate) fn version(&self) -> OpenApiVersion {
        self.version
    }

    /// Returns the value at `place`.
    pub(crate) fn get(&self, place: &DocumentPlace) -> Option<&Value> {
        self.files.get(place.file)?.pointer(&place.pointer)
    }

    /// Returns the place that `reference`, at `from`, leads to.
    pub(crate) fn reference_target(
        &self,
        from: &DocumentPlace,
        reference: &str,
    ) -> Result<(DocumentPlace, &Value), UnresolvedReference> {
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        let base = match name {
            "" => DocumentPlace::new(from.file, ""),
            name => match (self.links.get(&(from.file, name.to_owned())), self.ids.get(name)) {
                (_, Some(place)) => place.clone(),
                (Some(link), None) => DocumentPlace::new(link.clone()?, ""),
                (None, None) => {
                    return Err(UnresolvedReference(format!(
                        "the reference `{reference}` leads to a file that was not read"
                    )));
                }
            },
        };
        let found = match fragment.is_empty() || fragment.starts_with('/') {
            true => self
                .existing_place(&base, &fragment)
                .or_else(|| self.place_in_enclosing_resource(from, name, &fragment)),
            false => match self.anchors.get(&(base.file, fragment.clone().into_owned())) {
                Some(Some(pointer)) => Some(DocumentPlace::new(base.file, pointer.clone())),
                Some(None) => {
                    return Err(UnresolvedReference(format!(
                        "the reference `{reference}` leads to an anchor that several schemas have"
                    )));
                }
                // Commonly written without its `/`.
                None => self.existing_place(&base, &format!("/{fragment}")),
            },
        };
        let found = found.and_then(|place| self.get(&place).map(|value| (place, value)));
        found.ok_or_else(|| UnresolvedReference(format!("the reference `{reference}` leads to nothing")))
    }

    /// The place of `pointer` below `base`, if there is such a value.
    fn existing_place(&self, base: &DocumentPlace, pointer: &str) -> Option<DocumentPlace> {
        let place = DocumentPlace::new(base.file, format!("{}{pointer}", base.pointer));
        self.get(&place).map(|_| place)
    }

    /// The place of `pointer` within the closest schema around `from` that has an `$id`.
    fn place_in_enclosing_resource(
        &self,
        from: &DocumentPlace,
        name: &str,
        pointer: &str,
    ) -> Option<DocumentPlace> {
        if !name.is_empty() {
            return None;
        }
        let mut around = from.clone();
        loop {
            // A property may have the name, too.
            if self.get(&around).and_then(|it| it.get("$id")).is_some_and(Value::is_string) {
                return self.existing_place(&around, pointer);
            }
            around.pointer.truncate(around.pointer.rfind('/')?);
        }
    }

    /// Follows the reference that `value`, at `place`, may be.
    pub(crate) fn follow_references<'d>(
        &'d self,
        place: DocumentPlace,
        value: &'d Value,
    ) -> Result<(DocumentPlace, &'d Value), UnresolvedReference> {
        let (mut place, mut value) = (place, value);
        for _ in 0..=MAX_REFERENCE_CHAIN {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return Ok((place, value));
            };
            (place, value) = self.reference_target(&place, reference)?;
        }
        let reference = value.get("$ref").and_then(Value::as_str).unwrap_or_default();
        Err(UnresolvedReference(format!(
            "the reference `{reference}` leads to itself, or over more than {MAX_REFERENCE_CHAIN} others"
        )))
    }

    /// Returns the pointer of `place` in the document as it was written, after the name of the file if it is another one.
    pub(crate) fn pointer_in_source(&self, place: &DocumentPlace) -> String {
        let mut place = self.place_before_conversion(place);
        // A converted value may have members that the original lacks.
        while self.get(&place).is_none() {
            let Some(end) = place.pointer.rfind('/') else { break };
            place.pointer.truncate(end);
        }
        match self.names.get(place.file) {
            Some(name) if !name.is_empty() => format!("{name}#{}", place.pointer),
            _ => place.pointer,
        }
    }

    /// The place before the conversion of the document.
    fn place_before_conversion(&self, place: &DocumentPlace) -> DocumentPlace {
        if self.version != OpenApiVersion::V2 || place.file != 0 {
            return place.clone();
        }
        let mut end = place.pointer.len();
        loop {
            let (before, after) = place.pointer.split_at(end);
            if let Some(original) = self.moved.get(before) {
                return DocumentPlace::new(original.file, format!("{}{after}", original.pointer));
            }
            match before.rfind('/') {
                Some(at) => end = at,
                None => return DocumentPlace::new(1, place.pointer.clone()),
            }
        }
    }
}
