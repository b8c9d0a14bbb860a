//! Hooks that override parts of a result or its messages.

use std::ops::ControlFlow;

use tool_runtime::{
    CancellationToken, Content, ErrorKind, Executor, RunContext, ToolResult,
    call::{ResultMessage, ResultStatus, merged_actions},
    executor::stop_error,
    hook::Sanitizer,
    prelude::*,
};

use super::{On, building, calls, texts, ways::each_way};

/// Gives two values.
#[tool(register = false)]
fn gives() -> ToolOutput {
    ToolOutput::from("21 degrees").with_details(json!({ "cached": true }))
}

/// Fails.
#[tool(register = false)]
fn fails() -> Result<(), ToolError> {
    Err(ToolError::not_found("no station").with_details(json!({ "code": 404 })))
}

fn tools() -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<gives>().tool::<fails>()
}

type Change = fn(&mut ToolResult);

/// Returns the results of `name` after a hook applied `change`, in each way.
fn changed(name: &str, change: Change, check: impl Fn(&ToolResult)) {
    each_way(async |way| {
        let hook = On::after(move |result| {
            change(result);
            Ok(ControlFlow::Continue(()))
        });
        let executor = way.of(building(tools()).hook(hook));
        let outcomes = executor.drive(executor.batch(calls(&[name]))).await;
        check(outcomes[0].result().unwrap());
    });
}

// H06
#[test]
fn each_part_of_a_result_can_be_overridden_separately() {
    changed(
        "gives",
        |it| it.set_content(vec![Content::text("colder")]),
        |it| {
            assert_eq!(
                (&*it.text(), it.details(), it.is_error()),
                ("colder", Some(&json!({ "cached": true })), false)
            );
            // The structured value belonged to the old text.
            assert_eq!(it.structured(), None);
        },
    );
    changed(
        "gives",
        |it| it.set_details(Some(json!(1))),
        |it| {
            assert_eq!((&*it.text(), it.details(), it.is_error()), ("21 degrees", Some(&json!(1)), false));
        },
    );
    changed(
        "gives",
        |it| it.set_details(None),
        |it| {
            assert_eq!((&*it.text(), it.details()), ("21 degrees", None));
        },
    );
    changed(
        "gives",
        |it| it.set_terminate(true),
        |it| {
            assert!(it.actions().is_some_and(|actions| actions.terminate));
            assert_eq!((&*it.text(), it.details()), ("21 degrees", Some(&json!({ "cached": true }))));
        },
    );
    changed(
        "gives",
        |it| it.set_is_error(true),
        |it| {
            assert!(it.is_error());
            assert_eq!((&*it.text(), it.details()), ("21 degrees", Some(&json!({ "cached": true }))));
        },
    );
    let error = |it: &ToolResult| it.outcome.as_ref().err().map(ToolError::kind);
    changed(
        "fails",
        |it| it.set_content(vec![Content::text("try Oslo")]),
        |it| {
            assert_eq!((&*it.text(), it.details()), ("try Oslo", Some(&json!({ "code": 404 }))));
            assert_eq!(error(it), Some(ErrorKind::NotFound));
        },
    );
    changed(
        "fails",
        |it| it.set_details(None),
        |it| {
            assert_eq!(
                (&*it.text(), it.details(), error(it)),
                ("no station", None, Some(ErrorKind::NotFound))
            );
        },
    );
    changed(
        "fails",
        |it| it.set_is_error(false),
        |it| {
            assert_eq!((&*it.text(), it.details()), ("no station", Some(&json!({ "code": 404 }))));
            assert!(!it.is_error() && error(it).is_none());
        },
    );
    // D14: an error has no actions.
    changed("fails", |it| it.set_terminate(true), |it| assert!(it.actions().is_none()));
    // From success to error and back.
    let back: Change = |it| {
        it.set_is_error(true);
        it.set_is_error(false);
        it.set_terminate(true);
        it.set_terminate(false);
    };
    changed("gives", back, |it| {
        assert!(!it.is_error() && it.actions().is_some_and(|actions| !actions.terminate));
    });
}

// H06
#[test]
fn a_hook_decides_whether_the_run_ends() {
    each_way(async |way| {
        for terminate in [true, false] {
            let hook = On::after(move |result| {
                // The value of the tool is overridden in both directions.
                result.set_terminate(!terminate);
                result.set_terminate(terminate);
                Ok(ControlFlow::Continue(()))
            });
            let executor = way.of(building(tools()).hook(hook));
            let one = executor.run(calls(&["gives"])).await;
            assert_eq!(merged_actions(&one).terminate, terminate); // H06
            let with_failure = executor.run(calls(&["gives", "fails"])).await;
            assert!(!merged_actions(&with_failure).terminate); // D14
        }
    });
}

// H06
#[test]
fn the_content_of_an_error_of_any_kind_can_be_set() {
    let executor = building(tools()).hook(On::after(|result| {
        result.set_content(vec![Content::text("Use another tool."), Content::image(*b"png", "image/png")]);
        Ok(ControlFlow::Continue(()))
    }));
    let executor: Executor = executor.build().unwrap();
    let unknown = vec![
        tool_runtime::ToolCall::new("nope", "{}"),
        tool_runtime::ToolCall::new("gives", r#"{"secret":"s3cr3t"}"#),
    ];
    for outcome in crate::run(executor.run(unknown)) {
        let result = outcome.result().unwrap();
        assert_eq!(result.content()[0], Content::text("Use another tool."));
        assert_eq!(result.content().len(), 2);
        assert!(result.is_error());
    }
    // A text that is set later is read, too: later hooks see the content for the model.
    let mut result = ToolResult::new("0".into(), "gives", Err(ToolError::new(ErrorKind::TimedOut, "5s")));
    result.set_content(vec![Content::text("too slow")]);
    let error = result.outcome.unwrap_err();
    assert_eq!((error.feedback(), &*error.reason()), ("too slow".to_owned(), "too slow"));
    assert_eq!(error.to_string(), "tool timed out: 5s");
    assert_eq!(error.with_message("slow").feedback(), "slow");
}

// H06
#[test]
fn content_set_by_a_hook_is_still_guarded() {
    /// Fetches.
    #[tool(register = false, trust = "web")]
    fn fetches(fails: bool) -> Result<&'static str, ToolError> {
        if fails { Err(ToolError::new(ErrorKind::TimedOut, "5s")) } else { Ok("page") }
    }
    let executor = building(Registry::builder().tool::<fetches>())
        .hook(On::after(|result| {
            result.set_content(vec![Content::text("a\u{202e}b")]);
            Ok(ControlFlow::Continue(()))
        }))
        .hook(Sanitizer);
    let executor: Executor = executor.build().unwrap();
    for fails in [false, true] {
        let call = tool_runtime::ToolCall::new("fetches", json!({ "fails": fails }));
        let told = texts(&crate::run(executor.run(vec![call]))).concat();
        assert!(!told.contains('\u{202e}') && told.contains("trust=\"web\""), "{told}");
    }
}

// E09, H06
#[test]
fn a_stop_is_not_overridden() {
    /// Stops.
    #[tool(register = false)]
    fn stops() -> Result<(), ToolError> {
        Err(ToolError::stop("enough"))
    }
    each_way(async |way| {
        let hook = On::after(|result| {
            result.set_is_error(false);
            result.set_content(vec![Content::text("go on")]);
            Ok(ControlFlow::Continue(()))
        });
        let executor = way.of(building(Registry::builder().tool::<stops>()).hook(hook));
        let outcomes = executor.drive(executor.batch(calls(&["stops"]))).await;
        assert_eq!(texts(&outcomes), ["Stopped: enough"]);
        assert!(stop_error(&outcomes).is_some());
    });
}

// H06, D16
#[test]
fn overrides_round_trip_through_json() {
    let timed_out = ToolError::new(ErrorKind::TimedOut, "5s").of_tool("gives");
    for outcome in [Err(timed_out), Ok("21 degrees".into())] {
        let mut result = ToolResult::new("0".into(), "gives", outcome);
        let messages =
            [ResultMessage::answer("0", [Content::text("a")]), ResultMessage::user([Content::text("b")])];
        assert!(result.replace_by(messages));
        let stored = tool_runtime::serde_json::to_string(&result).unwrap();
        let read: ToolResult = tool_runtime::serde_json::from_str(&stored).unwrap();
        assert_eq!((&*read.text(), read.follow_ups()), ("a", result.follow_ups()));
        assert_eq!(tool_runtime::serde_json::to_string(&read).unwrap(), stored);
    }
}

// D15
#[test]
fn a_result_has_a_status_and_a_code() {
    /// Takes too long.
    #[tool(register = false, timeout = "1s")]
    async fn hangs() {
        std::future::pending::<()>().await;
    }
    /// Returns an error.
    #[tool(register = false)]
    fn tells() -> ToolOutput {
        ToolOutput::from("HTTP 503").as_failure()
    }
    let stop = CancellationToken::new();
    super::ways::each_way_paused(async |way| {
        let executor = way.executor(tools().tool::<hangs>().tool::<tells>());
        let outcomes =
            executor.drive(executor.batch(calls(&["gives", "fails", "hangs", "tells", "nope"]))).await;
        let words: Vec<_> = outcomes
            .iter()
            .filter_map(|it| it.result())
            .map(|it| (it.status(), it.code(), it.is_error()))
            .collect();
        let failed = |code| (ResultStatus::Failed, Some(code), true);
        let expected = [
            (ResultStatus::Success, None, false),
            failed("not_found"),
            (ResultStatus::Timeout, Some("timed_out"), true),
            failed("result"),
            failed("unknown_tool"),
        ];
        assert_eq!(words, expected);
        stop.cancel();
        let run = RunContext::new().with_cancellation(stop.clone());
        let outcomes = executor.drive(executor.batch(calls(&["gives"])).with_run(run)).await;
        let result = outcomes[0].result().unwrap();
        assert_eq!((result.status(), result.code()), (ResultStatus::Cancelled, Some("cancelled")));
    });
}

// D16
#[test]
fn messages_of_a_hook_replace_a_result_if_one_answers_the_call() {
    fn answer(id: &str) -> ResultMessage {
        ResultMessage::answer(id, [Content::text("see below")])
    }
    fn picture() -> ResultMessage {
        ResultMessage::user([Content::text("the sky"), Content::image(*b"png", "image/png")])
    }
    type Messages = fn() -> Vec<ResultMessage>;
    let table: [(Messages, &str, usize); 5] = [
        (|| vec![answer("0"), picture(), picture()], "see below", 2),
        (|| vec![picture(), answer("0"), answer("0")], "see below\nsee below", 1),
        (|| vec![picture()], "21 degrees", 0),
        (|| vec![answer("0"), answer("1"), picture()], "21 degrees", 0),
        (Vec::new, "21 degrees", 0),
    ];
    for (messages, text, follow_ups) in table {
        each_way(async |way| {
            let hook = On::after(move |result| {
                assert_eq!(result.replace_by(messages()), follow_ups > 0);
                Ok(ControlFlow::Continue(()))
            });
            let executor = way.of(building(tools()).hook(hook));
            let outcomes = executor.drive(executor.batch(calls(&["gives"]))).await;
            let result = outcomes[0].result().unwrap();
            assert_eq!((&*result.text(), result.follow_ups().len()), (text, follow_ups));
            assert_eq!(result.details(), Some(&json!({ "cached": true })));
        });
    }
}

// H06: a result keeps the id of its call.
#[test]
fn a_hook_cannot_change_the_call_id_of_a_result() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<super::echo>().provide(super::Counter::default());
        let other = |_, _| async { Ok(ToolResult::new("other".into(), "else", Ok("x".into()))) };
        let executor = way.of(super::building(tools).after(other));
        let outcomes = executor.run(super::one("echo", r#"{"text":"a"}"#)).await;
        let result = outcomes[0].result().unwrap();
        assert_eq!((result.id.to_string().as_str(), &*result.name, &*result.text()), ("0", "echo", "x"));
    });
}
