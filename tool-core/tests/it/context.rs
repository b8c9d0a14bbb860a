use std::{
    future::{Future, poll_fn},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tool_core::{
    Actions, BoxFuture, CallAddress, CallId, CallSink, ConfirmationAnswer, Dependency, ErrorKind, LogLevel,
    LogLine, Progress, ProvidedValues, Resource, ResourceBody, RunContext, ToolContext, ToolError,
    ToolOutput, WithCallId,
    guard::catch,
    internals::{current_grace, within_grace},
};

/// Polls a future that must be ready at once.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready at once"),
    }
}

#[derive(Default)]
struct Recorder {
    updates: Mutex<Vec<String>>,
    progress: Mutex<Vec<Progress>>,
}

impl CallSink for Recorder {
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        self.updates.lock().unwrap().push(update.text().into_owned());
        Box::pin(std::future::ready(()))
    }

    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        self.progress.lock().unwrap().push(progress);
        Ok(())
    }
}

// C01
#[test]
fn a_context_knows_its_call_and_its_debug_output_hides_closures() {
    let cx = ToolContext::for_test().with_call_id("call_7").with_sink(Arc::<Recorder>::default());
    assert_eq!(cx.call_id().to_string(), "call_7");
    assert_eq!(cx.tool_name().as_str(), "test");
    assert_eq!(cx.attempt(), 1);
    let shown = format!("{cx:?}");
    assert!(shown.contains("call_7") && shown.contains("sink: Some(\"...\")"), "{shown}");
}

// C04, C18
#[test]
fn reports_without_a_sink_have_no_effect() {
    let cx = ToolContext::for_test();
    now(cx.update("half"));
    assert!(cx.progress(Progress::new(1.0)).is_ok());
    assert!(!cx.has_sink());
}

// C01
#[test]
fn updates_and_progress_reach_the_sink() {
    let sink = Arc::<Recorder>::default();
    let cx = ToolContext::for_test().with_sink(sink.clone());
    now(cx.update("half"));
    cx.progress(Progress::new(1.0).of(2.0).message("reading")).unwrap();
    assert_eq!(*sink.updates.lock().unwrap(), ["half"]);
    let progress = sink.progress.lock().unwrap();
    assert_eq!((progress[0].done, progress[0].total), (1.0, Some(2.0)));
    assert_eq!(progress[0].message.as_deref(), Some("reading"));
}

// C13
#[test]
fn a_total_of_zero_means_an_unknown_total() {
    let sink = Arc::<Recorder>::default();
    let cx = ToolContext::for_test().with_sink(sink.clone());
    cx.progress(Progress::new(1.0).of(0.0)).unwrap();
    for total in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut progress = Progress::new(1.0);
        progress.total = Some(total);
        cx.progress(progress).unwrap();
    }
    let progress = sink.progress.lock().unwrap();
    assert!(progress.len() == 5 && progress.iter().all(|it| it.total.is_none()), "{progress:?}");
}

#[test]
fn progress_that_is_not_finite_is_refused() {
    let sink = Arc::<Recorder>::default();
    let cx = ToolContext::for_test().with_sink(sink.clone());
    for done in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(cx.progress(Progress::new(done)).unwrap_err().kind(), ErrorKind::BadParameter);
    }
    assert!(sink.progress.lock().unwrap().is_empty());
}

// C03: a call has the token that was set, and its clones share it.
#[test]
fn cancelling_a_run_cancels_its_calls_and_cancelling_a_call_not_its_siblings() {
    let run = tokio_util::sync::CancellationToken::new();
    let call = |token| ToolContext::for_test().with_cancellation(token);
    let (one, other) = (call(run.child_token()), call(run.child_token()));
    one.cancellation().cancel();
    assert!(one.is_cancelled() && !other.is_cancelled() && !run.is_cancelled());
    run.cancel();
    assert!(other.is_cancelled());
    let alone = ToolContext::for_test();
    let copy = alone.clone();
    alone.cancellation().cancel();
    assert!(copy.is_cancelled());
}

// C05
#[test]
fn the_call_id_is_available_only_within_the_call() {
    async fn nested() -> Option<String> {
        ToolContext::current_call_id().map(|id| id.to_string())
    }
    assert_eq!(ToolContext::current_call_id(), None);
    let inner = WithCallId::new("inner".into(), Box::pin(nested()));
    let outer =
        WithCallId::new("outer".into(), Box::pin(async { (inner.await, nested().await, nested().await) }));
    assert_eq!(now(outer), (Some("inner".into()), Some("outer".into()), Some("outer".into())));
    assert_eq!(ToolContext::current_call_id(), None);
}

// C05
#[test]
fn the_call_id_is_reset_even_after_a_panic() {
    let future = WithCallId::new("a".into(), Box::pin(async { panic!("boom") }));
    let result = catch(|| now::<_>(future));
    let _: Result<(), _> = result;
    assert_eq!(ToolContext::current_call_id(), None);
}

// C06
#[test]
fn calls_without_an_id_get_unique_ids() {
    let (one, other) = (ToolContext::for_test(), ToolContext::for_test());
    assert_ne!(one.call_id().to_string(), other.call_id().to_string());
    assert_eq!(one.call_id(), one.clone().call_id());
}

#[test]
fn a_provided_value_is_found_by_its_type() {
    trait Store: Send + Sync {
        fn id(&self) -> u8;
    }
    impl Store for u8 {
        fn id(&self) -> u8 {
            *self
        }
    }
    let cx = ToolContext::for_test().with(String::from("db")).with_shared::<dyn Store>(Arc::new(7));
    assert_eq!(cx.get::<String>().unwrap(), "db");
    assert_eq!(cx.get::<dyn Store>().unwrap().id(), 7);
    let error = cx.require::<Vec<u8>>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "tool \"test\" is not available: no value of type `alloc::vec::Vec<u8>` was provided; add `.provide(..)` to \
         the registry or the run, or `.with(..)` to the context (provided: `alloc::string::String`, \
         `dyn it::context::a_provided_value_is_found_by_its_type::Store`)"
    );
    // A model cannot mend it.
    assert_eq!(error.feedback(), "Tool unavailable: no value of type `alloc::vec::Vec<u8>` was provided");
    let in_arc = ToolContext::for_test().with(Arc::new(7_u8)).require::<u8>().unwrap_err().to_string();
    let fix = "was provided; an `Arc` of it is: provide that by `.provide_shared(arc)` or `.with_shared(arc)` (provided: \
               `alloc::sync::Arc<u8>`)";
    assert!(in_arc.ends_with(fix), "{in_arc}");
    let nothing = ToolContext::for_test().require::<u8>().unwrap_err().to_string();
    assert!(nothing.ends_with(" (nothing is provided)"), "{nothing}");
    // A later value overrides an earlier one.
    assert_eq!(cx.with(String::from("other")).get::<String>().unwrap(), "other");
}

#[test]
fn a_sink_with_default_methods_accepts_all_reports() {
    struct Deaf;
    impl CallSink for Deaf {}
    let cx = ToolContext::for_test().with_sink(Arc::new(Deaf));
    now(cx.update("half"));
    assert!(cx.has_sink() && cx.progress(Progress::new(1.0)).is_ok());
    assert!(cx.try_update("half") && cx.log(LogLine::new(LogLevel::Info, "here")).is_ok());
}

// K01
#[test]
fn a_sink_with_async_updates_only_is_polled_once_or_awaited() {
    /// A sink that accepts an update after several polls.
    struct Slow(Arc<Mutex<u32>>);
    impl CallSink for Slow {
        fn update(&self, _: ToolOutput) -> BoxFuture<'_, ()> {
            Box::pin(poll_fn(|task| {
                let mut left = self.0.lock().unwrap();
                if *left == 0 {
                    return Poll::Ready(());
                }
                *left -= 1;
                let waker = task.waker().clone();
                thread::spawn(move || waker.wake());
                Poll::Pending
            }))
        }
    }
    let left = Arc::new(Mutex::new(1));
    let sink = Slow(Arc::clone(&left));
    assert!(!sink.try_update("half".into()));
    assert!(sink.try_update("half".into()));
    *left.lock().unwrap() = 3;
    sink.blocking_update("half".into()).unwrap();
    assert_eq!(*left.lock().unwrap(), 0);
}

fn answer(confirmed: bool) -> ConfirmationAnswer {
    ConfirmationAnswer { confirmed, payload: json!("so") }
}

#[test]
fn getters_of_a_context_return_the_values_set() {
    let none = ToolContext::for_test();
    assert!(none.meta().is_none() && none.resources().is_empty() && none.run().is_none());
    assert!(none.approval().is_none() && none.confirmation().is_none() && none.deadline().is_none());
    let meta = json!({ "k": 1 }).as_object().cloned().unwrap();
    let body = ResourceBody::Text("x".to_owned());
    let resource = Resource { uri: "a".to_owned(), mime_type: "text/plain".to_owned(), body };
    let cx = none.with_attempt(3).with_meta(meta.clone()).with_resources(vec![resource.clone()]);
    assert_eq!((cx.attempt(), cx.meta(), cx.resources()), (3, Some(&meta), &[resource][..]));
    let cx = cx.with_approval(answer(true));
    assert_eq!((cx.approval(), cx.confirmation()), (Some(&answer(true)), None));
    let cx = cx.with_approval(answer(false)).with_confirmation(answer(true));
    assert_eq!((cx.approval(), cx.confirmation()), (Some(&answer(false)), Some(&answer(true))));
}

#[test]
fn an_answer_belongs_to_its_exact_question_and_the_last_answer_counts() {
    let cx = ToolContext::for_test()
        .with_confirmation_of("a?", json!(1), answer(false))
        .with_confirmation_of("a?", json!(1), answer(true))
        .with_confirmation_of("b?", json!(1), answer(false))
        .with_confirmation(ConfirmationAnswer::default());
    assert_eq!(cx.confirmation_of("a?", &json!(1)), Some(&answer(true)));
    assert_eq!(cx.confirmation_of("b?", &json!(1)), Some(&answer(false)));
    assert_eq!(cx.confirmation_of("b?", &json!(2)), None);
    assert_eq!(cx.confirmation_of("c?", &json!(1)), None);
    assert_eq!(cx.confirmation(), Some(&ConfirmationAnswer::default()));
    let asked = cx.request_confirmation("Sure?", json!(7));
    assert_eq!((asked.tool(), asked.details()), (Some("test"), Some(&json!(7))));
    assert_eq!(asked.feedback(), "Approval required: Sure?");
}

#[test]
fn the_earlier_deadline_of_attempt_and_run_applies() {
    let at = |seconds| Instant::now() + Duration::from_secs(seconds);
    let (soon, late) = (at(60), at(600));
    let with = |run, own| {
        let run = Arc::new(RunContext::new().with_deadline(run));
        ToolContext::for_test().with_run(run).with_deadline(own).deadline()
    };
    assert_eq!((with(soon, late), with(late, soon)), (Some(soon), Some(soon)));
    let cx = ToolContext::for_test();
    cx.begin(late);
    cx.begin(soon);
    assert_eq!(cx.deadline(), Some(late));
    assert_eq!(cx.of_attempt(2).deadline(), None);
}

#[test]
fn cancelling_a_call_cancels_its_attempts_but_not_the_reverse() {
    let call = ToolContext::for_test().with_meta(serde_json::Map::new());
    let (one, other) = (call.of_attempt(1), call.of_attempt(2));
    assert_eq!((one.attempt(), other.attempt(), call.attempt()), (1, 2, 1));
    assert_eq!((one.call_id(), other.meta()), (call.call_id(), call.meta()));
    one.cancel();
    assert!(one.should_stop() && !other.should_stop() && !call.should_stop());
    call.cancel();
    assert!(call.is_cancelled() && other.is_cancelled());
}

#[test]
fn actions_of_an_attempt_are_actions_of_its_call() {
    for ask in
        [|cx: &ToolContext| drop(cx.cancellation().clone()), |cx: &ToolContext| assert!(!cx.is_cancelled())]
    {
        let call = ToolContext::for_test();
        let attempt = call.of_attempt(1);
        assert!(attempt.asked_cancellation().is_none() && !attempt.should_stop());
        assert!(!attempt.wants_grace() && !call.wants_grace() && !attempt.has_streamed());
        ask(&attempt);
        assert!(attempt.wants_grace() && call.wants_grace());
        attempt.forget_asked();
        assert!(!attempt.wants_grace() && call.wants_grace());
        call.forget_asked();
        assert!(!call.wants_grace());
    }
    assert!(
        ToolContext::for_test().with_cancellation(CancellationToken::new()).asked_cancellation().is_some()
    );
}

#[test]
fn a_call_is_cancelled_with_its_token_but_not_the_reverse() {
    let run = CancellationToken::new();
    let (one, other) =
        (ToolContext::for_test().under(run.clone()), ToolContext::for_test().under(run.clone()));
    one.cancellation().cancel();
    assert!(one.is_cancelled() && !other.is_cancelled() && !run.is_cancelled());
    run.cancel();
    assert!(other.should_stop() && other.cancellation().is_cancelled());
    // The token of the run applies only if the call has none.
    let (given, of_run) = (CancellationToken::new(), CancellationToken::new());
    let run = Arc::new(RunContext::new().with_cancellation(of_run.clone()));
    let both = ToolContext::for_test().under(given.clone()).with_run(Arc::clone(&run));
    let only = ToolContext::for_test().with_run(run);
    of_run.cancel();
    assert!(only.should_stop() && !both.should_stop());
    given.cancel();
    assert!(both.should_stop());
}

#[test]
fn values_of_a_run_override_values_of_the_program() {
    let program = ToolContext::for_test().with(1_u8).with('p').with("p");
    let run = RunContext::new().provide(2_u8).provide_shared(Arc::new('r'));
    let cx = program.clone().with_run(Arc::new(run));
    assert_eq!((cx.get::<u8>(), cx.get::<char>(), cx.get::<&str>()), (Some(&2), Some(&'r'), Some(&"p")));
    // A run without values overrides nothing.
    let same = program.clone().with_run(Arc::new(RunContext::new()));
    assert!(Arc::ptr_eq(same.provided(), program.provided()) && same.run().is_some());
}

#[test]
fn a_layer_of_values_overrides_the_layers_below() {
    let mut below = ProvidedValues::default();
    assert!(below.is_empty() && !below.insert(Arc::new(1_u8)) && !below.insert(Arc::new('b')));
    assert!(!below.is_empty() && below.insert(Arc::new(2_u8)));
    let below = Arc::new(below);
    let mut over = ProvidedValues::over(Arc::clone(&below));
    assert!(
        over.is_empty() && over.contains(&Dependency::of::<u8>()) && !over.contains(&Dependency::of::<str>())
    );
    assert!(!over.insert(Arc::new(3_u8)) && over.contains(&Dependency::of::<u8>()));
    assert_eq!((over.get::<u8>(), over.get::<char>(), below.get::<u8>()), (Some(&3), Some(&'b'), Some(&2)));
    let other = over.on(Arc::default());
    assert_eq!((other.get::<u8>(), other.get::<char>()), (Some(&3), None));
    assert_eq!(Dependency::of::<u8>().type_name(), "u8");
}

#[test]
fn ids_with_the_same_text_are_equal() {
    let made = CallId::generate();
    let read: CallId = made.to_string().into();
    assert!(made.is_generated() && !read.is_generated());
    assert_eq!((&made, &read), (&read, &made));
    assert_ne!(made, CallId::generate());
    assert_ne!(read, "call_1".into());
    assert!(CallId::from("a") == CallId::from("a".to_owned()) && CallId::from("a") != CallId::from("b"));
    let set = std::collections::HashSet::from([made.clone()]);
    assert!(set.contains(&read) && !set.contains(&"call_1".into()));
    let hash = |id: &CallId| BuildHasherDefault::<DefaultHasher>::default().hash_one(id);
    assert_eq!(hash(&made), hash(&read));
    assert!(hash(&made) != hash(&CallId::generate()) && hash(&"a".into()) != hash(&"b".into()));
    let (first, second) = (CallId::generate().to_string(), CallId::generate().to_string());
    assert_eq!(first.rsplit_once('_').map(|it| it.0), second.rsplit_once('_').map(|it| it.0));
    assert_eq!(serde_json::to_value(&made).unwrap(), json!(read));
    assert_eq!(serde_json::from_value::<CallId>(json!("a")).unwrap(), "a".into());
    assert_eq!(format!("{:?}", CallId::from("a")), "\"a\"");
}

#[test]
fn the_address_names_the_run_and_the_id_of_the_call() {
    let run = Arc::new(RunContext::new().with_id("r"));
    let cx = ToolContext::for_test().with_call_id("c").with_run(run);
    let address = CallAddress { run: Some("r".into()), call_id: "c".into(), serial: 0 };
    assert_eq!((cx.address(), &*cx.address().to_string()), (address.clone(), "c#0 of run r"));
    let before = CallAddress { run: None, call_id: "b".into(), serial: 7 };
    let mut later = cx.clone();
    later.arrived_at(before.clone());
    assert_eq!((later.address(), &*before.to_string()), (before, "b#7"));
    assert_ne!(later.idempotency_key(), cx.idempotency_key());
    assert_eq!(cx.of_attempt(2).idempotency_key(), cx.idempotency_key());
}

#[test]
fn the_grace_period_belongs_to_the_innermost_body_even_after_a_panic() {
    let seconds = Duration::from_secs;
    let inner = within_grace(seconds(2), || {
        let panicked = catch(|| within_grace(seconds(1), || panic!("boom")));
        assert!(panicked.is_err());
        (within_grace(seconds(1), current_grace), current_grace())
    });
    assert_eq!(inner, (Some(seconds(1)), Some(seconds(2))));
    assert_eq!(current_grace(), None);
}

// V02
#[test]
fn actions_of_an_attempt_contain_its_own_state_changes_only() {
    let cx = ToolContext::for_test();
    assert_eq!(cx.actions(), Actions::default());
    cx.add_actions(Actions { escalate: true, ..Actions::default() }).unwrap();
    cx.state().set("k", 1).unwrap();
    let asked = cx.clone().actions();
    assert_eq!((asked.escalate, json!(asked.state)), (true, json!({ "k": 1 })), "a copy is the same attempt");
    assert_eq!(cx.of_attempt(2).actions(), Actions::default());
}
