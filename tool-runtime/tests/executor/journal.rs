//! The journal of calls: intents before bodies with effects, and the outcome of each call.

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;
use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, RunContext, ToolCall,
    call::CallAddress,
    context::ConfirmationAnswer,
    definition::Retry,
    executor::{CallIntent, CallJournal, RunSettings, SharedCallJournal},
    open_calls::ProgramKey,
    prelude::*,
    registry::RegistryBuilder,
};

use super::{
    Counter, Timeline, building, calls, echo, one, run_settings, texts,
    ways::{each_way, each_way_paused},
};

const YES: ConfirmationAnswer = ConfirmationAnswer { confirmed: true, payload: Value::Null };
const NOT_RECORDED: &str = "Tool unavailable: the call was not started, since it could not be recorded";

/// The behaviour of a journal for intents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Starting {
    #[default]
    Stores,
    Fails,
    Stops,
    Panics,
    NeverAnswers,
    /// Cancels the run before it stores the intent.
    Cancels,
}

/// A journal that notes the calls in a timeline.
#[derive(Clone, Default)]
struct Recorder {
    timeline: Timeline,
    intents: Arc<Mutex<Vec<CallIntent>>>,
    outcomes: Arc<Mutex<Vec<(CallAddress, String)>>>,
    starting: Starting,
    panics_at_end: bool,
}

impl CallJournal for Recorder {
    async fn starting(&self, intent: &CallIntent, run: Option<&RunContext>) -> Result<(), ToolError> {
        self.timeline.note(format!("starting {}", intent.address.call_id));
        self.intents.lock().unwrap().push(intent.clone());
        match self.starting {
            Starting::Stores => Ok(()),
            Starting::Fails => Err(ToolError::failed("no space in /var/secret/place")),
            Starting::Stops => Err(ToolError::stop("the store is gone")),
            Starting::Panics => panic!("a mistake of the journal"),
            Starting::NeverAnswers => pending().await,
            Starting::Cancels => {
                run.unwrap().cancellation().cancel();
                Ok(())
            }
        }
    }

    async fn ended(&self, address: &CallAddress, outcome: &CallOutcome, run: Option<&RunContext>) {
        let text = match outcome {
            CallOutcome::Finished(result) => result.text().into_owned(),
            CallOutcome::Pending(_) => "pending".to_owned(),
            CallOutcome::External(..) => "external".to_owned(),
        };
        self.timeline.note(format!("ended {}", address.call_id));
        assert_eq!(address.run.as_ref(), run.map(RunContext::id));
        self.outcomes.lock().unwrap().push((address.clone(), text));
        assert!(!self.panics_at_end, "a mistake of the journal");
    }
}

impl Recorder {
    fn new(starting: Starting) -> Self {
        Self { starting, ..Self::default() }
    }

    fn tools(&self) -> RegistryBuilder {
        let tools = Registry::builder().tool::<pay>().tool::<look>().tool::<put>().tool::<confirmed>();
        tools.provide(self.timeline.clone())
    }

    /// Returns the notes that begin with one of `starts`.
    fn notes(&self, starts: &[&str]) -> Vec<String> {
        let is_one = |note: &String| starts.iter().any(|start| note.starts_with(start));
        self.timeline.all().into_iter().filter(is_one).collect()
    }

    /// Returns the recorded outcomes as texts, in the order of the calls.
    fn ends(&self) -> Vec<(String, String)> {
        let outcomes = self.outcomes.lock().unwrap();
        let mut ends: Vec<_> =
            outcomes.iter().map(|(address, text)| (address.call_id.to_string(), text.clone())).collect();
        ends.sort();
        ends
    }
}

/// Has an effect, and fails twice if it is retried.
#[tool(register = false)]
fn pay(timeline: &Timeline, cx: &ToolContext, #[arg(default = 1)] amount: u32) -> Result<String, ToolError> {
    timeline.note(format!("body {}", cx.call_id()));
    match cx.attempt() {
        1 | 2 if amount == 9 => Err(ToolError::failed("later").retryable(true)),
        _ => Ok("paid".to_owned()),
    }
}

/// Only reads.
#[tool(register = false, read_only)]
fn look(timeline: &Timeline, cx: &ToolContext) -> &'static str {
    timeline.note(format!("body {}", cx.call_id()));
    "seen"
}

/// May be repeated.
#[tool(register = false, idempotent)]
fn put(timeline: &Timeline, cx: &ToolContext) -> &'static str {
    timeline.note(format!("body {}", cx.call_id()));
    "put"
}

/// Requires confirmation.
#[tool(register = false, confirm)]
fn confirmed(timeline: &Timeline, cx: &ToolContext) -> &'static str {
    timeline.note(format!("body {}", cx.call_id()));
    "done"
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_call_with_an_effect_is_recorded_before_its_body_and_each_call_when_it_ends() {
    each_way(async |way| {
        let journal = Recorder::default();
        let executor = way.of(building(journal.tools()).journal(journal.clone()));
        let outcomes = executor.run(calls(&["pay", "look", "put", "pay", "unknown"])).await;
        assert_eq!(texts(&outcomes)[..4], ["paid", "seen", "put", "paid"]);
        assert_eq!(journal.notes(&["starting"]), ["starting 0", "starting 3"]);
        for id in ["0", "3"] {
            let (starting, body, ended) =
                (format!("starting {id}"), format!("body {id}"), format!("ended {id}"));
            let notes = journal.notes(&[&starting, &body, &ended]);
            assert_eq!(notes, [starting, body, ended]);
        }
        let unknown = texts(&outcomes).remove(4);
        let expected = [("0", "paid"), ("1", "seen"), ("2", "put"), ("3", "paid"), ("4", &*unknown)];
        assert_eq!(journal.ends(), pairs(&expected));
        let addresses: Vec<_> = journal.intents.lock().unwrap().iter().map(|it| it.address.clone()).collect();
        assert!(journal.outcomes.lock().unwrap().iter().any(|(address, _)| *address == addresses[1]));
    });
}

#[test]
fn an_intent_is_stored_once_for_all_attempts() {
    each_way_paused(async |way| {
        let journal = Recorder::default();
        let retry = Retry { attempts: 3, ..Retry::DEFAULT };
        let policy = tool_runtime::policy::RetryPolicy::new(retry).any_tool();
        let executor = way.of(building(journal.tools()).retry(policy).journal(journal.clone()));
        assert_eq!(texts(&executor.run(one("pay", r#"{"amount":9}"#)).await), ["paid"]);
        let notes = journal.notes(&["starting", "body", "ended"]);
        let kinds: Vec<_> = notes.iter().filter_map(|note| note.split(' ').next()).collect();
        assert_eq!(kinds, ["starting", "body", "body", "body", "ended"]);
    });
}

#[test]
fn the_body_does_not_run_if_its_intent_is_not_stored() {
    each_way(async |way| {
        for starting in [Starting::Fails, Starting::Panics, Starting::Stops] {
            let journal = Recorder::new(starting);
            let executor = way.of(building(journal.tools()).journal(journal.clone()));
            let outcomes = executor.run(calls(&["pay", "look"])).await;
            let error = outcomes[0].result().unwrap().outcome.as_ref().unwrap_err();
            assert!(!journal.notes(&["body"]).contains(&"body 0".to_owned()), "{starting:?}");
            // Each call has an outcome in the journal, too.
            assert_eq!(journal.ends().len(), 2, "{starting:?}");
            if starting == Starting::Stops {
                assert_eq!(error.kind(), ErrorKind::Stopped);
                continue;
            }
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert_eq!(texts(&outcomes), [NOT_RECORDED, "seen"]);
            assert_eq!(journal.ends(), pairs(&[("0", NOT_RECORDED), ("1", "seen")]));
        }
    });
}

#[test]
fn a_panic_of_the_journal_at_the_end_of_a_call_does_not_change_its_outcome() {
    each_way(async |way| {
        let journal = Recorder { panics_at_end: true, ..Recorder::default() };
        let executor = way.of(building(journal.tools()).journal(journal.clone()));
        assert_eq!(texts(&executor.run(calls(&["pay", "look"])).await), ["paid", "seen"]);
        assert_eq!(journal.ends().len(), 2);
    });
}

#[test]
fn a_call_that_is_cancelled_while_its_intent_is_stored_does_not_run() {
    each_way(async |way| {
        let journal = Recorder::new(Starting::Cancels);
        let executor = way.of(building(journal.tools()).journal(journal.clone()));
        let run = RunContext::new().with_cancellation(CancellationToken::new());
        let outcomes = executor.drive(executor.batch(calls(&["pay"])).with_run(run)).await;
        let error = outcomes[0].result().unwrap().outcome.as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(journal.notes(&["starting", "body", "ended"]), ["starting 0", "ended 0"]);
    });
}

#[test]
fn a_journal_that_never_answers_is_bounded_by_the_deadline_of_the_run() {
    each_way_paused(async |way| {
        let journal = Recorder::new(Starting::NeverAnswers);
        let executor = way.of(building(journal.tools()).journal(journal.clone()));
        let (start, period) = (Instant::now(), Duration::from_secs(5));
        let run = RunContext::new().with_deadline((start + period).into_std());
        let outcomes = executor.drive(executor.batch(calls(&["pay"])).with_run(run)).await;
        assert_eq!(texts(&outcomes), ["Timed out: the run's time is over"]);
        assert_eq!(start.elapsed(), period);
        assert_eq!(journal.notes(&["starting", "body", "ended"]), ["starting 0", "ended 0"]);
    });
}

// I16, I17, X05: the consumed record is the intent.
#[test]
fn a_call_that_waited_for_a_person_has_no_other_intent_than_its_record() {
    each_way(async |way| {
        let journal = Recorder::default();
        let executor = way.of(building(journal.tools()).journal(journal.clone()));
        let outcomes = executor.run(calls(&["confirmed"])).await;
        assert_eq!(journal.ends(), pairs(&[("0", "pending")]));
        let address = outcomes[0].address().unwrap().clone();
        let batch = executor.resume([(&address, YES)]).await.unwrap();
        assert_eq!(texts(&executor.drive(batch).await), ["done"]);
        assert_eq!(journal.notes(&["starting", "body", "ended"]), ["ended 0", "body 0", "ended 0"]);
        // Under the same address.
        let outcomes = journal.outcomes.lock().unwrap();
        assert_eq!(outcomes[1], (address, "done".to_owned()));
    });
}

// X06: the executable call of a mixed batch is recorded, and the external one has no intent.
#[test]
fn a_call_that_is_left_to_the_caller_ends_as_external_without_an_intent() {
    each_way(async |way| {
        let journal = Recorder::default();
        let tools = journal.tools().tool::<echo>().provide(Counter::default());
        let executor =
            way.of(building(tools).external(|call| call.tool() == "echo").journal(journal.clone()));
        executor.run(calls(&["echo", "pay"])).await;
        assert_eq!(journal.notes(&["starting", "body"]), ["starting 1", "body 1"]);
        assert_eq!(journal.ends(), pairs(&[("0", "external"), ("1", "paid")]));
    });
}

#[test]
fn calls_that_a_stop_leaves_unstarted_end_in_the_journal() {
    each_way(async |way| {
        /// Stops the run.
        #[tool(register = false, sequential)]
        fn halt() -> Result<(), ToolError> {
            Err(ToolError::stop("enough"))
        }
        let journal = Recorder::default();
        let executor = way.of(building(journal.tools().tool::<halt>()).journal(journal.clone()));
        executor.run(calls(&["halt", "pay"])).await;
        assert_eq!(journal.notes(&["starting", "body"]), ["starting 0"]);
        let ids: Vec<_> = journal.ends().into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["0", "1"]);
    });
}

// C08: the run is in the address.
#[test]
fn an_intent_holds_hashes_of_the_definition_and_of_the_canonical_arguments() {
    each_way(async |way| {
        let journal = Recorder::default();
        let keyed =
            |key| building(journal.tools()).journal(journal.clone()).program_key(ProgramKey::new(key));
        let executor = way.of(keyed([1; 32]));
        let run = RunContext::new();
        let id = run.id().clone();
        let texts =
            [r#"{"amount":3777177771}"#, r#" { "amount" : 3777177771 } "#, r#"{"amount":3777177772}"#];
        let calls = texts.map(|text| ToolCall::new("pay", text.to_owned())).to_vec();
        executor.drive(executor.batch(calls).with_run(run)).await;
        way.of(keyed([2; 32])).run(one("pay", texts[0])).await;

        let intents = journal.intents.lock().unwrap().clone();
        let [first, same, other, of_other_key] = &intents[..] else { panic!("{intents:?}") };
        assert_eq!((&*first.tool, first.address.run.as_ref()), ("pay", Some(&id)));
        assert_eq!(first.definition, executor.tools().get("pay").unwrap().definition().content_hash());
        assert_eq!(first.arguments, same.arguments);
        assert_ne!(first.arguments, other.arguments);
        assert_ne!(first.arguments, of_other_key.arguments);
        assert_ne!(first.address, same.address);
        let stored = serde_json::to_string(&intents).unwrap();
        assert!(!stored.contains("377717777") && !stored.contains("amount"), "{stored}");
        assert_eq!(serde_json::from_str::<Vec<CallIntent>>(&stored).unwrap(), intents);
    });
}

#[test]
fn a_run_may_have_another_journal_than_its_executor() {
    each_way(async |way| {
        let (of_executor, of_run) = (Recorder::default(), Recorder::default());
        let executor = way.of(building(of_executor.tools()).journal(of_executor.clone()));
        let settings = RunSettings::new().journal(SharedCallJournal::new(of_run.clone()));
        run_settings::run(&executor, settings, calls(&["pay"])).await;
        assert_eq!(of_run.notes(&["starting", "ended"]), ["starting 0", "ended 0"]);
        assert!(of_executor.notes(&["starting", "ended"]).is_empty());
    });
}

#[test]
fn a_journal_of_any_type_passes_intents_and_outcomes_on() {
    let journal = Recorder::default();
    let executor = building(journal.tools()).journal(journal.clone()).build().unwrap();
    let outcomes = super::run(executor.run(calls(&["pay"])));
    let intent = journal.intents.lock().unwrap()[0].clone();
    let second = Recorder::default();
    let shared = SharedCallJournal::new(second.clone());
    assert!(super::run(shared.starting(&intent, None)).is_ok());
    super::run(shared.ended(&intent.address, &outcomes[0], None));
    assert_eq!(*second.intents.lock().unwrap(), std::slice::from_ref(&intent));
    assert_eq!(second.ends(), pairs(&[("0", "paid")]));
    let failing = SharedCallJournal::new(Recorder::new(Starting::Fails));
    assert!(super::run(failing.starting(&intent, None)).is_err());
}
