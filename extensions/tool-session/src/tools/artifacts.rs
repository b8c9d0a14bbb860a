//! Tools on the artifacts of a session and its user.

use tool_runtime::{
    ToolContext, ToolError,
    output::{Blob, Content, Resource, ResourceBody, ToolOutput},
    request::{ModelRequest, RequestHook},
    serde_json::{Value, json},
    tool, tool_args,
};

use super::tool_error;
use crate::{Artifact, SessionArtifacts, SessionError, SharedArtifacts};

/// The maximum number of names in the instructions of a request; a model finds the others by [`list_artifacts`](fn@list_artifacts).
const MAX_INSTRUCTION_NAMES: usize = 50;

/// Saves a text as an artifact, such as a report or a table. An existing artifact of the name gets a new version. A name that begins with
/// `user:` is kept for later conversations with this user.
#[tool(register = false)]
pub async fn save_artifact(
    /// The name, such as `report.md` or `user:profile.txt`.
    name: String,
    /// The text.
    text: String,
    /// The media type. Default: `text/plain`.
    media_type: Option<String>,
    artifacts: &SessionArtifacts,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let media_type = media_type.as_deref().unwrap_or("text/plain");
    let saved = artifacts.save(&name, media_type, text).await.map_err(artifacts_error)?;
    cx.add_actions(saved.saved_action())?;
    ToolOutput::json(&json!({ "name": saved.name, "version": saved.version }))
}

/// Lists the artifacts of this conversation and of its user: the last version of each.
#[tool(read_only, register = false)]
pub async fn list_artifacts(artifacts: &SessionArtifacts) -> Result<ArtifactList, ToolError> {
    let artifacts = artifacts.list().await.map_err(artifacts_error)?;
    let has_more = (artifacts.len() >= SessionArtifacts::MAX_LISTED).then_some(true);
    Ok(ArtifactList { artifacts: artifacts.iter().map(ArtifactEntry::new).collect(), has_more })
}

/// Loads artifacts by their names: the result has the contents of the last versions.
#[tool(read_only, register = false, on_request = add_artifact_instruction)]
pub async fn load_artifacts(
    /// The names.
    #[schemars(length(min = 1, max = 100))]
    names: Vec<String>,
    artifacts: &SessionArtifacts,
) -> Result<ToolOutput, ToolError> {
    let loaded = load_contents(artifacts, &names, false).await?;
    if loaded.contents.is_empty() {
        return Err(ToolError::failed(
            loaded.omission_text().unwrap_or_else(|| "no artifact is named".to_owned()),
        ));
    }
    let omissions = loaded.omission_text().map(Content::text);
    let blocks = loaded.contents.into_iter().flat_map(|(label, content)| [Content::text(label), content]);
    Ok(ToolOutput::new(blocks.chain(omissions)))
}

/// The artifacts of a conversation and of its user.
#[tool_args(serialize)]
pub struct ArtifactList {
    artifacts: Vec<ArtifactEntry>,
    /// Present if there may be further artifacts, which are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    has_more: Option<bool>,
}

/// An artifact, without its content.
#[tool_args(serialize)]
struct ArtifactEntry {
    name: String,
    version: u64,
    media_type: String,
    bytes: u64,
}

impl ArtifactEntry {
    fn new(artifact: &Artifact) -> Self {
        let Artifact { name, version, media_type, bytes, .. } = artifact;
        Self { name: name.to_string(), version: *version, media_type: media_type.to_string(), bytes: *bytes }
    }
}

fn artifacts_error(error: SessionError) -> ToolError {
    tool_error("store of artifacts", error)
}

/// Names the artifacts of the run in the instructions.
async fn add_artifact_instruction(request: ModelRequest) -> Result<(), ToolError> {
    let Some(artifacts) = request.run().read_only().get::<SessionArtifacts>() else { return Ok(()) };
    let all = artifacts.list().await.map_err(artifacts_error)?;
    if all.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = all.iter().take(MAX_INSTRUCTION_NAMES).map(|artifact| &artifact.name).collect();
    let tool = request.tool_name().unwrap_or("load_artifacts");
    let more = match all.len() - names.len() {
        0 => String::new(),
        count if all.len() < SessionArtifacts::MAX_LISTED => format!(" {count} more are not listed here."),
        count => format!(" At least {count} more are not listed here."),
    };
    request.instruct(format!(
        "There are artifacts, whose names are here as JSON: {}.{more} Call `{tool}` before you answer about the content of one of them.",
        json!(names)
    ));
    Ok(())
}

/// Contents within the limit of a request, and the names that were left out.
#[derive(Default)]
struct LoadedContents {
    /// Each content, with a line that names it.
    contents: Vec<(String, Content)>,
    /// Names of artifacts that do not exist.
    missing: Vec<String>,
    /// Names of artifacts that are no texts, if only texts are loaded.
    not_text: Vec<String>,
    /// Names of artifacts whose bodies are missing or were changed.
    unreadable: Vec<String>,
    /// Names and sizes of artifacts beyond the limit.
    too_large: Vec<(String, u64)>,
    max_bytes: u64,
}

impl LoadedContents {
    /// Returns a text that names what was left out; `None` if nothing was.
    fn omission_text(&self) -> Option<String> {
        let mut sentences = Vec::new();
        if !self.missing.is_empty() {
            sentences.push(format!("There are no artifacts of these names: {}.", json!(self.missing)));
        }
        if !self.not_text.is_empty() {
            sentences.push(format!("Left out, since they are no texts: {}.", json!(self.not_text)));
        }
        if !self.unreadable.is_empty() {
            sentences.push(format!(
                "Left out, since their contents are missing or were changed: {}. Save them again.",
                json!(self.unreadable)
            ));
        }
        if !self.too_large.is_empty() {
            let sizes = self.too_large.iter().map(|(name, bytes)| format!("{} ({bytes} bytes)", json!(name)));
            let sizes = sizes.collect::<Vec<_>>().join(", ");
            sentences.push(format!(
                "Left out, since at most {} bytes are loaded at once: {sizes}. Load fewer artifacts at once.",
                self.max_bytes
            ));
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}

/// Loads the artifacts of `names` up to the limit of a request.
async fn load_contents(
    artifacts: &SessionArtifacts,
    names: &[String],
    texts_only: bool,
) -> Result<LoadedContents, ToolError> {
    let max_bytes = artifacts.max_load_bytes();
    let (mut loaded, mut bytes) = (LoadedContents { max_bytes, ..LoadedContents::default() }, 0_u64);
    for (index, name) in names.iter().enumerate() {
        if names.iter().take(index).any(|earlier| earlier == name) {
            continue;
        }
        let Some(artifact) = artifacts.find(name, None).await.map_err(artifacts_error)? else {
            loaded.missing.push(name.clone());
            continue;
        };
        if texts_only && !has_text_media_type(&artifact) {
            loaded.not_text.push(name.clone());
            continue;
        }
        if bytes.saturating_add(artifact.bytes) > max_bytes {
            loaded.too_large.push((name.clone(), artifact.bytes));
            continue;
        }
        let body = match artifacts.load(name, Some(artifact.version)).await {
            Ok(Some(body)) => body.bytes().await,
            Ok(None) => {
                loaded.missing.push(name.clone());
                continue;
            }
            Err(error) => Err(error),
        };
        let body = match body {
            Ok(body) => body,
            // A store that cannot be reached fails the whole; a body that is lost costs itself.
            Err(SessionError::Failed(problem)) => {
                tracing::warn!(problem, "an artifact cannot be loaded");
                loaded.unreadable.push(name.clone());
                continue;
            }
            Err(error) => return Err(artifacts_error(error)),
        };
        bytes += artifact.bytes;
        let content = content_block(&artifact, body);
        if texts_only && content.as_text().is_none() {
            loaded.not_text.push(name.clone());
            continue;
        }
        let label = format!(
            "Artifact {}, version {}, {}:",
            json!(name),
            artifact.version,
            json!(artifact.media_type)
        );
        loaded.contents.push((label, content));
    }
    Ok(loaded)
}

/// Returns the block of a body: an image, audio, a text, or a document.
fn content_block(artifact: &Artifact, body: Vec<u8>) -> Content {
    let media_type = &*artifact.media_type;
    if media_type.starts_with("image/") {
        return Content::image(body, media_type);
    }
    if media_type.starts_with("audio/") {
        return Content::audio(body, media_type);
    }
    match String::from_utf8(body) {
        Ok(text) => Content::text(text),
        Err(error) => Content::Resource {
            resource: Resource {
                uri: artifact.name.to_string(),
                mime_type: media_type.to_owned(),
                body: ResourceBody::Blob(Blob(error.into_bytes())),
            },
        },
    }
}

/// A request hook that adds texts of artifacts to each request, without a call. Artifacts that do not exist are skipped; those that are
/// no text, or beyond [the limit](SharedArtifacts::with_max_load_bytes), are named as left out.
///
/// # Examples
///
/// ```
/// use object_store::memory::InMemory;
/// use tool_runtime::Registry;
/// use tool_session::{InMemoryStore, SharedArtifacts, object_store, tools::PreloadArtifacts};
///
/// let artifacts = SharedArtifacts::new(InMemoryStore::new(), InMemory::new());
/// let registry = Registry::builder().request_hook(PreloadArtifacts::new(artifacts, ["user:profile.txt"])).build()?;
/// # drop(registry);
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PreloadArtifacts {
    artifacts: SharedArtifacts,
    names: Vec<String>,
}

impl PreloadArtifacts {
    /// Creates a hook for the artifacts `names` of the session and the user of each run.
    #[must_use]
    pub fn new(artifacts: SharedArtifacts, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { artifacts, names: names.into_iter().map(Into::into).collect() }
    }
}

impl RequestHook for PreloadArtifacts {
    async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
        let artifacts = self.artifacts.for_run(request.run()).map_err(artifacts_error)?;
        let mut names = self.names.clone();
        if request.run().session().is_none() {
            names.retain(|name| name.starts_with(Artifact::USER_PREFIX));
        }
        let mut loaded = load_contents(&artifacts, &names, true).await?;
        loaded.missing.clear();
        for (label, content) in &loaded.contents {
            let text = content.as_text().unwrap_or_default();
            request.add_text(format!("{label} (as JSON) {}", Value::from(text)));
        }
        if let Some(omissions) = loaded.omission_text() {
            request.add_text(omissions);
        }
        Ok(())
    }

    fn name(&self) -> &str {
        "preload_artifacts"
    }
}

/// Returns `true` for media types of texts.
fn has_text_media_type(artifact: &Artifact) -> bool {
    let media_type = &*artifact.media_type;
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.starts_with("text/")
        || ["application/json", "application/xml", "application/yaml"].contains(&essence)
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn artifact(media_type: &str) -> Artifact {
        let (name, hash) = ("user:a".into(), "".into());
        Artifact {
            name,
            version: 1,
            media_type: media_type.into(),
            bytes: 3,
            hash,
            time: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn media_types_of_texts_are_recognized() {
        for media_type in [
            "text/plain",
            "text/csv; charset=utf-8",
            "application/json",
            "application/xml ;x",
            "application/yaml",
            "application/geo+json",
            "image/svg+xml",
        ] {
            assert!(has_text_media_type(&artifact(media_type)), "{media_type}");
        }
        for media_type in
            ["", "image/png", "application/pdf", "application/jsonp", "textual/plain", "audio/json"]
        {
            assert!(!has_text_media_type(&artifact(media_type)), "{media_type}");
        }
    }

    #[test]
    fn a_content_is_an_image_audio_a_text_or_a_document() {
        let block =
            |media_type: &str, body: &[u8]| json!(content_block(&artifact(media_type), body.to_vec()));
        assert_eq!(
            block("image/png", b"abc"),
            json!({ "type": "image", "data": "YWJj", "mimeType": "image/png" })
        );
        assert_eq!(
            block("audio/wav", b"abc"),
            json!({ "type": "audio", "data": "YWJj", "mimeType": "audio/wav" })
        );
        assert_eq!(block("application/pdf", b"abc"), json!({ "type": "text", "text": "abc" }));
        let document = json!({ "uri": "user:a", "mimeType": "text/plain", "blob": "/w==" });
        assert_eq!(block("text/plain", b"\xff"), json!({ "type": "resource", "resource": document }));
    }

    #[test]
    fn what_was_left_out_is_named_with_its_reason() {
        assert_eq!(LoadedContents::default().omission_text(), None);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let loaded = LoadedContents {
            contents: Vec::new(),
            missing: names(&["a", "b"]),
            not_text: names(&["c"]),
            unreadable: names(&["d"]),
            too_large: vec![("e".to_owned(), 7), ("f\"".to_owned(), 8)],
            max_bytes: 5,
        };
        let expected = "There are no artifacts of these names: [\"a\",\"b\"]. Left out, since they are no texts: [\"c\"]. Left out, since \
                        their contents are missing or were changed: [\"d\"]. Save them again. Left out, since at most 5 bytes are loaded \
                        at once: \"e\" (7 bytes), \"f\\\"\" (8 bytes). Load fewer artifacts at once.";
        assert_eq!(loaded.omission_text().as_deref(), Some(expected));
    }
}
