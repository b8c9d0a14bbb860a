//! Skills in folders.

use std::{fs, path::Path};

use tempfile::TempDir;
use tool_agent::skills::{AgentSkills, SkillFolders};
use tool_runtime::prelude::*;

use super::results_of;

/// Writes a file, with its folders.
pub(super) fn write(folder: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn open(folder: &TempDir) -> AgentSkills {
    AgentSkills::new(SkillFolders::open([folder.path()]).unwrap())
}

#[tokio::test]
async fn an_agent_loads_one_of_two_skills_and_reads_one_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "orders/SKILL.md",
        "---\nname: orders\ndescription: How to look up orders.\nlicense: MIT\ncompatibility: Needs the shop.\n---\n\nRead `references/states.md` first.\n",
    );
    write(folder.path(), "orders/references/states.md", "7 means: on its way\n");
    write(
        folder.path(),
        "refunds/SKILL.md",
        "---\nname: refunds\ndescription: How to refund.\n---\nAsk first.\n",
    );
    let (results, model) = results_of(
        open(&folder),
        [
            ("skill_list", json!({})),
            ("skill_load", json!({ "name": "orders" })),
            ("skill_read", json!({ "name": "orders", "path": "references/states.md" })),
        ],
    )
    .await;
    assert_eq!(results[0], "- `orders`: How to look up orders.\n- `refunds`: How to refund.");
    assert_eq!(
        results[1],
        "Skill `orders`: How to look up orders.\nRequires: Needs the shop.\nFiles, for `skill_read`:\n\
         - references/states.md (20 bytes)\n\nInstructions:\n\nRead `references/states.md` first."
    );
    assert_eq!(results[2], "7 means: on its way\n");
    let instruction = model.requests()[0].instruction.clone();
    assert!(instruction.contains("- `refunds`: How to refund."), "{instruction}");
}
