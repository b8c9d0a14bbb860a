//! Questions of tool bodies, and their answers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Semaphore;
use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, Executor, RunContext, ToolCall,
    call::Operation,
    context::ConfirmationAnswer,
    definition::Permission,
    executor::{ExecutionStrategy, ExecutorBuilder, Finish},
    open_calls::{CallRef, OpenCallError},
    policy::{
        Approval, ApprovalCause, ApprovalHandle, ApprovalRequest, Approver, Limits, PermissionRequest,
        RetryInfo, RetryPolicy,
    },
    prelude::*,
};

use super::{Counter, On, answered, building, one, registry, texts, told};

/// Each strategy, with both orders of results, watched by a hook and a listener or not.
fn everywhere(check: impl Fn(&dyn Fn(ExecutorBuilder) -> ExecutorBuilder, bool)) {
    let strategies =
        [ExecutionStrategy::Sequential, ExecutionStrategy::Parallel, ExecutionStrategy::Batched { size: 2 }];
    for strategy in strategies {
        for finish in [Finish::InOrder, Finish::AsCompleted] {
            check(&|builder| builder.strategy(strategy).finish(finish), false);
            check(&|builder| builder.strategy(strategy).finish(finish).hook(On::finished(|_, _| ())), true);
        }
    }
}

fn answer(confirmed: bool, payload: Value) -> ConfirmationAnswer {
    ConfirmationAnswer { confirmed, payload }
}

fn yes() -> ConfirmationAnswer {
    answer(true, Value::Null)
}

fn request(outcome: &CallOutcome) -> &ApprovalRequest {
    match outcome {
        CallOutcome::Pending(pending) => match &pending.operation {
            Operation::Confirmation(request) => request,
            Operation::LongRunning(_) => panic!("{pending:?}"),
        },
        _ => panic!("{outcome:?}"),
    }
}

/// Asks a question, and requires confirmation.
#[tool(register = false, confirm)]
fn pay(runs: &Counter, amount: u32, cx: &ToolContext) -> Result<String, ToolError> {
    runs.count();
    let approval = cx.approval().map(|it| it.payload.to_string());
    match cx.confirmation() {
        None => Err(cx.request_confirmation("Is this the right account?", json!({ "amount": amount }))),
        Some(it) => Ok(format!("paid {amount}, {approval:?}, {} {}", it.confirmed, it.payload)),
    }
}

const PAY: &str = r#"{"amount":7}"#;
const MAY: &str = "requires confirmation: May the tool pay be called?";
const RIGHT: &str = "requires confirmation: Is this the right account?";

// I17, I21
#[test]
fn an_approval_of_the_call_does_not_answer_a_question_of_the_body() {
    everywhere(|settings, is_watched| {
        let runs = Counter::default();
        let tools = Registry::builder().tool::<pay>().provide(runs.clone());
        let executor = settings(building(tools)).build().unwrap();
        let mut listener = is_watched.then(|| executor.subscribe());
        let resume =
            |said: ConfirmationAnswer| crate::run(async { answered(&executor, "0", said).await.run().await });
        let outcomes = crate::run(executor.run(one("pay", PAY)));
        assert_eq!(
            (texts(&outcomes), request(&outcomes[0]).cause),
            (vec![MAY.to_owned()], ApprovalCause::Confirmation)
        );
        let outcomes = resume(answer(true, json!("generic")));
        assert_eq!(
            (texts(&outcomes), request(&outcomes[0]).cause),
            (vec![RIGHT.to_owned()], ApprovalCause::Tool)
        );
        assert_eq!(request(&outcomes[0]).payload, json!({ "amount": 7 }));
        // The answer to the body does not answer the approval, which was answered before.
        let outcomes = resume(answer(true, json!("own")));
        assert_eq!(texts(&outcomes), [r#"paid 7, Some("\"generic\""), true "own""#]);
        assert!(outcomes[0].is_finished() && crate::now(executor.open_calls()).unwrap().is_empty());
        assert_eq!(runs.get(), 2);
        if let Some(listener) = &mut listener {
            let asked = ["started 0", "asked 0", "finished 0"];
            assert_eq!(told(listener), [&asked[..], &asked[..], &["started 0", "finished 0"]].concat());
        }
    });
}

/// An approver that records its requests, and gives its answers in turn.
#[derive(Clone, Default)]
struct Person {
    answers: Arc<Mutex<Vec<Approval>>>,
    asked: Arc<Mutex<Vec<(ApprovalCause, String, Value)>>>,
}

impl Person {
    fn saying(answers: impl IntoIterator<Item = Approval>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Self::default() }
    }

    fn asked(&self) -> Vec<(ApprovalCause, String, Value)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approver for Person {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let asked = (request.cause, request.hint.clone(), request.payload.clone());
        self.asked.lock().unwrap().push(asked);
        let said = {
            let mut answers = self.answers.lock().unwrap();
            if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
        };
        tokio::task::yield_now().await;
        Ok(said)
    }
}

// I08, I17, I21
#[test]
fn the_approver_answers_questions_of_the_body_within_the_same_call() {
    let cases = [
        (Approval::Approved, "paid 7, Some(\"3\"), true null"),
        (Approval::ApprovedWith(json!("now")), "paid 7, Some(\"3\"), true \"now\""),
        // The body handles a rejection.
        (Approval::Rejected(String::new()), "paid 7, Some(\"3\"), false null"),
        (Approval::Rejected("too much".to_owned()), "paid 7, Some(\"3\"), false \"too much\""),
    ];
    for (said, text) in cases {
        everywhere(|settings, is_watched| {
            let runs = Counter::default();
            let person = Person::saying([Approval::ApprovedWith(json!(3)), said.clone()]);
            let tools = Registry::builder().tool::<pay>().provide(runs.clone());
            let executor = settings(building(tools)).approver(person.clone()).build().unwrap();
            let mut listener = is_watched.then(|| executor.subscribe());
            let outcomes = crate::run(executor.run(one("pay", PAY)));
            assert_eq!(texts(&outcomes), [text]);
            assert_eq!(
                person.asked(),
                [
                    (ApprovalCause::Confirmation, "May the tool pay be called?".to_owned(), Value::Null),
                    (ApprovalCause::Tool, "Is this the right account?".to_owned(), json!({ "amount": 7 })),
                ]
            );
            assert_eq!((runs.get(), outcomes[0].result().unwrap().attempts), (2, 2));
            assert!(crate::now(executor.open_calls()).unwrap().is_empty());
            if let Some(listener) = &mut listener {
                assert_eq!(told(listener), ["started 0", "asked 0", "asked 0", "finished 0"]);
            }
        });
    }
}

// I17, I21
#[test]
fn a_question_of_the_body_that_the_approver_answers_later_is_pending() {
    everywhere(|settings, is_watched| {
        let person = Person::saying([Approval::Approved, Approval::Pending]);
        let tools = Registry::builder().tool::<pay>().provide(Counter::default());
        let executor = settings(building(tools)).approver(person.clone()).build().unwrap();
        let mut listener = is_watched.then(|| executor.subscribe());
        let outcomes = crate::run(executor.run(one("pay", PAY)));
        assert_eq!(texts(&outcomes), [RIGHT]);
        if let Some(listener) = &mut listener {
            // Each question is asked once.
            assert_eq!(told(listener), ["started 0", "asked 0", "asked 0", "finished 0"]);
        }
        let outcomes = crate::run(async { answered(&executor, "0", yes()).await.run().await });
        assert_eq!(texts(&outcomes), [r#"paid 7, Some("null"), true null"#]);
        assert_eq!(person.asked().len(), 2);
    });
}

/// Asks two questions.
#[tool(register = false)]
fn wipe(cx: &ToolContext) -> Result<&'static str, ToolError> {
    for (hint, payload) in [("Is there a backup?", json!(1)), ("Really?", json!(2))] {
        match cx.confirmation_of(hint, &payload) {
            None => return Err(cx.request_confirmation(hint, payload)),
            Some(answer) if !answer.confirmed => return Ok("not wiped"),
            Some(_) => {}
        }
    }
    // Another payload makes another question.
    assert!(cx.confirmation_of("Really?", &json!(1)).is_none());
    Ok("wiped")
}

// I21
#[test]
fn each_question_of_a_body_has_its_own_answer() {
    everywhere(|settings, _| {
        let executor = settings(building(Registry::builder().tool::<wipe>())).build().unwrap();
        let asked = |hint: &str| format!("requires confirmation: {hint}");
        let resume = |said| texts(&crate::run(async { answered(&executor, "0", said).await.run().await }));
        assert_eq!(texts(&crate::run(executor.run(one("wipe", "{}")))), [asked("Is there a backup?")]);
        assert_eq!(resume(yes()), [asked("Really?")]);
        assert_eq!(resume(yes()), ["wiped"]);

        let run = |person: &Person| {
            let tools = Registry::builder().tool::<wipe>();
            let executor = settings(building(tools)).approver(person.clone()).build().unwrap();
            (texts(&crate::run(executor.run(one("wipe", "{}")))), executor)
        };
        let no = Approval::Rejected(String::new());
        assert_eq!(run(&Person::saying([Approval::Approved])).0, ["wiped"]);
        assert_eq!(run(&Person::saying([Approval::Approved, no])).0, ["not wiped"]);
        // Answers that were given at once still count when the other question is answered later.
        let (asks, executor) = run(&Person::saying([Approval::Approved, Approval::Pending]));
        assert_eq!(asks, [asked("Really?")]);
        assert_eq!(
            texts(&crate::run(async { answered(&executor, "0", yes()).await.run().await })),
            ["wiped"]
        );
    });
}

// I17: the person answered another question than the stored one.
#[test]
fn an_answer_to_a_changed_request_is_refused() {
    let executor = building(Registry::builder().tool::<wipe>()).build().unwrap();
    let first = crate::run(executor.run(one("wipe", "{}")));
    let original = request(&first[0]).clone();
    let changes: [fn(&mut ApprovalRequest); 8] = [
        |it| it.hint.push('!'),
        |it| it.payload = json!(9),
        |it| it.cause = ApprovalCause::Permission,
        |it| it.call.arguments = r#"{"all":true}"#.to_owned().into(),
        |it| it.call.name = "other".to_owned(),
        |it| it.call.id = "other".into(),
        |it| it.expires_at = None,
        |it| it.expires_at = it.expires_at.map(|end| end + Duration::from_secs(1)),
    ];
    for change in changes {
        let mut changed = original.clone();
        change(&mut changed);
        let refused = crate::run(executor.resume([(&changed, yes())])).unwrap_err();
        assert_eq!(refused, OpenCallError::RequestChanged(CallRef::from(&changed)));
        assert!(refused.to_string().contains("was changed since it was made"), "{refused}");
    }
    // The same request in another spelling.
    let mut respelled: ApprovalRequest =
        tool_runtime::serde_json::from_value(tool_runtime::serde_json::to_value(&original).unwrap()).unwrap();
    respelled.call.arguments = " { } ".to_owned().into();
    assert!(crate::run(executor.resume([(&respelled, yes())])).is_ok());
}

// I17: answers may be delivered twice, for example by a double click or a queue.
#[test]
fn a_repeated_answer_does_not_answer_the_next_question() {
    everywhere(|settings, _| {
        let executor = settings(building(Registry::builder().tool::<wipe>())).build().unwrap();
        let resumed = |call: CallRef| {
            crate::run(async { Ok::<_, OpenCallError>(executor.resume([(call, yes())]).await?.run().await) })
        };
        let first = crate::run(executor.run(one("wipe", "{}")));
        let asked = CallRef::from(request(&first[0]));
        let second = resumed(asked.clone()).unwrap();
        assert_eq!(texts(&second), ["requires confirmation: Really?"]);
        assert_eq!(resumed(asked.clone()).unwrap_err(), OpenCallError::NotOpen(asked));
        let address = CallRef::from(first[0].address().unwrap());
        for call in [CallRef::from("0"), address] {
            assert_eq!(resumed(call.clone()).unwrap_err(), OpenCallError::NeedsQuestion(call));
        }
        assert_eq!(texts(&resumed(CallRef::from(request(&second[0]))).unwrap()), ["wiped"]);
    });
}

/// Asks without end.
#[tool(register = false)]
fn pester(runs: &Counter, cx: &ToolContext) -> Result<(), ToolError> {
    let run = runs.count();
    Err(cx.request_confirmation(format!("Really, {run}?"), Value::Null))
}

// I21
#[test]
fn a_call_may_ask_at_most_eight_questions() {
    const REFUSED: &str = "Denied: more than 8 questions were asked about the call";
    everywhere(|settings, is_watched| {
        let (runs, person) = (Counter::default(), Person::saying([Approval::Approved]));
        let tools = || Registry::builder().tool::<pester>().provide(runs.clone());
        let executor = settings(building(tools())).approver(person.clone()).build().unwrap();
        let mut listener = is_watched.then(|| executor.subscribe());
        let outcomes = crate::run(executor.run(one("pester", "{}")));
        assert_eq!(texts(&outcomes), [REFUSED]);
        assert_eq!((runs.get(), person.asked().len()), (9, 8));
        assert!(outcomes[0].is_finished() && crate::now(executor.open_calls()).unwrap().is_empty());
        if let Some(listener) = &mut listener {
            assert_eq!(told(listener), [&["started 0"][..], &["asked 0"; 8], &["finished 0"]].concat());
        }

        let executor = settings(building(tools())).build().unwrap();
        crate::run(executor.run(one("pester", "{}")));
        let resume = || crate::run(async { answered(&executor, "0", yes()).await.run().await });
        for _ in 1..8 {
            assert!(!resume()[0].is_finished());
        }
        assert_eq!(texts(&resume()), [REFUSED]);
        assert!(crate::now(executor.open_calls()).unwrap().is_empty());
    });
}

// I17: an answer is bound to the hint.
#[test]
fn a_permission_with_a_changed_hint_requires_a_new_approval() {
    let asked = Counter::default();
    let executor = building(Registry::builder().tool::<plain>().provide(Counter::default()))
        .permission(move |_: &PermissionRequest<'_>| match asked.count() {
            1 => Permission::ask("cheap?"),
            _ => Permission::ask("costly?"),
        })
        .pending_approvals(true)
        .build()
        .unwrap();
    let resume = || crate::run(async { answered(&executor, "0", yes()).await.run().await });
    let first = crate::run(executor.run(one("plain", "{}")));
    let second = resume();
    assert_eq!(texts(&second), ["requires confirmation: costly?"]);
    assert_ne!(request(&first[0]).hash, request(&second[0]).hash);
    assert_eq!(texts(&resume()), ["ran"]);
}

/// Returns at once.
#[tool(register = false)]
fn plain(runs: &Counter) -> &'static str {
    runs.count();
    "ran"
}

/// Waits until a person is asked, and then lets them answer.
struct Meeting {
    asked: Semaphore,
    answers: Semaphore,
}

impl Meeting {
    fn new() -> Arc<Self> {
        Arc::new(Self { asked: Semaphore::new(0), answers: Semaphore::new(0) })
    }
}

impl Approver for Meeting {
    async fn ask(&self, _: &ApprovalHandle) -> Result<Approval, ToolError> {
        self.asked.add_permits(1);
        self.answers.acquire().await.unwrap().forget();
        Ok(Approval::Approved)
    }
}

/// An approver that a test controls.
struct Shared<T>(Arc<T>);

impl<T: Approver> Approver for Shared<T> {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        self.0.ask(request).await
    }
}

/// Runs while a person is asked about another call.
#[tool(register = false)]
async fn beside(meeting: &Arc<Meeting>) -> &'static str {
    meeting.asked.acquire().await.unwrap().forget();
    meeting.answers.add_permits(1);
    "went on"
}

/// Asks by itself.
#[tool(register = false)]
fn ask(cx: &ToolContext) -> Result<String, ToolError> {
    match cx.confirmation() {
        None => Err(cx.request_confirmation("Really?", Value::Null)),
        Some(answer) => Ok(format!("{}", answer.confirmed)),
    }
}

fn meeting(meeting: &Arc<Meeting>) -> ExecutorBuilder {
    let tools = Registry::builder().tool::<ask>().tool::<beside>().provide(Arc::clone(meeting));
    Executor::builder(registry(tools)).approver(Shared(Arc::clone(meeting)))
}

fn asking_and_beside() -> Vec<ToolCall> {
    let call = |name: &str, id: &str| ToolCall::new(name, "{}").with_id(id);
    vec![call("ask", "0"), call("beside", "1")]
}

// G03, G06, G08
#[test]
fn other_bodies_run_while_one_body_waits_for_an_answer() {
    super::on_both_runtimes(|| async {
        for finish in [Finish::InOrder, Finish::AsCompleted] {
            let executor = meeting(&Meeting::new()).finish(finish).build().unwrap();
            assert_eq!(texts(&executor.run(asking_and_beside()).await), ["true", "went on"]);
        }
    });
}

// G13
#[test]
fn a_call_that_waits_for_an_answer_holds_no_permit() {
    let limits = Limits::new().overall(1);
    let executor = meeting(&Meeting::new()).limits(limits).build().unwrap();
    assert_eq!(texts(&crate::run(executor.run(asking_and_beside()))), ["true", "went on"]);
}

// G06
#[test]
fn an_approver_is_never_asked_about_two_calls_at_once() {
    #[derive(Default)]
    struct Alone(AtomicUsize, AtomicUsize);
    impl Approver for Alone {
        async fn ask(&self, _: &ApprovalHandle) -> Result<Approval, ToolError> {
            assert_eq!(self.0.fetch_add(1, Ordering::SeqCst), 0);
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            self.0.fetch_sub(1, Ordering::SeqCst);
            self.1.fetch_add(1, Ordering::SeqCst);
            Ok(Approval::Approved)
        }
    }
    super::on_both_runtimes(|| async {
        let alone = Arc::<Alone>::default();
        let tools = Registry::builder().tool::<ask>();
        let executor = building(tools).approver(Shared(Arc::clone(&alone))).build().unwrap();
        let calls = ["0", "1", "2"].map(|id| ToolCall::new("ask", "{}").with_id(id));
        assert_eq!(texts(&executor.run(calls.into()).await), ["true"; 3]);
        assert_eq!(alone.1.load(Ordering::SeqCst), 3);
    });
}

/// Creates a runtime whose clock advances only when all tasks are idle.
fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

// G11, H04: the call ends once, and is not open.
#[test]
fn a_call_can_be_stopped_while_its_body_waits_for_an_answer() {
    for is_late in [false, true] {
        let meeting_place = Meeting::new();
        let executor = meeting(&meeting_place).build().unwrap();
        let mut listener = executor.subscribe();
        let outcomes = paused().block_on(async {
            let stop = CancellationToken::new();
            let mut run = RunContext::new().with_cancellation(stop.clone());
            if is_late {
                let end = tokio::time::Instant::now() + Duration::from_secs(60);
                run = run.with_deadline(end.into_std());
            }
            let batch = executor.batch(one("ask", "{}")).with_run(run);
            let stopping = async {
                meeting_place.asked.acquire().await.unwrap().forget();
                if !is_late {
                    stop.cancel();
                }
            };
            tokio::join!(batch.run(), stopping).0
        });
        let text = if is_late { "Timed out: the run's time is over" } else { "Cancelled" };
        assert_eq!(texts(&outcomes), [text]);
        assert!(crate::now(executor.open_calls()).unwrap().is_empty());
        assert_eq!(told(&mut listener), ["started 0", "asked 0", "finished 0"]);
        assert_eq!(outcomes[0].result().unwrap().attempts, 1);
    }
}

// J09: a person may take longer than the timeout of the tool.
#[test]
fn waiting_for_an_answer_does_not_count_towards_the_timeout() {
    /// Asks by itself.
    #[tool(register = false, timeout = "1s", idle_timeout = "500ms")]
    async fn brief(cx: &ToolContext) -> Result<&'static str, ToolError> {
        let left = cx.deadline().unwrap() - tokio::time::Instant::now().into_std();
        assert_eq!(left, Duration::from_secs(1));
        match cx.confirmation() {
            None => Err(cx.request_confirmation("Really?", Value::Null)),
            Some(_) => Ok("done"),
        }
    }
    struct Slow;
    impl Approver for Slow {
        async fn ask(&self, _: &ApprovalHandle) -> Result<Approval, ToolError> {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Ok(Approval::Approved)
        }
    }
    let executor = building(Registry::builder().tool::<brief>()).approver(Slow).build().unwrap();
    assert_eq!(texts(&paused().block_on(executor.run(one("brief", "{}")))), ["done"]);
}

/// Asks, and then fails temporarily.
#[tool(register = false, idempotent)]
fn flaky(runs: &Counter, cx: &ToolContext) -> Result<String, ToolError> {
    let run = runs.count();
    match cx.confirmation() {
        None => Err(cx.request_confirmation("Really?", Value::Null)),
        Some(_) if run < 4 => Err(ToolError::new(ErrorKind::Unavailable, "busy")),
        Some(answer) => Ok(format!("{} in attempt {}", answer.confirmed, cx.attempt())),
    }
}

fn retrying(runs: &Counter) -> ExecutorBuilder {
    let policy = RetryPolicy::new(super::AT_ONCE).rule(|_: &RetryInfo<'_>| true);
    building(Registry::builder().tool::<flaky>().provide(runs.clone())).retry(policy)
}

// J01, I21: an answer counts for all attempts, and a question is not a failed attempt.
#[test]
fn a_person_is_asked_once_for_all_attempts_of_a_call() {
    everywhere(|settings, is_watched| {
        let (runs, person) = (Counter::default(), Person::saying([Approval::Approved]));
        let executor = settings(retrying(&runs)).approver(person.clone()).build().unwrap();
        let mut listener = is_watched.then(|| executor.subscribe());
        let outcomes = crate::run(executor.run(one("flaky", "{}")));
        // The question and the answer belong to attempt 1; attempts 2 and 3 follow.
        assert_eq!(texts(&outcomes), ["true in attempt 3"]);
        assert_eq!((runs.get(), person.asked().len()), (4, 1));
        if let Some(listener) = &mut listener {
            assert_eq!(told(listener), ["started 0", "asked 0", "finished 0"]);
        }
    });
}

// J02, I21
#[test]
fn a_question_of_the_body_is_not_retried() {
    everywhere(|settings, _| {
        let runs = Counter::default();
        let executor = settings(retrying(&runs)).build().unwrap();
        let outcomes = crate::run(executor.run(one("flaky", "{}")));
        assert_eq!(texts(&outcomes), ["requires confirmation: Really?"]);
        assert_eq!((runs.get(), crate::now(executor.open_calls()).unwrap().len()), (1, 1));
        let outcomes = crate::run(async { answered(&executor, "0", yes()).await.run().await });
        assert_eq!(texts(&outcomes), ["true in attempt 3"]);
    });
}

// I06
#[test]
fn an_approver_that_panics_over_a_question_of_the_body_fails_the_call() {
    everywhere(|settings, _| {
        let runs = Counter::default();
        let panics = |_: &ApprovalRequest| -> Approval { panic!("boom") };
        let executor = settings(retrying(&runs)).approver(panics).build().unwrap();
        let outcomes = crate::run(executor.run(one("flaky", "{}")));
        assert_eq!(texts(&outcomes), ["the approver panicked: boom"]);
        assert_eq!(runs.get(), 1);
        assert!(crate::now(executor.open_calls()).unwrap().is_empty());
    });
}

// I21
#[test]
fn a_question_of_a_nested_call_is_not_passed_to_the_approver() {
    /// Calls another tool that asks a question.
    #[tool(register = false)]
    async fn errand(inner: &Executor) -> Result<String, ToolError> {
        let outcomes = inner.run(one("ask", "{}")).await;
        Err(outcomes[0].result().unwrap().outcome.clone().unwrap_err())
    }
    let inner = Executor::new(registry(Registry::builder().tool::<ask>()));
    let person = Person::saying([Approval::Approved]);
    let tools = Registry::builder().tool::<errand>().provide(inner);
    let executor = building(tools).approver(person.clone()).build().unwrap();
    let outcomes = crate::run(executor.run(one("errand", "{}")));
    assert_eq!(texts(&outcomes), ["requires confirmation: Really?"]);
    assert!(outcomes[0].is_finished() && person.asked().is_empty());
}

// G11, I21
#[test]
fn a_body_does_not_resume_if_the_answer_cancels_the_call() {
    struct Stops(CancellationToken);
    impl Approver for Stops {
        async fn ask(&self, _: &ApprovalHandle) -> Result<Approval, ToolError> {
            self.0.cancel();
            Ok(Approval::Approved)
        }
    }
    /// Asks a question, and counts its runs.
    #[tool(register = false)]
    fn ask_once(runs: &Counter, cx: &ToolContext) -> Result<String, ToolError> {
        runs.count();
        Err(cx.request_confirmation("Really?", Value::Null))
    }
    everywhere(|settings, _| {
        let (stop, runs) = (CancellationToken::new(), Counter::default());
        let tools = Registry::builder().tool::<ask_once>().provide(runs.clone());
        let executor = settings(building(tools)).approver(Stops(stop.clone())).build().unwrap();
        let run = RunContext::new().with_cancellation(stop);
        let outcomes = crate::run(executor.batch(one("ask_once", "{}")).with_run(run).run());
        assert_eq!((texts(&outcomes), runs.get()), (vec!["Cancelled".to_owned()], 1));
    });
}

// G13
#[test]
fn a_call_waits_for_a_permit_again_after_an_answer() {
    /// Runs for a while when a person is asked about another call.
    #[tool(register = false)]
    async fn goes_on(meeting: &Arc<Meeting>, bodies: &Arc<AtomicUsize>) -> &'static str {
        bodies.fetch_add(1, Ordering::SeqCst);
        meeting.asked.acquire().await.unwrap().forget();
        meeting.answers.add_permits(1);
        for _ in 0..9 {
            tokio::task::yield_now().await;
        }
        bodies.fetch_sub(1, Ordering::SeqCst);
        "went on"
    }
    /// Asks, and then returns the number of other running calls.
    #[tool(register = false)]
    fn others(bodies: &Arc<AtomicUsize>, cx: &ToolContext) -> Result<usize, ToolError> {
        match cx.confirmation() {
            None => Err(cx.request_confirmation("Really?", Value::Null)),
            Some(_) => Ok(bodies.load(Ordering::SeqCst)),
        }
    }
    let (meeting, bodies) = (Meeting::new(), Arc::<AtomicUsize>::default());
    let tools = Registry::builder().tool::<goes_on>().tool::<others>();
    let tools = tools.provide(Arc::clone(&meeting)).provide(bodies);
    let builder = building(tools).approver(Shared(meeting)).limits(Limits::new().overall(1));
    let calls = ["others", "goes_on"].map(|name| ToolCall::new(name, "{}"));
    assert_eq!(texts(&crate::run(builder.build().unwrap().run(calls.into()))), ["0", "went on"]);
}

// I17, I21, J01: neither the approval of the call nor an earlier answer counts for the question of a later attempt.
#[test]
fn an_approval_of_the_call_does_not_answer_the_question_of_a_later_attempt() {
    /// Fails temporarily, and then asks.
    #[tool(register = false, confirm, read_only)]
    fn asks_again(cx: &ToolContext) -> Result<String, ToolError> {
        match cx.confirmation() {
            _ if cx.attempt() == 1 => Err(ToolError::new(ErrorKind::Unavailable, "busy")),
            None => Err(cx.request_confirmation("Really?", Value::Null)),
            Some(answer) => Ok(answer.payload.to_string()),
        }
    }
    everywhere(|settings, _| {
        let policy = RetryPolicy::new(super::AT_ONCE).rule(|_: &RetryInfo<'_>| true);
        let person = Person::saying([
            Approval::ApprovedWith(json!("generic")),
            Approval::ApprovedWith(json!("own")),
            Approval::Rejected(String::new()),
        ]);
        let builder = building(Registry::builder().tool::<asks_again>()).retry(policy);
        let executor = settings(builder).approver(person.clone()).build().unwrap();
        assert_eq!(texts(&crate::run(executor.run(one("asks_again", "{}")))), ["\"own\""]);
        assert_eq!(person.asked().len(), 2);
    });
}
