//! Arguments without secrets, for listeners, people and logs.

use std::borrow::Cow;

use super::ToolDefinition;
use crate::{Arguments, arguments::ExactValue};

/// The replacement of a secret value.
const HIDDEN: ExactValue<'static> = ExactValue::String(Cow::Borrowed("***"));

impl ToolDefinition {
    /// Returns `arguments` with each value that may be a secret replaced by `"***"`, as events and approval requests show
    /// them. All other values are unchanged, including all digits of numbers.
    ///
    /// For a tool with [`secrets`](crate::Metadata::secrets), these are: members with the name of a secret at any depth,
    /// unknown members with their names, and arguments that are not a JSON object. An alias counts as unknown;
    /// [`canonical`](Self::canonical) replaces aliases.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Registry, tool};
    ///
    /// /// Logs in.
    /// #[tool]
    /// fn login(user: String, #[arg(secret)] password: String) -> bool {
    ///     user != password
    /// }
    ///
    /// let tools = Registry::builder().tool::<login>().build()?;
    /// let definition = tools.definitions()[0].clone();
    /// let shown = definition.redacted(&r#"{"user": "ada", "password": "x"}"#.into());
    /// assert_eq!(shown.as_str(), r#"{"user":"ada","password":"***"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn redacted<'a>(&self, arguments: &Arguments<'a>) -> Arguments<'a> {
        if !self.has_secret() {
            return arguments.clone();
        }
        let mut value = ExactValue::read(arguments.as_str()).unwrap_or(HIDDEN);
        match &mut value {
            ExactValue::Object(members) => {
                for (name, value) in members {
                    if !self.knows_parameter(name) {
                        // An unknown property may be a misspelt secret one, or have the secret as its name.
                        *value = HIDDEN;
                        *name = "***".into();
                    }
                }
            }
            other => *other = HIDDEN,
        }
        hide(&mut value, &self.metadata().secrets);
        Arguments::from(value.to_string())
    }
}

/// Replaces members with the name of a secret at any depth.
fn hide(value: &mut ExactValue<'_>, secrets: &[Cow<'static, str>]) {
    match value {
        ExactValue::Object(members) => {
            for (name, value) in members {
                match secrets.iter().any(|secret| *secret == **name) {
                    true => *value = HIDDEN,
                    false => hide(value, secrets),
                }
            }
        }
        ExactValue::List(items) => items.iter_mut().for_each(|item| hide(item, secrets)),
        _ => {}
    }
}
