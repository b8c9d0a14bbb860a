//! The limits of skills in folders, at both sides.

use tempfile::TempDir;
use tool_agent::skills::{SharedSkills, Skill, SkillError, SkillFolders};

use super::folders::write;

/// A folder with one skill.
struct OneSkill(TempDir);

impl OneSkill {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("SKILL.md", "---\nname: a\ndescription: d\n---\nDo it.");
        folder
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(self.0.path(), &format!("a/{path}"), content);
    }

    fn skills(&self) -> SharedSkills {
        SharedSkills::new(SkillFolders::open([self.0.path()]).unwrap())
    }

    async fn load(&self) -> Skill {
        self.skills().load("a").await.unwrap()
    }
}

fn paths(skill: &Skill) -> Vec<&str> {
    skill.files.iter().map(|file| &*file.path).collect()
}

#[tokio::test]
async fn the_files_of_eight_folders_below_each_other_are_listed() {
    let folder = OneSkill::new();
    let deepest = format!("{}a.txt", "n/".repeat(8));
    folder.write(&deepest, "x");
    let skill = folder.load().await;
    assert_eq!((paths(&skill), skill.unlisted_files), (vec![&*deepest], 0));
    folder.write(&format!("{}a.txt", "n/".repeat(9)), "x");
    let skill = folder.load().await;
    assert_eq!((paths(&skill), skill.unlisted_files), (vec![&*deepest], 1));
}

#[tokio::test]
async fn two_hundred_files_are_listed_in_the_order_of_their_paths() {
    let folder = OneSkill::new();
    // A blank comes before the slash.
    folder.write("f/z.txt", "xyz");
    folder.write("f g.txt", "");
    for number in 0..198 {
        folder.write(&format!("x/{number:03}"), "");
    }
    let skill = folder.load().await;
    assert_eq!((skill.files.len(), skill.unlisted_files), (200, 0));
    assert_eq!(paths(&skill)[..3], ["f g.txt", "f/z.txt", "x/000"]);
    assert_eq!(skill.files[1].bytes, 3);
    // Only the file at the top is the skill itself.
    folder.write("y/SKILL.md", "");
    let skill = folder.load().await;
    assert_eq!((skill.files.len(), skill.unlisted_files), (200, 1));
}

#[tokio::test]
async fn a_file_of_the_longest_size_is_read() {
    let folder = OneSkill::new();
    let longest = usize::try_from(Skill::MAX_FILE_BYTES).unwrap();
    folder.write("longest", vec![b'x'; longest]);
    folder.write("longer", vec![b'x'; longest + 1]);
    let skills = folder.skills();
    assert_eq!(skills.read_file("a", "longest").await.unwrap().len(), longest);
    let error = skills.read_file("a", "longer").await.unwrap_err().to_string();
    assert_eq!(error, "the file `longer` is longer than 1048576 bytes; split it");
    let error = skills.read_file("a", "none").await.unwrap_err();
    assert!(
        matches!(&error, SkillError::UnknownFile { skill, path } if skill == "a" && path == "none"),
        "{error}"
    );
}

#[tokio::test]
async fn a_skill_md_and_its_front_matter_have_a_longest_size() {
    let folder = OneSkill::new();
    let header = |bytes: usize| {
        let start = "name: a\ndescription: d\nx: ";
        format!("{start}{}\n", "x".repeat(bytes - start.len() - 1))
    };
    for (header_bytes, body_bytes, expected) in [
        (16_384, 65_536, None),
        (
            16_385,
            1,
            Some("the front matter has more than 16384 bytes; shorten it, and end it with a line `---`"),
        ),
        (
            16_384,
            65_537,
            Some("the instructions have 65537 bytes, more than 65536; move a part to other files"),
        ),
        // With two lines of four bytes.
        (
            16_384,
            65_592,
            Some("the instructions have 65592 bytes, more than 65536; move a part to other files"),
        ),
        (16_384, 65_593, Some("`SKILL.md` has more than 81984 bytes; move a part to other files")),
    ] {
        let header = header(header_bytes);
        folder.write("SKILL.md", format!("---\n{header}---\n{}", "x".repeat(body_bytes)));
        let error = folder.skills().load("a").await.err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{header_bytes} {body_bytes}");
    }
}

#[tokio::test]
async fn a_diagnostic_names_the_folder_of_its_skill_if_there_are_several() {
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for folder in [&one, &two] {
        write(folder.path(), "skills/a/SKILL.md", "---\nname: b\ndescription: d\n---\n");
    }
    let roots = [&one, &two].map(|folder| folder.path().join("skills"));
    let problem = "its folder is named `a`, but its `name` is `b`; rename one";
    for (count, place) in [(1, ""), (2, " (in `skills`)")] {
        let skills = SharedSkills::new(SkillFolders::open(&roots[..count]).unwrap());
        let list = skills.list().await.unwrap();
        let diagnostics: Vec<_> =
            list.diagnostics.iter().map(|it| (&*it.place, it.problem.clone())).collect();
        assert_eq!(diagnostics, vec![("a", format!("{problem}{place}")); count]);
    }
}
