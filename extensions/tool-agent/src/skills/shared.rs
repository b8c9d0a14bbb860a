//! A handle to a store of skills of any type.

use std::{collections::HashSet, fmt, future::Future, sync::Arc};

use tool_runtime::{
    BoxFuture,
    guard::{Guarded, catch_async},
};

use super::{
    Skill, SkillDiagnostic, SkillError, SkillList, Skills,
    path::relative_path,
    skill::{MAX_DESCRIPTION_CHARS, check_body, check_name, check_text_length},
};

/// A handle to [`Skills`] of any type; clones share the store. It validates names, paths and limits, and a panic of the store is an
/// error.
///
/// # Examples
///
/// ```
/// use tool_agent::skills::{InMemorySkills, SharedSkills, Skill};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let skill = Skill::new("greetings", "How to greet customers.", "Greet by name.")?;
/// let skills = SharedSkills::new(InMemorySkills::new([skill])?);
/// assert_eq!(skills.load("greetings").await?.body, "Greet by name.");
/// assert!(skills.load("../greetings").await.is_err());
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct SharedSkills(Arc<Guarded<Box<dyn ErasedSkills>>>);

impl SharedSkills {
    /// Creates a handle to `skills`.
    #[must_use]
    pub fn new(skills: impl Skills + 'static) -> Self {
        Self(Arc::new(Guarded::new(Box::new(skills))))
    }

    /// Lists the skills, sorted by name. A skill with an invalid header, and a second one of a name, are diagnostics.
    ///
    /// # Errors
    ///
    /// As [`Skills::list`].
    pub async fn list(&self) -> Result<SkillList, SkillError> {
        let SkillList { headers, mut diagnostics } = self.run_guarded(|skills| skills.list()).await?;
        let (mut names, mut valid) = (HashSet::new(), Vec::with_capacity(headers.len()));
        for header in headers {
            let check = check_name(&header.name)
                .and_then(|()| check_text_length("description", &header.description, MAX_DESCRIPTION_CHARS));
            match check {
                Err(error) => diagnostics.push(SkillDiagnostic::new(&header.name, error.to_string())),
                Ok(()) if !names.insert(Arc::clone(&header.name)) => {
                    let problem = "another skill has this name, and comes first; rename one";
                    diagnostics.push(SkillDiagnostic::new(&header.name, problem));
                }
                Ok(()) => valid.push(header),
            }
        }
        valid.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(SkillList { headers: valid, diagnostics })
    }

    /// Returns the skill of this name.
    ///
    /// # Errors
    ///
    /// As [`Skills::load`]; and an error if the skill exceeds a limit.
    pub async fn load(&self, name: &str) -> Result<Skill, SkillError> {
        check_known_name(name)?;
        let skill = self.run_guarded(|skills| skills.load(name)).await?;
        if *skill.header.name != *name {
            return Err(SkillError::failed(format!("the store returned another skill than `{name}`")));
        }
        check_body(&skill.body)?;
        Ok(skill)
    }

    /// Returns the content of a file of a skill.
    ///
    /// # Errors
    ///
    /// As [`Skills::read_file`]; and an error if the path is absolute, leads out of the folder of the skill, or the file is longer than
    /// [1 MiB](Skill::MAX_FILE_BYTES).
    pub async fn read_file(&self, skill: &str, path: &str) -> Result<Vec<u8>, SkillError> {
        check_known_name(skill)?;
        let path = relative_path(path)?;
        let content = self.run_guarded(|skills| skills.read_file(skill, &path)).await?;
        match u64::try_from(content.len()) {
            Ok(bytes) if bytes <= Skill::MAX_FILE_BYTES => Ok(content),
            _ => Err(too_long_file_error(&path)),
        }
    }

    /// Runs an operation of the store inside the panic barrier.
    async fn run_guarded<'a, T, F>(
        &'a self,
        operation: impl FnOnce(&'a dyn ErasedSkills) -> F,
    ) -> Result<T, SkillError>
    where
        F: Future<Output = Result<T, SkillError>>,
    {
        let skills =
            self.0.get().ok_or_else(|| SkillError::failed("the store panicked when it was dropped"))?;
        let output = catch_async(|| operation(&**skills)).await;
        output.unwrap_or_else(|panic| Err(SkillError::failed(format!("the store {panic}"))))
    }
}

/// Returns the error of a file beyond the limit.
pub(super) fn too_long_file_error(path: &str) -> SkillError {
    let (path, max) = (super::error::short_line(path), Skill::MAX_FILE_BYTES);
    SkillError::invalid(format!("the file `{path}` is longer than {max} bytes; split it"))
}

/// Checks a name that a model wrote: one that is not valid names no skill.
fn check_known_name(name: &str) -> Result<(), SkillError> {
    check_name(name).map_err(|_| SkillError::UnknownSkill { name: name.to_owned() })
}

impl fmt::Debug for SharedSkills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSkills").finish_non_exhaustive()
    }
}

impl<S: Skills + 'static> From<S> for SharedSkills {
    fn from(skills: S) -> Self {
        Self::new(skills)
    }
}

/// The object-safe form of [`Skills`].
trait ErasedSkills: Send + Sync {
    fn list(&self) -> BoxFuture<'_, Result<SkillList, SkillError>>;
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Skill, SkillError>>;
    fn read_file<'a>(&'a self, skill: &'a str, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, SkillError>>;
}

impl<S: Skills> ErasedSkills for S {
    fn list(&self) -> BoxFuture<'_, Result<SkillList, SkillError>> {
        Box::pin(Skills::list(self))
    }

    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Skill, SkillError>> {
        Box::pin(Skills::load(self, name))
    }

    fn read_file<'a>(&'a self, skill: &'a str, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, SkillError>> {
        Box::pin(Skills::read_file(self, skill, path))
    }
}
