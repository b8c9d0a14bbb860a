//! Artifacts: objects of a session or of a user, by name and version.
//!
//! Names, versions and hashes are rows of a store; bodies are objects of an [`ObjectStore`](object_store::ObjectStore). A writer registers its upload,
//! writes the body under a name of its own, and then adds the row in one transaction, which assigns the version. No row is
//! without a body, and a body without a row is removed by a sweep, but for those whose upload is registered.

mod bodies;
mod body;
mod handle;
mod shared;
mod store;
mod transient;
mod value;

pub(crate) use self::store::{upload_expired_error, upload_id_of_body};
pub use self::{
    body::ArtifactBody,
    handle::SessionArtifacts,
    shared::SharedArtifacts,
    store::Artifacts,
    transient::TransientObjects,
    value::{Artifact, ArtifactContent, ArtifactOwner, StoredArtifact},
};
