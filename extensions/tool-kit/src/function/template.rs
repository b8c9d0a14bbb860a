//! Functions as resources whose URI has variables.

use std::{collections::BTreeMap, fmt, sync::Arc};

use tool_runtime::{
    __private::{ItemRegistration, Registration},
    BoxFuture, Registry, RunContext, ToolError, output,
    serde_json::{Map, Value},
};

use super::{
    call::{FunctionItem, ItemFunction, discover_items, make_item},
    error::DiscoveryError,
    resource::content_of_output,
};
use crate::{
    candidates::candidates_of_property,
    resource::{ResourceTemplate, UriTemplate},
};

/// A function with [`#[resource]`](macro@crate::resource) whose URI has variables, as a [`ResourceTemplate`]. Cheap to clone.
///
/// The variables are its arguments, which are texts: the value of another type is read from the text, such as `5` for a `u32`; a text that does
/// not fit is an error of kind [`BadParameter`](tool_runtime::ErrorKind::BadParameter).
///
/// # Examples
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
/// use tool_kit::{function::FunctionTemplate, resource, resource::ResourceTemplate};
/// use tool_runtime::{output::ResourceBody, prelude::*};
///
/// /// The notes of a day.
/// #[resource(uri = "notes://{year}/{day}")]
/// fn notes(year: u16, day: &str) -> String {
///     format!("Nothing on {day} of {year}.")
/// }
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let notes = FunctionTemplate::of::<notes>(&Registry::default())?;
/// let variables = BTreeMap::from([("year", "2026"), ("day", "1 May")].map(|(name, value)| (name.to_owned(), value.to_owned())));
/// let read = notes.read(&Arc::new(RunContext::new()), &variables).await?;
/// assert_eq!(read.body, ResourceBody::Text("Nothing on 1 May of 2026.".to_owned()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FunctionTemplate {
    uri_template: UriTemplate,
    function: ItemFunction,
    mime_type: &'static str,
}

/// A type that represents a function with `#[resource]` whose URI has variables: [`FunctionTemplate::of`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a resource with variables",
    label = "has no `#[resource]`, or a URI without variables",
    note = "`#[resource]` makes a type of the name of its function, unless it has `handle = none`",
    note = "if its URI has no variables, use `FunctionResource::of`"
)]
pub trait TemplateHandle {
    #[doc(hidden)]
    const REGISTRATION: &'static ItemRegistration;
}

/// The keys of `#[resource(..)]` whose URI has variables that a tool does not have, as a constant.
#[doc(hidden)]
#[derive(Debug)]
pub struct TemplateSpec {
    pub uri: &'static str,
    pub mime_type: &'static str,
}

impl FunctionTemplate {
    /// Creates the template of a function, by its handle. `values` provides the values that the function takes by reference.
    ///
    /// # Errors
    ///
    /// Returns an error with all mistakes of the template: a URI that is not valid, and values that are not provided.
    pub fn of<T: TemplateHandle>(values: &Registry) -> Result<Self, DiscoveryError> {
        make_item(T::REGISTRATION, Some(values))
    }

    /// Creates all templates that are linked into this program, sorted by their URIs.
    ///
    /// # Errors
    ///
    /// Returns an error with all mistakes of all templates, as [`of`](Self::of); also if two of them have one URI.
    pub fn discover(values: &Registry) -> Result<Vec<Self>, DiscoveryError> {
        let (templates, diagnostics) = discover_items(Some(values));
        DiscoveryError::items_or_error(templates, diagnostics)
    }
}

impl FunctionItem for FunctionTemplate {
    const NOUN: &'static str = "resource";
    type Spec = TemplateSpec;

    fn from_function(function: ItemFunction, spec: &'static TemplateSpec) -> Result<Self, String> {
        let uri_template = UriTemplate::parse(spec.uri).map_err(|error| error.to_string())?;
        Ok(Self { uri_template, function, mime_type: spec.mime_type })
    }

    fn unique_key(_: &Registration, spec: &TemplateSpec) -> String {
        spec.uri.to_owned()
    }

    fn describe_duplicates(uri: &str) -> String {
        format!("resources have the URI `{uri}`")
    }
}

impl ResourceTemplate for FunctionTemplate {
    fn uri_template(&self) -> &UriTemplate {
        &self.uri_template
    }

    fn name(&self) -> &str {
        self.function.name()
    }

    fn description(&self) -> Option<&str> {
        self.function.definition().map(|definition| definition.description())
    }

    fn mime_type(&self) -> &str {
        self.mime_type
    }

    fn candidates(&self, variable: &str, text: &str) -> Vec<String> {
        let schema = self.function.definition().map(|definition| definition.input_schema().as_value());
        schema.map_or_else(Vec::new, |schema| candidates_of_property(schema, variable, text))
    }

    fn read<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        variables: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        Box::pin(async move {
            let texts = variables.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
            let arguments = Value::Object(texts.collect::<Map<_, _>>());
            content_of_output(&self.function.call(run, arguments).await?)
        })
    }
}

impl fmt::Debug for FunctionTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTemplate")
            .field("uri_template", &self.uri_template)
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
