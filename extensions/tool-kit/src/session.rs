//! The prompts and resources that users stored, in the artifacts of `tool-session` (feature `session`).

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::join_all;
use tool_runtime::{
    BoxFuture, RunContext, ToolError,
    diagnostic::{Diagnostic, Severity},
    output::{self, Blob, ResourceBody},
    policy::Escape,
};
use tool_session::{Artifact, SessionArtifacts, SessionError, SharedArtifacts, UserKey};

use crate::{
    catalogue::{CatalogueChange, ConnectorNotifier, UserItemList, UserItems},
    prompt::{Prompt as _, PromptError, PromptFile},
    resource::{ReadableResource, ResourceUri, StoredResource},
};

/// The media type of prompts.
const PROMPT_TYPE: &str = "text/markdown";
/// The media type of resources whose type is not known.
const UNKNOWN_TYPE: &str = "application/octet-stream";
/// The number of prompts that are read at once.
const CONCURRENT_READS: usize = 16;
/// The most characters of a name or a problem that a message has.
const MAX_SHOWN_CHARS: usize = 500;

/// The prompts and resources of users, in the artifacts of a store: the namespace `user` of a [`Catalogue`](crate::catalogue::Catalogue).
/// Clones are the same items.
///
/// | artifact | item |
/// | --- | --- |
/// | `user:prompts/<name>` | the [prompt file](PromptFile) of this name |
/// | `user:resources/<URI>` | the resource of this URI; text, if its bytes are UTF-8 without NUL |
///
/// The items of a run are those of its app and user, as for all artifacts; a run without a user has those of the user without a name. Each list
/// reads the store: processes with one database see the changes of each other, and nothing is left of a user whose data was deleted. The
/// changes of this process are announced to the clients of a server. A prompt file that cannot be read costs itself, with the diagnostic
/// `unusable_item`.
///
/// A tool by which a model saves artifacts of its user, such as `save_artifact`, saves such items, too, if the model chooses a name from the table.
/// If models are not to do that, a rule denies these names.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::{catalogue::Catalogue, prompt::PromptFile, session::ArtifactItems};
/// use tool_runtime::RunContext;
/// use tool_session::{InMemoryStore, SharedArtifacts, UserKey, object_store::memory::InMemory};
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let items = ArtifactItems::new(SharedArtifacts::new(InMemoryStore::new(), InMemory::new()));
/// let catalogue = Catalogue::new();
/// catalogue.set_user_items(items.clone())?;
///
/// let greet = PromptFile::parse("---\nname: greet\n---\nGreet me as a pirate.")?;
/// items.save_prompt(&UserKey::new("shop", "ada")?, &greet).await?;
/// let run = Arc::new(RunContext::new().with_app("shop").with_user("ada"));
/// assert_eq!(catalogue.snapshot(&run).await?.lookup("greet")?.key(), "user.greet");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ArtifactItems {
    artifacts: SharedArtifacts,
    notifiers: Arc<Mutex<Vec<ConnectorNotifier>>>,
}

impl ArtifactItems {
    /// The prefix of the names of artifacts that are prompts.
    pub const PROMPT_PREFIX: &str = "user:prompts/";
    /// The prefix of the names of artifacts that are resources.
    pub const RESOURCE_PREFIX: &str = "user:resources/";

    /// Creates the items of the users of `artifacts`.
    #[must_use]
    pub fn new(artifacts: SharedArtifacts) -> Self {
        Self { artifacts, notifiers: Arc::default() }
    }

    /// Adds a prompt of a user, or replaces the one of its name; returns its version. The versions before stay in the store until it is removed.
    ///
    /// # Errors
    ///
    /// Returns the error of the store; nothing is changed then.
    pub async fn save_prompt(&self, user: &UserKey, prompt: &PromptFile) -> Result<Artifact, SessionError> {
        let name = format!("{}{}", Self::PROMPT_PREFIX, prompt.definition().name());
        let saved = self.artifacts.for_user(user).save(&name, PROMPT_TYPE, prompt.text().to_owned()).await?;
        self.announce(&CatalogueChange::Prompts);
        Ok(saved)
    }

    /// Removes a prompt of a user, with all its versions; returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the error of the store; nothing is changed then.
    pub async fn remove_prompt(&self, user: &UserKey, name: &str) -> Result<bool, SessionError> {
        let name = format!("{}{name}", Self::PROMPT_PREFIX);
        let is_removed = self.artifacts.for_user(user).delete(&name).await?;
        if is_removed {
            self.announce(&CatalogueChange::Prompts);
        }
        Ok(is_removed)
    }

    /// Adds a resource of a user, or replaces the one with an equal URI; returns its version. The versions before stay in the store until it is
    /// removed.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`](SessionError::Invalid) if the URI is not absolute or too long for a name, and else the error of the store;
    /// nothing is changed then.
    pub async fn save_resource(
        &self,
        user: &UserKey,
        resource: &output::Resource,
    ) -> Result<Artifact, SessionError> {
        let uri = parse_uri(&resource.uri)?;
        let name = format!("{}{}", Self::RESOURCE_PREFIX, uri.normalized());
        let media_type = Some(&*resource.mime_type).filter(|it| !it.is_empty()).unwrap_or(UNKNOWN_TYPE);
        let body = match &resource.body {
            ResourceBody::Text(text) => text.clone().into_bytes(),
            ResourceBody::Blob(blob) => blob.0.clone(),
        };
        let saved = self.artifacts.for_user(user).save(&name, media_type, body).await?;
        if saved.version == 1 {
            self.announce(&CatalogueChange::Resources);
        } else {
            self.announce(&CatalogueChange::Resource { uri: uri.normalized().to_owned() });
        }
        Ok(saved)
    }

    /// Removes the resource of a user with an equal URI, with all its versions; returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// As [`save_resource`](Self::save_resource).
    pub async fn remove_resource(&self, user: &UserKey, uri: &str) -> Result<bool, SessionError> {
        let name = format!("{}{}", Self::RESOURCE_PREFIX, parse_uri(uri)?.normalized());
        let is_removed = self.artifacts.for_user(user).delete(&name).await?;
        if is_removed {
            self.announce(&CatalogueChange::Resources);
        }
        Ok(is_removed)
    }

    fn announce(&self, change: &CatalogueChange) {
        let notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        notifiers.iter().for_each(|notifier| notifier.announce(change.clone()));
    }

    async fn list_items(&self, run: &RunContext) -> Result<UserItemList, SessionError> {
        let user = self.artifacts.for_user(&UserKey::of_run(run)?);
        let mut list = UserItemList::default();
        let stored = list_artifacts(&user, Self::PROMPT_PREFIX).await?;
        for group in stored.chunks(CONCURRENT_READS) {
            for prompt in join_all(group.iter().map(|artifact| load_prompt(&user, artifact))).await {
                match prompt {
                    Ok(Some(prompt)) => list.prompts.push(Arc::new(prompt)),
                    // It was removed meanwhile.
                    Ok(None) => {}
                    Err(problem) => list.diagnostics.push(problem),
                }
            }
        }
        for artifact in list_artifacts(&user, Self::RESOURCE_PREFIX).await? {
            match ArtifactResource::of_artifact(&user, &artifact) {
                Ok(resource) => list.resources.push(Arc::new(resource)),
                Err(problem) => list.diagnostics.push(unusable_artifact_diagnostic(&artifact, &problem)),
            }
        }
        Ok(list)
    }
}

impl UserItems for ArtifactItems {
    fn list<'a>(&'a self, run: &'a Arc<RunContext>) -> BoxFuture<'a, Result<UserItemList, ToolError>> {
        Box::pin(async { self.list_items(run).await.map_err(ToolError::from_source) })
    }

    fn attached(&self, notifier: ConnectorNotifier) {
        self.notifiers.lock().unwrap_or_else(PoisonError::into_inner).push(notifier);
    }
}

impl fmt::Debug for ArtifactItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactItems").field("artifacts", &self.artifacts).finish_non_exhaustive()
    }
}

fn parse_uri(uri: &str) -> Result<ResourceUri, SessionError> {
    ResourceUri::parse(uri).map_err(|error| SessionError::Invalid(error.to_string()))
}

/// Returns the last version of each artifact of a user whose name has a prefix.
async fn list_artifacts(user: &SessionArtifacts, prefix: &str) -> Result<Vec<Artifact>, SessionError> {
    let (mut found, mut last): (Vec<Artifact>, Arc<str>) = (Vec::new(), prefix.into());
    loop {
        let page = user.list_after(&last).await?;
        let is_full = page.len() >= SessionArtifacts::MAX_LISTED;
        let count = page.len();
        let with_prefix: Vec<_> = page.into_iter().take_while(|it| it.name.starts_with(prefix)).collect();
        let has_more = is_full && with_prefix.len() == count;
        found.extend(with_prefix);
        match found.last().filter(|_| has_more) {
            Some(artifact) => last = Arc::clone(&artifact.name),
            None => return Ok(found),
        }
    }
}

/// Reads a prompt; `None` if it is not there any more.
async fn load_prompt(user: &SessionArtifacts, artifact: &Artifact) -> Result<Option<PromptFile>, Diagnostic> {
    let unusable = |problem: &dyn fmt::Display| unusable_artifact_diagnostic(artifact, problem);
    let Some(bytes) =
        load_artifact_bytes(user, artifact, PromptFile::MAX_BYTES).await.map_err(|it| unusable(&it))?
    else {
        return Ok(None);
    };
    let parse = || {
        let name = artifact.name.strip_prefix(ArtifactItems::PROMPT_PREFIX);
        let text =
            String::from_utf8(bytes).map_err(|_| PromptError::new("it is not UTF-8; save it as UTF-8"))?;
        let prompt = PromptFile::parse_named(&text, name)?;
        match Some(prompt.definition().name()) == name {
            true => Ok(prompt),
            false => Err(PromptError::new(format!(
                "it has the name `{}`; save it under that name",
                prompt.definition().name()
            ))),
        }
    };
    parse().map(Some).map_err(|error| unusable(&error))
}

/// Reads a version of an artifact; `None` if it is not there any more.
async fn load_artifact_bytes(
    user: &SessionArtifacts,
    artifact: &Artifact,
    max_bytes: usize,
) -> Result<Option<Vec<u8>>, SessionError> {
    if artifact.bytes > max_bytes as u64 {
        return Err(SessionError::Invalid(format!(
            "it has {} bytes; at most {max_bytes} bytes are read",
            artifact.bytes
        )));
    }
    match user.load(&artifact.name, Some(artifact.version)).await? {
        Some(body) => body.bytes().await.map(Some),
        None => Ok(None),
    }
}

fn unusable_artifact_diagnostic(artifact: &Artifact, problem: &dyn fmt::Display) -> Diagnostic {
    let problem = format!("the artifact `{}` is left out of the items of its user: {problem}", artifact.name);
    let message = Escape::LINE.at_most(MAX_SHOWN_CHARS).text(&problem);
    Diagnostic::new(Severity::Error, "unusable_item", message)
}

/// A resource of a user. It reads the last version.
struct ArtifactResource {
    user: SessionArtifacts,
    artifact_name: Arc<str>,
    uri: ResourceUri,
    mime_type: Arc<str>,
}

impl ArtifactResource {
    fn of_artifact(user: &SessionArtifacts, artifact: &Artifact) -> Result<Self, String> {
        let uri = artifact.name.strip_prefix(ArtifactItems::RESOURCE_PREFIX).unwrap_or_default();
        let uri = ResourceUri::parse(uri).map_err(|error| error.to_string())?;
        let (user, mime_type) = (user.clone(), Arc::clone(&artifact.media_type));
        Ok(Self { user, artifact_name: Arc::clone(&artifact.name), uri, mime_type })
    }

    async fn read_last_version(&self) -> Result<output::Resource, ToolError> {
        let missing = || ToolError::not_found(format!("the resource `{}` was removed", self.uri));
        let found = self.user.find(&self.artifact_name, None).await.map_err(ToolError::from_source)?;
        let artifact = found.ok_or_else(missing)?;
        let body = load_artifact_bytes(&self.user, &artifact, StoredResource::MAX_READ_BYTES).await;
        let bytes = body.map_err(ToolError::from_source)?.ok_or_else(missing)?;
        let body = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => ResourceBody::Text(text),
            Ok(text) => ResourceBody::Blob(Blob(text.into_bytes())),
            Err(error) => ResourceBody::Blob(Blob(error.into_bytes())),
        };
        Ok(output::Resource { uri: self.uri.to_string(), mime_type: artifact.media_type.to_string(), body })
    }
}

impl ReadableResource for ArtifactResource {
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        self.uri.as_str()
    }

    fn mime_type(&self) -> &str {
        &self.mime_type
    }

    fn read<'a>(&'a self, _: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        Box::pin(self.read_last_version())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_session::{InMemoryStore, object_store::memory::InMemory};

    use super::*;

    #[tokio::test]
    async fn each_change_is_announced_and_what_changes_nothing_is_not() {
        let items = ArtifactItems::new(SharedArtifacts::new(InMemoryStore::new(), InMemory::new()));
        let announced = Arc::new(Mutex::new(Vec::new()));
        let changes = Arc::clone(&announced);
        items.attached(ConnectorNotifier::new(move |change| changes.lock().unwrap().push(change)));
        let take = || std::mem::take(&mut *announced.lock().unwrap());
        let user = UserKey::new("shop", "ada").unwrap();
        let prompt = PromptFile::parse("---\nname: greet\n---\nHello.").unwrap();
        let body = || ResourceBody::Text("x".to_owned());
        let resource = |uri: &str, mime_type: &str| output::Resource {
            uri: uri.to_owned(),
            mime_type: mime_type.to_owned(),
            body: body(),
        };

        assert_eq!(items.save_prompt(&user, &prompt).await.unwrap().version, 1);
        assert_eq!(take(), [CatalogueChange::Prompts]);
        assert!(!items.remove_prompt(&user, "other").await.unwrap());
        assert_eq!(take(), []);
        assert!(items.remove_prompt(&user, "greet").await.unwrap());
        assert_eq!(take(), [CatalogueChange::Prompts]);
        let saved = items.save_resource(&user, &resource("NOTES://today", "")).await.unwrap();
        assert_eq!((saved.version, &*saved.media_type), (1, "application/octet-stream"));
        assert_eq!(take(), [CatalogueChange::Resources]);
        let saved = items.save_resource(&user, &resource("notes://today", "text/csv")).await.unwrap();
        assert_eq!((saved.version, &*saved.media_type), (2, "text/csv"));
        assert_eq!(take(), [CatalogueChange::Resource { uri: "notes://today".to_owned() }]);
        assert!(!items.remove_resource(&user, "notes://other").await.unwrap());
        assert_eq!(take(), []);
        assert!(items.remove_resource(&user, "notes://Today").await.unwrap());
        assert_eq!(take(), [CatalogueChange::Resources]);
    }

    #[tokio::test]
    async fn a_prompt_of_1_mib_is_listed() {
        let items = ArtifactItems::new(SharedArtifacts::new(InMemoryStore::new(), InMemory::new()));
        let user = UserKey::new("", "").unwrap();
        let start = "---\nname: long\n---\n";
        let text = format!("{start}{}", "x".repeat(PromptFile::MAX_BYTES - start.len()));
        items.save_prompt(&user, &PromptFile::parse(&text).unwrap()).await.unwrap();
        let list = items.list_items(&RunContext::new()).await.unwrap();
        assert_eq!((list.prompts.len(), list.diagnostics.len()), (1, 0));
    }
}
