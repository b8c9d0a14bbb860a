//! Tools that return a stream.

use std::{
    sync::{Arc, Mutex},
    time::SystemTime,
};

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tool_runtime::{
    RunContext, Tool, ToolCall, ToolDefinition, ToolName,
    context::Progress,
    definition::{Metadata, Prepared},
    event::EventKind,
    executor::StreamItem,
    prelude::*,
    schema::{Arguments, InputSchema},
};

use super::{Counter, building, calls, executor, on_both_runtimes, one, short, texts, told, ways::each_way};

/// Streams a forecast.
#[tool(register = false)]
fn forecast(city: String) -> impl Stream<Item = String> {
    stream::iter([format!("{city}: "), "rain".to_owned(), ", then sun".to_owned()])
}

// K05, K07, B26
#[test]
fn items_are_shown_and_their_concatenation_is_the_result() {
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<forecast>());
        let outcomes = executor.run(one("forecast", r#"{"city":"Oslo"}"#)).await;
        assert_eq!(texts(&outcomes), ["Oslo: rain, then sun"]);
        let Some(events) = executor.events() else { return };
        let shown: Vec<_> = events
            .into_iter()
            .map(|event| match &event.kind {
                EventKind::Updated { update, .. } => update.text().into_owned(),
                _ => short(&event),
            })
            .collect();
        assert_eq!(shown, ["started 0", "Oslo: ", "rain", ", then sun", "finished 0"]);
    });
}

// K05
#[test]
fn each_item_has_the_time_at_which_it_was_shown() {
    /// Records the time at which each item is produced.
    #[tool(register = false)]
    fn clocked(produced: &Arc<Mutex<Vec<SystemTime>>>) -> impl Stream<Item = u32> {
        let produced = Arc::clone(produced);
        stream::iter(0..3).inspect(move |_| produced.lock().unwrap().push(SystemTime::now()))
    }
    each_way(async |way| {
        let produced = Arc::<Mutex<Vec<SystemTime>>>::default();
        let executor = way.executor(Registry::builder().tool::<clocked>().provide(Arc::clone(&produced)));
        executor.run(calls(&["clocked"])).await;
        let Some(events) = executor.events() else { return };
        let shown: Vec<_> = events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Updated { .. }))
            .map(|event| event.time)
            .collect();
        let produced = produced.lock().unwrap();
        assert_eq!((shown.len(), produced.len()), (3, 3));
        for (at, time) in shown.iter().enumerate() {
            // K05: after the item, and before the next one.
            assert!(produced[at] <= *time && produced.get(at + 1).is_none_or(|next| time <= next));
        }
    });
}

// K06, K07
#[test]
fn a_producer_waits_while_the_reader_is_behind() {
    /// Produces items, and counts them.
    #[tool(register = false)]
    fn produce(made: &Arc<Mutex<u32>>) -> impl Stream<Item = u32> {
        let made = Arc::clone(made);
        stream::iter(0..100).inspect(move |_| *made.lock().unwrap() += 1)
    }
    on_both_runtimes(async || {
        let made = Arc::<Mutex<u32>>::default();
        let tools = Registry::builder().tool::<produce>().provide(Arc::clone(&made));
        let executor = building(tools).event_buffer(1).build().unwrap();
        let mut stream = executor.stream(calls(&["produce"]));
        let mut read = 0;
        while let Some(item) = stream.next().await {
            match item {
                StreamItem::Event(event) if matches!(event.kind, EventKind::Updated { .. }) => read += 1,
                StreamItem::Event(_) => continue,
                StreamItem::Outcomes(_) => break,
            }
            // The items that were read, that are in the buffer, and that wait for room.
            assert!(*made.lock().unwrap() <= read + 2, "{read}");
        }
        assert_eq!((read, *made.lock().unwrap()), (100, 100));
    });
}

// K06, K11
#[test]
fn a_producer_is_cancelled_when_the_reader_is_dropped() {
    each_way(async |way| {
        struct Source(Mutex<Option<mpsc::Receiver<u32>>>);
        /// Forwards the items of a spawned task.
        #[tool(register = false)]
        fn relay(source: &Source) -> impl Stream<Item = u32> {
            let mut receiver = source.0.lock().unwrap().take().unwrap();
            stream::poll_fn(move |task| receiver.poll_recv(task))
        }
        let (sender, receiver) = mpsc::channel(1);
        let tools = Registry::builder().tool::<relay>().provide(Source(Mutex::new(Some(receiver))));
        let executor = way.executor(tools);
        let run = Arc::new(RunContext::new());
        let mut batch =
            Box::pin(executor.drive(executor.batch(calls(&["relay"])).with_run(Arc::clone(&run))));
        sender.send(1).await.unwrap();
        assert!(futures_util::poll!(&mut batch).is_pending());
        assert!(!sender.is_closed());
        run.cancellation().cancel();
        assert_eq!(texts(&batch.await), ["Cancelled"]);
        assert!(sender.send(2).await.is_err());
    });
}

// K10, J10
#[test]
fn a_failed_stream_keeps_its_items_in_the_details() {
    each_way(async |way| {
        /// Fails after two items.
        #[tool(register = false)]
        fn tear(panic: bool) -> impl Stream<Item = Result<u32, String>> {
            stream::iter(1..9).map(move |number| match number {
                3 if panic => panic!("boom"),
                3 => Err("torn".to_owned()),
                number => Ok(number),
            })
        }
        let executor = way.executor(Registry::builder().tool::<tear>());
        let run = async |panic: bool| {
            executor.run(vec![ToolCall::new("tear", json!({ "panic": panic })).with_id("0")]).await
        };
        let outcomes = run(false).await;
        let result = outcomes[0].result().unwrap();
        assert!(result.is_error());
        assert_eq!((result.text().as_ref(), result.details()), ("torn", Some(&json!([1, 2]))));
        let expected = ["started 0", "updated 0", "updated 0", "finished 0"];
        executor.assert_told(expected);
        assert_eq!(texts(&run(true).await), ["The tool tear panicked: boom"]);
        executor.assert_told(expected);
    });
}

// K04, K07
#[test]
fn items_of_parallel_streams_arrive_before_any_call_ends() {
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<forecast>());
        let call = |id: &str| ToolCall::new("forecast", json!({ "city": id })).with_id(id);
        let outcomes = executor.run(vec![call("a"), call("b")]).await;
        assert_eq!(texts(&outcomes), ["a: rain, then sun", "b: rain, then sun"]);
        let Some(told) = executor.texts() else { return };
        if way.size() == 1 {
            assert_eq!(told[1..4], ["updated a"; 3]);
            assert_eq!(told[4..6], ["finished a", "started b"]);
            return;
        }
        assert_eq!(told[..2], ["started a", "started b"]);
        assert!(told[2..8].iter().all(|event| event.starts_with("updated")), "{told:?}");
        assert_eq!(told[8..], ["finished a", "finished b"]);
    });
}

// H14, K06
#[test]
fn all_events_of_a_large_batch_arrive_before_its_outcomes() {
    on_both_runtimes(async || {
        // More than the cooperative budget of a tokio task.
        for size in [40, 64, 100] {
            let executor = executor(Registry::builder().tool::<forecast>());
            let call = |id: usize| ToolCall::new("forecast", r#"{"city":"Oslo"}"#).with_id(id.to_string());
            let mut stream = executor.stream((0..size).map(call).collect());
            let (mut read, mut outcomes) = (0, 0);
            while let Some(item) = stream.next().await {
                match item {
                    StreamItem::Event(_) => read += 1,
                    StreamItem::Outcomes(all) => outcomes = all.len(),
                }
            }
            assert_eq!((read, outcomes), (size * 5, size));
        }
    });
}

// H14
#[test]
fn a_call_whose_start_was_not_delivered_has_no_end_event() {
    crate::run(async {
        let executor = building(Registry::builder().tool::<forecast>()).event_buffer(2).build().unwrap();
        let mut listener = executor.subscribe();
        let calls = ["a", "b", "c"].map(|id| ToolCall::new("forecast", r#"{"city":"Oslo"}"#).with_id(id));
        let mut stream = executor.stream(calls.into());
        // The reader takes one event and is dropped while the event of "c" waits for room.
        assert!(stream.next().await.is_some());
        assert_eq!(told(&mut listener), ["started a", "started b"]);
        drop(stream);
        assert_eq!(told(&mut listener), ["finished a", "finished b"]);
    });
}

#[test]
fn a_stream_holds_256_events_unless_another_number_is_set() {
    /// Reports until its reader is too slow.
    #[tool(register = false)]
    fn fill(cx: &ToolContext) -> usize {
        (0..1000).take_while(|_| cx.progress(Progress::new(1.0)).is_ok()).count()
    }
    let held = |buffer: Option<usize>| {
        let builder = building(Registry::builder().tool::<fill>());
        let executor = buffer.into_iter().fold(builder, |builder, events| builder.event_buffer(events));
        let stream = executor.build().unwrap().stream(one("fill", "{}"));
        let outcomes = crate::run(
            stream
                .filter_map(async |item| match item {
                    StreamItem::Outcomes(outcomes) => {
                        Some(texts(&outcomes).concat().parse::<usize>().unwrap())
                    }
                    StreamItem::Event(_) => None,
                })
                .collect::<Vec<_>>(),
        );
        outcomes[0]
    };
    assert_eq!(held(None), held(Some(256)));
    assert_eq!((held(Some(255)) + 1, held(Some(257)) - 1), (held(None), held(None)));
}

#[test]
fn an_excessive_buffer_size_is_limited() {
    for events in [usize::MAX, 0] {
        let executor = building(Registry::builder().tool::<forecast>()).event_buffer(events).build().unwrap();
        let mut listener = executor.subscribe();
        let mut stream = executor.stream(one("forecast", r#"{"city":"Oslo"}"#));
        assert!(crate::run(stream.next()).is_some());
        drop(stream);
        assert!(listener.try_next().is_some());
    }
}

// H03, K06
#[test]
fn update_hooks_run_while_another_update_waits_for_room() {
    /// Sends two updates.
    #[tool(register = false)]
    async fn report(cx: &ToolContext) {
        cx.update("a").await;
        cx.update("b").await;
    }
    crate::run(async {
        let asked = super::Counter::default();
        let asking = asked.clone();
        let tools = Registry::builder().tool::<report>();
        let hook = super::On::update(move |_, _| asking.count() > 0);
        let executor = building(tools).hook(hook).event_buffer(1).build().unwrap();
        let mut stream = executor.stream(calls(&["report"; 2]));
        for _ in 0..2 {
            let Some(StreamItem::Event(event)) = stream.next().await else { panic!() };
            assert!(matches!(event.kind, EventKind::Started { .. }));
        }
        // The second update of the first call and the first one of the second call wait for room.
        assert!(futures_util::poll!(Box::pin(stream.next())).is_pending());
        assert_eq!(asked.get(), 3);
    });
}

/// A hand-written stream that fails.
struct ByHand(ToolDefinition, Counter);

impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::stream(arguments, |_, _| {
            self.1.count();
            stream::iter([Ok("a"), Ok("b"), Err(ToolError::failed("torn").retryable(true))])
        }))
    }
}

// J07, K07
#[test]
fn a_hand_written_stream_is_shown_item_by_item_and_never_retried() {
    each_way(async |way| {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let metadata = Metadata { retry: Some(super::AT_ONCE), ..Metadata::default() };
        let definition = ToolDefinition::new(ToolName::new("by_hand").unwrap(), "Is torn.", schema);
        let counter = Counter::default();
        let tool = ByHand(definition.with_metadata(metadata), counter.clone());
        let executor = way.executor(Registry::builder().add(tool));
        assert_eq!(texts(&executor.run(one("by_hand", "{}")).await), ["torn"]);
        assert_eq!(counter.get(), 1);
        let Some(events) = executor.events() else { return };
        let events: Vec<_> = events.iter().map(short).collect();
        assert_eq!(events, ["started 0", "updated 0", "updated 0", "finished 0"]);
    });
}
