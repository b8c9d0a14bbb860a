//! Skills in memory, and in stores of programs.

use tool_agent::skills::{
    AgentSkills, CodeExecutor, InMemorySkills, SharedSkills, Skill, SkillError, SkillList, Skills,
};
use tool_runtime::prelude::*;

use super::{results_of, skill, skills_of};

#[tokio::test]
async fn a_file_is_read_in_parts_that_end_between_characters() {
    let text = format!("\u{feff}{}", "ä".repeat(40_000));
    let store = InMemorySkills::new([skill("a", None)]).unwrap();
    let store = store.with_file("a", "x.txt", text).unwrap().with_file("a", "e.txt", "").unwrap();
    let read = |offset: u64| ("skill_read", json!({ "name": "a", "path": "./x.txt", "offset": offset }));
    let calls = [
        read(0),
        read(32_767),
        read(65_535),
        read(80_003),
        read(u64::MAX),
        ("skill_read", json!({ "name": "a", "path": "e.txt" })),
    ];
    let (texts, _) = results_of(AgentSkills::new(store), calls).await;
    assert!(texts[0].ends_with("ä\n[the file has 80003 bytes; continue with `offset` 32767]"));
    assert_eq!(texts[0].chars().filter(|it| *it == 'ä').count(), 16_382);
    assert!(texts[1].starts_with('ä') && texts[1].ends_with("continue with `offset` 65535]"));
    assert_eq!(texts[2], "ä".repeat(7_234));
    assert!(texts[3].contains("`offset` is 80003, but the file `./x.txt` has 80003 bytes"), "{}", texts[3]);
    assert!(texts[4].contains("give a smaller one"), "{}", texts[4]);
    assert_eq!(texts[5], "The file is empty.");
    let store = InMemorySkills::new([skill("a", None)]).unwrap().with_file("a", "x.txt", "y").unwrap();
    let (texts, _) = results_of(AgentSkills::new(store), [read(1)]).await;
    assert!(texts[0].contains("`offset` is 1, but the file `./x.txt` has 1 bytes"), "{}", texts[0]);
}

#[tokio::test]
async fn files_that_are_not_text_and_paths_out_of_the_skill_are_errors() {
    let store = InMemorySkills::new([skill("a", None)]).unwrap();
    let store = store.with_file("a", "x.png", vec![0x89, b'P', 0xff]).unwrap();
    let store = store.with_file("a", "nul", "a\0b").unwrap();
    let cases = [
        ("x.png", "the file `x.png` is not text in UTF-8: it has 3 bytes"),
        ("nul", "is not text"),
        ("../a/x.png", "leads out of the folder of the skill"),
        ("b\\..\\..\\x", "leads out of the folder of the skill"),
        ("/etc/passwd", "is absolute"),
        ("C:\\x", "is absolute"),
        ("\\\\host\\x", "is absolute"),
        ("a\0b", "contains a NUL character"),
        (".", "names no file"),
        ("", "names no file"),
        ("missing\u{202e}\n", r"the skill `a` has no file `missing\u{202e}\n`"),
    ];
    let calls = cases.map(|(path, _)| ("skill_read", json!({ "name": "a", "path": path })));
    let (texts, _) = results_of(AgentSkills::new(store), calls).await;
    for (text, (path, expected)) in texts.iter().zip(cases) {
        assert!(text.contains(expected), "{path}: {text}");
    }
    let long = format!("{}x", "a/".repeat(600));
    let (texts, _) =
        results_of(skills_of([skill("a", None)]), [("skill_read", json!({ "name": "a", "path": long }))])
            .await;
    assert!(texts[0].contains("is longer than 1024 bytes") && texts[0].len() < 600, "{}", texts[0]);
}

#[tokio::test]
async fn names_of_skills_follow_the_format() {
    let long = "a".repeat(64);
    for name in ["a", "a1-b2", "1", &long] {
        assert!(Skill::new(name, "d", "b").is_ok(), "{name}");
    }
    let longer = "a".repeat(65);
    for name in ["", "A", "a_b", "-a", "a-", "a--b", "ä", "a b", "a/b", "..", &longer] {
        assert!(Skill::new(name, "d", "b").is_err(), "{name}");
    }
    let description = |chars| Skill::new("a", "ä".repeat(chars), "b");
    assert!(description(1024).is_ok());
    assert_eq!(
        description(1025).unwrap_err().to_string(),
        "`description` has 1025 characters, more than 1024; shorten it"
    );
    assert!(description(0).unwrap_err().to_string().contains("`description` is empty"));
    assert!(skill("a", None).with_compatibility("x".repeat(500)).is_ok());
    assert!(skill("a", None).with_compatibility("x".repeat(501)).is_err());
    assert!(Skill::new("a", "d", "x".repeat(64 << 10)).is_ok());
    let error = Skill::new("a", "d", "x".repeat((64 << 10) + 1)).unwrap_err().to_string();
    assert_eq!(error, "the instructions have 65537 bytes, more than 65536; move a part to other files");
    let twice = InMemorySkills::new([skill("a", None), skill("a", None)]).unwrap_err();
    assert_eq!(twice.to_string(), "two skills have the name `a`; rename one");
    let file =
        |bytes: usize| InMemorySkills::new([skill("a", None)]).unwrap().with_file("a", "f", vec![0; bytes]);
    assert!(file(1 << 20).is_ok() && file((1 << 20) + 1).is_err());
}

/// A store that misbehaves.
struct Hostile;

impl Skills for Hostile {
    async fn list(&self) -> Result<SkillList, SkillError> {
        let header = |name: &str, description: &str| {
            let mut header = skill("x", None).header;
            (header.name, header.description) = (name.into(), description.to_owned());
            header
        };
        let mut list = SkillList::default();
        list.headers = vec![
            header("b", "B"),
            header("../x", "x"),
            header("a", "line\nnext\u{200b}"),
            header("b", "C"),
            header("c", ""),
        ];
        Ok(list)
    }

    async fn load(&self, name: &str) -> Result<Skill, SkillError> {
        match name {
            "a" => panic!("a skill panicked"),
            "b" => Ok(skill("other", None)),
            _ => {
                let mut skill = skill(name, None);
                skill.body = "x".repeat(10 << 20);
                Ok(skill)
            }
        }
    }

    async fn read_file(&self, _: &str, _: &str) -> Result<Vec<u8>, SkillError> {
        Ok(vec![b'x'; 10 << 20])
    }
}

#[tokio::test]
async fn a_store_that_breaks_the_limits_costs_only_its_calls() {
    let calls = [
        ("skill_list", json!({})),
        ("skill_load", json!({ "name": "a" })),
        ("skill_load", json!({ "name": "b" })),
        ("skill_load", json!({ "name": "c" })),
        ("skill_load", json!({ "name": "../x" })),
        ("skill_read", json!({ "name": "b", "path": "f" })),
        ("skill_read", json!({ "name": "../x", "path": "f" })),
    ];
    let (texts, model) = results_of(AgentSkills::new(Hostile), calls).await;
    assert!(
        texts[0].starts_with("- `a`: line\\nnext\\u{200b}\n- `b`: B\nthe skill `../x` cannot be used"),
        "{}",
        texts[0]
    );
    assert!(texts[0].contains("the skill `b` cannot be used: another skill has this name"), "{}", texts[0]);
    assert!(texts[1].contains("The skills are not available at present."), "{}", texts[1]);
    assert!(!texts[1].contains("panicked"), "{}", texts[1]);
    assert!(texts[2].contains("not available"), "{}", texts[2]);
    assert!(texts[3].contains("10485760 bytes, more than 65536"), "{}", texts[3]);
    assert!(texts[4].contains("there is no skill `../x`"), "{}", texts[4]);
    assert!(texts[5].contains("is longer than 1048576 bytes"), "{}", texts[5]);
    assert!(texts[6].contains("there is no skill `../x`"), "{}", texts[6]);
    assert!(model.requests()[0].instruction.contains("- `b`: B\n"));
    let shared = SharedSkills::new(Hostile);
    assert_eq!(shared.list().await.unwrap().diagnostics.len(), 3);
}

#[tokio::test]
async fn many_skills_are_listed_within_a_limit() {
    let many = (0..200).map(|at| Skill::new(format!("s-{at:03}"), "d".repeat(1000), "b").unwrap());
    let (texts, model) = results_of(skills_of(many), [("skill_list", json!({}))]).await;
    assert!(texts[0].len() < 33 << 10, "{}", texts[0].len());
    assert!(
        texts[0].ends_with("168 more skills are not listed: the list would be too long."),
        "{}",
        texts[0].len()
    );
    let instruction = &model.requests()[0].instruction;
    assert!(instruction.len() < 17 << 10 && instruction.ends_with("184 more: call `skill_list`.\n"));
}

#[tokio::test]
async fn an_agent_without_skills_has_an_empty_list_and_no_instruction() {
    let (texts, model) = results_of(skills_of([]), [("skill_list", json!({}))]).await;
    assert_eq!(texts, ["There are no skills."]);
    assert_eq!(&*model.requests()[0].instruction, "");
}

/// Runs Python.
struct Python;

impl CodeExecutor for Python {
    fn tool(&self) -> &str {
        "run_code"
    }

    fn runs(&self, path: &str) -> bool {
        assert!(!path.contains("panic"), "a script");
        path.ends_with(".py")
    }
}

#[tokio::test]
async fn a_skill_with_scripts_that_no_tool_runs_has_a_warning() {
    // Q30: no executor, and the result has a warning.
    let store = |allowed: Option<&str>, files: &[&str]| {
        let store = InMemorySkills::new([skill("a", allowed)]).unwrap();
        files.iter().fold(store, |store, path| store.with_file("a", path, "x").unwrap())
    };
    let load = || [("skill_load", json!({ "name": "a" }))];
    let warning = "Warning: the skill has scripts that no tool of this agent runs: ";
    let files = ["scripts/fill.py", "scripts/check.sh", "notes.md"];
    let (texts, _) = results_of(AgentSkills::new(store(None, &files)), load()).await;
    assert!(texts[0].contains(&format!("{warning}`scripts/check.sh` and 1 other files.")), "{}", texts[0]);
    let python = |store| AgentSkills::new(store).with_code_executor(Python);
    let (texts, _) = results_of(python(store(None, &files)), load()).await;
    assert!(texts[0].contains(&format!("{warning}`scripts/check.sh`.")), "{}", texts[0]);
    for (skills, is_warned) in [
        (python(store(None, &["scripts/fill.py"])), false),
        (python(store(Some("run_*"), &["scripts/fill.py"])), false),
        (python(store(Some("run_code(print)"), &["scripts/fill.py"])), false),
        (python(store(Some("find"), &["scripts/fill.py"])), true),
        (python(store(None, &["scripts/panic.py"])), true),
        (AgentSkills::new(store(None, &["notes.md", "data.csv"])), false),
        (AgentSkills::new(store(None, &["tools/fill.PY"])), true),
    ] {
        let (texts, _) = results_of(skills, load()).await;
        assert_eq!(texts[0].contains(warning), is_warned, "{}", texts[0]);
    }
}

/// A store whose skill has these parts.
struct OneSkill(Skill);

impl Skills for OneSkill {
    async fn list(&self) -> Result<SkillList, SkillError> {
        Ok(SkillList::default())
    }

    async fn load(&self, _: &str) -> Result<Skill, SkillError> {
        Ok(self.0.clone())
    }

    async fn read_file(&self, skill: &str, path: &str) -> Result<Vec<u8>, SkillError> {
        Err(SkillError::UnknownFile { skill: skill.to_owned(), path: path.to_owned() })
    }
}

#[tokio::test]
async fn the_result_of_a_load_has_the_parts_of_its_skill_and_no_empty_one() {
    let with_files = |count: usize, unlisted: u64| {
        let mut skills = InMemorySkills::new([skill("a", None)]).unwrap();
        for at in 0..count {
            skills = skills.with_file("a", &format!("{at:03}.md"), vec![b'x'; at]).unwrap();
        }
        async move {
            let mut skill = skills.load("a").await.unwrap();
            skill.unlisted_files = unlisted;
            skill
        }
    };
    let lines =
        |count: usize| -> String { (0..count).map(|at| format!("- {at:03}.md ({at} bytes)\n")).collect() };
    let files = "Files, for `skill_read`:\n";
    let allowed =
        "Until you answer, you can call `find`, and the tools of skills. Other calls are refused.\n";
    for (skill, parts) in [
        (skill("a", None), String::new()),
        (
            skill("a", Some("find")).with_compatibility("a shell\nof 2020").unwrap(),
            format!("Requires: a shell\\nof 2020\n{allowed}"),
        ),
        (with_files(1, 0).await, format!("{files}{}", lines(1))),
        (with_files(200, 0).await, format!("{files}{}", lines(200))),
        (with_files(201, 0).await, format!("{files}{}1 more files are not listed.\n", lines(200))),
        (with_files(202, 3).await, format!("{files}{}5 more files are not listed.\n", lines(200))),
        (with_files(0, 3).await, "3 more files are not listed.\n".to_owned()),
    ] {
        let (texts, _) =
            results_of(AgentSkills::new(OneSkill(skill)), [("skill_load", json!({ "name": "a" }))]).await;
        assert_eq!(texts, [format!("Skill `a`: How to do a.\n{parts}\nInstructions:\n\nDo a.")]);
    }
}

/// A store with a skill and names that no skill may have.
struct InvalidNames(usize);

impl Skills for InvalidNames {
    async fn list(&self) -> Result<SkillList, SkillError> {
        let named = |name: String| {
            let mut header = skill("x", None).header;
            header.name = name.into();
            header
        };
        let mut list = SkillList::default();
        list.headers = (1..=self.0).map(|at| named(format!("X{at}"))).collect();
        list.headers.push(named("good".to_owned()));
        Ok(list)
    }

    async fn load(&self, name: &str) -> Result<Skill, SkillError> {
        Err(SkillError::UnknownSkill { name: name.to_owned() })
    }

    async fn read_file(&self, skill: &str, path: &str) -> Result<Vec<u8>, SkillError> {
        Err(SkillError::UnknownFile { skill: skill.to_owned(), path: path.to_owned() })
    }
}

#[tokio::test]
async fn skills_that_cannot_be_used_are_listed_up_to_a_number() {
    for (count, shown, more) in [
        (0, 0, ""),
        (1, 1, ""),
        (10, 10, ""),
        (11, 10, "\n1 more skills cannot be used."),
        (12, 10, "\n2 more skills cannot be used."),
    ] {
        let (texts, _) = results_of(AgentSkills::new(InvalidNames(count)), [("skill_list", json!({}))]).await;
        let lines = (1..=shown).map(|at| {
            format!(
                "\nthe skill `X{at}` cannot be used: the name `X{at}` has characters other than a-z, 0-9 and `-`; rename the skill"
            )
        });
        let lines: String = lines.collect();
        assert_eq!(texts, [format!("- `good`: How to do x.{lines}{more}")], "{count}");
    }
}

#[test]
fn a_script_is_below_its_folder_or_has_the_ending_of_a_language() {
    for (path, is_script) in [
        ("scripts/fill", true),
        ("scripts/a.md", true),
        ("fill.py", true),
        ("a/b.SH", true),
        ("a.b/fill", false),
        ("a/py", false),
        (".py", true),
        ("fill.pyc", false),
        ("notes.md", false),
        ("a/scripts/fill", false),
    ] {
        let store = InMemorySkills::new([skill("a", None)]).unwrap().with_file("a", path, "x").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let skill = runtime.block_on(store.load("a")).unwrap();
        assert_eq!(skill.has_scripts(), is_script, "{path}");
    }
    assert!(!skill("a", None).has_scripts());
}
