//! Calls of a process with the key of the pool that does not behave as a caller.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _};
use tokio::{task::JoinHandle, time::sleep};
use tool_fleet::{Deliveries, FleetError, Payload, Transport as _, Worker};
use tool_runtime::{CancellationToken, Executor, ToolCall, prelude::*};

use super::{
    Probe,
    broker::{Forger, Sent, TestBroker},
    connect, program_key, registry,
};

/// A worker with one slot, and a process that sends it calls.
struct ForgedCaller {
    broker: TestBroker,
    forger: Forger,
    probe: Arc<Probe>,
    worker: JoinHandle<Result<(), FleetError>>,
    /// The messages to the process.
    answers: Deliveries,
}

impl Drop for ForgedCaller {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

/// A call of a caller, with the subject to which it was sent.
struct KnownCall {
    subject: String,
    request: Value,
}

impl ForgedCaller {
    async fn start() -> Self {
        // Calls of others do not arrive.
        let broker = TestBroker::tampering(|inner, sent: Sent| async move {
            if !sent.is_call() {
                sent.deliver(&inner).await;
            }
        });
        let probe = Arc::new(Probe::default());
        let worker = Worker::new(Executor::new(registry(&probe)), program_key().pool_key("trip"))
            .slots(1)
            .heartbeat(Duration::from_millis(100));
        let worker = tokio::spawn(worker.serve(broker.clone(), CancellationToken::new()));
        let forger = Forger::new(&broker.inner, "trip");
        let answers = broker.inner.listen("tools.trip.process.forger.>", None).await.unwrap();
        Self { broker, forger, probe, worker, answers }
    }

    /// Returns a call of a tool, as a caller sends it, which does not arrive.
    async fn learn_call(&self, tool: &str, arguments: Value) -> KnownCall {
        let (executor, _toolbox) = connect(&self.broker, "trip").await;
        let call = ToolCall::new(format!("trip__{tool}"), arguments);
        let calling = executor.run(vec![call]);
        let learning = async {
            loop {
                if let Some(sent) = self.broker.seen(Sent::is_call).pop() {
                    return sent;
                }
                sleep(Duration::from_millis(1)).await;
            }
        };
        let sent = tokio::select! { it = learning => it, _ = calling => panic!("the call has ended") };
        let request = self.forger.read(&sent)["message"]["call"].clone();
        KnownCall { subject: sent.subject, request }
    }

    /// Sends a call under another name.
    async fn send_call(&self, call: &KnownCall, name: &str, reply: &str) {
        let mut request = call.request.clone();
        request["call"] = json!([name, 1]);
        self.forger.send(&call.subject, Some(reply), "call", request).await;
    }

    async fn call_as(&self, call: &KnownCall, name: &str) {
        self.send_call(call, name, &format!("tools.trip.process.forger.{name}")).await;
    }

    /// Waits for the next report of the worker, with all its parts.
    async fn next_whole_report(&mut self) -> Value {
        let delivery = self.answers.next().await.unwrap();
        let Payload::Body(body) = delivery.payload else { panic!("a message has no receiver") };
        let sent = Sent { subject: delivery.subject, reply: delivery.reply, body };
        self.forger.read(&sent)["message"]["report"].clone()
    }

    /// Waits for the next report of the worker, and returns it with the name of its call.
    async fn next_report(&mut self) -> (String, Value) {
        let report = self.next_whole_report().await;
        (report["call"][0].as_str().unwrap().to_owned(), report["report"].clone())
    }

    fn has_no_report(&mut self) -> bool {
        self.answers.next().now_or_never().is_none()
    }
}

fn paris() -> Value {
    json!({ "query": { "city": "Paris" } })
}

/// It goes to another process, or under another name than the call.
#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_goes_elsewhere_is_not_run() {
    let mut caller = ForgedCaller::start().await;
    caller.probe.released.cancel();
    let call = caller.learn_call("forecast", paris()).await;
    let mut others = caller.broker.inner.listen("tools.trip.process.other.>", None).await.unwrap();
    for reply in ["other.forged", "forger.other", "forger.forged.more", "forger"] {
        caller.send_call(&call, "forged", &format!("tools.trip.process.{reply}")).await;
        sleep(Duration::from_millis(50)).await;
        assert!(caller.has_no_report() && others.next().now_or_never().is_none(), "{reply}");
        assert_eq!(caller.probe.bodies(), 0, "{reply}");
    }
    caller.call_as(&call, "forged").await;
    let (name, report) = caller.next_report().await;
    assert_eq!((&*name, &report["output"].is_null(), caller.probe.bodies()), ("forged", &false, 1));
}

/// Its caller does not give it.
#[tokio::test(start_paused = true)]
async fn a_body_with_effects_does_not_run_without_its_start() {
    let mut caller = ForgedCaller::start().await;
    caller.probe.released.cancel();
    let call = caller.learn_call("book", json!({})).await;
    caller.call_as(&call, "forged").await;
    let (mut claims, mut last) = (0, Value::Null);
    while last["error"].is_null() {
        (_, last) = caller.next_report().await;
        claims += usize::from(last == "claim");
    }
    let text = last["error"].to_string();
    assert!(
        text.contains("the caller did not give the start of the call in time; the tool did not run"),
        "{text}"
    );
    assert_eq!((claims, caller.probe.bodies()), (5, 0));
}

/// A start of another process, call or epoch is none.
#[tokio::test(start_paused = true)]
async fn a_body_with_effects_runs_once_its_own_caller_gives_the_start() {
    let mut caller = ForgedCaller::start().await;
    caller.probe.released.cancel();
    let call = caller.learn_call("book", json!({})).await;
    caller.call_as(&call, "forged").await;
    assert_eq!(caller.next_report().await, ("forged".to_owned(), json!("claim")));
    let claim = caller.broker.seen(Sent::is_report).pop().unwrap();
    let control = claim.reply.unwrap();
    let start = |name: &str, epoch: u32| json!({ "call": [name, epoch], "control": "start" });
    let other = Forger { sender: "other".to_owned(), ..Forger::new(&caller.broker.inner, "trip") };
    other.send(&control, None, "control", start("forged", 1)).await;
    caller.forger.send(&control, None, "control", start("forged", 2)).await;
    caller.forger.send(&control, None, "control", start("forged", 0)).await;
    caller.forger.send(&control, None, "control", start("other", 1)).await;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(caller.probe.bodies(), 0);
    caller.forger.send(&control, None, "control", start("forged", 1)).await;
    let mut last = Value::Null;
    while last["output"].is_null() {
        (_, last) = caller.next_report().await;
    }
    assert_eq!(caller.probe.bodies(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_worker_would_run_otherwise_than_it_was_judged_is_refused() {
    let mut caller = ForgedCaller::start().await;
    caller.probe.released.cancel();
    let mut call = caller.learn_call("forecast", paris()).await;
    let arguments = call.request["arguments"].as_str().unwrap().to_owned();
    let other_arguments = "the worker would run other arguments than the caller judged";
    for (at, text) in
        [format!(" {arguments}"), r#"{"query":{"town":"Paris"}}"#.to_owned(), "no JSON".to_owned()]
            .into_iter()
            .enumerate()
    {
        call.request["arguments"] = text.into();
        caller.call_as(&call, &format!("forged{at}")).await;
        assert_eq!(
            caller.next_report().await,
            (format!("forged{at}"), json!({ "refused": other_arguments }))
        );
    }
    call.request["arguments"] = arguments.into();
    call.request["definition"] = "0".repeat(64).into();
    caller.call_as(&call, "other").await;
    let refused = json!({ "refused": "this worker has another definition of the tool" });
    assert_eq!(caller.next_report().await, ("other".to_owned(), refused));
    assert_eq!(caller.probe.bodies(), 0);
}

/// A call that was not taken may be sent again; one that was taken may not, in its epoch.
#[tokio::test(start_paused = true)]
async fn a_call_that_found_no_slot_is_taken_once_there_is_one() {
    let mut caller = ForgedCaller::start().await;
    let call = caller.learn_call("forecast", paris()).await;
    caller.call_as(&call, "first").await;
    caller.probe.entered.notified().await;
    caller.call_as(&call, "second").await;
    caller.call_as(&call, "first").await;
    let mut busy = Vec::new();
    for _ in 0..3 {
        let (name, report) = caller.next_report().await;
        if report == "busy" {
            busy.push(name);
        }
    }
    assert_eq!(busy, ["second"]);
    caller.probe.released.cancel();
    sleep(Duration::from_millis(50)).await;
    caller.call_as(&call, "second").await;
    caller.call_as(&call, "first").await;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(caller.probe.bodies(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stored_call_is_refused_by_a_worker_without_a_store() {
    let mut caller = ForgedCaller::start().await;
    let call = caller.learn_call("forecast", paris()).await;
    let mut stored = json!({
        "call": ["forged", 1], "definition": call.request["definition"], "time_left": null,
        "request": { "name": format!("trip.{}", "a".repeat(26)), "bytes": 1, "hash": "0".repeat(64) },
    });
    let reply = "tools.trip.process.forger.forged";
    for (definition, problem) in [
        (
            stored["definition"].clone(),
            "the request is in a store of large values, and this worker has none; set `Worker::value_store`",
        ),
        (json!("0".repeat(64)), "this worker has another definition of the tool"),
    ] {
        stored["definition"] = definition;
        caller.forger.send(&call.subject, Some(reply), "storedCall", stored.clone()).await;
        let refused =
            json!({ "call": ["forged", 1], "sequence": 0, "contents": 0, "report": { "refused": problem } });
        assert_eq!(caller.next_whole_report().await, refused);
    }
}

/// A message that is none of a call, and one that is sent as a call without a subject for its answer.
#[tokio::test(start_paused = true)]
async fn messages_that_are_no_calls_are_not_answered() {
    let mut caller = ForgedCaller::start().await;
    caller.probe.released.cancel();
    let call = caller.learn_call("forecast", paris()).await;
    let reply = "tools.trip.process.forger.forged";
    for kind in ["discover", "drain", "callQueued"] {
        caller.forger.send(&call.subject, Some(reply), kind, json!(null)).await;
    }
    let mut request = call.request.clone();
    request["call"] = json!(["forged", 1]);
    caller.forger.send(&call.subject, None, "call", request).await;
    sleep(Duration::from_millis(50)).await;
    assert!(caller.has_no_report() && !caller.worker.is_finished());
    assert_eq!(caller.probe.bodies(), 0);
}
