//! The handle to a store of any type.

use tool_session::{
    EntryPage, EntryQuery, Lease, LeaseGrant, LeaseRequest, Retention, Session, SessionError, SessionExport,
    SessionFilter, SessionKey, SessionSnapshot, SessionStore, SessionVersion, SessionWrite,
    SharedSessionStore, UnfinishedRun,
};

use crate::contract::world::key;

/// A store that panics.
struct Broken;

impl SessionStore for Broken {
    fn outlives_process(&self) -> bool {
        panic!("broken")
    }

    async fn load(&self, _: &SessionKey) -> Result<Option<SessionSnapshot>, SessionError> {
        panic!("broken")
    }

    async fn list(&self, _: &SessionFilter) -> Result<Vec<Session>, SessionError> {
        panic!("broken")
    }

    async fn entries(&self, _: &SessionKey, _: &EntryQuery) -> Result<EntryPage, SessionError> {
        panic!("broken")
    }

    async fn acquire(&self, _: &SessionKey, _: &LeaseRequest) -> Result<LeaseGrant, SessionError> {
        panic!("broken")
    }

    async fn renew(&self, _: &Lease) -> Result<Lease, SessionError> {
        panic!("broken")
    }

    async fn release(&self, _: &Lease) -> Result<(), SessionError> {
        panic!("broken")
    }

    async fn abandon(&self, _: &Lease) -> Result<(), SessionError> {
        panic!("broken")
    }

    async fn write(&self, _: &Lease, _: &SessionWrite) -> Result<SessionVersion, SessionError> {
        panic!("broken")
    }

    async fn fork(&self, _: &SessionKey, _: u64, _: &SessionKey) -> Result<Session, SessionError> {
        panic!("broken")
    }

    async fn delete(&self, _: &SessionKey) -> Result<bool, SessionError> {
        panic!("broken")
    }

    async fn delete_user(&self, _: &str, _: &str) -> Result<u64, SessionError> {
        panic!("broken")
    }

    async fn prune(&self, _: &Retention) -> Result<u64, SessionError> {
        panic!("broken")
    }

    async fn unfinished(&self, _: &str) -> Result<Vec<UnfinishedRun>, SessionError> {
        panic!("broken")
    }

    async fn import(&self, _: &[SessionExport]) -> Result<(), SessionError> {
        panic!("broken")
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        panic!("broken")
    }
}

#[tokio::test]
async fn a_panic_of_a_store_is_an_error() {
    let sessions = SharedSessionStore::new(Broken);
    assert!(sessions.outlives_process());
    let error = sessions.load(&key("s")).await.unwrap_err();
    assert_eq!(error, SessionError::Failed("the store of sessions panicked: broken".to_owned()));
    drop(sessions);
}
