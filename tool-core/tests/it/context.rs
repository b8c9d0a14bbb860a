use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use tool_core::{CallSink, Progress, Running, ToolContext, ToolError, ToolOutput, WithCallId};

/// Polls what is ready at once.
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
    fn update(&self, update: ToolOutput) -> Running<'_, ()> {
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
fn a_context_knows_its_call_and_shows_no_closure() {
    let cx = ToolContext::for_test().with_call_id("call_7").with_sink(Arc::<Recorder>::default());
    assert_eq!(cx.call_id().to_string(), "call_7");
    assert_eq!(cx.tool_name().as_str(), "test");
    assert_eq!(cx.attempt(), 1);
    let shown = format!("{cx:?}");
    assert!(shown.contains("call_7") && shown.contains("sink: Some(\"...\")"), "{shown}");
}

// C04, C18
#[test]
fn reporting_to_nobody_does_nothing() {
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
fn a_total_of_zero_is_not_known() {
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

// C03: the token of a call is the one that was set, and a clone shares it.
#[test]
fn cancelling_the_run_reaches_the_call_and_cancelling_a_call_its_siblings_not() {
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
fn the_id_of_the_call_is_found_from_nested_code_and_nowhere_else() {
    async fn nested() -> Option<String> {
        ToolContext::current_call_id().map(|id| id.to_string())
    }
    assert_eq!(ToolContext::current_call_id(), None);
    let inner = WithCallId::new("inner".into(), Box::pin(nested()));
    let outer = WithCallId::new("outer".into(), Box::pin(async { (inner.await, nested().await) }));
    assert_eq!(now(outer), (Some("inner".into()), Some("outer".into())));
    assert_eq!(ToolContext::current_call_id(), None);
}

// C05
#[test]
fn the_id_is_taken_back_also_after_a_panic() {
    let future = WithCallId::new("a".into(), Box::pin(async { panic!("boom") }));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| now::<_>(future)));
    let _: Result<(), _> = result;
    assert_eq!(ToolContext::current_call_id(), None);
}

// C06
#[test]
fn calls_without_an_id_get_ids_of_their_own() {
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
        "tool \"test\" is not available: no value of type `alloc::vec::Vec<u8>` was provided"
    );
    // A value given later stands in front of one given before.
    assert_eq!(cx.with(String::from("other")).get::<String>().unwrap(), "other");
}
