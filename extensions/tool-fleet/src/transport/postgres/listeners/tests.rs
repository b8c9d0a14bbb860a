#![allow(clippy::unwrap_used, reason = "a test may")]

use futures_util::FutureExt as _;

use super::*;
use crate::Payload;

const GROUP_QUEUE: &str = "workers\u{1f}a.>";

fn listeners() -> Arc<Listeners> {
    Arc::new(Listeners::new("p".to_owned()))
}

fn delivery(number: u8) -> Delivery {
    Delivery { subject: "a.b".to_owned(), reply: None, payload: Payload::Body(vec![number].into()) }
}

fn unread(receiver: &mut mpsc::Receiver<Delivery>) -> Vec<u8> {
    let bodies = std::iter::from_fn(|| receiver.try_recv().ok()).map(|delivery| match delivery.payload {
        Payload::Body(body) => body[0],
        Payload::NoReceiver => 0,
    });
    bodies.collect()
}

fn sorted_queues(listeners: &Listeners) -> Vec<String> {
    let mut queues = listeners.queues();
    queues.sort_unstable();
    queues
}

/// The version of the receivers, and the one of the last removal.
fn versions(listeners: &Listeners) -> (u64, u64) {
    let local = listeners.lock_local();
    (local.version, local.removal)
}

/// Returns `true` if the task that stores the receivers was notified since the last look.
fn take_notification(listeners: &Listeners) -> bool {
    listeners.changed.notified().now_or_never().is_some()
}

#[test]
fn members_of_a_group_share_a_queue_until_the_last_one_leaves() {
    let listeners = listeners();
    assert_eq!(listeners.channel(), "tool_fleet_p");
    assert!(!take_notification(&listeners));
    let (alone, _alone) = listeners.add("a.>", None).unwrap();
    let (first, _first) = listeners.add("a.>", Some("workers")).unwrap();
    let (second, _second) = listeners.add("a.>", Some("workers")).unwrap();
    assert_eq!([&alone, &first, &second].map(|it| it.number), [1, 2, 3]);
    assert!(take_notification(&listeners) && !take_notification(&listeners));
    assert_eq!(sorted_queues(&listeners), ["p.1", GROUP_QUEUE]);
    let rows = listeners.rows();
    let mut by_queue: Vec<_> = rows.queues.into_iter().zip(rows.patterns).zip(rows.groups).collect();
    by_queue.sort_unstable();
    let row =
        |queue: &str, group: Option<&str>| ((queue.to_owned(), "a.>".to_owned()), group.map(str::to_owned));
    assert_eq!((rows.version, by_queue), (3, vec![row("p.1", None), row(GROUP_QUEUE, Some("workers"))]));

    drop(first);
    assert_eq!((versions(&listeners), take_notification(&listeners)), ((3, 0), false));
    drop(second);
    assert_eq!((versions(&listeners), take_notification(&listeners)), ((4, 4), true));
    assert_eq!(sorted_queues(&listeners), ["p.1"]);
    listeners.remove("other", 1);
    assert_eq!(versions(&listeners), (4, 4));
    drop(alone);
    assert_eq!((versions(&listeners), sorted_queues(&listeners)), ((5, 5), vec![]));
}

#[test]
fn a_message_goes_to_one_receiver_that_has_room() {
    let listeners = listeners();
    let (_first, mut first) = listeners.add("a.>", Some("workers")).unwrap();
    let (_second, mut second) = listeners.add("a.>", Some("workers")).unwrap();
    let (_alone, mut alone) = listeners.add("a.>", None).unwrap();
    for _ in 0..100 {
        listeners.deliver(GROUP_QUEUE, delivery(1));
    }
    let (of_first, of_second) = (unread(&mut first).len(), unread(&mut second).len());
    assert_eq!(of_first + of_second, 100);
    assert!(of_first > 0 && of_second > 0);
    second.close();
    (0..3).for_each(|number| listeners.deliver(GROUP_QUEUE, delivery(number)));
    assert_eq!((unread(&mut first), unread(&mut second)), (vec![0, 1, 2], vec![]));
    listeners.deliver("p.3", delivery(7));
    listeners.deliver("p.4", delivery(8));
    assert_eq!((unread(&mut alone), unread(&mut first)), (vec![7], vec![]));
    // Beyond what a receiver may have unread, messages are lost.
    (0..=MAX_UNREAD).for_each(|_| listeners.deliver("p.3", delivery(9)));
    assert_eq!(unread(&mut alone).len(), MAX_UNREAD);
}

#[test]
fn closed_receivers_end_and_none_is_added() {
    let listeners = listeners();
    let (_registration, mut receiver) = listeners.add("a.>", None).unwrap();
    listeners.close();
    assert_eq!(receiver.try_recv().unwrap_err(), mpsc::error::TryRecvError::Disconnected);
    assert!(listeners.add("a.>", None).is_none());
    assert_eq!(listeners.queues(), [""; 0]);
}

fn note_stored(listeners: &Listeners, version: u64) {
    listeners.stored.send_replace(StoredListeners { version, failure: None });
}

fn note_failure(listeners: &Listeners, version: u64) {
    let failure = StoreFailure { version, problem: format!("refused {version}") };
    listeners.stored.send_modify(|stored| stored.failure = Some(failure));
}

#[tokio::test(start_paused = true)]
async fn changes_are_awaited_until_they_are_stored_or_cannot_be() {
    let listeners = listeners();
    let deadline = || Deadline::after(Duration::from_secs(5));
    let text = |result: Result<(), FleetError>| result.map_err(|error| error.to_string());
    let failed = |problem: &str| Err(FleetError::Transport(problem.to_owned()).to_string());
    let unstored =
        failed("the database did not answer within 5s: the receivers of this process are not stored");
    assert_eq!(text(listeners.wait_for_changes(deadline()).await), Ok(()));
    assert!(!listeners.has_changes() && listeners.is_stored());

    let (registration, _receiver) = listeners.add("a.>", None).unwrap();
    assert!(listeners.has_changes() && listeners.is_stored());
    assert_eq!(text(listeners.wait_for_removals(deadline()).await), Ok(()));
    assert_eq!(text(registration.wait_until_stored(deadline()).await), unstored);
    // Of a version without the receiver.
    let waiting = registration.wait_until_stored(deadline());
    let failing = async { note_failure(&listeners, 0) };
    assert_eq!(text(futures_util::future::join(waiting, failing).await.0), unstored);
    assert!(!listeners.is_stored());
    let waiting = registration.wait_until_stored(deadline());
    let failing = async { note_failure(&listeners, 1) };
    assert_eq!(text(futures_util::future::join(waiting, failing).await.0), failed("refused 1"));
    let waiting = registration.wait_until_stored(deadline());
    let storing = async { note_stored(&listeners, 1) };
    assert_eq!(text(futures_util::future::join(waiting, storing).await.0), Ok(()));
    assert!(!listeners.has_changes() && listeners.is_stored());

    drop(registration);
    assert!(listeners.has_changes());
    assert_eq!(text(listeners.wait_for_removals(deadline()).await), unstored);
    assert_eq!(text(listeners.wait_for_changes(deadline()).await), unstored);
    note_stored(&listeners, 2);
    assert_eq!(text(listeners.wait_for_removals(deadline()).await), Ok(()));
    assert_eq!(text(listeners.wait_for_changes(deadline()).await), Ok(()));
}
