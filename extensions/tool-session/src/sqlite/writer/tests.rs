#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::SystemTime;

use super::*;
use crate::{EntryContent, JsonText, SessionKey};

/// Returns a job that writes an entry of `bytes`.
fn write_job(id: &str, bytes: usize) -> WriterJob {
    let key = SessionKey::new("shop", "u-7", id).unwrap();
    let lease = Lease { key, run: "run".into(), epoch: 1, expires_at: SystemTime::UNIX_EPOCH };
    let body = JsonText::of(&"x".repeat(bytes - 2)).unwrap();
    let write = SessionWrite::new(0).entry(EntryContent::new("run", EntryContent::MESSAGE, body));
    let queued = QueuedWrite { lease, write, version: SharedOutput::default() };
    WriterJob { operation: JobOperation::Write(queued.into()), answer: Box::new(drop), kind: JobKind::Write }
}

fn other_job() -> WriterJob {
    let run: Box<OperationFn> = Box::new(|_| Box::pin(async { Ok(()) }));
    WriterJob { operation: JobOperation::Other(run), answer: Box::new(drop), kind: JobKind::Lease }
}

#[test]
fn writes_share_statements_up_to_a_number_of_bytes_and_to_the_next_one_of_the_same_session() {
    let count = |jobs: &[WriterJob]| leading_shareable_writes(jobs).len();
    assert_eq!(count(&[write_job("a", 9), write_job("b", 9), write_job("a", 9)]), 2);
    assert_eq!(count(&[write_job("a", 9), other_job(), write_job("b", 9)]), 1);
    let half = MAX_SHARED_BYTES / 2;
    assert_eq!(count(&[write_job("a", half), write_job("b", half), write_job("c", 9)]), 2);
    // One alone may have more.
    assert_eq!(count(&[write_job("a", 3 * half), write_job("b", 9)]), 1);
}
