//! The skills that an agent may load.

use tool_agent::skills::{AgentSkills, InMemorySkills};
use tool_runtime::prelude::*;

use super::{results_of, skill, skills_of};

#[tokio::test]
async fn skills_outside_of_the_boundary_do_not_exist() {
    let store = InMemorySkills::new([skill("a", None), skill("b", None)]).unwrap();
    let store = store.with_file("b", "secret.txt", "secret").unwrap();
    let skills = AgentSkills::new(store).only(["a", "c"]).only(["a", "b"]);
    let calls = [
        ("skill_list", json!({})),
        ("skill_load", json!({ "name": "b" })),
        ("skill_read", json!({ "name": "b", "path": "secret.txt" })),
        ("skill_load", json!({ "name": "a" })),
    ];
    let (texts, model) = results_of(skills, calls).await;
    assert_eq!(texts[0], "- `a`: How to do a.");
    for text in &texts[1..3] {
        assert!(text.contains("there is no skill `b`; call `skill_list` for the names"), "{text}");
    }
    assert!(texts[3].starts_with("Skill `a`"), "{}", texts[3]);
    assert!(!model.requests()[0].instruction.contains("`b`"));
}

#[tokio::test]
async fn a_selection_has_the_chosen_skills_and_refuses_others() {
    // Q30: an unknown skill is an error, and no executor for code is a warning.
    let store = InMemorySkills::new([skill("a", None), skill("b", None), skill("c", None)]).unwrap();
    let store = store.with_file("b", "scripts/fill.py", "print()").unwrap();
    let skills = AgentSkills::new(store).only(["a", "b"]);
    let chosen = skills.select(["b", "b"]).await.unwrap();
    assert_eq!(
        chosen.warnings,
        [
            "`b`: the skill has scripts that no tool of this agent runs: `scripts/fill.py`. Read them as text, and do not claim \
          that they ran."
        ]
    );
    let names: Vec<_> =
        chosen.skills.list().await.unwrap().headers.iter().map(|it| it.name.clone()).collect();
    assert_eq!(names, ["b".into()]);
    for unknown in ["c", "../a", ""] {
        let error = skills.select(["a", unknown]).await.unwrap_err();
        assert!(error.feedback().contains("the skills are `a`, `b`"), "{}", error.feedback());
    }
    // A selection of a selection is no way back.
    assert!(chosen.skills.select(["a"]).await.is_err());
    let none = skills.select([""; 0]).await.unwrap();
    assert!(none.skills.list().await.unwrap().headers.is_empty());
    assert!(skills_of([]).select(["a"]).await.unwrap_err().feedback().contains("this agent has none"));
}

#[tokio::test]
async fn the_names_of_skills_are_shown_up_to_a_number() {
    let problem = async |count: usize| {
        let skills = skills_of((1..=count).map(|at| skill(&format!("s-{at:02}"), None)));
        skills.select(["none\n"]).await.unwrap_err().feedback().to_string()
    };
    let names = |count: usize| (1..=count).map(|at| format!("`s-{at:02}`")).collect::<Vec<_>>().join(", ");
    assert_eq!(problem(1).await, format!("there is no skill `none\\n`; the skills are {}", names(1)));
    assert_eq!(problem(20).await, format!("there is no skill `none\\n`; the skills are {}", names(20)));
    assert_eq!(
        problem(21).await,
        format!("there is no skill `none\\n`; the skills are {} and 1 more", names(20))
    );
    assert_eq!(problem(0).await, "there is no skill `none\\n`; this agent has none");
}
