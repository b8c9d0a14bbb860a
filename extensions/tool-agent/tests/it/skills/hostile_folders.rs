//! Folders of skills that are broken on purpose.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tempfile::TempDir;
use tool_agent::skills::{SharedSkills, Skill, SkillError, SkillFolders};

use super::folders::write;

/// Returns a valid `SKILL.md`.
fn skill_md(name: &str) -> String {
    format!("---\nname: {name}\ndescription: How to do {name}.\n---\nDo {name}.\n")
}

fn folder_with(name: &str, content: impl AsRef<[u8]>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good/SKILL.md", skill_md("good"));
    write(folder.path(), &format!("{name}/SKILL.md"), content);
    folder
}

fn open(folder: &Path) -> SharedSkills {
    SharedSkills::new(SkillFolders::open([folder]).unwrap())
}

/// Checks that the skill `name` is a diagnostic with `problem`, cannot be loaded, and does not hide the other one.
async fn assert_broken(folder: &Path, name: &str, problem: &str) {
    let skills = open(folder);
    let list = skills.list().await.unwrap();
    let names: Vec<_> = list.headers.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["good"], "{name}");
    let diagnostic = list.diagnostics.iter().find(|it| it.place == name).unwrap();
    assert!(diagnostic.problem.contains(problem), "{problem}: {}", diagnostic.problem);
    assert!(diagnostic.problem.len() < 600, "{}", diagnostic.problem.len());
    assert!(skills.load(name).await.is_err());
    assert_eq!(skills.load("good").await.unwrap().body, "Do good.\n");
}

#[tokio::test]
async fn a_broken_skill_is_a_diagnostic_and_hides_no_other() {
    let front = |lines: &str| format!("---\nname: bad\ndescription: d\n{lines}\n---\nbody");
    let bomb = {
        let mut yaml = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for at in 1..10 {
            let before = format!("*a{}", at - 1);
            yaml.push_str(&format!("a{at}: &a{at} [{}]\n", [before.as_str(); 9].join(",")));
        }
        front(&format!("metadata: {{}}\n{yaml}"))
    };
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("no front matter", b"Do it.".to_vec(), "has no front matter"),
        ("empty", Vec::new(), "has no front matter"),
        ("no end", b"---\nname: bad\ndescription: d\n".to_vec(), "has no end"),
        ("no name", b"---\ndescription: d\n---\n".to_vec(), "has no `name`"),
        ("no description", b"---\nname: bad\n---\n".to_vec(), "has no `description`"),
        ("wrong name", skill_md("other").into_bytes(), "is named `bad`, but its `name` is `other`"),
        ("invalid name", skill_md("Bad_Name").into_bytes(), "has characters other than a-z"),
        ("name is a list", b"---\nname: [bad]\ndescription: d\n---\n".to_vec(), "`name` is not a text"),
        // 9^10 values, of which the parser counts as many as it accepts.
        ("bomb", bomb.clone().into_bytes(), "budget breached: Nodes { nodes: 5001 }"),
        ("bomb", bomb.into_bytes(), "write values in place of aliases"),
        ("alias of itself", front("x: &x [*x]").into_bytes(), "is not a map in YAML"),
        (
            "deep",
            front(&format!("x: {}1{}", "[".repeat(500), "]".repeat(500))).into_bytes(),
            "recursion limit exceeded",
        ),
        ("not a map", b"---\n- a\n---\n".to_vec(), "is not a map in YAML"),
        ("colon", b"---\nname: bad\ndescription: a: b: c\n---\n".to_vec(), "is not a map in YAML"),
        ("twice", front("name: bad").into_bytes(), "is not a map in YAML"),
        ("tools are a map", front("allowed-tools: { a: b }").into_bytes(), "neither a text nor a list"),
        ("tools without a value", front("allowed-tools:").into_bytes(), "neither a text nor a list"),
        ("tools with a number", front("allowed-tools: [a, 1]").into_bytes(), "neither a text nor a list"),
        ("tools without an end", front("allowed-tools: Bash(git").into_bytes(), "has no counterpart"),
        ("metadata", front("metadata: text").into_bytes(), "`metadata` is not a map"),
        (
            "long front matter",
            front(&format!("x: {}\ny: 1", "x".repeat(17 << 10))).into_bytes(),
            "more than 16384 bytes",
        ),
        ("long body", format!("{}{}", skill_md("bad"), "x".repeat(65 << 10)).into_bytes(), "more than 65536"),
        ("10 MB", vec![b'x'; 10 << 20], "more than 81984 bytes"),
        ("invalid UTF-8", b"---\nname: bad\ndescription: \xff\n---\n".to_vec(), "is not UTF-8 at byte 27"),
        ("UTF-16", b"\xff\xfe-\0-\0-\0".to_vec(), "is not UTF-8 at byte 0"),
        ("NUL", b"---\nname: bad\ndescription: a\0b\n---\n".to_vec(), "is not a map in YAML"),
    ];
    for (case, content, problem) in cases {
        eprintln!("{case}");
        let folder = folder_with("bad", content);
        assert_broken(folder.path(), "bad", problem).await;
    }
}

#[tokio::test]
async fn byte_order_marks_windows_line_breaks_and_unknown_members_are_read() {
    let text = "\u{feff}---\r\nname: bad\r\ndescription: >\r\n  How to\r\n  do it.\r\nversion: 2\r\nlicense: MIT\r\nmetadata:\r\n  author: a\r\nallowed-tools:\r\n  - find\r\n  - Bash(git:*)\r\n---\r\n\r\nDo it.\r\n---\r\nMore.\r\n";
    let folder = folder_with("bad", text);
    let skills = open(folder.path());
    assert_eq!(skills.list().await.unwrap().diagnostics, []);
    let skill = skills.load("bad").await.unwrap();
    assert_eq!(skill.header.description, "How to do it.\n");
    assert_eq!(skill.body, "\nDo it.\n---\nMore.\n");
    assert_eq!(skill.header.license.as_deref(), Some("MIT"));
    assert_eq!(skill.header.metadata["author"], "a");
    assert_eq!(skill.header.allowed_tools.unwrap().entries(), ["find", "Bash(git:*)"]);
}

#[tokio::test]
async fn links_that_lead_out_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "linked/SKILL.md", skill_md("linked"));
    write(outside.path(), "secret.txt", "secret");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good/SKILL.md", skill_md("good"));
    write(folder.path(), "good/notes.txt", "notes");
    fs::create_dir(folder.path().join("bad")).unwrap();
    symlink(outside.path().join("linked/SKILL.md"), folder.path().join("bad/SKILL.md")).unwrap();
    assert_broken(folder.path(), "bad", "leads out of the folder of the skill").await;
    symlink(outside.path().join("linked"), folder.path().join("linked")).unwrap();
    assert_broken(folder.path(), "linked", "leads out of the folder of the skill").await;
    symlink(outside.path().join("secret.txt"), folder.path().join("good/absolute.txt")).unwrap();
    symlink("../../../../../../../../etc/passwd", folder.path().join("good/relative.txt")).unwrap();
    // Of another skill, too.
    write(folder.path(), "other/SKILL.md", skill_md("other"));
    symlink("../other/SKILL.md", folder.path().join("good/other.txt")).unwrap();
    symlink("notes.txt", folder.path().join("good/within.txt")).unwrap();
    symlink("loop.txt", folder.path().join("good/loop.txt")).unwrap();
    symlink("..", folder.path().join("good/above")).unwrap();
    let skills = open(folder.path());
    for path in ["absolute.txt", "relative.txt", "other.txt", "above/other/SKILL.md", "loop.txt"] {
        let error = skills.read_file("good", path).await.unwrap_err().to_string();
        assert!(!error.contains("secret"), "{path}: {error}");
    }
    assert_eq!(skills.read_file("good", "within.txt").await.unwrap(), b"notes");
    let good = skills.load("good").await.unwrap();
    let paths: Vec<_> = good.files.iter().map(|it| it.path.as_str()).collect();
    assert_eq!((paths, good.unlisted_files), (vec!["notes.txt", "within.txt"], 5));
}

#[tokio::test]
async fn paths_out_of_the_folder_and_devices_are_refused() {
    let folder = folder_with("other", skill_md("other"));
    let skills = open(folder.path());
    for path in
        ["../other/SKILL.md", "/etc/passwd", "a/../../other/SKILL.md", "..", "a\0b", "", "SKILL.md/x", "x"]
    {
        assert!(skills.read_file("good", path).await.is_err(), "{path:?}");
    }
    for name in ["..", ".", "", "good/../other", "/etc", "good\0", "GOOD"] {
        assert!(skills.load(name).await.is_err(), "{name:?}");
    }
    assert_eq!(skills.read_file("good", "SKILL.md").await.unwrap(), skill_md("good").as_bytes());
}

#[tokio::test]
async fn a_pipe_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good/SKILL.md", skill_md("good"));
    fs::create_dir(folder.path().join("bad")).unwrap();
    for path in ["bad/SKILL.md", "good/pipe"] {
        assert!(Command::new("mkfifo").arg(folder.path().join(path)).status().unwrap().success());
    }
    assert_broken(folder.path(), "bad", "it is not a regular file").await;
    let error = open(folder.path()).read_file("good", "pipe").await.unwrap_err();
    assert_eq!(error.to_string(), "`pipe` cannot be read: it is not a regular file");
    // A folder in place of a file.
    fs::create_dir_all(folder.path().join("worse/SKILL.md")).unwrap();
    assert_broken(folder.path(), "worse", "it is not a regular file").await;
}

#[tokio::test]
async fn the_first_folder_with_a_valid_skill_of_a_name_counts() {
    let [one, two, three] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    write(one.path(), "a/SKILL.md", "broken");
    for (folder, body) in [(&two, "two"), (&three, "three")] {
        write(folder.path(), "a/SKILL.md", format!("---\nname: a\ndescription: d\n---\n{body}"));
    }
    write(three.path(), "a/only.txt", "x");
    let folders = SkillFolders::open([one.path(), two.path(), three.path()]).unwrap();
    let skills = SharedSkills::new(folders);
    let list = skills.list().await.unwrap();
    assert_eq!((list.headers.len(), list.diagnostics.len()), (1, 2));
    assert!(list.diagnostics[1].problem.contains("another folder has a skill of this name"));
    assert_eq!(skills.load("a").await.unwrap().body, "two");
    assert!(skills.read_file("a", "only.txt").await.is_err());
    assert!(
        SkillFolders::open([one.path().join("missing")])
            .unwrap_err()
            .to_string()
            .contains("cannot be opened")
    );
}

#[tokio::test]
async fn other_files_and_names_beside_skills_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good/SKILL.md", skill_md("good"));
    write(folder.path(), "good/.git/config", "x");
    write(folder.path(), "README.md", "x");
    write(folder.path(), ".hidden/SKILL.md", "x");
    fs::create_dir(folder.path().join("empty")).unwrap();
    let skills = open(folder.path());
    let list = skills.list().await.unwrap();
    assert_eq!((list.headers.len(), list.diagnostics), (1, vec![]));
    for at in 0..250 {
        write(folder.path(), &format!("good/d{}/f{at:03}.txt", at % 7), "x");
    }
    write(folder.path(), &format!("good/{}deep.txt", "n/".repeat(12)), "x");
    let good = skills.load("good").await.unwrap();
    assert_eq!((good.files.len(), good.unlisted_files), (200, 51));
    assert!(good.files.is_sorted_by(|one, other| one.path < other.path));
}

#[tokio::test]
async fn files_below_a_name_that_begins_with_a_dot_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good/SKILL.md", skill_md("good"));
    for path in [".env", ".git/config", "notes/.key", "notes/a.txt"] {
        write(folder.path(), &format!("good/{path}"), "secret");
    }
    let skills = open(folder.path());
    symlink(".env", folder.path().join("good/link.txt")).unwrap();
    symlink(".git", folder.path().join("good/linked")).unwrap();
    let linked = ["link.txt", "linked/config"];
    for path in [".env", "./.env", ".git/config", "notes/.key", "notes//./.key"].into_iter().chain(linked) {
        let error = skills.read_file("good", path).await.unwrap_err();
        assert!(matches!(error, SkillError::UnknownFile { .. }), "{path}: {error}");
    }
    assert_eq!(skills.read_file("good", "./notes/a.txt").await.unwrap(), b"secret");
}

#[tokio::test]
async fn names_that_begin_with_a_dot_do_not_count_as_entries() {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..30_000 {
        fs::write(folder.path().join(format!(".f{at}")), "").unwrap();
    }
    for name in ["good", "other", "third"] {
        write(folder.path(), &format!("{name}/SKILL.md"), skill_md(name));
    }
    let list = open(folder.path()).list().await.unwrap();
    assert_eq!((list.headers.len(), list.diagnostics), (3, vec![]));
    for at in 0..10_001 {
        fs::write(folder.path().join(format!("f{at}")), "").unwrap();
    }
    let list = open(folder.path()).list().await.unwrap();
    let problems: Vec<_> = list.diagnostics.iter().map(|it| it.problem.as_str()).collect();
    assert_eq!(problems, ["its folder has more than 10000 names, and only those are read; remove some"]);
}

#[tokio::test]
async fn folders_beyond_the_maximum_of_skills_are_one_diagnostic() {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..1_000 {
        let name = format!("s-{at:04}");
        write(folder.path(), &format!("{name}/SKILL.md"), skill_md(&name));
    }
    write(folder.path(), "zz.txt", "");
    let skills = open(folder.path());
    let list = skills.list().await.unwrap();
    assert_eq!((list.headers.len(), list.diagnostics), (1_000, vec![]));
    write(folder.path(), "t-1/SKILL.md", skill_md("t-1"));
    write(folder.path(), "t-2/SKILL.md", "broken");
    let list = skills.list().await.unwrap();
    assert_eq!(list.headers.last().unwrap().name.to_string(), "s-0999");
    let problems: Vec<_> = list.diagnostics.iter().map(|it| it.problem.as_str()).collect();
    assert_eq!(problems, ["there are 1000 skills, and 2 further folders are not read; remove some"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_that_are_not_text_are_diagnostics() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good/SKILL.md", skill_md("good"));
    fs::create_dir(folder.path().join(OsStr::from_bytes(b"b\xff"))).unwrap();
    fs::write(folder.path().join("good").join(OsStr::from_bytes(b"f\xff")), "x").unwrap();
    let skills = open(folder.path());
    let list = skills.list().await.unwrap();
    assert_eq!(list.headers.len(), 1);
    assert!(list.diagnostics[0].problem.contains("is not UTF-8"), "{:?}", list.diagnostics);
    assert_eq!(skills.load("good").await.unwrap().unlisted_files, 1);
}

#[tokio::test]
async fn a_folder_may_change_while_it_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good/SKILL.md", skill_md("good"));
    let ends = Arc::new(AtomicBool::new(false));
    let (path, stops) = (folder.path().to_owned(), Arc::clone(&ends));
    let writer = std::thread::spawn(move || {
        let mut at = 0;
        while !stops.load(Ordering::Relaxed) {
            let name = format!("s-{}", at % 5);
            write(&path, &format!("{name}/SKILL.md"), skill_md(&name));
            fs::rename(path.join(&name), path.join("moved")).unwrap();
            fs::remove_dir_all(path.join("moved")).unwrap();
            at += 1;
        }
    });
    let skills = open(folder.path());
    for _ in 0..200 {
        let list = skills.list().await.unwrap();
        assert!(list.headers.iter().any(|it| &*it.name == "good"));
        let _ = skills.load("s-3").await;
    }
    ends.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert_eq!(skills.list().await.unwrap().headers.len(), 1);
}

#[test]
fn a_skill_is_read_from_its_text() {
    let skill = Skill::parse(&skill_md("good")).unwrap();
    assert_eq!((&*skill.header.name, skill.files.len(), skill.has_scripts()), ("good", 0, false));
}
