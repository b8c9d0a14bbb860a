//! The execution of the scripts of skills.

use std::{fmt, sync::Arc};

use tool_runtime::guard::{GuardedArc, catch};

/// A tool that runs the scripts of skills. A skill with scripts that no executor runs has a warning in the result of `skill_load`.
///
/// # Examples
///
/// ```
/// use tool_agent::skills::CodeExecutor;
///
/// /// The tool `run_code`, which runs Python.
/// struct Python;
///
/// impl CodeExecutor for Python {
///     fn tool(&self) -> &str {
///         "run_code"
///     }
///
///     fn runs(&self, path: &str) -> bool {
///         path.ends_with(".py")
///     }
/// }
/// # assert!(Python.runs("scripts/fill.py"));
/// ```
pub trait CodeExecutor: Send + Sync {
    /// Returns the name of the tool, which the agent has.
    fn tool(&self) -> &str;

    /// Returns `true` if the tool runs the script at `path`.
    fn runs(&self, path: &str) -> bool;
}

/// A [`CodeExecutor`] of any type. A panic of it counts as an executor that runs nothing.
#[derive(Clone)]
pub(super) struct SharedCodeExecutor(GuardedArc<dyn CodeExecutor>);

impl SharedCodeExecutor {
    pub(super) fn new(executor: impl CodeExecutor + 'static) -> Self {
        Self(GuardedArc::new(Arc::new(executor)))
    }

    /// Returns `true` if `is_available` knows the tool.
    pub(super) fn is_available(&self, has_tool: impl Fn(&str) -> bool) -> bool {
        catch(|| self.0.tool().to_owned()).is_ok_and(|tool| has_tool(&tool))
    }

    /// Returns the name of the tool, if the executor runs the script.
    pub(super) fn tool_for(&self, path: &str) -> Option<String> {
        catch(|| self.0.runs(path).then(|| self.0.tool().to_owned())).ok().flatten()
    }
}

impl fmt::Debug for SharedCodeExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedCodeExecutor")
    }
}
