//! Bodies in a folder.

use tool_session::{InMemoryStore, SessionError, SharedArtifacts, UserKey};

use super::world::{TEXT, read};

#[tokio::test]
async fn bodies_in_a_folder_are_for_its_user_alone() {
    let folder = crate::sqlite::Folder::new();
    let path = folder.path().join("a/b");
    let artifacts = SharedArtifacts::in_folder(InMemoryStore::new(), &path).unwrap();
    let artifacts = artifacts.for_user(&UserKey::new("shop", "u-7").unwrap());
    artifacts.save("user:../../escape", TEXT, "inside").await.unwrap();
    assert_eq!(read(&artifacts, "user:../../escape", None).await, b"inside");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = crate::sqlite::Folder::new();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = SharedArtifacts::in_folder(InMemoryStore::new(), file.join("a")).unwrap_err();
    assert!(matches!(&error, SessionError::Failed(text) if text.contains("cannot be used")), "{error}");
}
