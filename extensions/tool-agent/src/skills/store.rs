//! The trait of a store of skills.

use super::{Skill, SkillError, SkillList};

/// A store of skills. Methods can be written as `async fn`; programs use a store by a [`SharedSkills`](super::SharedSkills), which
/// validates names and paths first, and limits after.
///
/// # Examples
///
/// ```
/// use tool_agent::skills::{SharedSkills, Skill, SkillError, SkillList, Skills};
///
/// /// One skill for each day of the week, which is written when it is loaded.
/// struct Menu;
///
/// impl Skills for Menu {
///     async fn list(&self) -> Result<SkillList, SkillError> {
///         let mut list = SkillList::default();
///         list.headers.push(self.load("menu").await?.header);
///         Ok(list)
///     }
///
///     async fn load(&self, name: &str) -> Result<Skill, SkillError> {
///         Skill::new(name, "The menu. Use it for questions about lunch.", "Monday: soup.")
///     }
///
///     async fn read_file(&self, skill: &str, path: &str) -> Result<Vec<u8>, SkillError> {
///         Err(SkillError::UnknownFile { skill: skill.to_owned(), path: path.to_owned() })
///     }
/// }
/// # let _ = SharedSkills::new(Menu);
/// ```
pub trait Skills: Send + Sync {
    /// Lists the skills. A skill that cannot be read is a diagnostic, and does not hide others.
    ///
    /// # Errors
    ///
    /// Returns an error if no skill can be listed.
    fn list(&self) -> impl Future<Output = Result<SkillList, SkillError>> + Send;

    /// Returns the skill of this name.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such skill, or it cannot be read.
    fn load(&self, name: &str) -> impl Future<Output = Result<Skill, SkillError>> + Send;

    /// Returns the content of the file at `path`, which is relative and has no `..`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such skill or file, or it cannot be read.
    fn read_file(&self, skill: &str, path: &str) -> impl Future<Output = Result<Vec<u8>, SkillError>> + Send;
}
