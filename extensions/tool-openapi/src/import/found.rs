//! The operations that a document has.

use serde_json::{Map, Value};

use super::{ImportReport, non_empty_text_member};
use crate::{
    OperationInfo,
    document::{DocumentPlace, Documents, kind_name},
};

/// The methods of a path item, in the order of the specification.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// The maximum length of a path, in bytes: each name, pointer and message of its operations has it.
const MAX_PATH_BYTES: usize = 1 << 10;

/// The maximum number of methods of a path that have no member of their own.
const MAX_OTHER_METHODS: usize = 16;

/// An operation in its document.
pub(super) struct FoundOperation<'d> {
    pub(super) method: String,
    pub(super) path: &'d str,
    pub(super) place: DocumentPlace,
    pub(super) value: &'d Value,
    pub(super) item: &'d Value,
    pub(super) item_place: DocumentPlace,
}

impl FoundOperation<'_> {
    pub(super) fn id(&self) -> Option<&str> {
        non_empty_text_member(self.value, "operationId")
    }

    /// The id, or else method and path.
    pub(super) fn id_or_path(&self) -> String {
        self.id().map_or_else(|| format!("{} {}", self.method, self.path), str::to_owned)
    }

    pub(super) fn operation_info(&self) -> OperationInfo<'_> {
        let tags = self.value.get("tags").and_then(Value::as_array);
        OperationInfo {
            id: self.id(),
            method: &self.method,
            path: self.path,
            tags: tags.into_iter().flatten().filter_map(Value::as_str).collect(),
            deprecated: self.value.get("deprecated") == Some(&Value::Bool(true)),
        }
    }
}

/// Returns the operations of a document.
pub(super) fn find_operations<'d>(
    documents: &'d Documents,
    report: &mut ImportReport,
) -> Vec<FoundOperation<'d>> {
    let place = DocumentPlace::new(0, "/paths");
    let mut found = Vec::new();
    let paths = documents.root_value().get("paths");
    if let Some(paths) = paths.filter(|it| !it.is_object()) {
        let message = format!("`paths` is {}, and not an object: there are no operations", kind_name(paths));
        report.warn("paths", "", &place, message);
    }
    let paths = paths.and_then(Value::as_object);
    for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
        let (item_place, item) = match resolved_path_item(documents, &place, path, item) {
            Ok(resolved) => resolved,
            Err(reason) => {
                report.add_skipped_value(shortened_path(path), &place.at(shortened_path(path)), reason);
                continue;
            }
        };
        let mut add = |method: &str, place: DocumentPlace, value: &'d Value| {
            let method = method.to_owned();
            found.push(FoundOperation { method, path, place, value, item, item_place: item_place.clone() });
        };
        for method in METHODS {
            if let Some(value) = item.get(method) {
                add(&method.to_ascii_uppercase(), item_place.at(method), value);
            }
        }
        // Version 3.2: methods that have no member of their own.
        let others = item.get("additionalOperations").and_then(Value::as_object);
        let place = item_place.at("additionalOperations");
        for (method, value) in others.into_iter().flatten().take(MAX_OTHER_METHODS) {
            add(method, place.at(method), value);
        }
        let more = others.map(Map::len).unwrap_or_default().saturating_sub(MAX_OTHER_METHODS);
        if more > 0 {
            let reason = format!("{more} more methods of the path; at most {MAX_OTHER_METHODS} are carried");
            report.add_skipped_value(path, &place, reason);
        }
    }
    found
}

/// The path item of `path`; an error is the reason why it has no operations.
fn resolved_path_item<'d>(
    documents: &'d Documents,
    paths: &DocumentPlace,
    path: &str,
    item: &'d Value,
) -> Result<(DocumentPlace, &'d Value), String> {
    if path.len() > MAX_PATH_BYTES {
        return Err(format!("the path has {} bytes; at most {MAX_PATH_BYTES} are carried", path.len()));
    }
    let (place, item) =
        documents.follow_references(paths.at(path), item).map_err(|reason| reason.to_string())?;
    if !item.is_object() {
        return Err(format!("the path item is {}, and not an object", kind_name(item)));
    }
    Ok((place, item))
}

/// The path, or its beginning if it is too long.
fn shortened_path(path: &str) -> &str {
    const BEGINNING: usize = 200;
    if path.len() <= MAX_PATH_BYTES {
        return path;
    }
    let end = (0..=BEGINNING).rev().find(|at| path.is_char_boundary(*at)).unwrap_or_default();
    &path[..end]
}

#[cfg(test)]
mod tests {
    use super::{MAX_PATH_BYTES, shortened_path};

    #[test]
    fn a_long_path_is_shortened_between_characters() {
        let path = "a".repeat(MAX_PATH_BYTES);
        assert_eq!(shortened_path(&path), path);
        assert_eq!(shortened_path(&format!("{path}b")), "a".repeat(200));
        let wide = format!("{}{}", "a".repeat(199), "é".repeat(MAX_PATH_BYTES));
        assert_eq!(shortened_path(&wide), "a".repeat(199));
    }
}
