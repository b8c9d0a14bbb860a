#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may")]

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use tool_runtime::{BoxFuture, open_calls::ProgramKey};

use super::*;

/// A store that no test may reach.
struct NoValues;

impl ValueStore for NoValues {
    fn put<'a>(&'a self, _: &'a str, _: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async { Err(FleetError::ValueStore("put".to_owned())) })
    }

    fn get<'a>(&'a self, _: &'a str, _: usize) -> BoxFuture<'a, Result<Option<Bytes>, FleetError>> {
        Box::pin(async { Err(FleetError::ValueStore("get".to_owned())) })
    }

    fn delete<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async { Err(FleetError::ValueStore("delete".to_owned())) })
    }
}

/// A store that counts the values that are read, and returns none.
#[derive(Clone, Default)]
struct Unanswered(Arc<AtomicUsize>);

impl ValueStore for Unanswered {
    fn put<'a>(&'a self, _: &'a str, _: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(std::future::pending())
    }

    fn get<'a>(&'a self, _: &'a str, _: usize) -> BoxFuture<'a, Result<Option<Bytes>, FleetError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::pending())
    }

    fn delete<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_256_mib_are_read_at_once() {
    let store = Unanswered::default();
    let values = LargeValues::new(ProgramKey::new([7; 32]).pool_key("trip"), Arc::new(store.clone()));
    let reference = || ValueReference {
        name: format!("trip.{}", "a".repeat(26)),
        digest: ValueDigest { bytes: MAX_VALUE_BYTES, hash: ContentHash::from([0; 32]) },
    };
    let references = [(); 6].map(|()| reference());
    let reads = references.iter().map(|it| values.read_json::<Value>(it, ValueOwner::Call("c")));
    let all = futures_util::future::join_all(reads);
    assert!(futures_util::FutureExt::now_or_never(all).is_none());
    assert_eq!(store.0.load(Ordering::Relaxed), 4);
}

fn values() -> LargeValues {
    LargeValues::new(ProgramKey::new([7; 32]).pool_key("trip"), Arc::new(NoValues))
}

#[tokio::test]
async fn a_value_of_more_than_64_mib_is_not_stored() {
    let (values, text) = (values(), "a".repeat(MAX_VALUE_BYTES + 1));
    let stored = values.put_text("a".to_owned(), &text, ValueOwner::Call("c")).await;
    assert!(
        matches!(stored, Err(FleetError::ValueTooLarge { bytes, limit: MAX_VALUE_BYTES }) if bytes == text.len()),
        "{stored:?}"
    );
}

#[tokio::test]
async fn a_reference_beyond_the_limit_is_not_read() {
    let values = values();
    let (name, hash) = ("a".to_owned(), ContentHash::from([0; 32]));
    let digest = ValueDigest { bytes: MAX_VALUE_BYTES + 1, hash };
    let reference = ValueReference { name, digest };
    let read = values.read_json::<Value>(&reference, ValueOwner::Call("c")).await;
    assert!(matches!(read, Err(FleetError::ValueTooLarge { .. })), "{read:?}");
}

/// A store in memory, which a test alters.
#[derive(Clone, Default)]
struct KeptValues(Arc<Mutex<HashMap<String, Bytes>>>);

impl ValueStore for KeptValues {
    fn put<'a>(&'a self, name: &'a str, value: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
        self.0.lock().unwrap().insert(name.to_owned(), value);
        Box::pin(async { Ok(()) })
    }

    fn get<'a>(&'a self, name: &'a str, _: usize) -> BoxFuture<'a, Result<Option<Bytes>, FleetError>> {
        let value = self.0.lock().unwrap().get(name).cloned();
        Box::pin(async { Ok(value) })
    }

    fn lifetime(&self) -> Duration {
        Duration::from_secs(100)
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), FleetError>> {
        self.0.lock().unwrap().remove(name);
        Box::pin(async { Ok(()) })
    }
}

fn values_in(store: &KeptValues, pool: &str, key: u8) -> LargeValues {
    LargeValues::new(PoolKey::from_bytes(pool, [key; 32]), Arc::new(store.clone()))
}

const OWNERS: [ValueOwner<'static>; 7] = [
    ValueOwner::Call("c"),
    ValueOwner::Call("d"),
    ValueOwner::Reports("c"),
    ValueOwner::Step("c"),
    ValueOwner::QueuedRequest("c"),
    ValueOwner::QueuedRequest("d"),
    ValueOwner::QueuedResult("c"),
];

/// Returns the error of a value that cannot be used.
fn unusable(bytes: usize, problem: &str) -> String {
    format!("the store of large values failed: a value of {bytes} bytes cannot be used: {problem}")
}

async fn read(
    values: &LargeValues,
    reference: &ValueReference,
    owner: ValueOwner<'_>,
) -> Result<Value, String> {
    match values.try_read_json(reference, owner).await {
        Ok(value) => Ok(value),
        Err(ReadError::Lost(error)) => Err(error.to_string()),
        Err(ReadError::Unanswered(error)) => Err(format!("unanswered: {error}")),
    }
}

#[tokio::test]
async fn a_value_is_read_for_its_owner_alone() {
    let store = KeptValues::default();
    let values = values_in(&store, "trip", 7);
    for (at, owner) in OWNERS.into_iter().enumerate() {
        let name = values.new_name().unwrap();
        let reference = values.put_text(name, "[1]", owner).await.unwrap();
        let foreign = unusable(reference.digest.bytes, "it belongs to another call, or is under another key");
        for (other_at, other) in OWNERS.into_iter().enumerate() {
            let expected = if at == other_at { Ok(serde_json::json!([1])) } else { Err(foreign.clone()) };
            assert_eq!(read(&values, &reference, other).await, expected, "{at} {other_at}");
        }
        assert_eq!(read(&values_in(&store, "trip", 8), &reference, owner).await, Err(foreign));
    }
}

/// The name of a value of the queue follows from its record.
#[tokio::test]
async fn a_value_is_read_under_its_name_alone_unless_it_is_one_of_the_queue() {
    let store = KeptValues::default();
    let values = values_in(&store, "trip", 7);
    for owner in OWNERS {
        let (name, other) = (values.new_name().unwrap(), values.new_name().unwrap());
        let reference = values.put_text(name.clone(), "[1]", owner).await.unwrap();
        let sealed = store.0.lock().unwrap()[&name].clone();
        values.put_sealed(&other, sealed).await.unwrap();
        let moved = ValueReference::new(other, reference.digest);
        let is_queued = matches!(owner, ValueOwner::QueuedRequest(_) | ValueOwner::QueuedResult(_));
        assert_eq!(read(&values, &moved, owner).await.is_ok(), is_queued);
        assert_eq!(read(&values, &reference, owner).await, Ok(serde_json::json!([1])));
    }
}

#[tokio::test]
async fn a_value_that_is_missing_cut_or_changed_is_lost() {
    let (store, owner) = (KeptValues::default(), ValueOwner::Call("c"));
    let values = values_in(&store, "trip", 7);
    let name = values.new_name().unwrap();
    let reference = values.put_text(name.clone(), "[1]", owner).await.unwrap();
    let sealed = store.0.lock().unwrap()[&name].clone();
    let bytes = reference.digest.bytes;
    assert_eq!(sealed.len(), bytes);
    let mut changed = sealed.to_vec();
    changed[bytes - 1] ^= 1;
    let shorter = format!("it has {} bytes in place of {bytes}", bytes - 1);
    for (value, problem) in [
        (None, "it is missing; both sides need the same store"),
        (Some(sealed.slice(..bytes - 1)), &*shorter),
        (Some(changed.into()), "it was changed"),
    ] {
        match value {
            Some(value) => drop(store.0.lock().unwrap().insert(name.clone(), value)),
            None => values.delete_or_warn(&name).await,
        }
        assert_eq!(read(&values, &reference, owner).await, Err(unusable(bytes, problem)));
    }
    let other = values.new_name().unwrap();
    let reference = values.put_text(other, "no JSON", owner).await.unwrap();
    let problem = "the store of large values failed: a value is not what its message says";
    assert_eq!(read(&values, &reference, owner).await, Err(problem.to_owned()));
}

#[tokio::test]
async fn a_store_that_fails_has_not_answered() {
    let name = format!("trip.{}", "a".repeat(26));
    let digest = ValueDigest { bytes: 1, hash: ContentHash::from([0; 32]) };
    let read = read(&values(), &ValueReference::new(name, digest), ValueOwner::Call("c")).await;
    assert_eq!(read, Err("unanswered: the store of large values failed: get".to_owned()));
}

#[test]
fn a_reference_names_a_value_of_its_pool_as_peers_name_them() {
    let values = values();
    let is_valid = |name: &str, bytes| {
        let digest = ValueDigest { bytes, hash: ContentHash::from([0; 32]) };
        values.check_reference(&ValueReference::new(name.to_owned(), digest)).is_ok()
    };
    let random = "a1".repeat(13);
    let valid = format!("trip.{random}");
    assert!(is_valid(&valid, 0) && is_valid(&valid, MAX_VALUE_BYTES));
    assert!(is_valid(&values.new_name().unwrap(), 1));
    assert!(!is_valid(&valid, MAX_VALUE_BYTES + 1));
    for name in [
        random.clone(),
        format!("trip{random}"),
        format!("mail.{random}"),
        format!("trip2.{random}"),
        format!("trip.{random}a"),
        format!("trip.{}", &random[1..]),
        format!("trip.{}/", &random[1..]),
        format!("trip.{}.", &random[1..]),
        format!("trip../{}", &random[2..]),
    ] {
        assert!(!is_valid(&name, 1), "{name}");
    }
}

#[test]
fn a_store_keeps_values_for_as_long_as_a_call_and_its_result() {
    let check = |pool: &str, call_age, result_age| {
        let (call_age, result_age) = (Duration::from_secs(call_age), Duration::from_secs(result_age));
        let limits = QueueLimits { call_age, result_age, ..QueueLimits::default() };
        let checked = values_in(&KeptValues::default(), pool, 7).check_lifetime(limits);
        checked.map_err(|error| error.to_string())
    };
    assert_eq!(check("trip", 60, 40), Ok(()));
    let problem = "the store of large values keeps a value for 100s, and the queue of the pool `trip` needs it for 101s (`call_age` and \
                   `result_age`); give the store a longer lifetime (`ValueStore::lifetime`), or the queue shorter ages";
    assert_eq!(check("trip", 61, 40), Err(problem.to_owned()));
    assert_eq!(check("trip", 60, 41), Err(problem.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_operation_of_the_store_has_a_minute() {
    let values = LargeValues::new(PoolKey::from_bytes("trip", [7; 32]), Arc::new(Unanswered::default()));
    let start = tokio::time::Instant::now();
    let stored = values.put_sealed("trip.a", Bytes::new()).await.map_err(|error| error.to_string());
    let problem = "the store of large values failed: it did not store a value within 60s";
    assert_eq!((stored, start.elapsed()), (Err(problem.to_owned()), OPERATION_TIMEOUT));
    values.delete_or_warn("trip.a").await;
    assert_eq!(start.elapsed(), 2 * OPERATION_TIMEOUT);
}

#[tokio::test]
async fn a_store_that_panics_is_one_that_fails() {
    let operation = async { std::panic::panic_any("broken") };
    let failed: Result<(), _> = run_in_time("read", operation).await;
    let text = failed.map_err(|error| error.to_string());
    assert!(
        text.as_ref().is_err_and(|text| text.starts_with("the store of large values failed: the store ")),
        "{text:?}"
    );
}
