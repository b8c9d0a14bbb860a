//! The rows of artifacts of a store in memory, under its lock.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Bound,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    ArtifactContent, ArtifactOwner, Artifacts, InMemoryStore, SessionError, SessionKey, StoredArtifact,
    UserKey,
    artifacts::{upload_expired_error, upload_id_of_body},
    store::not_found_error,
};

/// All artifacts, and the uploads at work.
#[derive(Debug, Default)]
pub(super) struct ArtifactRows {
    /// The versions of each name; version `n` has the index `n - 1`.
    owners: HashMap<ArtifactOwner, BTreeMap<Arc<str>, Vec<StoredArtifact>>>,
    /// The times at which uploads expire.
    uploads: HashMap<String, SystemTime>,
}

impl ArtifactRows {
    /// Removes the artifacts of sessions that do not exist.
    pub(super) fn remove_artifacts_of_missing_sessions(
        &mut self,
        mut exists: impl FnMut(&SessionKey) -> bool,
    ) {
        self.owners.retain(|owner, _| owner.session_key().is_none_or(|key| exists(&key)));
    }

    /// Removes the artifacts of a user and of the user's sessions.
    pub(super) fn remove_artifacts_of_user(&mut self, user: &UserKey) -> Vec<StoredArtifact> {
        let removed = self.owners.extract_if(|owner, _| owner.user_key() == user);
        removed.flat_map(|(_, names)| names.into_values().flatten()).collect()
    }

    fn add_version_sharing_body(
        &mut self,
        owner: &ArtifactOwner,
        content: &ArtifactContent,
        now: SystemTime,
    ) -> StoredArtifact {
        let of_user = self.owners.iter().filter(|(other, _)| other.user_key() == owner.user_key());
        let mut versions = of_user.flat_map(|(_, names)| names.values().flatten());
        let same = versions.find(|stored| stored.artifact.hash == content.hash);
        let body = same.map_or_else(|| Arc::clone(&content.body), |stored| Arc::clone(&stored.body));
        let names = self.owners.entry(owner.clone()).or_default();
        let versions = names.entry(Arc::clone(&content.name)).or_default();
        let version = u64::try_from(versions.len()).unwrap_or(u64::MAX).saturating_add(1);
        let stored = StoredArtifact::new(content, version, now, body);
        versions.push(stored.clone());
        stored
    }

    fn versions_or_empty(&self, owner: &ArtifactOwner, name: &str) -> &[StoredArtifact] {
        self.owners
            .get(owner)
            .and_then(|names| names.get(name))
            .map(|versions| &**versions)
            .unwrap_or_default()
    }
}

impl Artifacts for InMemoryStore {
    async fn begin_upload(&self, upload: &str, lifetime: Duration) -> Result<(), SessionError> {
        let now = self.clock.now();
        let expires_at = now.checked_add(lifetime).unwrap_or(now);
        self.lock_sessions().artifacts.uploads.insert(upload.to_owned(), expires_at);
        Ok(())
    }

    async fn end_upload(&self, upload: &str) -> Result<(), SessionError> {
        self.lock_sessions().artifacts.uploads.remove(upload);
        Ok(())
    }

    async fn add_artifact(
        &self,
        owner: &ArtifactOwner,
        upload: &str,
        content: &ArtifactContent,
    ) -> Result<StoredArtifact, SessionError> {
        let now = self.clock.now();
        let mut sessions = self.lock_sessions();
        if let Some(key) = owner.session_key().filter(|key| !sessions.contains(key)) {
            return Err(not_found_error(&key));
        }
        match sessions.artifacts.uploads.remove(upload) {
            Some(_) => Ok(sessions.artifacts.add_version_sharing_body(owner, content, now)),
            None => Err(upload_expired_error()),
        }
    }

    async fn list_artifacts(
        &self,
        owner: &ArtifactOwner,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        let sessions = self.lock_sessions();
        let names = sessions.artifacts.owners.get(owner);
        let later = |names: &'_ BTreeMap<_, Vec<StoredArtifact>>| {
            let names = names.range::<str, _>((Bound::Excluded(after), Bound::Unbounded));
            names.filter_map(|(_, versions)| versions.last().cloned()).take(limit).collect()
        };
        Ok(names.map(later).unwrap_or_default())
    }

    async fn artifact_versions(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        let sessions = self.lock_sessions();
        let versions = sessions.artifacts.versions_or_empty(owner, name).iter();
        Ok(versions.filter(|stored| stored.artifact.version > after).take(limit).cloned().collect())
    }

    async fn find_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        version: Option<u64>,
    ) -> Result<Option<StoredArtifact>, SessionError> {
        let sessions = self.lock_sessions();
        let versions = sessions.artifacts.versions_or_empty(owner, name);
        let found = match version {
            Some(version) => versions.iter().find(|stored| stored.artifact.version == version),
            None => versions.last(),
        };
        Ok(found.cloned())
    }

    async fn delete_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        let mut sessions = self.lock_sessions();
        let names = sessions.artifacts.owners.get_mut(owner);
        Ok(names.and_then(|names| names.remove(name)).unwrap_or_default())
    }

    async fn delete_artifacts(&self, user: &UserKey) -> Result<Vec<StoredArtifact>, SessionError> {
        Ok(self.lock_sessions().artifacts.remove_artifacts_of_user(user))
    }

    async fn unused_bodies(&self, bodies: &[String]) -> Result<Vec<String>, SessionError> {
        let now = self.clock.now();
        let mut sessions = self.lock_sessions();
        let ArtifactRows { owners, uploads } = &mut sessions.artifacts;
        uploads.retain(|_, expires_at| now < *expires_at);
        let versions = owners.values().flat_map(|names| names.values().flatten());
        let used: HashSet<_> = versions.map(|stored| &*stored.body).collect();
        let is_unused =
            |body: &&String| !used.contains(&***body) && !uploads.contains_key(upload_id_of_body(body));
        Ok(bodies.iter().filter(is_unused).cloned().collect())
    }
}
