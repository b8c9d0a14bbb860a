//! The function of an item: its arguments, and its call.
//!
//! It is a tool in a registry of its own, which no model sees. Its arguments are described, validated, coerced and decoded as those of a
//! tool, the values of the program and of the run are injected, and a panic of it is an error.

use std::{any::Any, collections::BTreeMap, sync::Arc};

use tool_runtime::{
    __private::{ItemRegistration, Registration},
    ErrorKind, Registry, RunContext, ToolDefinition, ToolError, ToolOutput,
    diagnostic::Diagnostic,
    guard::catch,
    output::Actions,
    schema::Arguments,
};

use super::error::{DiscoveryError, duplicate_diagnostic, function_error, item_error};

/// The function of one item.
#[derive(Clone)]
pub(crate) struct ItemFunction {
    /// Has this function as its only tool.
    tools: Registry,
    noun: &'static str,
    name: &'static str,
}

impl ItemFunction {
    /// Creates the function of an item, a `noun`. Its values are those that `values` provides; without it, none is required before a call.
    pub(super) fn new(
        noun: &'static str,
        registration: &Registration,
        values: Option<&Registry>,
    ) -> Result<Self, DiscoveryError> {
        let (name, site) = (registration.name(), registration.site());
        let failed = |code, problem: &str| item_error(code, &format!("{noun} `{name}`"), site, problem);
        let tool = catch(|| registration.tool())
            .map_err(|panic| failed("panicked", &format!("panicked when it was made: {}", panic.message())))?
            .map_err(|error| failed("schema", &error.to_string()))?;
        let own = Registry::builder().add(tool).build_without_values();
        let tools = own.and_then(|own| match values {
            // An empty one with the same values.
            Some(values) => values.resolve::<&str>([]).0.with_tools_of(&own),
            None => Ok(own),
        });
        let tools = tools.map_err(|error| function_error(noun, &error))?;
        Ok(Self { tools, noun, name })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the description of the function and its arguments.
    pub(super) fn definition(&self) -> Option<&ToolDefinition> {
        self.tools.all_definitions().first()
    }

    /// Validates the arguments and calls the function in `run`.
    pub(super) async fn call(
        &self,
        run: &Arc<RunContext>,
        arguments: impl Into<Arguments<'_>>,
    ) -> Result<ToolOutput, ToolError> {
        let cx = self.tools.context_for(self.name)?.with_run(Arc::clone(run));
        let output = self
            .tools
            .call_in(&cx, arguments.into())
            .await
            .map_err(|error| self.reword_error_for_item(error))?;
        if let Some(actions) = output.actions() {
            run.change_state(&actions.state);
            if (Actions { state: actions.state.clone(), ..Actions::default() }) != *actions {
                return Err(ToolError::failed(format!(
                    "the {} `{}` requested an action of a run, such as a transfer; only tools can",
                    self.noun, self.name
                )));
            }
        }
        Ok(output)
    }

    /// Returns the error of a call as one of an item: those of arguments, panics and missing values would be about a tool. Those of the
    /// function are returned as they are.
    fn reword_error_for_item(&self, error: ToolError) -> ToolError {
        let item = format!("the {} `{}`", self.noun, self.name);
        let reason = || error.reason().into_owned();
        match error.kind() {
            ErrorKind::InvalidArguments => {
                let reason = match error.report().total() {
                    0 => error.feedback(),
                    _ => error.report().to_string(),
                };
                let message = format!("the input of {item} does not fit: {reason}");
                ToolError::new(ErrorKind::BadParameter, message)
            }
            ErrorKind::Panicked => {
                let feedback = format!("{item} panicked: {}", reason());
                error.with_feedback(feedback)
            }
            ErrorKind::Unavailable => {
                let reason = reason();
                let reason = reason.strip_prefix("Tool unavailable: ").unwrap_or(&reason);
                let feedback = format!("{item} is not available: {reason}");
                error.with_feedback(feedback)
            }
            _ => error,
        }
    }
}

/// A kind of item that a function can be.
pub(crate) trait FunctionItem: Sized {
    /// The kind in the singular, for messages.
    const NOUN: &'static str;
    /// The keys of the attribute that a tool does not have.
    type Spec: Any;

    /// Creates the item.
    ///
    /// # Errors
    ///
    /// Returns the problem of the keys.
    fn from_function(function: ItemFunction, spec: &'static Self::Spec) -> Result<Self, String>;

    /// Returns the name or URI that no other item of the kind may have.
    fn unique_key(function: &Registration, spec: &Self::Spec) -> String;

    /// Describes several items of one key.
    fn describe_duplicates(key: &str) -> String;
}

/// Creates the item of a function. Its values are those that `values` provides; without it, none is required before a call.
pub(super) fn make_item<T: FunctionItem>(
    registration: &'static ItemRegistration,
    values: Option<&Registry>,
) -> Result<T, DiscoveryError> {
    let function = ItemFunction::new(T::NOUN, registration.function(), values)?;
    let name = function.name();
    let spec = registration.data().ok_or_else(|| "its attribute is one of another kind of item".to_owned());
    let made = spec.and_then(|spec| T::from_function(function, spec));
    made.map_err(|problem| {
        let item = format!("{} `{name}`", T::NOUN);
        item_error("definition", &item, registration.function().site(), &problem)
    })
}

/// Returns the items of a kind that are linked into this program, and the mistakes of the others.
pub(crate) fn discover_items<T: FunctionItem>(values: Option<&Registry>) -> (Vec<T>, Vec<Diagnostic>) {
    make_items(ItemRegistration::all_of::<T::Spec>(), values)
}

/// Creates the items of `registrations`, sorted by their keys. Returns them with the mistakes of the others.
fn make_items<T: FunctionItem>(
    registrations: impl Iterator<Item = &'static ItemRegistration>,
    values: Option<&Registry>,
) -> (Vec<T>, Vec<Diagnostic>) {
    let mut by_key: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for registration in registrations {
        let spec = registration.data();
        let key = spec.map(|spec| T::unique_key(registration.function(), spec)).unwrap_or_default();
        by_key.entry(key).or_default().push(registration);
    }
    let (mut items, mut diagnostics) = (Vec::new(), Vec::new());
    for (key, mut same_key) in by_key {
        same_key.sort_by_key(|registration| registration.function().site());
        if same_key.len() > 1 {
            let sites: Vec<_> = same_key.iter().map(|registration| registration.function().site()).collect();
            diagnostics.push(duplicate_diagnostic(&T::describe_duplicates(&key), &sites));
        }
        for registration in same_key {
            match make_item(registration, values) {
                Ok(item) => items.push(item),
                Err(error) => diagnostics.extend(error.into_diagnostics()),
            }
        }
    }
    (items, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::make_items;
    use crate::function::{FunctionPrompt, FunctionResource, PromptHandle, ResourceHandle};

    /// Greets.
    #[crate::prompt(crate = crate, register = false, name = "greet")]
    fn hello() -> &'static str {
        "Hello."
    }

    /// Greets, too.
    #[crate::prompt(crate = crate, register = false, name = "greet")]
    fn welcome() -> &'static str {
        "Welcome."
    }

    /// Parts.
    #[crate::prompt(crate = crate, register = false)]
    fn farewell() -> &'static str {
        "Farewell."
    }

    /// The notes.
    #[crate::resource(crate = crate, register = false, uri = "notes://today")]
    fn notes() -> &'static str {
        "Buy milk."
    }

    /// The same notes.
    #[crate::resource(crate = crate, register = false, uri = "NOTES://Today")]
    fn same_notes() -> &'static str {
        "Buy bread."
    }

    // U02
    #[test]
    fn items_of_one_name_or_of_equal_uris_are_one_mistake_with_all_places() {
        let prompts = [hello::REGISTRATION, welcome::REGISTRATION, farewell::REGISTRATION];
        let (_, mistakes) = make_items::<FunctionPrompt>(prompts.into_iter(), None);
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        let mistake = &mistakes[0];
        assert_eq!(mistake.code, "duplicate");
        assert!(mistake.message.starts_with("2 prompts are named `greet`: "), "{mistake}");
        assert_eq!(mistake.message.matches("call.rs:").count(), 2, "{mistake}");
        let resources =
            [<notes as ResourceHandle>::REGISTRATION, <same_notes as ResourceHandle>::REGISTRATION];
        let (_, mistakes) = make_items::<FunctionResource>(resources.into_iter(), None);
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        let mistake = &mistakes[0];
        assert!(mistake.message.starts_with("2 resources have the URI `notes://"), "{mistake}");
        assert_eq!(mistake.message.matches("call.rs:").count(), 2, "{mistake}");
    }
}
