//! Results of calls.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tool_runtime::{ErrorKind, prelude::*};

use crate::{call, feedback, run, text};

/// Counts its runs.
#[tool(register = false)]
fn counted(runs: &Arc<AtomicU32>, days: u8, city: String) -> String {
    runs.fetch_add(1, Ordering::Relaxed);
    format!("{city} {days}")
}

/// Gets the weather.
#[tool(register = false)]
fn get_weather() {}

/// Gets the water.
#[tool(register = false)]
fn get_water() {}

/// Panics.
#[tool(register = false)]
async fn explode(how: String) -> String {
    tokio::task::yield_now().await;
    assert!(how != "literally", "boom");
    panic!("boom of {how}")
}

// E04
#[test]
fn an_unknown_tool_is_an_error_with_similar_names() {
    let tools = || Registry::builder().tool::<get_weather>().tool::<get_water>().tool::<explode>();
    let error = call(tools(), "get_wether", "{}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownTool);
    assert_eq!(error.feedback(), "Tool not found: get_wether\nDid you mean `get_weather` or `get_water`?");
    assert_eq!(feedback(tools(), "weather", "{}"), "Tool not found: weather\nDid you mean `get_weather`?");
    assert_eq!(feedback(tools(), "zzz", "{}"), "Tool not found: zzz");
    assert_eq!(feedback(tools(), " zz\n\n z  z ", "{}"), "Tool not found: zz z z");
    // Cut at 160 characters, counted without the blanks that were removed.
    let long = "é  b\n".repeat(200);
    assert_eq!(feedback(tools(), &long, "{}"), format!("Tool not found: {}", "é b ".repeat(40).trim_end()));
    let whole = "é".repeat(160);
    assert_eq!(feedback(tools(), &whole, "{}"), format!("Tool not found: {whole}"));
    assert_eq!(feedback(tools(), &format!("{whole}é"), "{}"), format!("Tool not found: {whole}"));
}

// E08
#[test]
fn looking_up_an_unknown_tool_is_an_error() {
    let tools = Registry::builder().tool::<get_weather>().build().unwrap();
    let Err(error) = tools.lookup("get_wether") else { panic!("there is no such tool") };
    assert!(error.kind().is_not_found());
    assert_eq!(error.suggestions(), [tools.lookup("get_weather").unwrap().definition().name().clone()]);
    assert_eq!(tools.lookup("get_weather").unwrap().definition().name().as_str(), "get_weather");
}

// E03, E05
#[test]
fn invalid_arguments_never_reach_the_function_and_every_field_is_reported() {
    let runs = Arc::new(AtomicU32::new(0));
    let tools = Registry::builder().tool::<counted>().provide(Arc::clone(&runs)).build().unwrap();
    let error = run(tools.call("counted", r#"{"days":300,"town":"Paris"}"#)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert_eq!(error.tool(), Some("counted"));
    let places: Vec<_> = error.violations().iter().map(|it| it.pointer.as_str()).collect();
    assert_eq!(places.len(), 3, "{places:?}");
    for place in ["/days", "/town", "/city"] {
        assert!(places.contains(&place), "{places:?}");
    }
    let feedback = error.feedback();
    assert!(feedback.contains("/days: expected at most 255, got 300"), "{feedback}");
    assert!(feedback.contains(r#"Received: {"days":300,"town":"Paris"}"#), "{feedback}");
    assert!(feedback.ends_with("Nothing was executed."), "{feedback}");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert_eq!(run(tools.call("counted", r#"{"days":3,"city":"Paris"}"#)).unwrap().text(), "Paris 3");
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[test]
fn invalid_json_is_refused_with_its_place() {
    let runs = Arc::new(AtomicU32::new(0));
    let tools = Registry::builder().tool::<counted>().provide(runs).build().unwrap();
    for (arguments, part) in [
        (r#"{"days":3,"city":"Par"#, "EOF while parsing a string at line 1 column 21"),
        (r#"{"days":3,"city":"a"} x"#, "trailing characters at line 1 column 23"),
        ("{days:3}", "key must be a string at line 1 column 2"),
    ] {
        let error = run(tools.call("counted", arguments)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        assert!(error.feedback().contains(part), "{}", error.feedback());
    }
}

#[test]
fn a_duplicate_property_is_refused() {
    /// Doubles.
    #[tool(register = false)]
    fn double(n: u8) -> u8 {
        n * 2
    }
    let refused = feedback(Registry::builder().tool::<double>(), "double", r#"{"n":1,"n":2}"#);
    assert!(refused.contains("/n"), "{refused}");
}

// An integer by the schema is an integer to the decoder.
#[test]
fn a_float_without_a_fraction_is_an_integer() {
    /// Doubles.
    #[tool(register = false)]
    fn double(n: u8) -> u8 {
        n * 2
    }
    let tools = || Registry::builder().tool::<double>();
    assert_eq!(text(tools(), "double", r#"{"n":3.0}"#), "6");
    assert_eq!(text(tools(), "double", r#"{"n":1e2}"#), "200");
    assert!(feedback(tools(), "double", r#"{"n":3.5}"#).contains("/n: expected an integer, got 3.5"));
}

#[test]
fn a_panic_is_an_error_that_names_the_tool_and_does_not_affect_other_calls() {
    let tools = Registry::builder().tool::<explode>().tool::<get_water>().build().unwrap();
    let (panicked, literal, fine) = run(async {
        let one = tools.call("explode", r#"{"how":"words"}"#);
        let other = tools.call("explode", r#"{"how":"literally"}"#);
        let fine = tools.call("get_water", "{}");
        futures_util::future::join3(one, other, fine).await
    });
    let error = panicked.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert_eq!(error.feedback(), "The tool explode panicked: boom of words");
    assert_eq!(literal.unwrap_err().feedback(), "The tool explode panicked: boom");
    assert!(fine.is_ok());
    assert!(run(tools.call("get_water", "{}")).is_ok());
}

#[test]
fn a_panic_in_a_blocking_body_or_a_decoder_is_an_error() {
    /// Panics.
    #[tool(register = false, blocking)]
    fn stuck() {
        panic!("in a thread")
    }
    struct Bomb;
    impl<'de> tool_runtime::serde::Deserialize<'de> for Bomb {
        fn deserialize<D: tool_runtime::serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("in a decoder")
        }
    }
    impl tool_runtime::schemars::JsonSchema for Bomb {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Bomb".into()
        }
        fn json_schema(_: &mut tool_runtime::schemars::SchemaGenerator) -> tool_runtime::schemars::Schema {
            tool_runtime::schemars::json_schema!({ "type": "string" })
        }
    }
    /// Takes a bomb.
    #[tool(register = false)]
    fn take(bomb: Bomb) {
        let Bomb = bomb;
    }
    assert_eq!(
        feedback(Registry::builder().tool::<stuck>(), "stuck", ""),
        "The tool stuck panicked: in a thread"
    );
    let tools = Registry::builder().tool::<stuck>().build().unwrap();
    let elsewhere = futures_util::FutureExt::now_or_never(tools.call("stuck", "")).unwrap().unwrap_err();
    assert_eq!(elsewhere.kind(), ErrorKind::Unavailable);
    let refused = feedback(Registry::builder().tool::<take>(), "take", r#"{"bomb":"x"}"#);
    assert_eq!(refused, "The tool take panicked: in a decoder");
}

#[test]
fn calls_can_be_spawned_and_registries_shared() {
    let tools = Registry::builder().tool::<get_water>().tool::<explode>().build().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let tools = tools.clone();
                tokio::spawn(async move { tools.call("get_water", String::from("{}")).await })
            })
            .collect();
        for call in calls {
            assert!(call.await.unwrap().is_ok());
        }
    });
}

#[test]
fn a_call_that_exceeds_its_timeout_is_stopped() {
    /// Never returns.
    #[tool(register = false, timeout = "5m")]
    async fn hang() {
        std::future::pending().await
    }
    let tools = Registry::builder().tool::<hang>().build().unwrap();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let error = runtime.block_on(tools.call("hang", "")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(!error.is_retryable());
    assert_eq!(error.feedback(), "Timed out: no result after 300s");
    assert_eq!(error.to_string(), "tool \"hang\" timed out: no result after 300s");
}

#[test]
fn a_timeout_without_a_timer_is_an_error() {
    /// Answers.
    #[tool(register = false, timeout = "5m")]
    fn quick() -> u8 {
        1
    }
    let tools = Registry::builder().tool::<quick>().build().unwrap();
    let without_runtime = futures_util::FutureExt::now_or_never(tools.call("quick", "")).unwrap();
    let without_time = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let without_time = without_time.block_on(tools.call("quick", ""));
    for error in [without_runtime.unwrap_err(), without_time.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(
            error.feedback(),
            "Tool unavailable: it has a `timeout`, but there is no tokio runtime with a timer; call it within \
             `#[tokio::main]`, or build the runtime with `enable_all`"
        );
    }
    assert_eq!(run(tools.call("quick", "")).unwrap().text(), "1");
}

/// A value that panics when it is dropped, with another such value as its payload.
struct Hydra(u8);

impl Drop for Hydra {
    fn drop(&mut self) {
        if self.0 > 0 {
            std::panic::panic_any(Self(self.0 - 1));
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the barrier of the library is what is tested")]
fn a_panic_payload_that_panics_on_drop_does_not_escape() {
    /// Panics.
    #[tool(register = false)]
    async fn throw() {
        std::panic::panic_any(Hydra(3));
    }
    /// Panics on another thread.
    #[tool(register = false, blocking)]
    fn throw_elsewhere() {
        std::panic::panic_any(Hydra(3));
    }
    // A payload that escaped would panic in the test harness.
    let caught = |tools, name| {
        let told = std::panic::AssertUnwindSafe(|| feedback(tools, name, ""));
        std::panic::catch_unwind(told).unwrap_or_else(|escaped| {
            std::mem::forget(escaped);
            "it escaped".to_owned()
        })
    };
    assert_eq!(caught(Registry::builder().tool::<throw>(), "throw"), "The tool throw panicked");
    let elsewhere = caught(Registry::builder().tool::<throw_elsewhere>(), "throw_elsewhere");
    assert_eq!(elsewhere, "The tool throw_elsewhere panicked");
}
