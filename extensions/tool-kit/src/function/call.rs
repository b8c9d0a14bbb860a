//! The function of an item: its arguments, and its call.
//!
//! It is a tool in a registry of its own, which no model sees. Its arguments are described, validated, coerced and decoded as those of a
//! tool, the values of the program and of the run are injected, and a panic of it is an error.

use std::{collections::BTreeMap, sync::Arc};

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
pub(super) struct ItemFunction {
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
        let output =
            self.tools.call_in(&cx, arguments.into()).await.map_err(|error| self.input_error(error))?;
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

    /// Returns the error of arguments that do not fit as one of an item, and any other one as it is.
    fn input_error(&self, error: ToolError) -> ToolError {
        if error.kind() != ErrorKind::InvalidArguments {
            return error;
        }
        let reason = match error.report().total() {
            0 => error.feedback(),
            _ => error.report().to_string(),
        };
        let message = format!("the input of the {} `{}` does not fit: {reason}", self.noun, self.name);
        ToolError::new(ErrorKind::BadParameter, message)
    }
}

/// Makes the items of `registrations`, sorted by their key, which is a name or a URI. Returns them with the mistakes of the others;
/// `duplicates` describes several items of one key.
pub(super) fn make_items<T>(
    registrations: impl Iterator<Item = &'static ItemRegistration>,
    key: impl Fn(&ItemRegistration) -> String,
    duplicates: impl Fn(&str) -> String,
    make: impl Fn(&'static ItemRegistration) -> Result<T, DiscoveryError>,
) -> (Vec<T>, Vec<Diagnostic>) {
    let mut by_key: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for registration in registrations {
        by_key.entry(key(registration)).or_default().push(registration);
    }
    let (mut items, mut diagnostics) = (Vec::new(), Vec::new());
    for (key, mut same_key) in by_key {
        same_key.sort_by_key(|registration| registration.function().site());
        if same_key.len() > 1 {
            let sites: Vec<_> = same_key.iter().map(|registration| registration.function().site()).collect();
            diagnostics.push(duplicate_diagnostic(&duplicates(&key), &sites));
        }
        for registration in same_key {
            match make(registration) {
                Ok(item) => items.push(item),
                Err(error) => diagnostics.extend(error.into_diagnostics()),
            }
        }
    }
    (items, diagnostics)
}

#[cfg(test)]
mod tests {
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
        let (_, mistakes) = FunctionPrompt::make_all(prompts.into_iter(), None);
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        let mistake = &mistakes[0];
        assert_eq!(mistake.code, "duplicate");
        assert!(mistake.message.starts_with("2 prompts are named `greet`: "), "{mistake}");
        assert_eq!(mistake.message.matches("call.rs:").count(), 2, "{mistake}");
        let resources =
            [<notes as ResourceHandle>::REGISTRATION, <same_notes as ResourceHandle>::REGISTRATION];
        let (_, mistakes) = FunctionResource::make_all(resources.into_iter(), None);
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        let mistake = &mistakes[0];
        assert!(mistake.message.starts_with("2 resources have the URI `notes://"), "{mistake}");
        assert_eq!(mistake.message.matches("call.rs:").count(), 2, "{mistake}");
    }
}
