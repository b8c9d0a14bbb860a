//! Bodies in a folder.

use tool_session::{Artifacts as _, InMemoryStore, SessionError, SharedArtifacts, UserKey};

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
async fn folders_below_one_that_exists_are_for_its_user_alone() {
    let folder = crate::sqlite::Folder::new();
    let artifacts = SharedArtifacts::in_folder(InMemoryStore::new(), folder.path()).unwrap();
    artifacts.for_user(&UserKey::new("shop", "u-7").unwrap()).save("user:a", TEXT, "a").await.unwrap();
    #[cfg(unix)]
    for name in ["uploads", "bodies", "transient"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{name}");
    }
}

/// Files that the store writes before they have a name are not in its lists.
#[tokio::test]
async fn a_sweep_removes_the_unfinished_files_of_killed_writers() {
    let folder = crate::sqlite::Folder::new();
    let store = InMemoryStore::new();
    let artifacts = SharedArtifacts::in_folder(store.clone(), folder.path()).unwrap();
    artifacts.for_user(&UserKey::new("shop", "u-7").unwrap()).save("user:a", TEXT, "a").await.unwrap();
    store.begin_upload("call_1_2", std::time::Duration::from_secs(3600)).await.unwrap();
    let uploads = folder.path().join("uploads");
    for name in ["call_1_1#1", "call_1_2#1"] {
        std::fs::write(uploads.join(name), "half").unwrap();
    }
    assert_eq!(artifacts.sweep().await.unwrap(), 1);
    assert!(!uploads.join("call_1_1#1").exists() && uploads.join("call_1_2#1").exists());
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = crate::sqlite::Folder::new();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = SharedArtifacts::in_folder(InMemoryStore::new(), file.join("a")).unwrap_err();
    assert!(matches!(&error, SessionError::Failed(text) if text.contains("cannot be used")), "{error}");
}
