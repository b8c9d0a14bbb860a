//! Hooks around calls.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use tool_runtime::{
    Content, ErrorKind, RunContext, ToolCall, ToolResult,
    executor::Finish,
    hook::{Before, BeforeCall, CallView, Hook},
    output::Actions,
    prelude::*,
    schema::Arguments,
};

use super::{
    Counter, Noting, On, Timeline, building, calls, echo, events, on_both_runtimes, one,
    strategies::{crash, fail},
    texts, told,
    ways::each_way,
};

/// Records its start and end, and sends an update.
#[tool(register = false)]
async fn work(timeline: &Timeline, cx: &ToolContext) {
    timeline.note(format!("begin {}", cx.call_id()));
    cx.update("half").await;
    timeline.note(format!("end {}", cx.call_id()));
}

// G06, H01, H02, H03, H04, H16
#[test]
fn only_bodies_overlap_and_hooks_run_around_their_events() {
    on_both_runtimes(async || {
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<work>().provide(timeline.clone());
        let executor = building(tools).hook(Noting(timeline.clone(), "")).build().unwrap();
        timeline.listen(executor.subscribe());
        executor.run(calls(&["work"; 2])).await;
        let all = timeline.all();
        let at =
            |what: &str| all.iter().position(|it| it == what).unwrap_or_else(|| panic!("{what}: {all:?}"));
        for id in 0..2 {
            let order = [
                format!("gate {id}"),
                format!("started {id}"),
                format!("before {id}"),
                format!("begin {id}"),
                format!("before half {id}"),
                format!("updated {id}"),
                format!("end {id}"),
                format!("after {id}"),
                format!("finished {id}"),
            ];
            assert!(order.is_sorted_by_key(|what| at(what)), "{all:?}");
            // H04: a hook before an event runs before it, and a hook after an event runs after it.
            assert!(at(&format!("updated {id}")) < at(&format!("after half {id}")), "{all:?}");
            // H02
            assert!(at(&format!("finished {id}")) < at(&format!("done {id}")), "{all:?}");
        }
        // All calls are prepared before any runs, and all have run before any is finished.
        assert!(at("before 1") < at("begin 0"));
        assert!(at("end 1") < at("after 0") && at("end 0") < at("after 0"));
        assert!(at("finished 0") < at("after 1"));
    });
}

// H01
#[test]
fn a_call_that_is_not_admitted_has_a_result_and_no_events() {
    let counter = Counter::default();
    let (asked, finished) = (Timeline::default(), Counter::default());
    let (asking, finishing) = (asked.clone(), finished.clone());
    let gate = On {
        finished: Some(Box::new(move |_, _| {
            finishing.count();
        })),
        ..On::admit(move |call| {
            let arguments = call.arguments_value().unwrap();
            asking.note(format!("{} {} {arguments}", call.tool(), call.id()));
            call.tool() == "other"
        })
    };
    let tools = Registry::builder().tool::<echo>().provide(counter.clone());
    let executor = building(tools).hook(gate).build().unwrap();
    let mut listener = executor.subscribe();
    let mut calls = one("echo", r#"{"text":"a"}"#);
    calls.extend(super::calls(&["unknown"]));
    let outcomes = crate::run(executor.run(calls));
    assert_eq!(texts(&outcomes), ["Denied: the call was not admitted"; 2]);
    assert!(outcomes.iter().all(|outcome| outcome.result().unwrap().is_error()));
    assert_eq!(asked.all(), [r#"echo 0 {"text":"a"}"#, "unknown 0 {}"]);
    assert_eq!((counter.get(), finished.get()), (0, 0));
    assert!(events(&mut listener).is_empty());
}

// H02
#[test]
fn finished_hooks_receive_successes_and_failures() {
    let timeline = Timeline::default();
    let noting = timeline.clone();
    let hook = On::finished(move |call, result| noting.note(format!("{} {}", call.id(), result.is_error())));
    let tools = Registry::builder().tool::<fail>().tool::<echo>().provide(Counter::default());
    let executor = building(tools).hook(hook).build().unwrap();
    let mut calls = calls(&["fail", "unknown"]);
    calls.push(ToolCall::new("echo", r#"{"text":"a"}"#).with_id("2"));
    crate::run(executor.run(calls));
    assert_eq!(timeline.all(), ["0 true", "1 true", "2 false"]);
}

// H03
#[test]
fn an_update_that_a_hook_suppresses_is_not_shown() {
    /// Sends three updates.
    #[tool(register = false)]
    async fn report(cx: &ToolContext) -> &'static str {
        for number in ["1", "2", "3"] {
            let blocks = [Content::text(number), Content::text("of 3")];
            cx.update(ToolOutput::new(blocks)).await;
        }
        "reported"
    }
    struct Second(Timeline);
    impl Hook for Second {
        async fn before_update(&self, call: &CallView<'_>, text: &str) -> bool {
            let run = call.run().and_then(RunContext::user).unwrap();
            self.0.note(format!("{} {} {} {run}", call.tool(), call.id(), call.arguments().as_str()));
            text != "2\nof 3"
        }
        async fn after_update(&self, _call: &CallView<'_>, text: &str) {
            self.0.note(text)
        }
    }
    let timeline = Timeline::default();
    let tools = Registry::builder().tool::<report>();
    let executor = building(tools).hook(Second(timeline.clone())).build().unwrap();
    let mut listener = executor.subscribe();
    let run = RunContext::new().with_user("u-7");
    let outcomes = crate::run(executor.batch(one("report", "{}")).with_run(run).run());
    assert_eq!(texts(&outcomes), ["reported"]);
    let view = "report 0 {} u-7";
    assert_eq!(timeline.all(), [view, "1\nof 3", view, view, "3\nof 3"]);
    assert_eq!(told(&mut listener), ["started 0", "updated 0", "updated 0", "finished 0"]);
}

// G06
#[test]
fn hooks_about_updates_of_two_calls_never_overlap() {
    /// A hook that checks that its calls do not overlap.
    #[derive(Default)]
    struct Alone(Arc<Mutex<(u32, u32)>>);
    impl Alone {
        async fn alone(&self) {
            {
                let mut state = self.0.lock().unwrap();
                state.0 += 1;
                state.1 = state.1.max(state.0);
            }
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            self.0.lock().unwrap().0 -= 1;
        }
    }
    impl Hook for Alone {
        async fn before_update(&self, _call: &CallView<'_>, _text: &str) -> bool {
            self.alone().await;
            true
        }
        async fn after_update(&self, _call: &CallView<'_>, _text: &str) {
            self.alone().await
        }
        async fn after(
            &self,
            _call: &CallView<'_>,
            _result: &mut ToolResult,
        ) -> Result<ControlFlow<()>, ToolError> {
            self.alone().await;
            Ok(ControlFlow::Continue(()))
        }
    }
    for finish in [Finish::InOrder, Finish::AsCompleted] {
        let most = Arc::<Mutex<(u32, u32)>>::default();
        let tools = Registry::builder().tool::<work>().provide(Timeline::default());
        let executor = building(tools).finish(finish).hook(Alone(Arc::clone(&most))).build().unwrap();
        crate::run(executor.run(calls(&["work"; 4])));
        assert_eq!(*most.lock().unwrap(), (0, 1));
    }
}

// H05
#[test]
fn a_call_that_is_blocked_has_both_events_and_the_reason() {
    for (reason, text) in [("no", "no"), ("", "The call was blocked.")] {
        let counter = Counter::default();
        let tools = Registry::builder().tool::<echo>().provide(counter.clone());
        let executor = building(tools).hook(On::before(move |_| Ok(Before::block(reason)))).build().unwrap();
        let mut listener = executor.subscribe();
        let outcomes = crate::run(executor.run(one("echo", r#"{"text":"a"}"#)));
        assert_eq!(texts(&outcomes), [text]);
        assert!(outcomes[0].result().unwrap().is_error());
        assert_eq!(counter.get(), 0);
        assert_eq!(told(&mut listener), ["started 0", "finished 0"]);
    }
}

// H05, H07
#[test]
fn hooks_see_only_valid_calls() {
    let asked = Counter::default();
    let asking = asked.clone();
    let hook = On::before(move |_| {
        asking.count();
        Ok(Before::Continue)
    });
    let tools = Registry::builder().tool::<echo>().provide(Counter::default());
    let executor = building(tools).hook(hook).build().unwrap();
    let outcomes = crate::run(executor.run(one("echo", "{}")));
    assert!(texts(&outcomes)[0].starts_with("Invalid arguments: /text: "), "{outcomes:?}");
    assert_eq!(asked.get(), 0);
}

// H06
#[test]
fn a_result_is_changed_field_by_field() {
    /// Returns details.
    #[tool(register = false)]
    fn detailed() -> ToolOutput {
        ToolOutput::from("first").with_details(json!({ "line": 3 }))
    }
    let hook = On::after(|result| {
        if let Ok(output) = &mut result.outcome {
            let details = output.details().cloned().unwrap();
            let actions = Actions { terminate: true, ..Actions::default() };
            *output = ToolOutput::from("second").with_details(details).with_actions(actions);
        }
        Ok(ControlFlow::Continue(()))
    });
    let executor = building(Registry::builder().tool::<detailed>()).hook(hook).build().unwrap();
    let outcomes = crate::run(executor.run(one("detailed", "{}")));
    let result = outcomes[0].result().unwrap();
    assert_eq!((result.text().as_ref(), result.details()), ("second", Some(&json!({ "line": 3 }))));
    assert!(tool_runtime::call::merged_actions(&outcomes).terminate);
}

// H07
#[test]
fn rewritten_arguments_reach_the_body_and_later_hooks() {
    let seen = Timeline::default();
    let noting = seen.clone();
    let tools = Registry::builder().tool::<echo>().provide(Counter::default());
    let executor = building(tools)
        .hook(On::before(|call| {
            call.rewrite(json!({ "text": "b" }));
            assert_eq!(call.arguments_value().unwrap(), json!({ "text": "b" }));
            Ok(Before::Continue)
        }))
        .hook(On::before(move |call| {
            noting.note(call.arguments().as_str());
            Ok(Before::Continue)
        }))
        .build();
    let outcomes = crate::run(executor.unwrap().run(one("echo", r#"{"text":"a"}"#)));
    assert_eq!(texts(&outcomes), ["b"]);
    assert_eq!(seen.all(), [r#"{"text":"b"}"#]);
}

// H07
#[test]
fn rewritten_arguments_are_validated() {
    let counter = Counter::default();
    let tools = Registry::builder().tool::<echo>().provide(counter.clone());
    let rewriting = |arguments: Arguments<'static>| {
        On::before(move |call| {
            call.rewrite(arguments.clone());
            Ok(Before::Continue)
        })
    };
    let executor = building(tools).hook(rewriting(json!({ "txt": 1 }).into())).build().unwrap();
    let outcomes = crate::run(executor.run(one("echo", r#"{"text":"a"}"#)));
    let result = outcomes[0].result().unwrap();
    assert_eq!(result.outcome.as_ref().unwrap_err().kind(), ErrorKind::InvalidArguments);
    assert!(result.text().contains("/txt"), "{}", result.text());
    assert_eq!(counter.get(), 0);
    // They are also coerced.
    let tools = Registry::builder().tool::<echo>().provide(counter.clone());
    let executor = building(tools).hook(rewriting(json!({ "text": 5 }).into())).build().unwrap();
    let outcomes = crate::run(executor.run(one("echo", r#"{"text":"a"}"#)));
    let result = outcomes[0].result().unwrap();
    assert_eq!(result.text(), "5");
    assert_eq!(result.corrections()[0].to_string(), r#"/text: read 5 as "5""#);
}

// H07, H08
#[test]
fn hooks_after_one_that_answers_are_not_called() {
    type Says = fn() -> Result<Before, ToolError>;
    let cases: [(Says, &str); 3] = [
        (|| Ok(Before::Answer("cached".into())), "cached"),
        (|| Ok(Before::block("no")), "no"),
        (|| Err(ToolError::failed("broken")), "broken"),
    ];
    for (says, text) in cases {
        let (counter, asked) = (Counter::default(), Counter::default());
        let asking = |counter: &Counter, says: Says| {
            let counter = counter.clone();
            On::before(move |_| {
                counter.count();
                says()
            })
        };
        let tools = Registry::builder().tool::<echo>().provide(counter.clone());
        let executor = building(tools)
            .hook(asking(&asked, || Ok(Before::Continue)))
            .hook(asking(&asked, says))
            .hook(asking(&asked, || Ok(Before::Continue)))
            .build();
        let outcomes = crate::run(executor.unwrap().run(one("echo", r#"{"text":"a"}"#)));
        assert_eq!(texts(&outcomes), [text]);
        assert_eq!((asked.get(), counter.get()), (2, 0));
    }
}

// H09, D04
#[test]
fn an_after_hook_may_replace_a_failure() {
    let hook = On::after(|result| {
        assert_eq!(result.text(), "disk full");
        result.outcome = ToolOutput::json(&json!({ "ok": true }));
        Ok(ControlFlow::Continue(()))
    });
    let executor = building(Registry::builder().tool::<fail>()).hook(hook).build().unwrap();
    let outcomes = crate::run(executor.run(calls(&["fail"])));
    assert_eq!(texts(&outcomes), [r#"{"ok":true}"#]);
    assert!(!outcomes[0].result().unwrap().is_error());
}

// H09
#[test]
fn an_after_hook_reads_the_arguments_and_the_result_of_successes_and_failures() {
    struct Reads(Timeline);
    impl Hook for Reads {
        async fn after(
            &self,
            call: &CallView<'_>,
            result: &mut ToolResult,
        ) -> Result<ControlFlow<()>, ToolError> {
            let status = if result.is_error() { "failed" } else { "succeeded" };
            let arguments = call.arguments().as_str();
            self.0.note(format!("{} {arguments} {status}: {}", call.tool(), result.text()));
            Ok(ControlFlow::Continue(()))
        }
    }
    each_way(async |way| {
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<echo>().tool::<fail>().provide(Counter::default());
        let executor = way.of(building(tools).hook(Reads(timeline.clone())));
        for (tool, arguments, note) in [
            // The canonical arguments, with which the tool ran.
            ("echo", r#" { "text" : "a" } "#, r#"echo {"text":"a"} succeeded: a"#),
            ("fail", "", "fail {} failed: disk full"),
            // Arguments that are not valid are those that were received.
            ("echo", r#"{ "text": [] }"#, r#"echo { "text": [] } failed: Invalid arguments: "#),
        ] {
            let earlier = timeline.all().len();
            executor.run(one(tool, arguments)).await;
            let notes = timeline.all();
            assert_eq!(notes.len(), earlier + 1);
            assert!(notes[earlier].starts_with(note), "{notes:?}"); // H09
        }
    });
}

// H08, H09
#[test]
fn after_hooks_run_in_order_until_one_fails_or_breaks() {
    let chain = |last: Result<ControlFlow<()>, ToolError>| {
        let adding = |word: &'static str, says: Result<ControlFlow<()>, ToolError>| {
            On::after(move |result| {
                result.outcome = Ok(format!("{} {word}", result.text()).into());
                says.clone()
            })
        };
        let go_on = Ok(ControlFlow::Continue(()));
        let executor = building(Registry::builder().tool::<fail>())
            .hook(adding("1", go_on.clone()))
            .hook(adding("2", last))
            .hook(adding("3", go_on))
            .build();
        texts(&crate::run(executor.unwrap().run(calls(&["fail"])))).concat()
    };
    assert_eq!(chain(Ok(ControlFlow::Continue(()))), "disk full 1 2 3");
    assert_eq!(chain(Ok(ControlFlow::Break(()))), "disk full 1 2");
    assert_eq!(chain(Err(ToolError::failed("lost"))), "lost");
}

// H10
#[test]
fn a_hook_recovers_from_a_failure_before_the_others_see_it() {
    let timeline = Timeline::default();
    let seen = timeline.clone();
    let recovering = On::recover(move |error| {
        seen.note(error.feedback());
        Ok(match error.kind() {
            ErrorKind::UnknownTool => Some("there is none".into()),
            ErrorKind::Failed => None,
            _ => return Err(ToolError::failed("told better")),
        })
    });
    let tools = Registry::builder().tool::<fail>().tool::<crash>();
    let executor = building(tools).hook(recovering).hook(Noting(timeline.clone(), "")).build().unwrap();
    let outcomes = crate::run(executor.run(calls(&["unknown", "fail", "crash"])));
    assert_eq!(texts(&outcomes), ["there is none", "disk full", "told better"]);
    let errors: Vec<_> = outcomes.iter().map(|outcome| outcome.result().unwrap().is_error()).collect();
    assert_eq!(errors, [false, true, true]);
    let all = timeline.all();
    let of = |id: &str| all.iter().filter(|it| it.ends_with(id)).cloned().collect::<Vec<_>>();
    assert_eq!(of(" 0"), ["gate 0", "after 0", "done 0"]);
    assert_eq!(of(" 1"), ["gate 1", "before 1", "recover 1", "after 1", "failed 1"]);
    // Hooks after the first one with an answer are not called.
    assert_eq!(of(" 2"), ["gate 2", "before 2", "after 2", "failed 2"]);
}

// H11
#[test]
fn an_option_decides_if_after_hooks_see_answers_of_hooks() {
    for (after_answers, expected) in [(false, "cached"), (true, "cached, seen")] {
        let tools = Registry::builder().tool::<echo>().provide(Counter::default());
        let executor = building(tools)
            .after_answers(after_answers)
            .hook(On::before(|_| Ok(Before::Answer("cached".into()))))
            .hook(On::after(|result| {
                result.outcome = Ok(format!("{}, seen", result.text()).into());
                Ok(ControlFlow::Continue(()))
            }))
            .build();
        let outcomes = crate::run(executor.unwrap().run(one("echo", r#"{"text":"a"}"#)));
        assert_eq!(texts(&outcomes), [expected]);
    }
}

// H13, H14
#[test]
fn a_hook_that_panics_fails_its_call_and_no_other() {
    fn boom(call: &str) {
        assert!(call != "0", "boom");
    }
    let hooks: [(&str, On, bool); 5] = [
        (
            "gate",
            On::admit(|call| {
                boom(&call.id().to_string());
                true
            }),
            false,
        ),
        (
            "before",
            On::before(|call| {
                boom(&call.id().to_string());
                Ok(Before::Continue)
            }),
            true,
        ),
        (
            "recover",
            On::recover(|error| {
                assert!(error.tool() != Some("fail"), "boom");
                Ok(None)
            }),
            true,
        ),
        (
            "after",
            On::after(|result| {
                boom(&result.id.to_string());
                Ok(ControlFlow::Continue(()))
            }),
            true,
        ),
        ("finished", On::finished(|call, _| boom(&call.id().to_string())), true),
    ];
    for (stage, hook, has_events) in hooks {
        let tools = Registry::builder().tool::<fail>().tool::<echo>().provide(Counter::default());
        let executor = building(tools).hook(hook).build().unwrap();
        let mut listener = executor.subscribe();
        let mut calls = calls(&["fail"]);
        calls.push(ToolCall::new("echo", r#"{"text":"a"}"#).with_id("1"));
        let outcomes = crate::run(executor.run(calls));
        let failed = if stage == "finished" { "disk full" } else { "a hook panicked: boom" };
        assert_eq!(texts(&outcomes), [failed, "a"], "{stage}");
        let told: Vec<_> = told(&mut listener).into_iter().filter(|event| event.ends_with('0')).collect();
        let expected: &[&str] = if has_events { &["started 0", "finished 0"] } else { &[] };
        assert_eq!(told, expected, "{stage}");
    }
}

// H13, H03
#[test]
fn an_update_about_which_a_hook_panics_is_not_shown() {
    let tools = Registry::builder().tool::<work>().provide(Timeline::default());
    let executor = building(tools).hook(On::update(|_, _| panic!("boom"))).build().unwrap();
    let mut listener = executor.subscribe();
    let outcomes = crate::run(executor.run(one("work", "{}")));
    assert_eq!(texts(&outcomes), [""]);
    assert_eq!(told(&mut listener), ["started 0", "finished 0"]);
}

// H18, H08
#[test]
fn plugins_run_before_hooks_and_their_answers_skip_hooks() {
    let timeline = Timeline::default();
    let tools = || Registry::builder().tool::<fail>();
    let executor = building(tools())
        .hook(Noting(timeline.clone(), "hook "))
        .plugin(Noting(timeline.clone(), "plugin "))
        .build();
    crate::run(executor.unwrap().run(calls(&["fail"])));
    let stages = ["gate 0", "before 0", "recover 0", "after 0", "failed 0"];
    let expected = stages.iter().flat_map(|stage| [format!("plugin {stage}"), format!("hook {stage}")]);
    assert_eq!(timeline.all(), expected.collect::<Vec<_>>());

    let timeline = Timeline::default();
    let executor = building(tools())
        .hook(Noting(timeline.clone(), ""))
        .plugin(On::after(|result| {
            result.outcome = Ok("from the plugin".into());
            Ok(ControlFlow::Break(()))
        }))
        .build();
    assert_eq!(texts(&crate::run(executor.unwrap().run(calls(&["fail"])))), ["from the plugin"]);
    assert_eq!(timeline.all(), ["gate 0", "before 0", "recover 0", "done 0"]);
}

// H16
#[test]
fn a_batch_without_hooks_equals_a_batch_with_empty_hooks() {
    struct Nothing;
    impl Hook for Nothing {}
    let transcript = |hooked: bool| {
        let tools = Registry::builder().tool::<fail>().tool::<echo>().provide(Counter::default());
        let builder = building(tools);
        let builder = if hooked { builder.hook(Nothing).plugin(Nothing) } else { builder };
        let executor = builder.build().unwrap();
        let mut listener = executor.subscribe();
        let mut calls = calls(&["fail", "unknown"]);
        calls.push(ToolCall::new("echo", r#"{"text":"a"}"#).with_id("2"));
        (texts(&crate::run(executor.run(calls))), told(&mut listener))
    };
    assert_eq!(transcript(false), transcript(true));
    assert_eq!(transcript(false).0, ["disk full", "Tool not found: unknown", "a"]);
}

// C07, C11
#[test]
fn a_hook_provides_values_to_a_call_and_its_id_stays() {
    struct Token(&'static str);
    /// Returns the provided value.
    #[tool(register = false)]
    fn whose(token: &Token, cx: &ToolContext) -> String {
        format!("{} {} {:?}", token.0, cx.call_id(), ToolContext::current_call_id())
    }
    let hook = On::before(|call: &mut BeforeCall<'_>| {
        call.provide(Token("hooked"));
        Ok(Before::Continue)
    });
    let tools = Registry::builder().tool::<whose>().provide(Token("program"));
    let executor = building(tools).hook(hook).build().unwrap();
    assert_eq!(texts(&crate::run(executor.run(one("whose", "{}")))), [r#"hooked 0 Some("0")"#]);
}

// H17
#[test]
fn a_hook_sees_the_id_and_the_run_of_unknown_tools_too() {
    let timeline = Timeline::default();
    let noting = timeline.clone();
    let hook = On::finished(move |call, _| {
        let run = call.run().and_then(RunContext::user).unwrap_or("guest");
        noting.note(format!("{} {} {run}", call.tool(), call.id()));
    });
    let executor = building(Registry::builder().tool::<fail>()).hook(hook).build().unwrap();
    let run = RunContext::new().with_user("u-7");
    crate::run(executor.batch(calls(&["unknown", "fail"])).with_run(run).run());
    assert_eq!(timeline.all(), ["unknown 0 u-7", "fail 1 u-7"]);
}

// H02, H06
#[test]
fn a_hook_sees_the_context_of_a_call_whose_tool_exists() {
    let timeline = Timeline::default();
    let noting = timeline.clone();
    let hook = On::finished(move |call, _| {
        noting.note(format!("{:?}", call.context().map(|cx| cx.call_id() == call.id())));
    });
    let tools = Registry::builder().tool::<echo>().provide(Counter::default());
    let executor = building(tools).hook(hook).build().unwrap();
    let mut calls = one("echo", r#"{"text":"a"}"#);
    calls.push(tool_runtime::ToolCall::new("unknown", "{}").with_id("1"));
    crate::run(executor.run(calls));
    assert_eq!(timeline.all(), ["Some(true)", "None"]);
}
