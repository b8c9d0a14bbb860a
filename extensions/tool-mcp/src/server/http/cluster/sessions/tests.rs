//! Sessions as the database has them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;
use test_support::{collectors, postgres::shared_url};

use super::*;

const LIMITS: SessionLimits =
    SessionLimits { max_sessions: 10, max_per_caller: 10, idle_time: Duration::from_secs(60) };

/// Returns a cluster with the sessions `ids`; `None` if the machine has no server.
async fn cluster_with_sessions(ids: &[&str]) -> Option<Cluster> {
    let cluster = Cluster::open_alone().await?;
    for id in ids {
        assert!(cluster.open_session(id, None, LIMITS).await.unwrap().is_none());
    }
    Some(cluster)
}

async fn execute(cluster: &Cluster, sql: &str) {
    cluster.0.log.database.fetch(sql, &[]).await.unwrap();
}

async fn idle_time(cluster: &Cluster, id: &str) -> Option<Duration> {
    let hash = hash_of("session", id);
    cluster.0.session_checks.session_idle_time(&cluster.0.log, &hash).await.unwrap()
}

/// Returns what is logged of altered rows while `body` runs.
fn logged_alterations(body: impl Future<Output = ()>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut events = collectors::EventLog::events_of(|| runtime.block_on(body));
    events.retain(|event| event.contains("altered"));
    events
}

#[test]
fn a_session_that_was_altered_is_refused_and_logged() {
    if shared_url().is_none() {
        return;
    }
    let events = logged_alterations(async {
        let cluster = cluster_with_sessions(&["a"]).await.unwrap();
        assert!(cluster.load_session_state("a").await.unwrap().is_none(), "it is being opened");
        let client = json!({ "name": "client", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let state = SessionState::new(serde_json::from_value(params).unwrap());
        cluster.store_session_state("a", &state).await.unwrap();
        let loaded = cluster.load_session_state("a").await.unwrap();
        assert_eq!(serde_json::to_value(loaded).unwrap(), serde_json::to_value(state).unwrap());
        execute(&cluster, "UPDATE {schema}.sessions SET body = 'other'").await;
        assert!(cluster.load_session_state("a").await.unwrap().is_none());
    });
    let hash = hash_of("session", "a");
    let place = "ERROR tool_mcp::server::http::cluster::sessions";
    let problem = "a session of the database was altered, and is refused";
    assert_eq!(events, [format!("{place}: {problem} {{session: {hash:?}}}")]);
}

#[test]
fn an_event_that_was_altered_is_left_out_and_logged() {
    if shared_url().is_none() {
        return;
    }
    let events = logged_alterations(async {
        let cluster = Cluster::open_alone().await.unwrap();
        let (log, stream) = (&cluster.0.log, StreamKey::of_session("a"));
        log.append(&stream, "one").await.unwrap();
        log.append(&stream, "two").await.unwrap();
        let read = async || {
            let mut positions = [StreamPosition { stream: stream.clone(), last: StreamPosition::BEFORE_ALL }];
            let (events, is_full) = log.read_after(&mut positions).await.unwrap();
            let texts: Vec<_> = events.into_iter().map(|event| event.text).collect();
            (texts.concat(), is_full)
        };
        assert_eq!(read().await, ("onetwo".to_owned(), false));
        execute(&cluster, "UPDATE {schema}.events SET number = 7 WHERE number = 0").await;
        assert_eq!(read().await, ("two".to_owned(), false));
    });
    let event = "ERROR tool_mcp::server::http::cluster::event_log: an event of the database was altered, and is left out";
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].starts_with(event), "{events:?}");
}

#[tokio::test]
async fn a_use_is_noted_after_a_tenth_of_the_idle_time_unless_the_session_is_idle() {
    let Some(cluster) = cluster_with_sessions(&["a"]).await else { return };
    let hash = hash_of("session", "a");
    for (seconds, is_open, is_noted) in
        [(50, true, false), (150, true, true), (900, true, true), (1_100, false, false)]
    {
        let used_at = "UPDATE {schema}.sessions SET used_at = now() - make_interval(secs => SECONDS)";
        execute(&cluster, &used_at.replace("SECONDS", &seconds.to_string())).await;
        cluster.0.session_checks.give_lease(hash.clone(), Instant::now() + Duration::from_secs(3_600));
        assert_eq!(cluster.touch_session("a", Duration::from_secs(1_000)).await.unwrap(), is_open);
        let is_recent = idle_time(&cluster, "a").await.unwrap() < Duration::from_secs(seconds);
        assert_eq!(is_recent, is_noted, "{seconds}");
    }
    assert!(!cluster.0.session_checks.has_lease(&hash));
    assert!(!cluster.touch_session("unknown", Duration::from_secs(1_000)).await.unwrap());
}

#[tokio::test]
async fn a_session_is_admitted_by_its_lease_or_by_the_database() {
    let Some(cluster) = cluster_with_sessions(&["a"]).await else { return };
    let admit = async |id| cluster.admit_session(id, LIMITS.idle_time).await;
    assert!(admit(None).await.unwrap() && admit(Some("a")).await.unwrap());
    assert!(!admit(Some("b")).await.unwrap());
    let far = Instant::now() + Duration::from_secs(3_600);
    cluster.0.session_checks.give_lease(hash_of("session", "b"), far);
    assert!(admit(Some("b")).await.unwrap());
    cluster.end_session_lease("b");
    assert!(!admit(Some("b")).await.unwrap());
    for id in [hash_of("session", "a"), String::new()] {
        cluster.0.session_checks.give_lease(id, far);
    }
    cluster.close().await;
    for id in [None, Some("a"), Some("b")] {
        assert_eq!(admit(id).await.unwrap_err().to_string(), "the cluster is closed");
    }
}

#[tokio::test]
async fn sessions_that_are_not_used_are_deleted() {
    let Some(cluster) = cluster_with_sessions(&["a", "b", "c"]).await else { return };
    let used_at = "UPDATE {schema}.sessions SET used_at = now() - make_interval(secs => 100)";
    execute(&cluster, used_at).await;
    cluster.touch_sessions(&["b".to_owned(), "unknown".to_owned()]).await.unwrap();
    cluster.delete_idle_sessions(Duration::from_secs(1_000)).await.unwrap();
    assert!(idle_time(&cluster, "a").await.unwrap() >= Duration::from_secs(100));
    cluster.delete_idle_sessions(Duration::from_secs(90)).await.unwrap();
    let mut left = Vec::new();
    for id in ["a", "b", "c"] {
        left.extend(idle_time(&cluster, id).await.map(|_| id));
    }
    assert_eq!(left, ["b"]);
}
