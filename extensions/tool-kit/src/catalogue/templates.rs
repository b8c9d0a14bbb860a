//! Templates of the program: resources by the form of their URIs.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use tool_runtime::{ErrorKind, ToolError, guard::catch};

use super::{
    BUILTIN, Catalogue, CatalogueChange, CatalogueEvent, CatalogueSnapshot, ItemKind, key::shown_key,
};
use crate::resource::{MatchedResource, ReadableResource, ResourceTemplate, ResourceUri};

/// Templates in the order of look-up: those with more literal text first, then by their text.
pub(super) type Templates = BTreeMap<(Reverse<usize>, Arc<str>), Arc<dyn ResourceTemplate>>;

impl Catalogue {
    /// Adds a template of the program: [`CatalogueSnapshot::resource`] reads the URIs that match it and that no resource has.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Conflict` if there is one with its URI template.
    pub fn add_template(&self, template: impl ResourceTemplate) -> Result<(), ToolError> {
        self.add_templates([Arc::new(template) as Arc<dyn ResourceTemplate>])
    }

    /// Adds several templates of the program, all or none.
    ///
    /// # Errors
    ///
    /// As [`add_template`](Self::add_template); also if two of them have the same URI template. Nothing is changed then.
    pub fn add_templates(
        &self,
        templates: impl IntoIterator<Item = Arc<dyn ResourceTemplate>>,
    ) -> Result<(), ToolError> {
        let keyed: Vec<_> =
            templates.into_iter().map(|template| (lookup_order_of_template(&*template), template)).collect();
        if keyed.is_empty() {
            return Ok(());
        }
        self.change_state(|state| {
            for (key, template) in keyed {
                if state.templates.contains_key(&key) {
                    let shown = shown_key(&key.1);
                    return Err(ToolError::conflict(format!(
                        "there is a template `{shown}`; remove it, or give this one another URI"
                    )));
                }
                state.templates.insert(key, template);
            }
            Ok(((), vec![CatalogueEvent::new(None, CatalogueChange::Resources)]))
        })
    }

    /// Removes the template of the program with this URI template.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `NotFound` if there is none.
    pub fn remove_template(&self, uri_template: &str) -> Result<(), ToolError> {
        self.change_state(|state| {
            let before = state.templates.len();
            state.templates.retain(|(_, text), _| **text != *uri_template);
            match state.templates.len() < before {
                true => Ok(((), vec![CatalogueEvent::new(None, CatalogueChange::Resources)])),
                false => Err(ToolError::not_found(format!(
                    "the program has no template `{}`; list those that it has",
                    shown_key(uri_template)
                ))),
            }
        })
    }
}

#[cfg(feature = "mcp")]
impl Catalogue {
    /// Returns the templates of the program, in the order of look-up.
    pub(crate) fn templates(&self) -> Vec<Arc<dyn ResourceTemplate>> {
        self.state().templates.values().cloned().collect()
    }
}

/// Returns the place of a template in the order of look-up.
pub(super) fn lookup_order_of_template(template: &dyn ResourceTemplate) -> (Reverse<usize>, Arc<str>) {
    let uri = template.uri_template();
    (Reverse(uri.literal_byte_count()), uri.as_str().into())
}

impl CatalogueSnapshot {
    /// Returns the templates of the program, in the order of look-up: those with more literal text first.
    #[must_use]
    pub fn templates(&self) -> &[Arc<dyn ResourceTemplate>] {
        &self.templates
    }

    pub(super) fn with_templates(mut self, templates: &Templates) -> Self {
        self.templates = templates.values().map(Arc::clone).collect();
        self
    }

    /// Returns the resource of a [key](super::Catalogue#keys), or else the one of a URI that a [template](Self::templates) matches.
    ///
    /// # Errors
    ///
    /// As [`lookup`](Self::lookup).
    pub fn resource(&self, key: &str) -> Result<Arc<dyn ReadableResource>, ToolError> {
        let error = match self.lookup_kind(ItemKind::Resource, key) {
            Ok(item) => match item.resource() {
                Some(resource) => return Ok(Arc::clone(resource)),
                None => return Err(ToolError::not_found(format!("`{}` is no resource", shown_key(key)))),
            },
            Err(error) => error,
        };
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        let address = key.strip_suffix(BUILTIN).and_then(|rest| rest.strip_suffix('#')).unwrap_or(key);
        let Ok(uri) = ResourceUri::parse(address) else { return Err(error) };
        first_matching_resource(&self.templates, &uri).ok_or(error)
    }
}

/// Returns the resource of a URI by the first template that matches it.
pub(crate) fn first_matching_resource(
    templates: &[Arc<dyn ResourceTemplate>],
    uri: &ResourceUri,
) -> Option<Arc<dyn ReadableResource>> {
    let matched = |template| catch(|| MatchedResource::of(template, uri)).ok().flatten();
    templates.iter().find_map(matched).map(|resource| Arc::new(resource) as Arc<dyn ReadableResource>)
}
