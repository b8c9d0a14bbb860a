//! Skills: instructions for certain tasks, which a model loads when it needs them.
//!
//! [`AgentSkills`] brings the skills of a [store](Skills) to an agent: three tools, a text in the instruction with names and descriptions,
//! and a rule.
//!
//! | tool | purpose |
//! | --- | --- |
//! | `skill_list` | lists names and descriptions |
//! | `skill_load` | returns the instructions of a skill and the paths of its files |
//! | `skill_read` | returns the text of a file, in parts of 32 KiB |
//!
//! | store | skills |
//! | --- | --- |
//! | [`InMemorySkills`] | those of the program |
//! | `SkillFolders` (feature `skills`) | folders with a file `SKILL.md`, in the format of [Agent Skills](https://agentskills.io/specification) |
//!
//! # Active skills
//!
//! A skill is active from the result of its `skill_load` until the run ends; a run that [continues](crate::Runner::resume) after open
//! calls continues with its skills. The next message of the user begins a run without active skills, although earlier results remain
//! in the conversation.
//!
//! The `allowed-tools` of an active skill narrow the tools of the run, and never widen them: a call of any other tool is answered with an
//! error, and every rule, permission and confirmation applies as before. If several skills are active, each of them must allow a call. The three
//! tools of skills and `submit_output` can always be called. A call is judged before it runs: calls of the response that loads a skill may run beside
//! `skill_load`.
//!
//! The rule applies to the calls of the run itself. An agent below an allowed call has its own tools and skills.

mod active;
mod allowed_tools;
mod code;
mod error;
#[cfg(feature = "skills")]
mod folder;
#[cfg(feature = "skills")]
mod front_matter;
mod in_memory;
mod instruction;
mod load;
mod path;
mod read;
mod restore;
mod shared;
mod skill;
mod skill_set;
mod store;
mod tools;

#[cfg(feature = "skills")]
pub use self::folder::SkillFolders;
pub(crate) use self::restore::restore_skills;
pub use self::{
    active::SkillRule,
    allowed_tools::AllowedTools,
    code::CodeExecutor,
    error::SkillError,
    in_memory::InMemorySkills,
    shared::SharedSkills,
    skill::{Skill, SkillDiagnostic, SkillFile, SkillHeader, SkillList},
    skill_set::{AgentSkills, SkillSelection},
    store::Skills,
};
