#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may")]

use tool_runtime::{BoxFuture, open_calls::ProgramKey};

use super::*;
use crate::MemoryTransport;

#[test]
fn names_of_calls_are_those_of_one_process_and_of_one_call() {
    let key = || PoolKey::from_bytes("math", [7; 32]);
    let channels = [(); 2].map(|()| Channel::new(key(), Arc::new(MemoryTransport::new())).unwrap());
    let mut names: Vec<_> = (0..3000).map(|at| channels[at % 2].next_call_name()).collect();
    assert!(names.iter().all(|name| is_subject_part(name)));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 3000);
}

#[test]
fn names_of_calls_are_the_beginning_of_the_one_of_their_process_and_their_number() {
    let channel = channel(key("math"), 1 << 20);
    let names: Vec<_> = (0..66).map(|_| channel.next_call_name()).collect();
    for (number, end) in [(0, "a"), (1, "b"), (31, "7"), (32, "ab"), (33, "bb"), (64, "ac"), (65, "bc")] {
        assert_eq!(names[number], format!("{}{end}", &channel.name()[..13]));
    }
}

/// A broker with a limit, which receives nothing.
struct Limited(usize);

impl Transport for Limited {
    fn send<'a>(&'a self, _: &'a str, _: Option<&'a str>, _: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async { Ok(()) })
    }

    fn listen<'a>(&'a self, _: &'a str, _: Option<&'a str>) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        Box::pin(async { Err(FleetError::Transport("it receives nothing".to_owned())) })
    }

    fn max_bytes(&self) -> usize {
        self.0
    }
}

fn channel(key: PoolKey, max_bytes: usize) -> Channel {
    Channel::new(key, Arc::new(Limited(max_bytes))).unwrap()
}

fn key(pool: &str) -> PoolKey {
    ProgramKey::new([7; 32]).pool_key(pool)
}

#[test]
fn a_message_is_opened_on_its_own_subjects_and_by_its_own_pool_alone() {
    let (sender, receiver) = (channel(key("math"), 1 << 20), channel(key("math"), 1 << 20));
    let sealed = sender.seal_message("a.bc", Some("d"), Message::Drain).map_err(|(error, _)| error).unwrap();
    let received = receiver.open_message("a.bc", Some("d"), &sealed).unwrap();
    assert_eq!(received.sender, sender.name());
    assert!(matches!(received.message, Message::Drain));
    for (subject, reply) in [
        ("a.bd", Some("d")),
        ("a.bc", Some("e")),
        ("a.bc", None),
        ("a.b", Some("cd")),
        ("a.bcd", None),
        ("d", Some("a.bc")),
    ] {
        assert!(receiver.open_message(subject, reply, &sealed).is_none(), "{subject} {reply:?}");
        assert!(sender.seal_again(subject, reply, &sealed).is_none(), "{subject} {reply:?}");
    }
    for other in [key("mail"), ProgramKey::new([8; 32]).pool_key("math")] {
        assert!(channel(other, 1 << 20).open_message("a.bc", Some("d"), &sealed).is_none());
    }
    for length in 0..sealed.len() {
        assert!(receiver.open_message("a.bc", Some("d"), &sealed[..length]).is_none(), "{length}");
    }
}

#[test]
fn a_message_without_a_reply_subject_is_opened_without_one() {
    let channel = channel(key("math"), 1 << 20);
    let sealed = channel.seal_message("a", None, Message::Leave).map_err(|(error, _)| error).unwrap();
    assert!(channel.open_message("a", None, &sealed).is_some());
    assert!(channel.open_message("a", Some("b"), &sealed).is_none());
}

/// Clocks of machines may differ by as much as a message is valid.
#[test]
fn a_message_is_opened_for_a_minute_by_clocks_that_differ_by_one() {
    let channel = channel(key("math"), 1 << 20);
    let opened = |expires: u64, sender: &str| {
        let envelope = Envelope { sender, expires, message: Message::Leave };
        let sealed = key("math").seal(&write_text(&envelope).unwrap(), &context_of("a", None)).unwrap();
        channel.open_message("a", None, &sealed).is_some()
    };
    let now = millis_since_epoch();
    assert!(opened(now + 10_000, "a") && opened(now + 119_000, "a"));
    assert!(!opened(now - 1, "a") && !opened(now + 180_000, "a") && !opened(u64::MAX, "a"));
    assert!(opened(now + 10_000, &"x".repeat(64)) && !opened(now + 10_000, &"x".repeat(65)));
    // As it is sealed.
    let sealed = channel.seal_message("a", None, Message::Leave).map_err(|(error, _)| error).unwrap();
    let after = millis_since_epoch();
    let text = key("math").unseal(&sealed, &context_of("a", None)).unwrap();
    let envelope: Envelope<String, Message> = serde_json::from_str(text.as_str()).unwrap();
    assert!((now + 60_000..=after + 60_000).contains(&envelope.expires), "{}", envelope.expires);
}

#[test]
fn a_message_that_is_sealed_again_is_the_same_one() {
    let channel = channel(key("math"), 1 << 20);
    let left = Message::Left { dropped: 7 };
    let sealed = channel.seal_message("a", Some("b"), left).map_err(|(error, _)| error).unwrap();
    let again = channel.seal_again("a", Some("b"), &sealed).unwrap();
    assert_ne!(sealed, again);
    let received = channel.open_message("a", Some("b"), &again).unwrap();
    assert!(matches!(received.message, Message::Left { dropped: 7 }) && received.sender == channel.name());
    assert!(channel.seal_again("a", Some("b"), &sealed[1..]).is_none());
}

#[test]
fn a_message_up_to_the_limit_of_the_broker_is_sealed_and_a_larger_one_is_returned() {
    let seal = |max_bytes, problem: &str| {
        let message = Message::Unanswerable { problem: problem.to_owned() };
        channel(key("math"), max_bytes).seal_message("a", None, message)
    };
    let bytes = seal(1 << 20, "no").map_err(|(error, _)| error).unwrap().len();
    assert_eq!(seal(bytes, "no").map_err(|(error, _)| error).unwrap().len(), bytes);
    let long = "n".repeat(1000);
    for (max_bytes, problem) in [(bytes - 1, "no"), (bytes, "not"), (bytes, &*long), (0, "no")] {
        let Err((FleetError::TooLarge { bytes: size, limit }, Some(returned))) = seal(max_bytes, problem)
        else {
            panic!("{max_bytes} {problem}");
        };
        assert!(size > limit && limit == max_bytes, "{size} {limit}");
        assert!(matches!(*returned, Message::Unanswerable { problem: it } if it == problem));
    }
}

#[test]
fn the_name_of_a_pool_is_a_part_of_a_subject() {
    for pool in ["a", "A-z_09", &"x".repeat(64)] {
        assert!(Channel::new(key(pool), Arc::new(Limited(1))).is_ok(), "{pool}");
    }
    for pool in ["", "a.b", "a*", ">", "a b", "ä", &"x".repeat(65)] {
        let refused = Channel::new(key(pool), Arc::new(Limited(1))).err();
        assert!(matches!(&refused, Some(FleetError::InvalidPool(name)) if name == pool), "{refused:?}");
    }
}

#[test]
fn subjects_begin_with_the_pool() {
    let channel = channel(key("math"), 1 << 20);
    let hash = ContentHash::from([1; 32]);
    assert_eq!((channel.pool(), channel.max_bytes()), ("math", 1 << 20));
    assert_eq!(channel.subject("queue"), "tools.math.queue");
    assert_eq!(channel.process_subject("p", "c"), "tools.math.process.p.c");
    assert_eq!(channel.own_subject(">"), format!("tools.math.process.{}.>", channel.name()));
    assert_eq!(channel.calls_subject(hash), format!("tools.math.calls.{hash}"));
    assert_eq!(channel.definitions_subject(hash), format!("tools.math.definitions.{hash}"));
}

#[test]
fn random_names_have_26_characters_of_5_bits() {
    let names = [random_name().unwrap(), random_name().unwrap()];
    assert_ne!(names[0], names[1]);
    for name in &names {
        let is_digit = |it: char| it.is_ascii_lowercase() || ('2'..='7').contains(&it);
        assert!(name.len() == 26 && name.chars().all(is_digit), "{name}");
    }
    let digits: String = (0..34).map(lowest_digit).collect();
    assert_eq!(digits, "abcdefghijklmnopqrstuvwxyz234567ab");
}
