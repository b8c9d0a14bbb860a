//! The settings of calls: bodies, responses, and what of them a model sees.

use crate::{
    OpenApiToolSetBuilder,
    import::essence,
    request::{FileResolver, SharedResolver},
};

/// The settings of requests and responses.
#[derive(Clone, Default)]
pub(crate) struct CallSettings {
    /// Preferred media types of request bodies.
    pub(crate) media_types: Vec<String>,
    pub(crate) resolver: Option<SharedResolver>,
}

impl OpenApiToolSetBuilder {
    /// Prefers `media_type` for request bodies that may have several; a later call adds a second choice. Default: JSON, then
    /// forms, `multipart/form-data`, text and bytes.
    pub fn prefer_media_type(mut self, media_type: &str) -> Self {
        self.settings.calls.media_types.push(essence(media_type));
        self
    }

    /// Sets the resolver of files in request bodies: a model then gives references, such as names, and the program the files.
    /// Default: a model gives files in base64.
    pub fn files(mut self, resolver: impl FileResolver + 'static) -> Self {
        self.settings.calls.resolver = Some(SharedResolver::new(resolver));
        self
    }
}
