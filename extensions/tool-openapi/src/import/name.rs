//! Names of operations.

use tool_runtime::ToolName;

/// Returns the name of an operation without an id: its method and path, such as `get_pets_by_petId`. It depends on nothing
/// else, so it stays when the document grows. A path whose words are ambiguous gets a hash.
pub(super) fn of_path(method: &str, path: &str) -> ToolName {
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
    use super::of_path;

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
        let names: Vec<_> = paths.iter().map(|path| of_path("GET", path)).collect();
        assert_eq!(
            names[..3].iter().map(|it| it.as_str()).collect::<Vec<_>>(),
            ["get_pets", "get_pets_by_petId", "get_pets_petId"]
        );
        for (at, name) in names.iter().enumerate() {
            assert!(names[..at].iter().all(|other| other != name), "{name}");
        }
    }
}
