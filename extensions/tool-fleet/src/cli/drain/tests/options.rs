//! The words of a command line, and those of its end.

use tool_runtime::{definition::ContentHash, serde_json::json};

use super::*;

fn listed(worker: &str) -> ListedWorker {
    let registry = ContentHash::of("tools");
    let status = WorkerStatus { registry, tools: 1, calls: 0, slots: 16, drain_left: None };
    ListedWorker::new(worker.to_owned(), status)
}

#[test]
fn a_worker_is_meant_if_it_alone_has_the_part_or_nearly_the_name() {
    for (name, workers, expected) in [
        ("xyz", &["wxyzv", "other"][..], Some("wxyzv")),
        ("XYZ", &["wxyzv", "other"], Some("wxyzv")),
        ("xy", &["wxyzv", "other"], None),
        ("abcd", &["wxyzv", "qqqq"], None),
        ("abcd", &["abxy", "wxyz"], Some("abxy")),
        ("abcd", &["axyz", "wxyz"], None),
        ("bc", &["bd", "wxyz"], Some("bd")),
        ("abc", &["xbcde", "abxde"], None),
        ("wxy", &["wxyzv", "wxyab"], None),
        ("abcd", &["abcd1", "abxy"], None),
    ] {
        let workers: Vec<_> = workers.iter().map(|worker| listed(worker)).collect();
        assert_eq!(similar_worker(name, &workers), expected, "{name}");
    }
}

#[test]
fn the_end_of_a_worker_has_a_name_and_a_problem() {
    let draining = "`a` still runs 1 call; it takes no other one, and ends by itself; wait for longer by `--wait`, or look by `fleet workers`";
    let dropped = "`a` has left, and dropped 2 calls that did not end in its time to drain: read-only and idempotent ones run elsewhere, others \
                   may have taken effect; give workers more time by `work --drain`";
    let lost = "`a` no longer answers, and did not say that it has left: it was killed, or its connection is lost; 0 calls ran as it answered \
                last, of which read-only and idempotent ones run elsewhere, and others may have taken effect";
    for (state, calls, name, json, problem) in [
        (DrainEnd::Left, 0, "left", "left", None),
        (DrainEnd::Dropped, 2, "left, with calls dropped", "dropped", Some(dropped)),
        (DrainEnd::Draining, 1, "draining", "draining", Some(draining)),
        (DrainEnd::Lost, 0, "lost", "lost", Some(lost)),
    ] {
        assert_eq!(state.name(), name);
        let drained = DrainedWorker { worker: "a".to_owned(), state, calls };
        assert_eq!(drained.problem().as_deref(), problem);
        let expected = json!({ "worker": "a", "state": json, "calls": calls });
        assert_eq!(tool_runtime::serde_json::to_value(&drained).unwrap(), expected);
    }
}

#[test]
fn workers_are_named_or_all_are_drained_within_a_day() {
    let parse = |arguments: &[&str]| {
        let grammar = tool_cli::clap::Command::new("drain").args(drain_options()).group(drain_group());
        let matches = grammar.try_get_matches_from([&["drain"][..], arguments].concat()).ok()?;
        let names = matches.get_many::<String>("worker").into_iter().flatten().cloned().collect::<Vec<_>>();
        let flags = ["all", "yes", "json"].map(|flag| matches.get_flag(flag));
        Some((names.join(" "), flags, *matches.get_one::<u32>("wait")?))
    };
    let with = |names: &str, flags, wait| Some((names.to_owned(), flags, wait));
    assert_eq!(parse(&["a"]), with("a", [false; 3], 60));
    assert_eq!(parse(&["a", "b", "--json"]), with("a b", [false, false, true], 60));
    assert_eq!(parse(&["--all", "--yes", "--wait=1"]), with("", [true, true, false], 1));
    assert_eq!(parse(&["--all", "--wait=86400"]), with("", [true, false, false], 86_400));
    for refused in [&[][..], &["--yes"], &["--all", "a"], &["--all", "--wait=0"], &["--all", "--wait=86401"]]
    {
        assert_eq!(parse(refused), None, "{refused:?}");
    }
}
