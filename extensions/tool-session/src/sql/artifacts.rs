//! Artifacts.

use std::{collections::HashSet, sync::Arc, time::SystemTime};

use super::{
    SqlConnection, SqlRow, SqlStatement, notes::find_or_insert_and_lock_note_user,
    rows::find_and_lock_session, sql_limit,
};
use crate::{
    Artifact, ArtifactContent, ArtifactOwner, SessionError, StoredArtifact, UserKey,
    artifacts::{upload_expired_error, upload_id_of_body},
    millis,
    store::not_found_error,
};

/// The columns of [`read_artifact_row`].
macro_rules! artifact_columns {
    () => {
        "name, version, media_type, bytes, hash, time, body"
    };
}

/// Reads a version.
fn read_artifact_row(row: &impl SqlRow) -> Result<StoredArtifact, SessionError> {
    let artifact = Artifact {
        name: row.text(0)?.into(),
        version: row.number(1)?,
        media_type: row.text(2)?.into(),
        bytes: row.number(3)?,
        hash: row.text(4)?.into(),
        time: millis::to_time(row.integer(5)?),
    };
    Ok(StoredArtifact { artifact, body: row.text(6)?.into() })
}

/// Adds the condition that an artifact belongs to `owner`.
fn push_owner_condition(query: &mut SqlStatement<'_>, owner: &ArtifactOwner) {
    let user = owner.user_key();
    match owner.session_key() {
        Some(key) => {
            query.push_sql("session = (SELECT row_id FROM sessions WHERE app = ");
            query
                .push_value(key.app().to_owned())
                .push_sql(" AND user_id = ")
                .push_value(key.user().to_owned());
            query.push_sql(" AND id = ").push_value(key.id().to_owned()).push_sql(")");
        }
        None => {
            query.push_sql("session IS NULL AND app = ").push_value(user.app().to_owned());
            query.push_sql(" AND user_id = ").push_value(user.user().to_owned());
        }
    }
}

fn artifacts_query(owner: &ArtifactOwner) -> SqlStatement<'static> {
    let mut query = SqlStatement::new(concat!("SELECT ", artifact_columns!(), " FROM artifacts AS a WHERE "));
    push_owner_condition(&mut query, owner);
    query
}

/// Registers an upload.
pub(crate) async fn insert_upload<C: SqlConnection>(
    connection: &mut C,
    upload: &str,
    expires_at: SystemTime,
) -> Result<(), SessionError> {
    let insert = SqlStatement::new("INSERT INTO artifact_uploads (body, expires_at) VALUES (?1, ?2)");
    connection.execute(insert.bind(upload).bind(millis::from_time(expires_at))).await.map(drop)
}

/// Removes an upload; returns `false` if there is none.
pub(crate) async fn delete_upload<C: SqlConnection>(
    connection: &mut C,
    upload: &str,
) -> Result<bool, SessionError> {
    let delete = SqlStatement::new("DELETE FROM artifact_uploads WHERE body = ?1").bind(upload);
    Ok(connection.execute(delete).await? > 0)
}

/// Adds a version, and ends its upload.
pub(crate) async fn add_artifact<C: SqlConnection>(
    connection: &mut C,
    owner: &ArtifactOwner,
    upload: &str,
    content: &ArtifactContent,
    now: SystemTime,
) -> Result<StoredArtifact, SessionError> {
    let user = owner.user_key();
    // The versions of a name are assigned one after another.
    let session = match owner.session_key() {
        Some(key) => {
            Some(find_and_lock_session(connection, &key).await?.ok_or_else(|| not_found_error(&key))?.row_id)
        }
        None => {
            find_or_insert_and_lock_note_user(connection, user).await?;
            None
        }
    };
    if !delete_upload(connection, upload).await? {
        return Err(upload_expired_error());
    }
    // The row is locked: its deletion, and the question for unused bodies behind it, wait for this transaction.
    let mut same =
        SqlStatement::new("SELECT body FROM artifacts WHERE app = ?1 AND user_id = ?2 AND hash = ?3 LIMIT 1");
    same.push_sql(C::ROW_LOCK);
    let same = same.bind(user.app()).bind(user.user()).bind(&*content.hash);
    let same = connection.fetch_optional(same, |row| row.text(0)).await?;
    let body = same.map_or_else(|| Arc::clone(&content.body), Into::into);
    let last = find_version(connection, owner, &content.name, None).await?;
    let version = last.map_or(1, |last| last.artifact.version + 1);
    let stored = StoredArtifact::new(content, version, now, body);
    let insert = "INSERT INTO artifacts (app, user_id, session, name, version, media_type, bytes, hash, body, time) \
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let insert = SqlStatement::new(insert).bind(user.app()).bind(user.user()).bind(session);
    let insert = insert.bind(&*content.name).bind(version).bind(&*content.media_type).bind(content.bytes);
    let insert = insert.bind(&*content.hash).bind(&*stored.body).bind(millis::from_time(now));
    connection.execute(insert).await?;
    Ok(stored)
}

/// Reads the last version of each name after `after`.
pub(crate) async fn read_last_versions<C: SqlConnection>(
    connection: &mut C,
    owner: &ArtifactOwner,
    after: &str,
    limit: usize,
) -> Result<Vec<StoredArtifact>, SessionError> {
    let mut query = artifacts_query(owner);
    query.push_sql(
        " AND NOT EXISTS (SELECT 1 FROM artifacts AS later WHERE later.app = a.app AND later.user_id = a.user_id \
         AND later.name = a.name AND later.version > a.version \
         AND (later.session = a.session OR (later.session IS NULL AND a.session IS NULL))) AND name > ",
    );
    query.push_value(after.to_owned()).push_sql(" ORDER BY name LIMIT ").push_value(sql_limit(limit));
    connection.fetch_all(query, read_artifact_row).await
}

/// Reads the versions of a name after `after`.
pub(crate) async fn read_versions<C: SqlConnection>(
    connection: &mut C,
    owner: &ArtifactOwner,
    name: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredArtifact>, SessionError> {
    let mut query = artifacts_query(owner);
    query.push_sql(" AND name = ").push_value(name.to_owned()).push_sql(" AND version > ").push_value(after);
    query.push_sql(" ORDER BY version LIMIT ").push_value(sql_limit(limit));
    connection.fetch_all(query, read_artifact_row).await
}

/// Reads a version of a name, or the last one.
pub(crate) async fn find_version<C: SqlConnection>(
    connection: &mut C,
    owner: &ArtifactOwner,
    name: &str,
    version: Option<u64>,
) -> Result<Option<StoredArtifact>, SessionError> {
    let mut query = artifacts_query(owner);
    query.push_sql(" AND name = ").push_value(name.to_owned());
    if let Some(version) = version {
        query.push_sql(" AND version = ").push_value(version);
    }
    query.push_sql(" ORDER BY version DESC LIMIT 1");
    connection.fetch_optional(query, read_artifact_row).await
}

/// Deletes all versions of a name.
pub(crate) async fn delete_versions<C: SqlConnection>(
    connection: &mut C,
    owner: &ArtifactOwner,
    name: &str,
) -> Result<Vec<StoredArtifact>, SessionError> {
    let mut delete = SqlStatement::new("DELETE FROM artifacts WHERE ");
    push_owner_condition(&mut delete, owner);
    delete.push_sql(" AND name = ").push_value(name.to_owned());
    delete.push_sql(concat!(" RETURNING ", artifact_columns!()));
    connection.fetch_all(delete, read_artifact_row).await
}

/// Deletes all artifacts of a user and of the user's sessions.
pub(crate) async fn delete_artifacts<C: SqlConnection>(
    connection: &mut C,
    user: &UserKey,
) -> Result<Vec<StoredArtifact>, SessionError> {
    let delete =
        concat!("DELETE FROM artifacts WHERE app = ?1 AND user_id = ?2 RETURNING ", artifact_columns!());
    let delete = SqlStatement::new(delete).bind(user.app()).bind(user.user());
    connection.fetch_all(delete, read_artifact_row).await
}

/// Returns the bodies that neither a version nor an upload has, and removes expired uploads. An upload that is removed here adds no
/// version later: its body may be removed.
pub(crate) async fn remove_expired_uploads_and_list_unused_bodies<C: SqlConnection>(
    connection: &mut C,
    bodies: &[String],
    now: SystemTime,
) -> Result<Vec<String>, SessionError> {
    let expired =
        SqlStatement::new("DELETE FROM artifact_uploads WHERE expires_at <= ?1").bind(millis::from_time(now));
    connection.execute(expired).await?;
    // Uploads first: one that ends between the two queries has a version, which the second one sees.
    let uploads = bodies.iter().map(|body| upload_id_of_body(body));
    let running =
        select_matching_names(connection, "SELECT body FROM artifact_uploads WHERE body IN ", uploads)
            .await?;
    let names = bodies.iter().map(String::as_str);
    let used = select_matching_names(connection, "SELECT body FROM artifacts WHERE body IN ", names).await?;
    let is_unused = |body: &&String| !used.contains(*body) && !running.contains(upload_id_of_body(body));
    Ok(bodies.iter().filter(is_unused).cloned().collect())
}

/// Returns the names that a query finds among `names`.
async fn select_matching_names<C: SqlConnection>(
    connection: &mut C,
    query: &'static str,
    names: impl Iterator<Item = &str> + Send,
) -> Result<HashSet<String>, SessionError> {
    /// The maximum number of parameters of one statement.
    const MAX_VALUES: usize = 1000;
    let (names, mut found) = (names.collect::<Vec<_>>(), HashSet::new());
    for names in names.chunks(MAX_VALUES) {
        let mut query = SqlStatement::new(query);
        for (index, name) in names.iter().enumerate() {
            query.push_sql(if index == 0 { "(" } else { ", " }).push_value(*name);
        }
        query.push_sql(")");
        found.extend(connection.fetch_all(query, |row| row.text(0)).await?);
    }
    Ok(found)
}
