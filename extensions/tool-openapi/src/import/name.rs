//! Names of operations.

use std::collections::{HashMap, HashSet};

use tool_runtime::{ToolName, registry::OUTPUT_TOOL};

use super::found::FoundOperation;

/// An operation and its name; `None` if another operation has it.
type NamedOperation<'f, 'd> = (&'f FoundOperation<'d>, Option<ToolName>);

/// Returns the names of all operations of a document.
///
/// An id belongs to the first operation that has it. All ids are given before any name of method and path, so that the name of an
/// operation depends neither on the operations that are selected nor on those without an id.
pub(super) fn stable_tool_names<'f, 'd>(found: &'f [FoundOperation<'d>]) -> Vec<NamedOperation<'f, 'd>> {
    let mut taken: HashSet<ToolName> = HashSet::from([ToolName::from_foreign(OUTPUT_TOOL)]);
    let mut by_id = |found: &FoundOperation<'_>| {
        let name = ToolName::from_foreign(found.id()?);
        taken.insert(name.clone()).then_some(name)
    };
    let by_id: Vec<_> = found.iter().map(&mut by_id).collect();
    let named = found.iter().zip(by_id).map(|(found, by_id)| {
        let by_path = || {
            let hashed = ToolName::from_foreign(&format!("{} {}", found.method, found.path));
            [tool_name_of_path(&found.method, found.path), hashed]
                .into_iter()
                .find(|it| taken.insert(it.clone()))
        };
        (found, by_id.or_else(by_path))
    });
    named.collect()
}

/// Returns the same, without hashes in names that the document has once without them.
pub(super) fn readable_tool_names<'f, 'd>(found: &'f [FoundOperation<'d>]) -> Vec<NamedOperation<'f, 'd>> {
    let stable = stable_tool_names(found);
    let short = |(found, name): &NamedOperation<'_, '_>| {
        let name = name.as_ref()?;
        Some(match found.id() {
            _ if name.raw() == name.as_str() => name.to_string(),
            Some(id) if id == name.raw() => underscored_words(id),
            _ => underscored_words(&format!(
                "{} {}",
                found.method.to_ascii_lowercase(),
                found.path.replace('{', "by_")
            )),
        })
    };
    let short: Vec<_> = stable.iter().map(short).collect();
    let mut uses = HashMap::from([(OUTPUT_TOOL, 1)]);
    short.iter().flatten().for_each(|it| *uses.entry(it).or_default() += 1);
    let is_single = |it: &&String| uses.get(&***it) == Some(&1);
    let named = stable.into_iter().zip(&short).map(|((found, name), short)| {
        let new = short.as_ref().filter(is_single).and_then(|it| ToolName::new(it.clone()).ok());
        (found, name.map(|name| new.map_or(name.clone(), |new| new.with_raw(name.raw()))))
    });
    named.collect()
}

/// The words of a text with `_` between them.
fn underscored_words(text: &str) -> String {
    let separates = |it: char| !(it.is_ascii_alphanumeric() || it == '-' || it == '_');
    text.split(separates).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("_")
}

/// Returns the name of an operation without an id: its method and path, such as `get_pets_by_petId`. It depends on nothing
/// else, so it stays when the document grows. A path whose words are ambiguous gets a hash.
pub(super) fn tool_name_of_path(method: &str, path: &str) -> ToolName {
    let raw = format!("{method} {path}");
    let plain = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let mut name = method.to_ascii_lowercase();
    let mut is_plain = path.starts_with('/');
    for segment in path.split('/').skip(1) {
        let parameter = segment.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        is_plain &= plain(parameter.unwrap_or(segment)) && segment != "by";
        name.push_str(if parameter.is_some() { "_by_" } else { "_" });
        name.push_str(parameter.unwrap_or(segment));
    }
    match is_plain.then(|| ToolName::from_foreign(&name)) {
        Some(name) if name.raw() == name.as_str() => name,
        _ => ToolName::from_foreign(&raw),
    }
}

#[cfg(test)]
mod tests {
    use super::{tool_name_of_path, underscored_words};

    #[test]
    fn names_of_paths_are_readable_and_differ_wherever_the_paths_do() {
        let paths = [
            "/pets",
            "/pets/{petId}",
            "/pets/petId",
            "/pets_petId",
            "/pets/by/petId",
            "/",
            "/pets/",
            "/a.b",
            "/a_b",
        ];
        let names: Vec<_> = paths.iter().map(|path| tool_name_of_path("GET", path)).collect();
        assert_eq!(
            names[..3].iter().map(|it| it.as_str()).collect::<Vec<_>>(),
            ["get_pets", "get_pets_by_petId", "get_pets_petId"]
        );
        for (at, name) in names.iter().enumerate() {
            assert!(names[..at].iter().all(|other| other != name), "{name}");
        }
    }

    #[test]
    fn words_are_separated_by_single_underscores() {
        for (text, words) in [
            ("repos/get", "repos_get"),
            ("/repos//get/", "repos_get"),
            ("get /pets/by_id", "get_pets_by_id"),
            ("a-b_c.d", "a-b_c_d"),
            ("größe", "gr_e"),
            ("//", ""),
        ] {
            assert_eq!(underscored_words(text), words, "{text}");
        }
    }
}
