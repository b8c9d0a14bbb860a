//! Prompts that call themselves, on the stack of a thread.

use tool_agent::model::Reply;
use tool_runtime::prelude::*;

use super::{catalogue_of, model, run};

/// The stack of a thread of the runtime.
const STACK_BYTES: usize = 2 << 20;

#[test]
fn a_prompt_that_calls_itself_down_to_the_default_depth_runs_on_the_stack_of_a_thread() {
    let body = || {
        let calls = (0..16).map(|_| Reply::call("ask", json!({})));
        let model = model(calls.chain((0..16).map(|_| Reply::text("Done."))));
        let catalogue = catalogue_of(&model, &["---\nname: ask\ntools: [ask]\n---\nGo."]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let resource = runtime.block_on(catalogue.call(&run(), "ask", Vec::new()));
        assert!(resource.unwrap().is_some());
        model.requests()
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    #[expect(clippy::disallowed_methods, reason = "joined at once")]
    let requests = thread.spawn(body).unwrap().join().unwrap();
    assert_eq!(requests.len(), 32); // U29: sixteen levels, each with an answer.
    let results = requests[16].messages.iter().flat_map(|it| it.tool_results()).map(|it| it.text());
    let results: Vec<_> = results.collect();
    assert!(results[0].contains("would be on level 17, and 16 are allowed"), "{results:?}"); // U29
}
