#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use serde_json::{Map, json};
use tool_runtime::{Registry, tool};

use super::{
    super::{RunUsage, open_below::OpenQuestion},
    *,
};

/// Removes a file.
#[tool(register = false, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

/// Reads a file.
#[tool(register = false, read_only)]
fn read(path: String) -> String {
    path
}

fn call(tool: &'static str, id: &'static str) -> ToolCall {
    ToolCall::new(tool, json!({ "path": id })).with_id(id)
}

fn executor() -> Executor {
    let tools = Registry::builder().tool::<remove>().tool::<read>().build().unwrap();
    Executor::builder(tools).build().unwrap()
}

/// A batch whose second and third call wait for an approval.
async fn batch() -> OpenBatch {
    let executor = executor();
    let outcomes = executor.run(vec![call("read", "a"), call("remove", "b"), call("remove", "c")]).await;
    OpenBatch::new(executor, outcomes, Vec::new())
}

/// A batch in which the last call waits for a question of a run below.
async fn batch_with_question_below() -> OpenBatch {
    let mut batch = batch().await;
    let question = self::batch().await.outcomes.remove(1);
    let view = "b.1".into();
    let above = batch.outcomes[2].address().unwrap().clone();
    batch.below = vec![OpenChildRun {
        call: above,
        agent: "scout".into(),
        view,
        questions: vec![OpenQuestion {
            outcome: question,
            confirmation: Some(call("confirm", "q")),
            path: Vec::new(),
        }],
        texts: Vec::new(),
        initial_state: Map::new(),
        state: Map::new(),
        usage: RunUsage::default(),
    }];
    batch
}

fn id(id: &str) -> CallRef {
    CallRef::Id(id.to_owned().into())
}

fn address(outcome: &CallOutcome) -> CallRef {
    CallRef::Address(outcome.address().unwrap().clone())
}

fn question(outcome: &CallOutcome) -> CallRef {
    let request = approval_request(outcome).unwrap();
    CallRef::Question(request.address.clone(), request.hash)
}

#[tokio::test]
async fn an_open_call_is_found_by_its_id_its_address_and_its_question() {
    let batch = batch().await;
    let [_, b, c] = &batch.outcomes[..] else { panic!("three calls") };
    for (outcome, index) in [(b, 1), (c, 2)] {
        let target = Ok(Some(OpenTarget::Call(index)));
        for named in [id(&outcome.id().to_string()), address(outcome), question(outcome)] {
            assert_eq!(batch.find_open_call(&named), target, "{named:?}");
            assert!(!batch.has_result_of(&named) && !batch.waits_for_calls_below(&named));
        }
        assert_eq!(batch.index_of_open_call(outcome.address().unwrap()), Some(index));
        assert_eq!(batch.outcome(OpenTarget::Call(index)).map(CallOutcome::id), Some(outcome.id()));
    }
    // The address of one call with the question of the other.
    let [CallRef::Question(of_b, _), CallRef::Question(_, hash)] = [question(b), question(c)] else {
        panic!("two")
    };
    let mixed = CallRef::Question(of_b, hash);
    assert_eq!(batch.open_targets(&mixed), []);
    assert_eq!(batch.find_open_call(&id("a")), Ok(None));
    assert!(batch.has_result_of(&id("a")));
    let unknown = "no call `x` waits for an answer; use an id or address of `End::open`".to_owned();
    assert_eq!(batch.find_open_call(&id("x")), Err(unknown));
    assert!(batch.outcome(OpenTarget::Call(3)).is_none());
}

#[tokio::test]
async fn calls_with_one_id_are_named_by_their_addresses() {
    let executor = executor();
    let outcomes = executor.run(vec![call("remove", "b"), call("remove", "b")]).await;
    let batch = OpenBatch::new(executor, outcomes, Vec::new());
    let problem = "several open calls have the id `b`; use the address of one".to_owned();
    assert_eq!(batch.find_open_call(&id("b")), Err(problem));
    for (index, outcome) in batch.outcomes.iter().enumerate() {
        assert_eq!(batch.find_open_call(&address(outcome)), Ok(Some(OpenTarget::Call(index))));
    }
}

#[tokio::test]
async fn a_question_below_is_open_in_place_of_the_call_above() {
    let batch = batch_with_question_below().await;
    let below = &batch.below[0].questions[0].outcome;
    let target = OpenTarget::Below { below: 0, question: 0 };
    for named in [address(below), question(below)] {
        assert_eq!(batch.find_open_call(&named), Ok(Some(target)));
    }
    assert_eq!(batch.outcome(target).map(CallOutcome::address), Some(below.address()));
    assert!(batch.outcome(OpenTarget::Below { below: 0, question: 1 }).is_none());
    // The own call and the question have one id.
    assert_eq!(batch.open_targets(&id("b")), [OpenTarget::Call(1), target]);
    let above = &batch.outcomes[2];
    for named in [id("c"), address(above), question(above)] {
        let problem = format!(
            "the call `{named}` waits for the answers of calls below it; answer those of `End::open`"
        );
        assert_eq!(batch.find_open_call(&named), Err(problem));
    }
    let end = batch.unfinished_calls().unwrap().into_end(EndReason::OpenCalls);
    let addresses =
        |outcomes: &[CallOutcome]| outcomes.iter().map(|it| it.address().cloned()).collect::<Vec<_>>();
    assert_eq!(addresses(&end.open), [batch.outcomes[1].address().cloned(), below.address().cloned()]);
    let confirmations: Vec<_> = end.confirmations.iter().map(|call| call.id.to_string()).collect();
    assert_eq!((confirmations.len(), &*confirmations[1]), (2, "q"));
    let lengths: Vec<_> = end.paths.iter().map(Vec::len).collect();
    assert_eq!(lengths, [0, 1]);
    assert_eq!((&end.paths[1][0].call, &*end.paths[1][0].agent), (above.address().unwrap(), "scout"));
}

#[tokio::test]
async fn calls_without_questions_below_have_no_paths() {
    let mut batch = batch().await;
    let calls = batch.unfinished_calls().unwrap();
    assert_eq!(calls.calls().len(), 2);
    let end = calls.into_end(EndReason::OpenCalls);
    assert_eq!((end.open.len(), end.confirmations.len(), end.paths.len()), (2, 2, 0));
    for index in [1, 2] {
        batch.set_result(index, unexecuted_result(&call("remove", "x"), "no"));
    }
    batch.set_result(3, unexecuted_result(&call("remove", "x"), "no"));
    assert!(batch.unfinished_calls().is_none() && batch.outcomes.len() == 3);
}

#[tokio::test]
async fn a_discarded_batch_keeps_the_calls_that_another_one_has() {
    let is_open = async |batch: &OpenBatch, index: usize| {
        batch.executor.open_arguments(batch.outcomes[index].address().unwrap()).await.is_ok()
    };
    let batch = batch().await;
    let mut other = OpenBatch::new(batch.executor.clone(), batch.outcomes.clone(), Vec::new());
    other.set_result(2, unexecuted_result(&call("remove", "c"), "no"));
    batch.discard_except(Some(&other)).await;
    assert_eq!((is_open(&batch, 1).await, is_open(&batch, 2).await), (true, false));
    batch.discard().await;
    assert!(!is_open(&batch, 1).await);
}

#[tokio::test]
async fn a_call_whose_tool_has_changed_is_not_restored() {
    /// Removes a file for ever.
    #[tool(name = "remove", register = false, confirm)]
    fn remove_for_ever(path: String) -> String {
        path
    }
    let texts = |batch: &OpenBatch| {
        batch.outcomes.iter().map(|it| it.result().map(|it| it.text().into_owned())).collect::<Vec<_>>()
    };
    let of = |tools: Registry| Executor::builder(tools).build().unwrap();
    let changed = of(Registry::builder().tool::<remove_for_ever>().tool::<read>().build().unwrap());
    let removed = of(Registry::builder().tool::<read>().build().unwrap());
    for (executor, change) in [(changed, "has changed"), (removed, "was removed")] {
        let batch = batch_with_question_below().await;
        let restored = OpenBatch::restored_failing_changed_tools(batch.stored_body(), executor).await;
        let reason = format!("the tool {change} since the call was made; the call was not executed");
        let texts = texts(&restored);
        assert_eq!(texts[0].as_deref(), Some("a"));
        assert!(texts[1..].iter().all(|text| text.as_ref().unwrap().contains(&reason)), "{texts:?}");
        assert!(restored.below.is_empty() && restored.unfinished_calls().is_none());
    }
    let batch = batch_with_question_below().await;
    let executor = batch.executor.clone();
    let restored = OpenBatch::restored_failing_changed_tools(batch.stored_body(), executor).await;
    assert_eq!((restored.below.len(), texts(&restored)), (1, texts(&batch)));
}
