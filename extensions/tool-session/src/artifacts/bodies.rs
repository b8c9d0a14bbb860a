//! The objects that have the bodies of artifacts.

use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use hmac_sha256::Hash;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, buffered::BufWriter, path::Path};
use tokio::io::AsyncWriteExt;

use crate::SessionError;

/// The number of bytes of one part of an upload; a smaller body is written at once.
const PART_BYTES: usize = 5 << 20;

/// The objects below `uploads`, `bodies` and `transient`.
#[derive(Debug, Clone)]
pub(super) struct BodyStore {
    pub(super) store: Arc<dyn ObjectStore>,
    /// The folder of the objects, if they are files.
    folder: Option<Arc<std::path::Path>>,
}

/// A body that was written for an upload.
pub(super) struct StoredBody {
    pub(super) bytes: u64,
    /// The SHA-256, in hexadecimal digits.
    pub(super) hash: String,
    /// The name of the object.
    pub(super) name: String,
}

impl BodyStore {
    pub(super) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, folder: None }
    }

    pub(super) fn in_folder(store: Arc<dyn ObjectStore>, folder: &std::path::Path) -> Self {
        Self { store, folder: Some(folder.into()) }
    }

    /// Returns `true` for files of this machine and memory of this process, also behind a prefix or limit of `object_store`.
    pub(super) fn is_local(&self) -> bool {
        let mut start = DebugStart(String::new());
        // The rest, such as all objects in memory, is not written.
        let _ = write!(start, "{:?}", self.store);
        self.folder.is_some() || ["LocalFileSystem {", "InMemory {"].iter().any(|it| start.0.contains(it))
    }

    /// Writes a body, chunk by chunk; fails if it has more than `max_bytes`.
    pub(super) async fn upload_body(
        &self,
        upload_id: &str,
        mut chunks: BoxStream<'_, Result<Bytes, SessionError>>,
        max_bytes: u64,
    ) -> Result<StoredBody, SessionError> {
        let path = upload_path(upload_id);
        let mut writer = BufWriter::with_capacity(Arc::clone(&self.store), path.clone(), PART_BYTES);
        let mut digest = BodyDigest::default();
        while let Some(chunk) = chunks.next().await {
            let written = match chunk.and_then(|chunk| digest.add_chunk_within(chunk, max_bytes)) {
                Ok(chunk) => writer.put(chunk).await.map_err(body_store_error),
                Err(error) => Err(error),
            };
            if let Err(error) = written {
                // A part that is left is removed by a sweep, or by the rules of a store elsewhere.
                drop(writer.abort().await);
                return Err(error);
            }
        }
        writer.shutdown().await.map_err(unavailable_bodies_error)?;
        let (bytes, hash) = digest.into_size_and_hash();
        let name = format!("{hash}-{upload_id}");
        self.store.rename(&path, &body_path(&name)).await.map_err(body_store_error)?;
        Ok(StoredBody { bytes, hash, name })
    }

    /// Opens a body.
    pub(super) async fn open_body(
        &self,
        name: &str,
    ) -> Result<BoxStream<'static, Result<Bytes, SessionError>>, SessionError> {
        let object = self.store.get(&body_path(name)).await.map_err(body_store_error)?;
        Ok(object.into_stream().map_err(body_store_error).boxed())
    }

    /// Replaces the body `name`, which may be missing or damaged, by the body `replacement` of the same content.
    pub(super) async fn replace_body(&self, name: &str, replacement: &str) -> Result<(), SessionError> {
        self.store.rename(&body_path(replacement), &body_path(name)).await.map_err(body_store_error)
    }

    /// Returns the uploads whose unfinished files are in the folder, with the files. A list of the store leaves such files out.
    pub(super) fn unfinished_upload_files(&self) -> Vec<(String, std::path::PathBuf)> {
        self.unfinished_files(UPLOADS)
    }

    /// Returns the unfinished files of transient objects in the folder.
    pub(super) fn unfinished_transient_files(&self) -> Vec<std::path::PathBuf> {
        self.unfinished_files(TRANSIENT).into_iter().map(|(_, file)| file).collect()
    }

    fn unfinished_files(&self, subfolder: &str) -> Vec<(String, std::path::PathBuf)> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir(folder.join(subfolder)) else { return Vec::new() };
        let files = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let (name, _) = path.file_name()?.to_str()?.split_once('#')?;
            Some((name.to_owned(), path))
        });
        files.collect()
    }

    /// Returns the transient objects.
    pub(super) fn list_transient(&self) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.store.list(Some(&Path::from(TRANSIENT)))
    }

    /// Removes a body; a missing one is removed already.
    pub(super) async fn remove_if_exists(&self, name: &str) -> Result<(), SessionError> {
        let path = if name.contains('-') { body_path(name) } else { upload_path(name) };
        match self.store.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(body_store_error(error)),
        }
    }

    /// Returns the names of all bodies, in groups.
    pub(super) fn list_names(&self) -> BoxStream<'static, Result<Vec<String>, SessionError>> {
        /// The number of names of one question to the store.
        const GROUP_NAMES: usize = 500;
        let folders = [Path::from(UPLOADS), Path::from(BODIES)];
        let lists = folders.map(|folder| self.store.list(Some(&folder)));
        let [uploads, bodies] = lists;
        let names = uploads.chain(bodies).map_err(body_store_error);
        let names = names.map_ok(|object| object.location.filename().unwrap_or_default().to_owned());
        names.try_chunks(GROUP_NAMES).map_err(|error| error.1).boxed()
    }
}

/// The first characters of a text.
struct DebugStart(String);

impl fmt::Write for DebugStart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const MAX_BYTES: usize = 1024;
        self.0.push_str(text);
        if self.0.len() <= MAX_BYTES { Ok(()) } else { Err(fmt::Error) }
    }
}

pub(super) const UPLOADS: &str = "uploads";
pub(super) const BODIES: &str = "bodies";
pub(super) const TRANSIENT: &str = "transient";

/// Returns the path of a body before its hash is known.
fn upload_path(upload_id: &str) -> Path {
    Path::from_iter([UPLOADS, upload_id])
}

fn body_path(name: &str) -> Path {
    Path::from_iter([BODIES, name.get(..2).unwrap_or_default(), name])
}

pub(super) fn transient_path(name: &str) -> Path {
    Path::from_iter([TRANSIENT, name])
}

pub(super) fn body_store_error(error: object_store::Error) -> SessionError {
    match error {
        object_store::Error::NotFound { .. } => {
            SessionError::Failed("the body of the artifact is missing; save it again".to_owned())
        }
        object_store::Error::Generic { .. } | object_store::Error::JoinError { .. } => {
            unavailable_bodies_error(error)
        }
        _ => SessionError::Failed(format!("the bodies of artifacts failed: {error}")),
    }
}

pub(super) fn unavailable_bodies_error(error: impl fmt::Display) -> SessionError {
    SessionError::Unavailable(format!("the bodies of artifacts failed: {error}"))
}

/// The size and the SHA-256 of a body, chunk by chunk.
#[derive(Default)]
pub(super) struct BodyDigest {
    hash: Hash,
    bytes: u64,
}

impl BodyDigest {
    /// Adds a chunk, and returns it; fails beyond `max_bytes`.
    pub(super) fn add_chunk_within(&mut self, chunk: Bytes, max_bytes: u64) -> Result<Bytes, SessionError> {
        self.bytes = self.bytes.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
        if self.bytes > max_bytes {
            return Err(SessionError::Invalid(format!(
                "the artifact has more than {max_bytes} bytes, and no more are stored; save a smaller one"
            )));
        }
        self.hash.update(&chunk);
        Ok(chunk)
    }

    /// Returns the number of bytes, and the hash in hexadecimal digits.
    pub(super) fn into_size_and_hash(self) -> (u64, String) {
        let digits = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        (self.bytes, digits)
    }
}
