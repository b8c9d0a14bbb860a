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
