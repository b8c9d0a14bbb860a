//! Paths of the files of a skill.

use super::{SkillError, error::short_line};

/// The maximum length of a path, as on most systems.
const MAX_PATH_BYTES: usize = 1024;

/// Returns the parts of a path that stays below the folder of its skill, with `/` between them.
pub(super) fn relative_path(path: &str) -> Result<String, SkillError> {
    let refusal = |problem: &str| {
        let path = short_line(path);
        Err(SkillError::invalid(format!(
            "the path `{path}` {problem}; give one such as `references/forms.md`"
        )))
    };
    if path.len() > MAX_PATH_BYTES {
        return refusal(&format!("is longer than {MAX_PATH_BYTES} bytes"));
    }
    if path.contains('\0') {
        return refusal("contains a NUL character");
    }
    let is_drive = path.as_bytes().get(1) == Some(&b':');
    if path.starts_with(['/', '\\']) || is_drive {
        return refusal("is absolute");
    }
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.iter().any(|part| part.split('\\').any(|part| part == "..")) {
        return refusal("leads out of the folder of the skill");
    }
    match parts.is_empty() {
        true => refusal("names no file"),
        false => Ok(parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_folder_of_its_skill() {
        let longest = "x".repeat(1024);
        for (path, expected) in [
            ("a/b.md", "a/b.md"),
            ("./a//b.md/", "a/b.md"),
            ("a..b/..c", "a..b/..c"),
            ("ab:c", "ab:c"),
            (longest.as_str(), longest.as_str()),
        ] {
            assert!(relative_path(path).is_ok_and(|it| it == expected), "{path}");
        }
        let too_long = "x".repeat(1025);
        for (path, problem) in [
            (too_long.as_str(), "is longer than 1024 bytes"),
            ("a\0b", "contains a NUL character"),
            ("/a", "is absolute"),
            ("\\a", "is absolute"),
            ("c:a", "is absolute"),
            ("..", "leads out of the folder of the skill"),
            ("a/../b", "leads out of the folder of the skill"),
            ("a\\..\\b", "leads out of the folder of the skill"),
            ("", "names no file"),
            ("./.", "names no file"),
        ] {
            let error = relative_path(path).map_err(|error| error.to_string());
            assert!(error.as_ref().is_err_and(|text| text.contains(problem)), "{path}: {error:?}");
        }
    }
}
