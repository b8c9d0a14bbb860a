//! Folders of prompt files.

use std::{fs, path::Path};

use tool_kit::prompt::{FolderChange, Prompt as _, PromptFolder};

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

fn names(folder: &PromptFolder) -> Vec<String> {
    folder.prompts().iter().map(|prompt| prompt.definition().name().to_owned()).collect()
}

#[test]
fn a_folder_is_loaded_and_reports_what_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "b.md", "b");
    write(path, "a.prompt", "a");
    for (name, text) in [(".hidden.md", "{{"), ("notes.txt", "{{"), ("README", "{{")] {
        write(path, name, text);
    }
    fs::create_dir(path.join("sub.md")).unwrap();
    let prompts = PromptFolder::load(path).unwrap();
    assert_eq!(names(&prompts), ["a", "b"]);
    assert!(prompts.reload().unwrap().is_empty());

    write(path, "a.prompt", "other");
    write(path, "c.md", "c");
    fs::remove_file(path.join("b.md")).unwrap();
    let changes = prompts.reload().unwrap();
    let expected = ["a", "b", "c"].map(str::to_owned);
    let [a, b, c] = expected;
    assert_eq!(changes, [FolderChange::Changed(a), FolderChange::Removed(b), FolderChange::Added(c)]);
    assert_eq!(changes[1].to_string(), "the prompt `b` was removed");
    assert_eq!(names(&prompts), ["a", "c"]);
}

#[test]
fn a_folder_with_a_mistake_is_not_loaded_and_keeps_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "a.md", "a");
    let prompts = PromptFolder::load(path).unwrap();
    write(path, "b.md", "{{ .x");
    write(path, "c.md", "---\nname: a\n---\nx");
    write(path, "d.md", "d");
    let error = prompts.reload().unwrap_err();
    assert_eq!(error.problems.len(), 2, "{error}");
    let text = error.to_string();
    assert!(text.contains("b.md:1:1: the action is not closed"), "{text}");
    assert!(text.contains("has the name `a`, too") && text.contains("rename one of them"), "{text}");
    assert_eq!(names(&prompts), ["a"]);
    assert!(prompts.get("d").is_none() && prompts.get("a").is_some());
    assert_eq!(PromptFolder::load(path).unwrap_err().problems.len(), 2);
    assert!(
        PromptFolder::load(path.join("none")).unwrap_err().to_string().contains("the folder cannot be read")
    );
}

#[test]
fn problems_are_those_of_all_files_by_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<_> = (10..40).map(|number| format!("{number}.md")).collect();
    for name in names.iter().rev() {
        write(folder.path(), name, "{{ .x");
    }
    let error = PromptFolder::load(folder.path()).unwrap_err();
    let files = error.problems.iter().map(|problem| problem.file.clone().unwrap());
    assert_eq!(
        files.collect::<Vec<_>>(),
        names.iter().map(|name| folder.path().join(name)).collect::<Vec<_>>()
    );
    let lines: Vec<_> = error.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines, error.problems.iter().map(ToString::to_string).collect::<Vec<_>>());
}

#[cfg(unix)]
#[test]
fn links_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret.md", "secret");
    std::os::unix::fs::symlink(outside.path().join("secret.md"), folder.path().join("a.md")).unwrap();
    assert!(PromptFolder::load(folder.path()).unwrap().prompts().is_empty());
}
