//! The models that prompts name.

use std::{fmt, sync::Arc};

use tool_agent::model::SharedModel;
use tool_runtime::{ToolError, guard::catch, policy::Escape};

/// The maximum number of models in a message.
const MAX_SHOWN_MODELS: usize = 32;

/// The maximum number of characters of a name in a message.
const MAX_NAME_CHARS: usize = 100;

/// Models by provider and name, of which a prompt chooses one. Cheap to clone.
///
/// | the prompt has | its model |
/// | --- | --- |
/// | neither `model` nor `provider` | the default: the first one that was added |
/// | `model`, `provider` or both | the first one that was added and has them |
///
/// # Examples
///
/// ```
/// use tool_agent::{ScriptedModel, model::Reply};
/// use tool_kit::agent::Models;
///
/// // In a program: `HttpModel::openai("gpt-5-mini")?`.
/// let model = || ScriptedModel::new([Reply::text("Hello.")]);
/// let models = Models::new(model().with_name("small"))?.with_named("openai", "gpt-5", model())?;
/// assert_eq!(models.choose(None, None)?.name(), "small");
/// assert!(models.choose(Some("openai"), Some("gpt-5")).is_ok());
/// let error = models.choose(None, Some("gpt-6")).unwrap_err();
/// assert!(error.to_string().contains("the models are `scripted/small`, `openai/gpt-5`"), "{error}");
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Models(Arc<[NamedModel]>);

#[derive(Clone)]
struct NamedModel {
    provider: Arc<str>,
    name: Arc<str>,
    model: SharedModel,
}

impl Models {
    /// Creates a set of one model, the default, under its own provider and name.
    ///
    /// # Errors
    ///
    /// Returns an error if the model panics when it is asked for its name.
    pub fn new(default: impl Into<SharedModel>) -> Result<Self, ToolError> {
        Self([].into()).with(default)
    }

    /// Adds a model under its own provider and name, as [`Model::provider`](tool_agent::Model::provider) and
    /// [`Model::name`](tool_agent::Model::name) return them.
    ///
    /// # Errors
    ///
    /// As [`with_named`](Self::with_named); also if the model panics when it is asked for its name.
    pub fn with(self, model: impl Into<SharedModel>) -> Result<Self, ToolError> {
        let model = model.into();
        let names = catch(|| (model.provider().to_owned(), model.name().to_owned()));
        let (provider, name) = names.map_err(|panic| {
            ToolError::failed(format!("a model has no name: it panicked: {}", panic.message()))
        })?;
        self.with_named(provider, name, model)
    }

    /// Adds a model under other names, by which prompts choose it. A model may have several.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Conflict` if there is a model with this provider and name.
    pub fn with_named(
        self,
        provider: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        model: impl Into<SharedModel>,
    ) -> Result<Self, ToolError> {
        let added = NamedModel { provider: provider.into(), name: name.into(), model: model.into() };
        if self.0.iter().any(|known| known.provider == added.provider && known.name == added.name) {
            return Err(ToolError::conflict(format!(
                "there is a model `{}`; give this one another name",
                added.shown_name()
            )));
        }
        Ok(Self(self.0.iter().cloned().chain([added]).collect()))
    }

    /// Returns the model that a prompt with this `provider` and this `model` chooses.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `NotFound` that lists the models if there is none.
    pub fn choose(&self, provider: Option<&str>, model: Option<&str>) -> Result<&SharedModel, ToolError> {
        let is_chosen = |known: &&NamedModel| {
            provider.is_none_or(|provider| *known.provider == *provider)
                && model.is_none_or(|model| *known.name == *model)
        };
        let chosen = self.0.iter().find(is_chosen).map(|known| &known.model);
        chosen.ok_or_else(|| {
            let missing = match (provider, model) {
                (Some(provider), Some(model)) => {
                    format!("model `{}/{}`", escaped_name(provider), escaped_name(model))
                }
                (Some(provider), None) => format!("model of the provider `{}`", escaped_name(provider)),
                (None, model) => format!("model `{}`", escaped_name(model.unwrap_or_default())),
            };
            ToolError::not_found(format!("there is no {missing}; the models are {}", self.shown_names()))
        })
    }

    /// Returns all names for a message.
    fn shown_names(&self) -> String {
        let names = self.0.iter().take(MAX_SHOWN_MODELS).map(|known| format!("`{}`", known.shown_name()));
        let names = names.collect::<Vec<_>>().join(", ");
        match self.0.len().saturating_sub(MAX_SHOWN_MODELS) {
            0 => names,
            more => format!("{names} and {more} more"),
        }
    }
}

impl NamedModel {
    fn shown_name(&self) -> String {
        format!("{}/{}", escaped_name(&self.provider), escaped_name(&self.name))
    }
}

fn escaped_name(name: &str) -> String {
    Escape::LINE.at_most(MAX_NAME_CHARS).text(name)
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(NamedModel::shown_name)).finish()
    }
}
