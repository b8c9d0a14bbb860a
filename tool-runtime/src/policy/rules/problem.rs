//! Rules that cannot do what they were written for, with the tools that there are.

use std::fmt;

use serde::Serialize;
use tool_core::ToolDefinition;

use super::{Rule, Rules, Verdict};
use crate::Registry;

/// A rule that does nothing with a set of tools, or not what it was written for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum RuleProblem {
    /// No tool has a name that the rule fits.
    NoTool {
        /// The rule, as a text.
        rule: String,
    },
    /// The rule compares an argument that none of the tools has.
    NoProperty {
        /// The rule, as a text.
        rule: String,
        /// The JSON pointer to the argument.
        pointer: String,
        /// The tools that the rule fits.
        tools: Vec<String>,
    },
}

impl RuleProblem {
    /// Returns `true` if an executor with the rule is not built: the rule would not guard what it names. A
    /// tool that is not there may come later.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self, Self::NoProperty { .. })
    }
}

/// The most tools that a message names.
const SHOWN: usize = 3;

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTool { rule } => write!(f, "the rule `{rule}` fits no tool"),
            Self::NoProperty { rule, pointer, .. } if !pointer.is_empty() && !pointer.starts_with('/') => {
                write!(
                    f,
                    "the rule `{rule}` compares `{pointer}`, which is not a JSON pointer: it does not begin with `/`"
                )
            }
            Self::NoProperty { rule, pointer, tools } if tools.len() > SHOWN => write!(
                f,
                "the rule `{rule}` compares `{pointer}`, and none of the {} tools that it fits has such an argument",
                tools.len()
            ),
            Self::NoProperty { rule, pointer, tools } => {
                let tools: Vec<_> = tools.iter().map(|tool| format!("`{tool}`")).collect();
                write!(
                    f,
                    "the rule `{rule}` compares `{pointer}`, and {} has no such argument",
                    tools.join(" or ")
                )
            }
        }
    }
}

impl Rules {
    /// Returns the rules that cannot do what they were written for with `tools`: those that fit no tool, and
    /// those that compare an argument which none of the tools they fit has.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{policy::{PathPattern, Rule, Rules}, prelude::*};
    ///
    /// /// Reads a file.
    /// #[tool]
    /// fn read(path: String) -> String {
    ///     path
    /// }
    ///
    /// let rules = Rules::new([Rule::deny("read").at("/pth", PathPattern::new("/etc/**")?)]);
    /// let problems = rules.problems(&Registry::builder().tool::<read>().build()?);
    /// let message = "the rule `deny read` compares `/pth`, and `read` has no such argument";
    /// assert_eq!(problems[0].to_string(), message);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn problems(&self, tools: &Registry) -> Vec<RuleProblem> {
        self.0.iter().flat_map(|rule| rule.problems(tools)).collect()
    }
}

impl Rule {
    fn problems(&self, tools: &Registry) -> Vec<RuleProblem> {
        let fits = |it: &&ToolDefinition| self.calls.fits_tool(it.name(), it.raw_name(), self.verdict);
        let fitting = tools.definitions().iter().filter(fits);
        let fitting: Vec<_> = fitting.collect();
        if fitting.is_empty() {
            return vec![RuleProblem::NoTool { rule: self.to_string() }];
        }
        let leads_nowhere = |pointer: &&String| {
            fitting.iter().all(|it| it.input_schema().resolve_pointer(pointer).is_empty())
        };
        let problem = |pointer: &String| RuleProblem::NoProperty {
            rule: self.to_string(),
            pointer: pointer.clone(),
            tools: fitting.iter().map(|it| it.name().to_string()).collect(),
        };
        self.arguments.keys().filter(leads_nowhere).map(problem).collect()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        };
        write!(f, "{verdict} {}", self.calls)
    }
}
