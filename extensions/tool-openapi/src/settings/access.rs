//! The servers that calls reach, and the credentials that they receive.

use std::{io, net::IpAddr, sync::Arc};

use tool_http::Origin;

use super::OpenApiToolSetBuilder;
use crate::{Credential, connection::HostLookup};

/// The servers that calls reach, and the credentials that they receive.
#[derive(Clone, Default)]
pub(crate) struct ServerAccess {
    pub(crate) credentials: Vec<(String, Credential)>,
    /// Other origins that redirects may lead to.
    pub(crate) redirects: Vec<Origin>,
    pub(crate) allow_private_servers: bool,
    pub(crate) lookup: Option<HostLookup>,
}

impl OpenApiToolSetBuilder {
    /// Adds a credential for the security scheme `scheme` of the document. Several are possible, for different origins.
    ///
    /// An operation is called with the first alternative of its security requirements for which all credentials are given.
    /// Without one it is called without credentials, and reported in [`diagnostics`](crate::OpenApiToolSet::diagnostics),
    /// unless the document allows that.
    pub fn credential(mut self, scheme: impl Into<String>, credential: Credential) -> Self {
        self.settings.access.credentials.push((scheme.into(), credential));
        self
    }

    /// Adds an origin, such as `https://files.example.com`, that redirects of GET and HEAD may lead to, without credentials and
    /// configured headers. Default: none; a redirect to another origin is the answer that the model receives.
    pub fn follow_redirects_to(mut self, origin: &str) -> Self {
        match Origin::parse(origin) {
            Ok(origin) => self.settings.access.redirects.push(origin),
            Err(problem) => {
                self.record_first_invalid_setting(format!("the origin for redirects is not valid: {problem}"))
            }
        }
        self
    }

    /// Allows the servers of a document that was [fetched](crate::Document::fetch) to be addresses that are not public.
    /// Default: such servers are refused. [`base_url`](Self::base_url) and the servers of other documents are always allowed.
    pub fn allow_private_servers(mut self) -> Self {
        self.settings.access.allow_private_servers = true;
        self
    }

    /// Resolves the names of servers by `lookup`. Default: by the system.
    pub fn resolver<F, Fut>(mut self, lookup: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        self.settings.access.lookup = Some(Arc::new(move |name| Box::pin(lookup(name))));
        self
    }
}
