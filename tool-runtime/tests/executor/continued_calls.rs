//! Long-running calls whose work continues, under hooks that have changed since it began.

use std::sync::{Arc, Mutex};

use tool_runtime::{
    ErrorKind,
    hook::{Before, BeforeCall, CallView, Hook},
    prelude::*,
};

use super::{
    building, calls, texts,
    ways::{Watch, each_way},
};

/// Starts work.
#[tool(register = false, long_running)]
fn begin() -> ToolOutput {
    ToolOutput::from("started").with_operation_id("job-7")
}

/// The treatment of calls by a hook.
#[derive(Clone, Copy, PartialEq)]
enum Treatment {
    Admitted,
    NotAdmitted,
    Answered,
    Stopped,
}

struct Treating(Arc<Mutex<Treatment>>);

impl Hook for Treating {
    async fn admit(&self, _: &CallView<'_>) -> bool {
        *self.0.lock().unwrap() != Treatment::NotAdmitted
    }

    async fn before(&self, _: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        Ok(match *self.0.lock().unwrap() {
            Treatment::Answered => Before::Answer("an answer".into()),
            Treatment::Stopped => return Err(ToolError::stop("enough")),
            _ => Before::Continue,
        })
    }
}

// H01
#[test]
fn work_that_has_begun_may_have_taken_effect_whatever_a_hook_does_to_its_continuation() {
    each_way(async |way| {
        for (treatment, reason, told) in [
            (Treatment::NotAdmitted, "not admitted", &[][..]),
            (Treatment::Answered, "a hook answered in its place", &["started 0", "finished 0"]),
        ] {
            let current = Arc::new(Mutex::new(Treatment::Admitted));
            let executor =
                way.of(building(Registry::builder().tool::<begin>()).hook(Treating(Arc::clone(&current))));
            let outcomes = executor.run(calls(&["begin"])).await;
            let call = outcomes[0].address().unwrap().clone();
            drop(executor.events());
            *current.lock().unwrap() = treatment;
            let outcomes = executor.continue_calls([call]).await.unwrap().run().await;
            let [text] = &texts(&outcomes)[..] else { panic!() };
            assert!(text.contains("may have taken effect") && text.contains(reason), "{text}");
            // A stream has the events of one run alone.
            if way.watch != Watch::Stream {
                executor.assert_told(told);
            }
        }
    });
}

// H01
#[test]
fn a_hook_that_stops_the_run_stops_it_at_a_continuation_too() {
    each_way(async |way| {
        let current = Arc::new(Mutex::new(Treatment::Admitted));
        let executor =
            way.of(building(Registry::builder().tool::<begin>()).hook(Treating(Arc::clone(&current))));
        let outcomes = executor.run(calls(&["begin"])).await;
        let call = outcomes[0].address().unwrap().clone();
        drop(executor.events());
        *current.lock().unwrap() = Treatment::Stopped;
        let outcomes = executor.continue_calls([call]).await.unwrap().run().await;
        let error = outcomes[0].result().unwrap().outcome.as_ref().unwrap_err();
        assert_eq!((error.kind(), error.reason().as_ref()), (ErrorKind::Stopped, "enough"));
    });
}
