//! Commands and items of other kinds than tools, which an extension adds as a whole.

use serde::Serialize;
use serde_json::Value;

use crate::{Command, Failure, Program};

/// A part of a command line that belongs together: commands, and items of other kinds than tools. Added by
/// [`Cli::extension`](crate::Cli::extension).
///
/// # Examples
///
/// ```
/// use tool_cli::{Cli, Command, Exit, Extension, Failure, Item, Program};
///
/// /// The recipes of a program.
/// struct Recipes;
///
/// impl Extension for Recipes {
///     fn commands(&self) -> Vec<Box<dyn Command>> {
///         Vec::new()
///     }
///
///     fn items(&self, _: &Program) -> Result<Vec<Item>, Failure> {
///         Ok(vec![Item::new("recipe", "cake", "builtin").with_description("A cake of apples.")])
///     }
/// }
///
/// assert_eq!(Cli::new().extension(Recipes).run(["kitchen", "list", "--all"]), Exit::Done);
/// ```
pub trait Extension {
    /// Returns its commands, each of which replaces a command of the same name, also a built-in one.
    fn commands(&self) -> Vec<Box<dyn Command>>;

    /// Lists its items beside the tools of the program, for `list --all` and other commands about
    /// [all items](Program::items). Default: none.
    ///
    /// # Errors
    ///
    /// If the items cannot be listed.
    fn items(&self, program: &Program) -> Result<Vec<Item>, Failure> {
        let _ = program;
        Ok(Vec::new())
    }
}

/// An item of a program, of any kind: [`Program::items`]. Its texts may be those of others; a page escapes them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Item {
    /// The kind, in the singular: `tool`, `prompt`.
    pub kind: &'static str,
    /// The name or address by which commands find the item.
    pub key: String,
    /// The part of the program, or the server, that has the item: `builtin` for the program itself.
    pub origin: String,
    /// The title for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The definition as JSON; `null` for an item without one.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub definition: Value,
}

impl Item {
    /// Creates an item without title, description and definition.
    pub fn new(kind: &'static str, key: impl Into<String>, origin: impl Into<String>) -> Self {
        let (key, origin) = (key.into(), origin.into());
        Self { kind, key, origin, title: None, description: None, definition: Value::Null }
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the definition.
    #[must_use]
    pub fn with_definition(mut self, definition: Value) -> Self {
        self.definition = definition;
        self
    }
}
