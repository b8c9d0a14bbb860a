//! Rules that match no tool or no argument.

use std::fmt;

use serde::Serialize;
use tool_core::ToolDefinition;

use super::{Rule, Rules, Verdict};
use crate::{
    Registry,
    diagnostic::{Diagnostic, Location, Severity},
};

/// A diagnostic about a rule that matches no tool or no argument of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum RuleDiagnostic {
    /// The rule matches the name of no tool.
    NoTool {
        /// The text of the rule.
        rule: String,
    },
    /// The rule compares an argument that no matching tool has.
    NoProperty {
        /// The text of the rule.
        rule: String,
        /// The JSON pointer to the argument.
        pointer: String,
        /// The names of the tools that the rule matches.
        tools: Vec<String>,
    },
}

impl RuleDiagnostic {
    /// Returns the stable code: the name of the variant in snake case.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoTool { .. } => "no_tool",
            Self::NoProperty { .. } => "no_property",
        }
    }

    /// Returns the severity. An executor whose rules have a diagnostic of [`Severity::Error`] is not built. A missing
    /// tool is a [`Severity::Warning`], because it may be added later.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::NoTool { .. } => Severity::Warning,
            Self::NoProperty { .. } => Severity::Error,
        }
    }
}

impl From<&RuleDiagnostic> for Diagnostic {
    fn from(it: &RuleDiagnostic) -> Self {
        let (location, help) = match it {
            RuleDiagnostic::NoTool { .. } => (Location::default(), None),
            RuleDiagnostic::NoProperty { pointer, tools, .. } => {
                let (tool, pointer) = (tools.first().cloned(), pointer.clone());
                (Location { tool, pointer, ..Location::default() }, Some("correct the pointer".to_owned()))
            }
        };
        Self { location, severity: it.severity(), code: it.code(), message: it.to_string(), help }
    }
}

/// The maximum number of tools that a message names.
const SHOWN: usize = 3;

impl fmt::Display for RuleDiagnostic {
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
    /// Returns a diagnostic for each rule that matches none of `tools`, and for each argument that a rule compares and
    /// none of the tools has that the rule matches.
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
    /// let diagnostics = rules.diagnostics(&Registry::builder().tool::<read>().build()?);
    /// let message = "the rule `deny read` compares `/pth`, and `read` has no such argument";
    /// assert_eq!(diagnostics[0].to_string(), message);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn diagnostics(&self, tools: &Registry) -> Vec<RuleDiagnostic> {
        self.0.iter().flat_map(|rule| rule.diagnostics(tools)).collect()
    }
}

impl Rule {
    fn diagnostics(&self, tools: &Registry) -> Vec<RuleDiagnostic> {
        let fits = |it: &&ToolDefinition| self.calls.fits_tool(it.name(), it.raw_name(), self.verdict);
        let fitting = tools.definitions().iter().filter(fits);
        let fitting: Vec<_> = fitting.collect();
        if fitting.is_empty() {
            return vec![RuleDiagnostic::NoTool { rule: self.to_string() }];
        }
        let leads_nowhere = |pointer: &&String| {
            fitting.iter().all(|it| it.input_schema().resolve_pointer(pointer).is_empty())
        };
        let diagnostic = |pointer: &String| RuleDiagnostic::NoProperty {
            rule: self.to_string(),
            pointer: pointer.clone(),
            tools: fitting.iter().map(|it| it.name().to_string()).collect(),
        };
        self.arguments.keys().filter(leads_nowhere).map(diagnostic).collect()
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
