//! Additions of workers to the requests of an agent, over which a pool has no power.

use tokio::time::Instant;
use tool_fleet::MemoryTransport;
use tool_runtime::{Executor, prelude::*, request::ModelRequest};

use super::{StepPool, additions, advice, connect, serve};

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_is_sent_with_a_notice() {
    let pool = StepPool::start(None).await;
    let begin = Instant::now();
    let added = additions(pool.executor.tools()).await;
    assert_eq!(begin.elapsed().as_secs(), 2, "one question for all tools");
    assert!(added.instructions.is_empty());
    let [notice] = &added.notices[..] else { panic!("{:?}", added.notices) };
    assert!(
        notice.contains("`trip` add nothing to this request") && notice.contains("within 2s"),
        "{notice}"
    );
}

async fn refuse(_: ModelRequest) -> Result<(), ToolError> {
    Err(ToolError::failed("no requests today"))
}

/// Refuses all requests.
#[tool(read_only, register = false, on_request = refuse)]
fn refusing() {}

async fn say_much(request: ModelRequest) {
    request.instruct("x".repeat(20_000));
}

/// Says much.
#[tool(read_only, register = false, on_request = say_much)]
fn verbose() {}

async fn say_often(request: ModelRequest) {
    (0..17).for_each(|_| request.add_text("again"));
}

/// Says the same often.
#[tool(read_only, register = false, on_request = say_often)]
fn repetitive() {}

/// A pool has no power over the requests of an agent.
#[tokio::test(start_paused = true)]
async fn tools_that_refuse_a_request_or_add_more_than_their_bound_add_nothing() {
    let transport = MemoryTransport::new();
    let tools =
        Registry::builder().tool::<refusing>().tool::<verbose>().tool::<repetitive>().tool::<advice>();
    let worker = serve(&transport, "trip", Executor::new(tools.build().unwrap()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let added = additions(executor.tools()).await;
    assert_eq!(
        (added.instructions.as_slice(), added.messages.len()),
        (["Stay at home.".to_owned()].as_slice(), 0)
    );
    let notices = added.notices.join("\n");
    for part in [
        "`trip__refusing` of another process adds nothing",
        "no requests today",
        "1 texts with 20000 bytes",
        "17 texts",
    ] {
        assert!(notices.contains(part), "{notices}");
    }
    worker.abort();
}

/// The tools of a pool add more together than one of them may.
#[tokio::test(start_paused = true)]
async fn what_a_pool_adds_to_a_request_has_a_bound() {
    let transport = MemoryTransport::new();
    let tools = (0..6).fold(Registry::builder(), |tools, number| {
        let tool = ToolBuilder::new(format!("talker_{number}")).description("Talks.");
        let tool = tool.expect_handler(|_: Nothing, _| async { Ok::<_, ToolError>("") });
        tools.add(tool.with_on_request(move |request| async move {
            request.instruct(format!("{number}").repeat(15_000));
            Ok(())
        }))
    });
    let worker = serve(&transport, "trip", Executor::new(tools.build().unwrap()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let added = additions(executor.tools()).await;
    assert_eq!((added.instructions.len(), added.notices.len()), (4, 2));
    assert!(added.notices[0].contains("its pool adds more than 65536 bytes"), "{:?}", added.notices);
    worker.abort();
}

#[tool_args]
struct Nothing {}

/// Members of a request are beyond the power of a pool.
#[tokio::test(start_paused = true)]
async fn a_worker_adds_instructions_to_a_request_and_sets_no_member() {
    let pool = StepPool::honest().await;
    let added = additions(pool.executor.tools()).await;
    assert_eq!(added.instructions, ["Stay at home."; 2]);
    assert!(added.members.is_empty());
    assert_eq!(added.notices.len(), 2);
    assert!(added.notices[0].contains("`trip__advice`") && added.notices[0].contains("`temperature`"));
}
