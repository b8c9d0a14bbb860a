//! Workers and callers whose tools or settings differ.

use std::{sync::Arc, time::Duration};

use serde_json::Map;
use tool_fleet::MemoryTransport;
use tool_runtime::{
    Executor,
    hook::{Before, BeforeCall, Hook},
    prelude::*,
};

use super::{Ran, connect, double, may_stay, run_one, serve, stay, stay_in};

/// Coerced by the caller alone.
#[tokio::test(start_paused = true)]
async fn arguments_that_only_the_caller_coerces_are_prepared_again() {
    let transport = MemoryTransport::new();
    let ran = Arc::new(Ran::default());
    let tools = Registry::builder().tool::<stay>().provide_shared(Arc::clone(&ran)).strict(true).build();
    let worker = serve(&transport, "trip", Executor::new(tools.unwrap()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let result = run_one(&executor, "trip__stay", json!({ "city": "oslo", "days": "2" })).await;
    assert_eq!(result.text(), "2 days in OSLO");
    let result = run_one(&executor, "trip__stay", json!({ "city": "oslo", "days": "0" })).await;
    assert_eq!(result.text(), "Denied: not at all");
    worker.abort();
}

mod second_version {
    use super::{Map, Ran, may_stay, stay_in};
    use tool_runtime::prelude::*;

    fn in_small_letters(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
        if let Some(Value::String(city)) = arguments.get_mut("city") {
            *city = city.to_lowercase();
        }
        Ok(())
    }

    /// Stays somewhere.
    #[tool(register = false, prepare = in_small_letters, permission = may_stay)]
    pub(super) fn stay(city: String, days: u32, ran: &Ran) -> String {
        stay_in(&city, days, ran)
    }
}

/// Remembers the arguments that were judged.
struct Judges(Arc<Ran>);

impl Hook for Judges {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        let value = call.arguments().to_value()?;
        let text = format!("{} days in {}", value["days"], value["city"].as_str().unwrap_or_default());
        self.0.0.lock().unwrap().push(text);
        Ok(Before::Continue)
    }
}

/// Both versions have one definition, and prepare arguments differently.
#[tokio::test(start_paused = true)]
async fn of_two_versions_side_by_side_one_runs_what_was_judged() {
    let transport = MemoryTransport::new();
    let (ran, judged) = <(Arc<Ran>, Arc<Ran>)>::default();
    let first = Registry::builder().tool::<stay>().provide_shared(Arc::clone(&ran)).build().unwrap();
    let second = Registry::builder().tool::<second_version::stay>().tool::<double>();
    let second = second.provide_shared(Arc::clone(&ran)).build().unwrap();
    let workers =
        [serve(&transport, "trip", Executor::new(first)), serve(&transport, "trip", Executor::new(second))];
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let executor =
        Executor::builder(executor.tools().clone()).hook(Judges(Arc::clone(&judged))).build().unwrap();
    for days in 1..8 {
        for _ in 0..4 {
            let result = run_one(&executor, "trip__stay", json!({ "city": "Oslo", "days": days })).await;
            assert!(!result.is_error(), "{}", result.text());
        }
    }
    assert_eq!(ran.list(), judged.list());
    let (capital, small) = (|it: &String| it.ends_with("OSLO"), |it: &String| it.ends_with("oslo"));
    assert!(ran.list().iter().any(capital) && ran.list().iter().any(small), "{:?}", ran.list());
    workers.iter().for_each(tokio::task::JoinHandle::abort);
}
