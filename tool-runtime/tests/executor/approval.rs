//! Approval of calls by a person.

use std::sync::{Arc, Mutex};

use tool_runtime::{
    CallOutcome, Executor, ToolCall,
    call::Operation,
    context::ConfirmationAnswer,
    definition::Permission,
    executor::ExecutorBuilder,
    hook::{Before, CallView},
    open_calls::{OpenCall, OpenCallError},
    policy::{
        Approval, ApprovalCause, ApprovalRequest, CONFIRMATION_CALL, PermissionRequest, confirmation_answer,
    },
    prelude::*,
    registry::RegistryBuilder,
};

use super::{
    Counter, On, answered, building, echo, executor, one, registry, texts,
    ways::{Observed, each_way},
};

/// Pays.
#[tool(register = false, confirm)]
fn pay(counter: &Counter, amount: u32, cx: &ToolContext) -> String {
    counter.count();
    // The approval does not answer questions of the body.
    assert!(cx.confirmation().is_none());
    format!("paid {amount}, {:?}", cx.approval().map(|answer| (answer.confirmed, &answer.payload)))
}

fn few(n: &u32) -> bool {
    *n < 5
}

/// Requires confirmation of small numbers.
#[tool(register = false, confirm = few)]
fn small(n: u32) -> String {
    format!("ran {n}")
}

const PAY: &str = r#"{"amount":7}"#;
const ASKED: &str = "requires confirmation: May the tool pay be called?";

fn paying(counter: &Counter) -> RegistryBuilder {
    Registry::builder().tool::<pay>().provide(counter.clone())
}

fn yes() -> ConfirmationAnswer {
    ConfirmationAnswer { confirmed: true, payload: Value::Null }
}

fn no() -> ConfirmationAnswer {
    ConfirmationAnswer { confirmed: false, payload: Value::Null }
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

async fn resume(executor: &Observed, id: &str, answer: ConfirmationAnswer) -> Vec<CallOutcome> {
    executor.drive(answered(executor, id, answer).await).await
}

// I14
#[test]
fn confirmation_is_required_always_or_depending_on_the_arguments() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(paying(&counter).tool::<small>());
        let mut calls = one("pay", PAY);
        calls.push(ToolCall::new("small", r#"{"n":4}"#).with_id("1"));
        calls.push(ToolCall::new("small", r#"{"n":7}"#).with_id("2"));
        let outcomes = executor.run(calls).await;
        let asked = "requires confirmation: May the tool small be called?";
        assert_eq!(texts(&outcomes), [ASKED, asked, "ran 7"]);
    });
}

// I15, I16
#[test]
fn a_call_without_approval_is_pending_and_does_not_run() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(paying(&counter));
        let outcomes = executor.run(one("pay", PAY)).await;
        let result = outcomes[0].result().unwrap();
        assert_eq!(result.text(), ASKED);
        assert!(result.is_error() && !outcomes[0].is_finished());
        assert_eq!(counter.get(), 0);

        let request = request(&outcomes[0]);
        assert_eq!(
            (request.cause, request.hint.as_str()),
            (ApprovalCause::Confirmation, "May the tool pay be called?")
        );
        executor.assert_told(["started 0", "asked 0", "finished 0"]);
        let [OpenCall::Confirmation(call, open)] = &executor.open_calls().await.unwrap()[..] else {
            panic!()
        };
        assert_eq!((call, open.as_ref()), (&one("pay", PAY)[0], request));

        let asking = executor.confirmation_call(request);
        assert_eq!((&*asking.name, CONFIRMATION_CALL), ("request_confirmation", "request_confirmation")); // I15
        // The id of the confirmation call is unique and stable.
        assert!(asking.id != request.call.id && asking.id.to_string().len() == 40, "{}", asking.id);
        assert_eq!(asking.id, executor.confirmation_call(request).id);
        let original = ApprovalRequest::original_call(&asking).unwrap();
        assert_eq!((original.id, &*original.name), (request.call.id.clone(), "pay"));
        assert_eq!(
            asking.arguments.to_value().unwrap(),
            json!({
                "originalFunctionCall": { "id": "0", "name": "pay", "args": { "amount": 7 } },
                "toolConfirmation": { "hint": "May the tool pay be called?", "payload": null, "confirmed": false },
                "address": { "callId": "0", "serial": request.address.serial },
            })
        );
        let named = way.of(building(paying(&counter)).confirmation_call("adk_request_confirmation"));
        assert_eq!(&*named.confirmation_call(request).name, "adk_request_confirmation");
    });
}

// I17
#[test]
fn an_approved_call_runs_with_the_arguments_that_were_shown() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(paying(&counter));
        executor.run(one("pay", PAY)).await;
        executor.assert_told(["started 0", "asked 0", "finished 0"]);
        let answer = ConfirmationAnswer { confirmed: true, payload: json!({ "by": "Ada" }) };
        let outcomes = resume(&executor, "0", answer).await;
        assert_eq!(texts(&outcomes), [r#"paid 7, Some((true, Object {"by": String("Ada")}))"#]);
        executor.assert_told(["started 0", "finished 0"]);
        assert_eq!(counter.get(), 1);
        assert!(executor.open_calls().await.unwrap().is_empty());
    });
}

// I17
#[test]
fn a_call_that_the_person_declines_is_rejected() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(paying(&counter));
        executor.run(one("pay", PAY)).await;
        let outcomes = resume(&executor, "0", no()).await;
        assert_eq!(texts(&outcomes), [r#"Denied: the "pay" call is rejected"#]);
        let result = outcomes[0].result().unwrap();
        assert_eq!(
            result.structured(),
            Some(json!({ "status": "denied", "tool": "pay", "reason": r#"the "pay" call is rejected"# }))
        );
        assert_eq!(counter.get(), 0);
    });
}

// I17
#[test]
fn the_reason_of_a_later_rejection_is_part_of_the_result() {
    each_way(async |way| {
        let executor = way.executor(paying(&Counter::default()));
        let rejected = r#"Denied: the "pay" call is rejected"#;
        let reasons = [(json!("too much"), ": too much"), (json!(""), ""), (json!({ "reason": "no" }), "")];
        for (payload, reason) in reasons {
            executor.run(one("pay", PAY)).await;
            let outcomes = resume(&executor, "0", ConfirmationAnswer { confirmed: false, payload }).await;
            assert_eq!(texts(&outcomes), [format!("{rejected}{reason}")]);
        }
    });
}

// I17: a rejection counts, whatever the policy and the hooks decide when the call resumes.
#[test]
fn a_rejected_call_does_not_run_even_if_it_is_permitted_later() {
    each_way(async |way| {
        let (counter, asked) = (Counter::default(), Counter::default());
        let asking = asked.clone();
        let rewrites = asked.clone();
        let executor = way.of(building(Registry::builder().tool::<echo>().provide(counter.clone()))
            .permission(move |_: &PermissionRequest<'_>| match asking.count() {
                1 => Permission::ask("may it?"),
                _ => Permission::Allow,
            })
            .hook(On::before(move |call| {
                call.rewrite(json!({ "text": rewrites.get().to_string() }));
                Ok(Before::Continue)
            }))
            .pending_approvals(true));
        let outcomes = executor.run(one("echo", r#"{"text":"a"}"#)).await;
        assert_eq!(request(&outcomes[0]).cause, ApprovalCause::Permission);
        assert_eq!(texts(&resume(&executor, "0", no()).await), [r#"Denied: the "echo" call is rejected"#]);
        assert_eq!(counter.get(), 0);
    });
}

// I20
#[test]
fn an_answer_counts_once() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(paying(&counter));
        executor.run(one("pay", PAY)).await;
        resume(&executor, "0", yes()).await;
        let error = executor.resume([("0", yes())]).await.unwrap_err();
        assert_eq!(error, OpenCallError::NotOpen("0".into()));
        assert_eq!(
            error.to_string(),
            "no call 0 is open: there was none with this id, or it was answered before"
        );
        assert_eq!(counter.get(), 1);
    });
}

// I20
#[test]
fn an_answer_to_an_ambiguous_id_is_refused() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(paying(&counter));
        let mut calls = one("pay", PAY);
        calls.extend(one("pay", r#"{"amount":7000}"#));
        let outcomes = executor.run(calls).await;
        let addresses: Vec<_> = outcomes.iter().map(|outcome| outcome.address().unwrap().clone()).collect();
        let refused = executor.resume([("0", yes())]).await.unwrap_err();
        let [one, other] = &addresses[..] else { panic!("{addresses:?}") };
        let message = format!("2 open calls have the id 0; answer each by its address: {one}, {other}");
        assert_eq!(refused.to_string(), message);
        assert_eq!(refused, OpenCallError::Ambiguous { id: "0".into(), addresses });
        assert_eq!((counter.get(), executor.open_calls().await.unwrap().len()), (0, 2));
    });
}

// I20
#[test]
fn refused_answers_change_nothing() {
    each_way(async |way| {
        let counter = Counter::default();
        let small = |call: &CallView<'_>| call.tool() == "small";
        let executor = way.of(building(paying(&counter).tool::<small>()).external(small));
        let mut calls = one("pay", PAY);
        calls.push(ToolCall::new("small", r#"{"n":1}"#).with_id("1"));
        executor.run(calls).await;
        let refused = |answers: Vec<(&str, ConfirmationAnswer)>| {
            crate::now(executor.resume(answers)).unwrap_err().to_string()
        };
        assert_eq!(
            refused(vec![("0", yes()), ("1", yes())]),
            "the call 1 does not wait for an approval; answer it by `submit_result`"
        );
        assert_eq!(refused(vec![("0", yes()), ("0", no())]), "the call 0 was answered twice at once");
        let waits = executor.submit_result("0", Ok("paid".into())).await.unwrap_err();
        assert_eq!(waits.to_string(), "the call 0 waits for an approval; answer it by `resume`");
        assert_eq!(executor.open_calls().await.unwrap().len(), 2);
        resume(&executor, "0", yes()).await;
        assert_eq!(counter.get(), 1);
    });
}

// I16, I17: an answer is bound to the arguments.
#[test]
fn changed_arguments_require_a_new_approval() {
    each_way(async |way| {
        let counter = Counter::default();
        let amount = Arc::new(Mutex::new(7));
        let amounts = Arc::clone(&amount);
        let executor = way.of(building(paying(&counter)).hook(On::before(move |call| {
            call.rewrite(json!({ "amount": *amounts.lock().unwrap() }));
            Ok(Before::Continue)
        })));
        let first = executor.run(one("pay", PAY)).await;
        *amount.lock().unwrap() = 7000;
        let second = resume(&executor, "0", yes()).await;
        assert_eq!(texts(&second), [ASKED]);
        assert_ne!(request(&first[0]).hash, request(&second[0]).hash);
        assert_eq!(request(&second[0]).call.arguments.as_str(), r#"{"amount":7000}"#);
        assert_eq!(counter.get(), 0);
        assert_eq!(texts(&resume(&executor, "0", yes()).await), ["paid 7000, Some((true, Null))"]);
    });
}

// I16, I17: the hash is keyed, so that a secret argument cannot be guessed from it, and includes the address, so that an
// answer to one call is not valid for another.
#[test]
fn hashes_of_requests_are_unique() {
    each_way(async |way| {
        let counter = Counter::default();
        let asking = || way.executor(paying(&counter));
        let hash = async |executor: &Observed| {
            let outcomes = executor.run(one("pay", PAY)).await;
            request(&outcomes[0]).hash
        };
        let executor = asking();
        let first = hash(&executor).await;
        assert_ne!(first, hash(&executor).await);
        assert_ne!(first, hash(&asking()).await);
    });
}

// I18
#[test]
fn an_answer_is_an_object_or_its_json_text() {
    let read = |value: Value| confirmation_answer(&value);
    assert_eq!(read(json!({ "confirmed": true })).unwrap(), yes());
    let payload = ConfirmationAnswer { confirmed: false, payload: json!(5) };
    assert_eq!(read(json!({ "confirmed": false, "payload": 5 })).unwrap(), payload);
    assert_eq!(read(json!({ "response": r#"{"confirmed":false,"payload":5}"# })).unwrap(), payload);
    for wrong in
        [json!({}), json!({ "response": "yes" }), json!({ "response": 5 }), json!("yes"), json!(null)]
    {
        assert!(read(wrong.clone()).is_err(), "{wrong}");
    }
}

// I19
#[test]
fn results_of_other_calls_are_kept_while_a_call_is_pending_and_no_call_runs_twice() {
    each_way(async |way| {
        let (paid, echoed) = (Counter::default(), Counter::default());
        /// Pays.
        #[tool(register = false, confirm)]
        fn pay_all(paid: &Arc<Counter>, amount: u32) -> String {
            paid.count();
            format!("paid {amount}")
        }
        let tools = Registry::builder().tool::<pay_all>().tool::<echo>();
        let executor = way.executor(tools.provide(Arc::new(paid.clone())).provide(echoed.clone()));
        let pay = |id: &str, amount: u32| ToolCall::new("pay_all", json!({ "amount": amount })).with_id(id);
        let plain = ToolCall::new("echo", r#"{"text":"plain"}"#).with_id("b");
        let outcomes = executor.run(vec![pay("a", 1), plain, pay("c", 3), pay("d", 4)]).await;
        let asked = "requires confirmation: May the tool pay_all be called?";
        assert_eq!(texts(&outcomes), [asked, "plain", asked, asked]);
        let open = |executor: &Executor| {
            crate::now(executor.open_calls())
                .unwrap()
                .iter()
                .map(|it| it.call().id.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(open(&executor), ["a", "c", "d"]);
        // In the order of the calls, not of the answers.
        let batch = executor.resume([("c", no()), ("a", yes())]).await.unwrap();
        let resumed = executor.drive(batch).await;
        assert_eq!(texts(&resumed), ["paid 1", r#"Denied: the "pay_all" call is rejected"#]);
        assert_eq!((paid.get(), echoed.get()), (1, 1));
        assert_eq!(open(&executor), ["d"]);
        assert_eq!(texts(&resume(&executor, "d", yes()).await), ["paid 4"]);
        assert_eq!((paid.get(), echoed.get()), (2, 1));
    });
}

// I21
#[test]
fn the_body_of_a_tool_may_request_a_confirmation() {
    each_way(async |way| {
        /// Sends.
        #[tool(register = false)]
        fn transfer(amount: u32, cx: &ToolContext) -> Result<String, ToolError> {
            let Some(answer) = cx.confirmation() else {
                return Err(
                    cx.request_confirmation("Is this the right account?", json!({ "amount": amount }))
                );
            };
            Ok(if answer.confirmed { format!("sent {}", answer.payload) } else { "not sent".to_owned() })
        }
        let executor = way.executor(Registry::builder().tool::<transfer>());
        let answered = async |answer: ConfirmationAnswer| {
            let outcomes = executor.run(one("transfer", r#"{"amount":7}"#)).await;
            let text = "requires confirmation: Is this the right account?";
            assert_eq!(texts(&outcomes), [text]);
            let request = request(&outcomes[0]);
            assert_eq!((request.cause, &request.payload), (ApprovalCause::Tool, &json!({ "amount": 7 })));
            executor.assert_told(["started 0", "asked 0", "finished 0"]);
            assert!(!tool_runtime::call::merged_actions(&outcomes).terminate);
            let text = texts(&resume(&executor, "0", answer).await).concat();
            executor.assert_told(["started 0", "finished 0"]);
            text
        };
        let now = ConfirmationAnswer { confirmed: true, payload: json!("now") };
        assert_eq!(answered(now).await, r#"sent "now""#);
        assert_eq!(answered(no()).await, "not sent");
    });
}

// I22
#[test]
fn a_confirmation_call_contains_the_original_call() {
    let counter = Counter::default();
    let executor = executor(paying(&counter));
    let outcomes = crate::run(executor.run(one("pay", PAY)));
    let asking = executor.confirmation_call(request(&outcomes[0]));
    assert_eq!(ApprovalRequest::original_call(&asking).unwrap(), one("pay", PAY)[0]);
    // As plain JSON.
    let raw: ToolCall = serde_json::from_value(serde_json::to_value(&asking).unwrap()).unwrap();
    assert_eq!(ApprovalRequest::original_call(&raw).unwrap(), one("pay", PAY)[0]);
    let wrong = |arguments: Value| {
        ApprovalRequest::original_call(&ToolCall::new(CONFIRMATION_CALL, arguments)).unwrap_err().to_string()
    };
    let text = "the call is not a request for a confirmation: it has no";
    assert_eq!(wrong(json!({})), format!("{text} `originalFunctionCall`"));
    assert_eq!(wrong(json!({ "originalFunctionCall": { "id": "0" } })), format!("{text} name of a tool"));
    assert_eq!(wrong(json!({ "originalFunctionCall": { "name": "pay" } })), format!("{text} id of a call"));
    assert!(ApprovalRequest::original_call(&ToolCall::new(CONFIRMATION_CALL, "{")).is_err());
}

fn approving(
    says: impl Fn(&ApprovalRequest) -> Approval + Send + Sync + 'static,
) -> (Counter, ExecutorBuilder) {
    let counter = Counter::default();
    let builder = Executor::builder(registry(paying(&counter))).approver(says);
    (counter, builder)
}

// I08, I17
#[test]
fn the_batch_waits_for_the_approver() {
    each_way(async |way| {
        let cases = [
            (Approval::Approved, "paid 7, Some((true, Null))", 1),
            (Approval::ApprovedWith(json!(3)), "paid 7, Some((true, Number(3)))", 1),
            (Approval::Rejected(String::new()), r#"Denied: the "pay" call is rejected"#, 0),
            (Approval::Rejected("too much".into()), r#"Denied: the "pay" call is rejected: too much"#, 0),
            (Approval::Pending, ASKED, 0),
        ];
        for (approval, text, runs) in cases {
            let said = approval.clone();
            let (counter, builder) = approving(move |request| {
                assert_eq!(request.call.arguments.as_str(), PAY);
                said.clone()
            });
            let executor = way.of(builder);
            let outcomes = executor.run(one("pay", PAY)).await;
            assert_eq!(texts(&outcomes), [text]);
            assert_eq!(counter.get(), runs);
            // The approver is asked once, and never again after an answer.
            executor.assert_told(["started 0", "asked 0", "finished 0"]);
            assert_eq!(
                executor.open_calls().await.unwrap().len(),
                usize::from(approval == Approval::Pending)
            );
        }
    });
}

// I06
#[test]
fn a_call_does_not_run_if_the_approver_panics() {
    each_way(async |way| {
        let (counter, builder) = approving(|_| panic!("boom"));
        let outcomes = way.of(builder).run(one("pay", PAY)).await;
        assert_eq!(texts(&outcomes), ["the approver panicked: boom"]);
        assert_eq!(counter.get(), 0);
    });
}

// I05, I14: the permission is requested first, and the person is asked once.
#[test]
fn permission_is_requested_before_confirmation() {
    each_way(async |way| {
        let says = async |permission: Permission| {
            let asked = Arc::new(Mutex::new(Vec::new()));
            let causes = Arc::clone(&asked);
            let (_, builder) = approving(move |request| {
                causes.lock().unwrap().push((request.cause, request.hint.clone()));
                Approval::Approved
            });
            let policy = move |_: &PermissionRequest<'_>| permission.clone();
            let outcomes = way.of(builder.permission(policy)).run(one("pay", PAY)).await;
            let asked = asked.lock().unwrap().clone();
            (texts(&outcomes).concat(), asked)
        };
        let ran = "paid 7, Some((true, Null))".to_owned();
        let question = "May the tool pay be called?".to_owned();
        assert_eq!(
            says(Permission::Allow).await,
            (ran.clone(), vec![(ApprovalCause::Confirmation, question)])
        );
        assert_eq!(
            says(Permission::ask("costly")).await,
            (ran, vec![(ApprovalCause::Permission, "costly".to_owned())])
        );
        assert_eq!(says(Permission::deny("no")).await, ("Denied: no".to_owned(), vec![]));
    });
}

// I02, CF20
#[test]
fn a_permission_that_requires_approval_can_be_pending() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.of(building(Registry::builder().tool::<echo>().provide(counter.clone()))
            .permission(|_: &PermissionRequest<'_>| Permission::ask("may it?"))
            .pending_approvals(true));
        let outcomes = executor.run(one("echo", r#"{"text":"a"}"#)).await;
        assert_eq!(texts(&outcomes), ["requires confirmation: may it?"]);
        assert_eq!(request(&outcomes[0]).cause, ApprovalCause::Permission);
        assert_eq!(texts(&resume(&executor, "0", yes()).await), ["a"]);
        assert_eq!(counter.get(), 1);
    });
}

// I05, CF47: permission is checked again when the call runs.
#[test]
fn a_confirmed_call_still_requires_permission() {
    each_way(async |way| {
        let (counter, asked) = (Counter::default(), Counter::default());
        let asking = asked.clone();
        let executor = way.of(building(paying(&counter)).permission(move |_: &PermissionRequest<'_>| {
            match asking.count() {
                1 => Permission::Allow,
                _ => Permission::deny("not any more"),
            }
        }));
        executor.run(one("pay", PAY)).await;
        assert_eq!(texts(&resume(&executor, "0", yes()).await), ["Denied: not any more"]);
        assert_eq!((counter.get(), asked.get()), (0, 2));
    });
}

/// Asks by itself.
#[tool(register = false)]
fn send(amount: u32, cx: &ToolContext) -> Result<String, ToolError> {
    match cx.confirmation() {
        None => Err(cx.request_confirmation("Really?", Value::Null)),
        Some(_) => Ok(format!("sent {amount}")),
    }
}

// I21, H07
#[test]
fn an_answer_to_a_body_is_bound_to_the_arguments_of_the_body() {
    each_way(async |way| {
        let amount = Arc::new(Mutex::new(7));
        let amounts = Arc::clone(&amount);
        let executor = way.of(building(Registry::builder().tool::<send>()).hook(On::before(move |call| {
            call.rewrite(json!({ "amount": *amounts.lock().unwrap() }));
            Ok(Before::Continue)
        })));
        let outcomes = executor.run(one("send", r#"{"amount":1}"#)).await;
        assert_eq!(request(&outcomes[0]).call.arguments.as_str(), r#"{"amount":7}"#);
        assert_eq!(texts(&resume(&executor, "0", yes()).await), ["sent 7"]);

        executor.run(one("send", r#"{"amount":1}"#)).await;
        *amount.lock().unwrap() = 7000;
        let outcomes = resume(&executor, "0", yes()).await;
        assert_eq!(texts(&outcomes), ["requires confirmation: Really?"]);
        assert_eq!(request(&outcomes[0]).call.arguments.as_str(), r#"{"amount":7000}"#);
        assert_eq!(texts(&resume(&executor, "0", yes()).await), ["sent 7000"]);
    });
}

// I21
#[test]
fn a_question_of_a_nested_call_fails_the_calling_tool() {
    /// Pays by calling `pay`.
    #[tool(register = false)]
    async fn errand(tools: &Registry) -> Result<String, ToolError> {
        Ok(tools.call("pay", PAY).await?.text().into_owned())
    }
    let inner = registry(paying(&Counter::default()));
    let executor = executor(Registry::builder().tool::<errand>().provide(inner));
    let outcomes = crate::run(executor.run(one("errand", "{}")));
    assert_eq!(
        texts(&outcomes),
        [
            "Approval required: the tool requires confirmation, and its calls cannot be confirmed here. Nothing was \
          executed; do not repeat the call."
        ]
    );
    assert!(outcomes[0].is_finished() && crate::now(executor.open_calls()).unwrap().is_empty());
}

// I17, I19
#[test]
fn an_answer_whose_batch_is_dropped_leaves_the_call_open() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(paying(&counter));
        let calls = ["0", "1", "2"].map(|id| ToolCall::new("pay", PAY).with_id(id));
        executor.run(calls.into()).await;
        let open = || -> Vec<_> {
            crate::now(executor.open_calls()).unwrap().iter().map(|open| open.call().id.to_string()).collect()
        };
        let resumed = || crate::now(executor.resume([("1", yes())])).unwrap();
        drop(resumed());
        drop(resumed().run());
        drop(resumed().stream());
        assert_eq!(open(), ["0", "1", "2"]);
        let batch = resumed();
        assert_eq!(open(), ["0", "1", "2"]);
        assert_eq!(executor.drive(batch).await.len(), 1);
        assert_eq!((open(), counter.get()), (vec!["0".to_owned(), "2".to_owned()], 1));
    });
}

/// Stores any value.
#[tool(register = false, confirm)]
fn keep(value: Value) -> String {
    value.to_string()
}

/// Names by 128 bits.
#[tool(register = false, confirm)]
fn name(id: u128) -> String {
    id.to_string()
}

/// Returns the confirmation for `call`, and the arguments of its original call.
fn asked_of(call: ToolCall) -> (ToolCall, ToolCall) {
    let executor = executor(Registry::builder().tool::<keep>().tool::<name>());
    let outcomes = crate::run(executor.run(vec![call]));
    let asking = executor.confirmation_call(request(&outcomes[0]));
    let original = ApprovalRequest::original_call(&asking).unwrap();
    (asking, original)
}

// I16: a person sees the exact arguments, at any depth and with all digits.
#[test]
fn a_confirmation_shows_all_of_the_arguments() {
    let deep = format!(r#"{{"value":{}"secret plan"{}}}"#, "[".repeat(127), "]".repeat(127));
    let (asking, original) = asked_of(ToolCall::new("keep", deep.clone()));
    assert!(asking.arguments.as_str().contains("secret plan"), "{}", asking.arguments.as_str());
    assert_eq!(original.arguments.as_str(), deep);
    let (asking, original) =
        asked_of(ToolCall::new("name", r#"{"id":340282366920938463463374607431768211455}"#));
    assert!(asking.arguments.as_str().contains(r#""args":{"id":340282366920938463463374607431768211455}"#));
    assert_eq!(original.arguments.as_str(), r#"{"id":340282366920938463463374607431768211455}"#);
}
