#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::server::question_round::UNAVAILABLE;

fn task(owner: Option<&str>, age: Duration) -> KeptTask {
    let start = Instant::now().checked_sub(age).unwrap();
    KeptTask { manager: TaskManager::new(), owner: owner.map(str::to_owned), start, result_bytes: None }
}

/// Tasks by name and owner, the oldest first.
fn kept(tasks: &[(&str, Option<&str>)]) -> KeptTasks {
    let mut kept = KeptTasks::default();
    for (at, (id, owner)) in tasks.iter().enumerate() {
        let age = Duration::from_secs(60 * (tasks.len() - at) as u64);
        kept.insert((*id).to_owned(), task(*owner, age));
    }
    kept
}

fn ids(kept: &KeptTasks) -> String {
    let mut ids: Vec<_> = kept.tasks.keys().map(String::as_str).collect();
    ids.sort_unstable();
    ids.concat()
}

#[tokio::test]
async fn the_tasks_of_an_owner_are_counted() {
    let mut kept = kept(&[("a", Some("x")), ("b", Some("x")), ("c", Some("y")), ("d", None)]);
    let numbers = |kept: &KeptTasks| ["x", "y"].map(|owner| kept.of_callers.get(owner).copied());
    assert_eq!(numbers(&kept), [Some(2), Some(1)]);
    for id in ["a", "c", "d", "nowhere"] {
        assert_eq!(kept.remove(id).is_some(), id != "nowhere");
    }
    assert_eq!((numbers(&kept), ids(&kept).as_str()), ([Some(1), None], "b"));
}

#[tokio::test]
async fn tasks_older_than_a_time_are_removed() {
    // The ages are 3, 2 and 1 minutes.
    let mut kept = kept(&[("a", None), ("b", None), ("c", None)]);
    let mut removed = Vec::new();
    kept.remove_older_than(Duration::from_secs(600), &mut removed);
    assert_eq!((ids(&kept).as_str(), removed.len()), ("abc", 0));
    kept.remove("a");
    kept.remove_older_than(Duration::from_secs(90), &mut removed);
    assert_eq!((ids(&kept).as_str(), removed.len(), kept.started.len()), ("c", 1, 1));
}

#[tokio::test]
async fn the_task_that_ended_first_gives_way() {
    let mut kept = kept(&[("a", Some("x")), ("b", Some("y")), ("c", Some("x")), ("d", None)]);
    assert!(kept.remove_first_ended(None).is_none());
    for id in ["c", "b", "a", "d", "nowhere"] {
        assert!(kept.note_end(id, 10, 1_000).is_empty());
    }
    assert_eq!(kept.result_bytes, 40);
    assert!(kept.remove_first_ended(Some("z")).is_none());
    let owner = |task: Option<KeptTask>| task.and_then(|task| task.owner.clone());
    assert_eq!(owner(kept.remove_first_ended(Some("y"))).as_deref(), Some("y"));
    assert_eq!((ids(&kept).as_str(), kept.result_bytes), ("acd", 30));
    assert!(kept.remove_first_ended(None).is_some());
    assert_eq!(ids(&kept), "ad");
    // One that was removed before is passed over.
    kept.remove("a");
    assert!(kept.remove_first_ended(None).is_some_and(|task| task.owner.is_none()));
    assert_eq!((ids(&kept).as_str(), kept.result_bytes), ("", 0));
    assert!(kept.remove_first_ended(None).is_none());
}

#[tokio::test]
async fn results_beyond_the_limit_take_the_place_of_older_ones() {
    let mut kept = kept(&[("a", None), ("b", None), ("c", None), ("d", None)]);
    assert!(kept.note_end("a", 5, 10).is_empty());
    assert!(kept.note_end("b", 5, 10).is_empty(), "exactly the limit");
    assert_eq!(kept.note_end("c", 1, 10).len(), 1);
    assert_eq!((ids(&kept).as_str(), kept.result_bytes), ("bcd", 6));
    // The last one is kept, whatever its size.
    assert_eq!(kept.note_end("d", 11, 10).len(), 2);
    assert_eq!((ids(&kept).as_str(), kept.result_bytes), ("d", 11));
}

#[tokio::test]
async fn the_queues_forget_tasks_that_are_removed() {
    let mut kept = KeptTasks::default();
    let mut longest = (0, 0);
    for number in 0..10 * MIN_QUEUE {
        let id = number.to_string();
        kept.insert(id.clone(), task(None, Duration::ZERO));
        kept.note_end(&id, 0, 0);
        kept.remove(&id);
        longest = (kept.started.len().max(longest.0), kept.ended.len().max(longest.1));
    }
    // Beside one task; an end is noted after the queues were looked at.
    assert_eq!(longest, (MIN_QUEUE + 2, MIN_QUEUE + 3));
    let last = kept.started.len();
    kept.insert("last".to_owned(), task(None, Duration::ZERO));
    assert!(kept.started.len() <= last + 1 && kept.started.back().is_some_and(|id| id == "last"));
}

#[tokio::test]
async fn one_more_task_needs_a_place() {
    let limits = TaskLimits { max_tasks: 3, max_tasks_per_caller: 2, max_result_bytes: 100 };
    let tasks = Tasks::new(Duration::from_secs(3600), limits);
    let mut kept = kept(&[("a", Some("x")), ("b", None)]);
    let mut removed = Vec::new();
    let room = |kept: &mut KeptTasks, caller, removed: &mut Vec<KeptTask>| {
        tasks.make_room(kept, caller, removed).map_err(|error| (error.code, error.message.into_owned()))
    };
    room(&mut kept, Some("x"), &mut removed).unwrap();
    kept.insert("c".to_owned(), task(Some("x"), Duration::ZERO));
    let full = |reason: &str| {
        let message = format!("too many tasks: {reason}, and none of them has ended; try again later");
        Err((UNAVAILABLE, message))
    };
    let of_caller = full("this caller has 2, the limit of each caller");
    assert_eq!(room(&mut kept, Some("x"), &mut removed), of_caller);
    let of_server = full("there are 3, the limit of the server");
    assert_eq!(room(&mut kept, Some("y"), &mut removed), of_server);
    assert_eq!(room(&mut kept, None, &mut removed), of_server);
    assert!(removed.is_empty());
    kept.note_end("b", 0, 100);
    assert_eq!(room(&mut kept, Some("x"), &mut removed), of_caller, "the one that ended is not its own");
    room(&mut kept, None, &mut removed).unwrap();
    assert_eq!((ids(&kept).as_str(), removed.len()), ("ac", 1));
    kept.note_end("a", 0, 100);
    room(&mut kept, Some("x"), &mut removed).unwrap();
    assert_eq!((ids(&kept).as_str(), removed.len()), ("c", 2));
    let brief = Tasks::new(Duration::from_secs(25), limits);
    let mut old = self::kept(&[("a", None)]);
    brief.make_room(&mut old, None, &mut removed).unwrap();
    assert_eq!((ids(&old).as_str(), removed.len()), ("", 3), "a minute is more than twice the lifetime");
}

#[tokio::test]
async fn a_task_is_known_to_its_owner() {
    let tasks =
        Tasks::new(Duration::MAX, TaskLimits { max_tasks: 1, max_tasks_per_caller: 1, max_result_bytes: 1 });
    for (id, owner) in [("a", Some("x")), ("b", None)] {
        tasks.lock_tasks().insert(id.to_owned(), task(owner, Duration::ZERO));
    }
    let knows = |id, caller| tasks.task_manager(id, caller).is_ok();
    assert!(knows("a", Some("x")) && !knows("a", Some("y")) && !knows("a", None));
    assert!(knows("b", None) && !knows("b", Some("x")) && !knows("c", None));
    let message = tasks.task_manager("c", None).err().unwrap().message;
    assert!(message.contains("there is no task `c`"), "{message}");
}

#[test]
fn a_result_has_the_size_of_its_json() {
    let result = CallToolResult::success(vec![rmcp::model::ContentBlock::text("a text")]);
    assert_eq!(result_json_bytes(&result), serde_json::to_string(&result).unwrap().len());
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_task_ends_with_the_task() {
    let (sender, ended) = tokio::sync::oneshot::channel::<()>();
    let kept = task(None, Duration::ZERO);
    kept.manager.spawn(TaskOptions::new(), |_| {
        Box::pin(async move {
            let _sender = sender;
            std::future::pending().await
        })
    });
    drop(kept);
    let end = tokio::time::timeout(Duration::from_secs(60), ended).await;
    assert!(end.is_ok_and(|end| end.is_err()), "the body goes on");
}
