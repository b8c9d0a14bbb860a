//! The skills of a program.

use std::collections::BTreeMap;

use super::{
    Skill, SkillError, SkillFile, SkillList, Skills, path::relative_path, shared::too_long_file_error,
};

/// Skills in memory.
///
/// # Examples
///
/// ```
/// use tool_agent::skills::{InMemorySkills, Skill};
///
/// let skill = Skill::new("greetings", "How to greet customers.", "Greet by name, as in `phrases.md`.")?;
/// let skills = InMemorySkills::new([skill])?.with_file("greetings", "phrases.md", "Good morning, Ada.")?;
/// # drop(skills);
/// # Ok::<(), tool_agent::skills::SkillError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct InMemorySkills(BTreeMap<String, StoredSkill>);

#[derive(Debug, Clone)]
struct StoredSkill {
    skill: Skill,
    files: BTreeMap<String, Vec<u8>>,
}

impl InMemorySkills {
    /// Creates a store of `skills`.
    ///
    /// # Errors
    ///
    /// Returns an error if two skills have one name.
    pub fn new(skills: impl IntoIterator<Item = Skill>) -> Result<Self, SkillError> {
        let mut by_name = BTreeMap::new();
        for skill in skills {
            let name = skill.header.name.to_string();
            if by_name.contains_key(&name) {
                return Err(SkillError::invalid(format!("two skills have the name `{name}`; rename one")));
            }
            by_name.insert(name, StoredSkill { skill, files: BTreeMap::new() });
        }
        Ok(Self(by_name))
    }

    /// Adds a file to a skill.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such skill, the path is not relative, or the file is longer than
    /// [1 MiB](Skill::MAX_FILE_BYTES).
    pub fn with_file(
        mut self,
        skill: &str,
        path: &str,
        content: impl Into<Vec<u8>>,
    ) -> Result<Self, SkillError> {
        let unknown = || SkillError::UnknownSkill { name: skill.to_owned() };
        let stored = self.0.get_mut(skill).ok_or_else(unknown)?;
        let (path, content) = (relative_path(path)?, content.into());
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if bytes > Skill::MAX_FILE_BYTES {
            return Err(too_long_file_error(&path));
        }
        stored.files.insert(path, content);
        let file = |(path, content): (&String, &Vec<u8>)| {
            SkillFile::new(path, u64::try_from(content.len()).unwrap_or(u64::MAX))
        };
        stored.skill.files = stored.files.iter().map(file).collect();
        Ok(self)
    }

    fn stored(&self, name: &str) -> Result<&StoredSkill, SkillError> {
        self.0.get(name).ok_or_else(|| SkillError::UnknownSkill { name: name.to_owned() })
    }
}

impl Skills for InMemorySkills {
    async fn list(&self) -> Result<SkillList, SkillError> {
        let headers = self.0.values().map(|stored| stored.skill.header.clone()).collect();
        Ok(SkillList { headers, diagnostics: Vec::new() })
    }

    async fn load(&self, name: &str) -> Result<Skill, SkillError> {
        self.stored(name).map(|stored| stored.skill.clone())
    }

    async fn read_file(&self, skill: &str, path: &str) -> Result<Vec<u8>, SkillError> {
        let unknown = || SkillError::UnknownFile { skill: skill.to_owned(), path: path.to_owned() };
        self.stored(skill)?.files.get(path).cloned().ok_or_else(unknown)
    }
}
