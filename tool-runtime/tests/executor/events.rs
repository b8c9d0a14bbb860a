//! Events and their listeners.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use tokio::sync::{Notify, oneshot};
use tool_runtime::{
    Content, ErrorKind, Executor, ToolCall,
    context::Progress,
    definition::Permission,
    event::{EventKind, EventListener, Lagged},
    executor::{Finish, StreamItem},
    policy::PermissionRequest,
    prelude::*,
};

use super::{
    Counter, Timeline, building, calls, echo, events, executor, hang, on_both_runtimes, one, registry, short,
    strategies::{crash, fail, meet, nap},
    texts, told,
};

// H14: a listener that comes after the end of a call, of which another one has seen the start.
#[tokio::test(start_paused = true)]
async fn a_call_that_ended_without_a_listener_does_not_end_again_for_a_later_one() {
    let tools = Registry::builder().tool::<nap>().tool::<hang>().provide(Timeline::default());
    let executor = building(tools).finish(Finish::AsCompleted).build().unwrap();
    let first = executor.subscribe();
    let batch = ["nap", "hang"].map(|name| ToolCall::new(name, "{}").with_id("9"));
    let mut running = Box::pin(executor.run(batch.into()));
    assert!(futures_util::poll!(&mut running).is_pending());
    drop(first);
    tokio::select! {
        _ = &mut running => panic!("a call hangs"),
        () = tokio::time::sleep(Duration::from_secs(2)) => {}
    }
    let mut second = executor.subscribe();
    drop(running);
    let ended = events(&mut second).into_iter().map(|event| event.title.to_string());
    assert_eq!(ended.collect::<Vec<_>>(), ["hang"]);
}

// H14
#[tokio::test(start_paused = true)]
async fn every_call_that_starts_ends_once() {
    /// Takes too long.
    #[tool(register = false, timeout = "1s")]
    async fn slow() {
        std::future::pending::<()>().await;
    }
    /// Requires confirmation.
    #[tool(register = false, confirm)]
    fn confirmed() {}
    /// Runs as a long-running call.
    #[tool(register = false, long_running)]
    fn begin() -> &'static str {
        "begun"
    }
    let tools = Registry::builder().tool::<echo>().tool::<fail>().tool::<crash>().tool::<slow>();
    let tools = registry(tools.tool::<confirmed>().tool::<begin>().provide(Counter::default()));
    for finish in [Finish::InOrder, Finish::AsCompleted] {
        let denying = |request: &PermissionRequest<'_>| match request.id().to_string().as_str() {
            "8" => Permission::deny("no"),
            _ => Permission::Allow,
        };
        let executor = Executor::builder(tools.clone()).finish(finish).permission(denying).build().unwrap();
        let mut listener = executor.subscribe();
        let mut calls = calls(&["fail", "crash", "slow", "confirmed", "begin", "unknown", "echo"]);
        calls.extend(["7", "8"].map(|id| ToolCall::new("echo", r#"{"text":"a"}"#).with_id(id)));
        let outcomes = executor.run(calls).await;
        let texts = texts(&outcomes);
        assert_eq!(
            texts[..3],
            ["disk full", "The tool crash panicked: boom", "Timed out: no result after 1s"]
        );
        assert_eq!(texts[3], "requires confirmation: May the tool confirmed be called?");
        assert_eq!(texts[4..6], ["begun", "Tool not found: unknown"]);
        assert_eq!(texts[7..], ["a", "Denied: no"]);
        let told = told(&mut listener);
        for id in 0..9 {
            let of = |what: &str| {
                let event = format!("{what} {id}");
                let at: Vec<_> = (0..told.len()).filter(|at| told[*at] == event).collect();
                assert_eq!(at.len(), 1, "{event} in {told:?}");
                at[0]
            };
            assert!(of("started") < of("finished"));
            let last = told.iter().rposition(|event| event.ends_with(&format!(" {id}")));
            assert_eq!(last, Some(of("finished")));
        }
        assert_eq!(told.len(), 19, "{told:?}");
    }
}

// H14
#[test]
fn events_are_serialized_as_tagged_json() {
    /// Reports.
    #[tool(register = false)]
    async fn report(cx: &ToolContext) -> &'static str {
        cx.update("half").await;
        cx.progress(Progress::new(1.0).of(2.0).message("on it")).unwrap();
        "done"
    }
    let executor = executor(Registry::builder().tool::<report>());
    let mut listener = executor.subscribe();
    crate::run(executor.run(one("report", "{}")));
    let events = events(&mut listener);
    let mut written: Vec<_> = events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    for (event, written) in events.iter().zip(&mut written) {
        let time = written["time"].take();
        let millis = event.time.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        assert_eq!(time, json!(u64::try_from(millis).unwrap()));
    }
    assert_eq!(
        written[0],
        json!({
            "time": null, "address": { "callId": "0", "serial": events[0].address.serial }, "name": "report", "title": "report",
            "type": "started", "call": { "id": "0", "name": "report", "arguments": "{}" },
        })
    );
    assert_eq!(written[1]["type"], "updated");
    assert_eq!((&written[1]["address"]["callId"], &written[1]["name"]), (&json!("0"), &json!("report")));
    assert_eq!(written[1]["update"]["content"], json!([{ "type": "text", "text": "half" }]));
    assert_eq!(
        written[2],
        json!({
            "time": null, "address": { "callId": "0", "serial": events[0].address.serial }, "name": "report", "title": "report",
            "type": "progress",
            "progress": { "done": 1.0, "total": 2.0, "message": "on it" },
        })
    );
    assert_eq!(written[3]["type"], "finished");
    let result = &written[3]["result"];
    assert_eq!((&result["id"], &result["name"]), (&json!("0"), &json!("report")));
    assert_eq!((&result["isError"], &result["attempts"]), (&json!(false), &json!(1)));
    assert_eq!(result["content"], json!([{ "type": "text", "text": "done" }]));
}

// H15
#[test]
fn slow_listeners_do_not_delay_calls() {
    on_both_runtimes(async || {
        let tools = Registry::builder().tool::<echo>().provide(Counter::default());
        let executor = building(tools).event_buffer(2).build().unwrap();
        let (mut slow, mut other, dropped) =
            (executor.subscribe(), executor.subscribe(), executor.subscribe());
        drop(dropped);
        let calls: Vec<_> = ["0", "1"].map(|id| ToolCall::new("echo", r#"{"text":"a"}"#).with_id(id)).into();
        assert_eq!(texts(&executor.run(calls).await), ["a", "a"]);
        for listener in [&mut slow, &mut other] {
            let lagged = listener.next().await.unwrap().unwrap_err();
            assert_eq!(lagged, Lagged { missed: 2 });
            let text = "2 events were missed: the listener was too slow for its buffer";
            assert_eq!(lagged.to_string(), text);
            let rest = [listener.next().await.unwrap().unwrap(), listener.next().await.unwrap().unwrap()];
            assert_eq!(rest.map(|event| short(&event)), ["finished 0", "finished 1"]);
        }
        drop(executor);
        assert!(slow.next().await.is_none());
    });
}

// H15
#[test]
fn a_listener_keeps_256_events_by_default() {
    let executor = executor(Registry::builder().tool::<echo>().provide(Counter::default()));
    let mut listener = executor.subscribe();
    let call = |id: usize| ToolCall::new("echo", r#"{"text":"a"}"#).with_id(id.to_string());
    crate::run(executor.run((0..200).map(call).collect()));
    assert_eq!(listener.try_next().unwrap().unwrap_err(), Lagged { missed: 400 - 256 });
    assert_eq!(events(&mut listener).len(), 256);
}

// H15, K04
#[test]
fn a_stream_yields_all_events_and_then_the_outcomes() {
    /// Sends more updates than the buffer holds.
    #[tool(register = false)]
    async fn report(cx: &ToolContext) -> &'static str {
        for number in 0..10 {
            cx.update(number.to_string()).await;
        }
        "done"
    }
    on_both_runtimes(async || {
        let executor = building(Registry::builder().tool::<report>()).event_buffer(1).build().unwrap();
        let mut stream = executor.stream(calls(&["report"; 2]));
        let (mut told, mut outcomes) = (Vec::new(), None);
        while let Some(item) = stream.next().await {
            assert!(outcomes.is_none());
            match item {
                StreamItem::Event(event) => told.push(short(&event)),
                StreamItem::Outcomes(all) => outcomes = Some(texts(&all)),
            }
        }
        assert_eq!(outcomes.unwrap(), ["done", "done"]);
        assert_eq!(told.len(), 24);
        assert_eq!(told[..2], ["started 0", "started 1"]);
        assert_eq!(told[22..], ["finished 0", "finished 1"]);
        for id in 0..2 {
            assert_eq!(told.iter().filter(|it| **it == format!("updated {id}")).count(), 10);
        }
        assert!(stream.next().await.is_none());
    });
}

// G05
#[tokio::test(start_paused = true)]
async fn calls_may_end_in_order_of_completion() {
    let tools = Registry::builder().tool::<nap>().provide(super::Timeline::default());
    let executor = building(tools).finish(Finish::AsCompleted).build().unwrap();
    let mut listener = executor.subscribe();
    assert_eq!(texts(&executor.run(calls(&["nap"; 3])).await), ["nap 0", "nap 1", "nap 2"]);
    assert_eq!(
        told(&mut listener),
        ["started 0", "started 1", "started 2", "finished 2", "finished 1", "finished 0"]
    );
}

// K02
#[test]
fn reports_after_the_end_of_a_call_are_lost() {
    struct Kept(Arc<Notify>, std::sync::Mutex<Option<oneshot::Sender<ToolContext>>>);
    /// Spawns a task that reports before and after the end of the call.
    #[tool(register = false)]
    async fn outlive(kept: &Kept, cx: &ToolContext, fail: bool) -> Result<&'static str, &'static str> {
        let (mine, ended, sender) = (cx.clone(), Arc::clone(&kept.0), kept.1.lock().unwrap().take().unwrap());
        let (first, told) = oneshot::channel();
        tokio::spawn(async move {
            mine.update("in time").await;
            first.send(()).unwrap();
            ended.notified().await;
            mine.update("late").await;
            mine.progress(Progress::new(1.0)).unwrap();
            let _ = sender.send(mine);
        });
        told.await.unwrap();
        if fail { Err("failed") } else { Ok("done") }
    }
    on_both_runtimes(async || {
        for fail in [false, true] {
            let (sender, cx) = oneshot::channel();
            let ended = Arc::new(Notify::new());
            let kept = Kept(Arc::clone(&ended), std::sync::Mutex::new(Some(sender)));
            let executor = executor(Registry::builder().tool::<outlive>().provide(kept));
            let mut listener = executor.subscribe();
            executor.run(vec![ToolCall::new("outlive", json!({ "fail": fail })).with_id("0")]).await;
            ended.notify_one();
            let cx = cx.await.unwrap();
            cx.update("later still").await;
            cx.progress(Progress::new(2.0)).unwrap();
            assert_eq!(told(&mut listener), ["started 0", "updated 0", "finished 0"]);
        }
    });
}

/// Shares its context, and never returns.
#[tool(register = false)]
async fn lend(lent: &std::sync::Mutex<Option<oneshot::Sender<ToolContext>>>, cx: &ToolContext) {
    if let Some(sender) = lent.lock().unwrap().take() {
        let _ = sender.send(cx.clone());
    }
    std::future::pending::<()>().await;
}

// K02, J09
#[tokio::test(start_paused = true)]
async fn reports_of_an_aborted_call_are_lost() {
    // By a timeout, by a cancellation, with its batch.
    for how in ["late", "cancelled", "dropped"] {
        let (sender, cx) = oneshot::channel::<ToolContext>();
        let tools = Registry::builder().tool::<lend>().provide(std::sync::Mutex::new(Some(sender)));
        let asked = Counter::default();
        let asking = asked.clone();
        let builder = building(tools).hook(super::On::update(move |_, _| asking.count() > 0));
        let executor = match how {
            "late" => builder.timeout(std::time::Duration::from_secs(1)).build().unwrap(),
            _ => builder.build().unwrap(),
        };
        let mut listener = executor.subscribe();
        let run = Arc::new(tool_runtime::RunContext::new());
        let mut batch = Box::pin(executor.batch(calls(&["lend"])).with_run(Arc::clone(&run)).run());
        assert!(futures_util::poll!(&mut batch).is_pending());
        let cx = cx.await.unwrap();
        cx.update("in time").await;
        match how {
            "late" => drop(batch.await),
            "cancelled" => {
                run.cancellation().cancel();
                drop(batch.await);
            }
            _ => drop(batch),
        }
        assert!(cx.is_cancelled());
        cx.update("late").await;
        cx.progress(Progress::new(1.0)).unwrap();
        assert_eq!(told(&mut listener), ["started 0", "updated 0", "finished 0"], "{how}");
        assert_eq!(asked.get(), 1);
    }
}

// K03
#[test]
fn progress_of_parallel_calls_has_the_id_of_its_call() {
    /// Reports progress.
    #[tool(register = false)]
    async fn step(meeting: &tokio::sync::Barrier, cx: &ToolContext) {
        meeting.wait().await;
        cx.progress(Progress::new(1.0).message(format!("of {}", cx.call_id()))).unwrap();
        meeting.wait().await;
    }
    let tools = Registry::builder().tool::<step>().provide(tokio::sync::Barrier::new(2));
    let executor = executor(tools);
    let mut listener = executor.subscribe();
    crate::run(executor.run(calls(&["step"; 2])));
    let mut seen = 0;
    for event in events(&mut listener) {
        assert_eq!(event.name(), "step");
        if let EventKind::Progress { progress } = &event.kind {
            assert_eq!(progress.message.as_deref(), Some(&*format!("of {}", event.id())));
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
}

// K01, D03
#[test]
fn updates_and_details_are_not_for_the_model() {
    /// Sends an update, and returns details.
    #[tool(register = false)]
    async fn report(cx: &ToolContext) -> ToolOutput {
        cx.update("half").await;
        cx.update("nearly").await;
        ToolOutput::from("done").with_details(json!({ "secret": 1 }))
    }
    let executor = executor(Registry::builder().tool::<report>());
    let mut listener = executor.subscribe();
    let outcomes = crate::run(executor.run(one("report", "{}")));
    let result = outcomes[0].result().unwrap();
    assert_eq!(*result.content(), [Content::text("done")]);
    let events = events(&mut listener);
    assert_eq!(
        events.iter().map(short).collect::<Vec<_>>(),
        ["started 0", "updated 0", "updated 0", "finished 0"]
    );
    let EventKind::Finished { result, .. } = &events[3].kind else { panic!() };
    assert_eq!(result.details(), Some(&json!({ "secret": 1 })));
}

// A07, H14
#[test]
fn events_have_the_title_and_the_end_has_the_id_of_a_long_running_operation() {
    /// Starts an operation.
    #[tool(register = false, title = "Run it")]
    async fn start(cx: &ToolContext) -> ToolOutput {
        cx.update("half").await;
        cx.progress(Progress::new(1.0)).unwrap();
        ToolOutput::from("begun").with_child_run_id("r-2").with_operation_id("job-7")
    }
    /// Requests a confirmation.
    #[tool(register = false, title = "Ask me", confirm)]
    fn ask() {}
    let executor = executor(Registry::builder().tool::<start>().tool::<ask>());
    let mut listener = executor.subscribe();
    crate::run(executor.run(calls(&["start", "ask", "none"])));
    crate::now(executor.submit_result("0", Ok("done".into()))).unwrap();
    let events = events(&mut listener);
    let titles: Vec<_> = events.iter().map(|event| (short(event), event.name(), event.title())).collect();
    for (what, name, title) in &titles {
        let expected = match *name {
            "start" => "Run it",
            "ask" => "Ask me",
            name => name,
        };
        assert_eq!(*title, expected, "{what}");
    }
    assert_eq!(titles.len(), 9, "{titles:?}");
    assert_eq!(executor.tools().definitions()[1].name().as_str(), "start");
    let ends = events.iter().filter(|event| matches!(event.kind, EventKind::Finished { .. }));
    let ends: Vec<_> = ends.map(|event| serde_json::to_value(event).unwrap()).collect();
    assert_eq!(ends[0]["title"], "Run it");
    assert_eq!(ends[0]["result"]["childRunId"], "r-2");
    assert_eq!(ends[0]["result"]["operationId"], "job-7");
    assert!(ends[1]["result"].get("childRunId").is_none() && ends[1]["result"].get("operationId").is_none());
}

// D11
#[test]
fn a_failing_tool_keeps_its_content_and_details() {
    /// Fails in detail.
    #[tool(register = false)]
    fn compile() -> Result<(), ToolError> {
        let content = vec![Content::text("error: expected `;`")];
        Err(ToolError::failed("no such luck").with_content(content).with_details(json!({ "line": 3 })))
    }
    let executor = executor(Registry::builder().tool::<compile>());
    let mut listener = executor.subscribe();
    crate::run(executor.run(one("compile", "{}")));
    let events = events(&mut listener);
    let EventKind::Finished { result, .. } = &events[1].kind else { panic!() };
    assert!(result.is_error());
    assert_eq!(*result.content(), [Content::text("no such luck"), Content::text("error: expected `;`")]);
    assert_eq!(result.details(), Some(&json!({ "line": 3 })));
}

// D04
#[test]
fn each_call_has_one_result_with_its_id_name_and_time() {
    let before = std::time::SystemTime::now();
    let tools = Registry::builder().tool::<meet>().tool::<crash>().provide(tokio::sync::Barrier::new(1));
    let executor = building(tools)
        .hook(super::On::before(|call| {
            Ok(match call.id().to_string().as_str() {
                "2" => tool_runtime::hook::Before::block("blocked"),
                _ => tool_runtime::hook::Before::Continue,
            })
        }))
        .build();
    let outcomes = crate::run(executor.unwrap().run(calls(&["meet", "unknown", "meet", "crash"])));
    let after = std::time::SystemTime::now();
    let results: Vec<_> = outcomes.iter().map(|outcome| outcome.result().unwrap()).collect();
    let seen: Vec<_> = results.iter().map(|it| (it.id.to_string(), &*it.name, it.is_error())).collect();
    let expected = [("0", "meet", false), ("1", "unknown", true), ("2", "meet", true), ("3", "crash", true)];
    assert_eq!(seen, expected.map(|(id, name, is_error)| (id.to_owned(), name, is_error)));
    assert!(results.iter().all(|result| (before..=after).contains(&result.finished_at)));
    let kinds: Vec<_> =
        results.iter().filter_map(|it| it.outcome.as_ref().err()).map(ToolError::kind).collect();
    assert_eq!(kinds, [ErrorKind::UnknownTool, ErrorKind::Failed, ErrorKind::Panicked]);
}

/// Passes its context to a task that reports on a signal and confirms it; returns unless it has to hang.
#[tool(register = false)]
async fn haunt(ghost: &Ghost, hang: bool, cx: &ToolContext) {
    let (cx, ghost) = (cx.clone(), ghost.clone());
    tokio::spawn(async move {
        ghost.rises.notified().await;
        cx.update("boo").await;
        ghost.rose.notify_one();
    });
    if hang {
        std::future::pending::<()>().await;
    }
}

/// Runs until the task of the previous call has reported.
#[tool(register = false)]
async fn watch(ghost: &Ghost) {
    ghost.rises.notify_one();
    ghost.rose.notified().await;
}

#[derive(Clone, Default)]
struct Ghost {
    rises: Arc<Notify>,
    rose: Arc<Notify>,
}

fn haunting(hang: bool) -> ToolCall {
    ToolCall::new("haunt", json!({ "hang": hang })).with_id("0")
}

// K02
#[test]
fn reports_after_the_end_of_a_body_are_lost_while_other_bodies_run() {
    on_both_runtimes(async || {
        let tools = Registry::builder().tool::<haunt>().tool::<watch>().provide(Ghost::default());
        let executor = executor(tools);
        let mut listener = executor.subscribe();
        executor.run(vec![haunting(false), ToolCall::new("watch", "{}").with_id("1")]).await;
        assert_eq!(told(&mut listener), ["started 0", "started 1", "finished 0", "finished 1"]);
    });
}

/// Waits at one stage until the task has reported.
struct Seance(Ghost, super::Counter);

impl tool_runtime::hook::Hook for Seance {
    async fn finished(&self, call: &tool_runtime::hook::CallView<'_>, _result: &tool_runtime::ToolResult) {
        if call.tool() == "haunt" {
            self.0.rises.notify_one();
            self.0.rose.notified().await;
        }
    }

    async fn before_update(&self, _call: &tool_runtime::hook::CallView<'_>, _text: &str) -> bool {
        self.1.count();
        true
    }
}

// K02, H03
#[test]
fn reports_after_the_last_event_of_a_call_are_lost_and_not_passed_to_hooks() {
    on_both_runtimes(async || {
        for hang in [false, true] {
            let (ghost, asked) = (Ghost::default(), Counter::default());
            let tools = Registry::builder().tool::<haunt>().provide(ghost.clone());
            let executor = building(tools).hook(Seance(ghost, asked.clone())).build().unwrap();
            let mut listener = executor.subscribe();
            let run = Arc::new(tool_runtime::RunContext::new());
            let mut batch = Box::pin(executor.batch(vec![haunting(hang)]).with_run(Arc::clone(&run)).run());
            if hang {
                assert!(futures_util::poll!(&mut batch).is_pending());
                run.cancellation().cancel();
            }
            batch.await;
            assert_eq!(told(&mut listener), ["started 0", "finished 0"]);
            assert_eq!(asked.get(), 0);
        }
    });
}

// K02, H03
#[test]
fn an_undecided_update_hook_does_not_delay_a_call_that_has_ended() {
    /// Never decides.
    struct Undecided(Arc<Notify>);
    impl tool_runtime::hook::Hook for Undecided {
        async fn before_update(&self, _call: &tool_runtime::hook::CallView<'_>, _text: &str) -> bool {
            self.0.notify_one();
            std::future::pending().await
        }
    }
    /// Spawns a task that reports, and returns when a hook receives the update.
    #[tool(register = false)]
    async fn leave(asked: &Arc<Notify>, cx: &ToolContext) -> &'static str {
        let cx = cx.clone();
        tokio::spawn(async move { cx.update("boo").await });
        asked.notified().await;
        "done"
    }
    on_both_runtimes(async || {
        let asked = Arc::new(Notify::new());
        let tools = Registry::builder().tool::<leave>().provide(Arc::clone(&asked));
        let executor = building(tools).hook(Undecided(asked)).build().unwrap();
        let mut listener = executor.subscribe();
        assert_eq!(texts(&executor.run(calls(&["leave"])).await), ["done"]);
        assert_eq!(told(&mut listener), ["started 0", "finished 0"]);
    });
}

// H15
#[test]
fn a_listener_added_during_a_batch_receives_events_of_the_next_batch() {
    type Late = Arc<(OnceLock<Executor>, Mutex<Option<EventListener>>)>;
    /// Adds a listener.
    #[tool(register = false, long_running)]
    async fn announce(late: &Late, cx: &ToolContext) -> ToolOutput {
        late.1.lock().unwrap().get_or_insert_with(|| late.0.get().unwrap().subscribe());
        cx.update("half").await;
        cx.progress(Progress::new(1.0)).unwrap();
        ToolOutput::empty()
    }
    let late = Late::default();
    let tools = Registry::builder().tool::<announce>().provide(Arc::clone(&late));
    let executor = building(tools).idle_timeout(Duration::from_secs(9)).build().unwrap();
    let executor = late.0.get_or_init(|| executor);
    for expected in [&[][..], &["started 0", "updated 0", "progress 0", "finished 0"]] {
        crate::run(executor.run(calls(&["announce"])));
        crate::now(executor.submit_result("0", Ok("done".into()))).unwrap();
        assert_eq!(told(late.1.lock().unwrap().as_mut().unwrap()), expected);
    }
}

// H15
#[test]
fn a_buffer_of_size_zero_or_one_keeps_the_last_event() {
    for size in [0, 1] {
        let tools = Registry::builder().tool::<echo>().provide(Counter::default());
        let executor = building(tools).event_buffer(size).build().unwrap();
        let mut listener = executor.subscribe();
        crate::run(executor.run(one("echo", r#"{"text":"a"}"#)));
        assert_eq!(listener.try_next().unwrap().unwrap_err(), Lagged { missed: 1 });
        assert_eq!(told(&mut listener), ["finished 0"]);
    }
}

// H14, I21
#[test]
fn a_listener_added_by_a_body_does_not_receive_its_question() {
    type Late = Arc<(OnceLock<Executor>, Mutex<Option<EventListener>>)>;
    /// Adds a listener, and requests a confirmation.
    #[tool(register = false)]
    fn ask(late: &Late, cx: &ToolContext) -> Result<(), ToolError> {
        late.1.lock().unwrap().get_or_insert_with(|| late.0.get().unwrap().subscribe());
        Err(cx.request_confirmation("Really?", Value::Null))
    }
    let late = Late::default();
    let executor = executor(Registry::builder().tool::<ask>().provide(Arc::clone(&late)));
    let executor = late.0.get_or_init(|| executor);
    for expected in [&[][..], &["started 0", "asked 0", "finished 0"]] {
        crate::run(executor.run(calls(&["ask"])));
        assert_eq!(told(late.1.lock().unwrap().as_mut().unwrap()), expected);
    }
}

// K02, H03
#[test]
fn an_update_that_a_hook_admits_after_the_end_of_the_call_is_lost() {
    /// Decides on a signal.
    struct Thinks(Arc<Notify>, Arc<Notify>);
    impl tool_runtime::hook::Hook for Thinks {
        async fn before_update(&self, _call: &tool_runtime::hook::CallView<'_>, _text: &str) -> bool {
            self.0.notify_one();
            self.1.notified().await;
            true
        }
    }
    type Signals = [Arc<Notify>; 3];
    /// Spawns a task that reports, and returns when the hook of the update may decide.
    #[tool(register = false)]
    async fn leave(signals: &Signals, cx: &ToolContext) {
        let [asked, decides, reported] = signals;
        let (cx, reported) = (cx.clone(), Arc::clone(reported));
        tokio::spawn(async move {
            cx.update("boo").await;
            reported.notify_one();
        });
        asked.notified().await;
        decides.notify_one();
    }
    crate::run(async {
        let signals = [(); 3].map(|()| Arc::new(Notify::new()));
        let [asked, decides, reported] = signals.clone();
        let executor = building(Registry::builder().tool::<leave>().provide(signals))
            .hook(Thinks(asked, decides))
            .build()
            .unwrap();
        let mut listener = executor.subscribe();
        executor.run(calls(&["leave"])).await;
        reported.notified().await;
        assert_eq!(told(&mut listener), ["started 0", "finished 0"]);
    });
}
