//! The body of an artifact as it is read.

use std::fmt;

use bytes::Bytes;
use futures_util::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};

use super::{Artifact, bodies::BodyDigest};
use crate::SessionError;

/// A version of an artifact, whose body is read as a stream. The end of the stream is an error if the body does not have the
/// stored hash.
pub struct ArtifactBody {
    artifact: Artifact,
    chunks: BoxStream<'static, Result<Bytes, SessionError>>,
}

impl ArtifactBody {
    pub(super) fn new(artifact: Artifact, chunks: BoxStream<'static, Result<Bytes, SessionError>>) -> Self {
        Self { artifact, chunks }
    }

    /// Returns the version.
    #[must_use]
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// Returns the body, chunk by chunk.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, SessionError>> + Send + 'static {
        let Self { artifact, chunks } = self;
        let start = (chunks, Some((BodyDigest::default(), artifact)));
        stream::try_unfold(start, |(mut chunks, state)| async move {
            let Some((mut digest, artifact)) = state else { return Ok(None) };
            match chunks.next().await {
                Some(chunk) => {
                    let chunk = digest
                        .add_chunk_within(chunk?, artifact.bytes)
                        .map_err(|_| changed_body_error(&artifact))?;
                    Ok(Some((chunk, (chunks, Some((digest, artifact))))))
                }
                None if digest.into_size_and_hash() == (artifact.bytes, artifact.hash.to_string()) => {
                    Ok(None)
                }
                None => Err(changed_body_error(&artifact)),
            }
        })
    }

    /// Reads the whole body.
    ///
    /// # Errors
    ///
    /// Returns an error if the body could not be read, or was changed outside of the store.
    pub async fn bytes(self) -> Result<Vec<u8>, SessionError> {
        let body = self.into_stream().try_fold(Vec::new(), |mut body, chunk| async move {
            body.extend_from_slice(&chunk);
            Ok(body)
        });
        body.await
    }
}

fn changed_body_error(artifact: &Artifact) -> SessionError {
    let Artifact { name, version, .. } = artifact;
    SessionError::Failed(format!(
        "the body of version {version} of the artifact {name:?} was changed; save it again"
    ))
}

impl fmt::Debug for ArtifactBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactBody").field("artifact", &self.artifact).finish_non_exhaustive()
    }
}
