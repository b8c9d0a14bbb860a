//! Arguments without secrets, for listeners, people and logs.

use std::{borrow::Cow, collections::HashMap};

use super::ToolDefinition;
use tool_schema::__private::{ExactValue, push_step};

use crate::Arguments;

/// The number of items of a list whose schemas may differ; further ones count as the last of them.
const MAX_DISTINCT_ITEMS: usize = 16;

/// The replacement of a secret value.
const HIDDEN: ExactValue<'static> = ExactValue::String(Cow::Borrowed("***"));

impl ToolDefinition {
    /// Returns `arguments` with each value that may be a secret replaced by `"***"`, as events and approval requests show
    /// them. All other values are unchanged, including all digits of numbers.
    ///
    /// For a tool with [`secrets`](crate::Metadata::secrets), these are: members with the name of a secret at any depth,
    /// unknown members with their names (within a parameter, those that the schema does not permit), and arguments that are not a
    /// JSON object. An alias counts as unknown;
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
            ExactValue::Object(_) => {
                self.hide_secrets(&mut value, &mut String::new(), &mut HashMap::new());
            }
            other => *other = HIDDEN,
        }
        Arguments::from(value.to_string())
    }

    /// Replaces secrets and unknown members in the value at `pointer`; `known` has the answers for pointers so far.
    fn hide_secrets(
        &self,
        value: &mut ExactValue<'_>,
        pointer: &mut String,
        known: &mut HashMap<String, bool>,
    ) {
        let end = pointer.len();
        match value {
            ExactValue::Object(members) => {
                for (name, value) in members {
                    push_step(pointer, name);
                    let is_known = known.get(pointer).copied().unwrap_or_else(|| {
                        let is_known = self.schema_permits_member(pointer, name, end == 0);
                        known.insert(pointer.clone(), is_known);
                        is_known
                    });
                    if !is_known {
                        // An unknown member may be a misspelt secret one, or have the secret as its name.
                        *value = HIDDEN;
                        *name = "***".into();
                    } else if self.metadata().secrets.iter().any(|secret| *secret == **name) {
                        *value = HIDDEN;
                    } else {
                        self.hide_secrets(value, pointer, known);
                    }
                    pointer.truncate(end);
                }
            }
            ExactValue::List(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    push_step(pointer, &at.min(MAX_DISTINCT_ITEMS).to_string());
                    self.hide_secrets(item, pointer, known);
                    pointer.truncate(end);
                }
            }
            _ => {}
        }
    }

    /// Returns `true` if the schema permits the member `name`, which `pointer` selects; at the root, if it lists it.
    pub(super) fn schema_permits_member(&self, pointer: &str, name: &str, is_parameter: bool) -> bool {
        match is_parameter {
            true => self.knows_parameter(name),
            false => !self.input_schema().resolve_pointer(pointer).is_empty(),
        }
    }
}
