//! Commands in the background.

use std::sync::Arc;

use tool_builtins::Sandbox;
use tool_runtime::{policy::ResultStore, prelude::*};

use super::{World, assert_processes, details, modes};

// R15
#[tokio::test]
async fn a_task_is_polled_awaited_and_stopped_and_only_once() {
    for mode in modes() {
        let world = World::new(mode);
        let escape = if mode.is_off() { "" } else { "setsid " };
        let command = format!("echo one; {escape}sleep 1000 & sleep 1000");
        let command = json!({ "command": command, "run_in_background": true });
        let started = world.call("bash", command).await.unwrap();
        let id = details(&started)["task_id"].clone();
        let polled = world.call("task_output", json!({ "task_id": id })).await.unwrap();
        assert_eq!(details(&polled)["status"], "not_ready");
        let awaited = json!({ "shell_id": id, "wait": true, "timeout_ms": 50 });
        assert_eq!(details(&world.call("task_output", awaited).await.unwrap())["status"], "timeout");
        let stopped = world.call("task_stop", json!({ "task_id": id })).await.unwrap();
        assert_eq!(details(&stopped)["status"], "stopped");
        world.assert_nothing_is_left();
        let error = world.call("task_stop", json!({ "task_id": id })).await.unwrap_err();
        assert!(error.to_string().contains("only a running task can be stopped"), "{error}");
        let unknown = world.call("task_output", json!({ "task_id": "task_9" })).await.unwrap_err();
        assert!(unknown.to_string().contains("the known tasks: task_1"), "{unknown}");
    }
}

// R15
#[tokio::test]
async fn a_task_that_ended_has_its_output_and_exit_code() {
    for mode in modes() {
        let world = World::new(mode);
        let command = json!({ "command": "echo one; exit 4", "run_in_background": true });
        let id = details(&world.call("bash", command).await.unwrap())["task_id"].clone();
        let ended = world.call("task_output", json!({ "task_id": id, "wait": true })).await.unwrap();
        assert_eq!(details(&ended)["status"], "success");
        assert_eq!(details(&ended)["exit_code"], 4);
        assert!(ended.text().starts_with("one\n"), "{}", ended.text());
    }
}

// R15
#[tokio::test]
async fn the_output_of_a_task_is_stored_once_and_not_by_each_look() {
    let store = Arc::new(ResultStore::new(64 << 20));
    let world = World::with(|shell| shell.sandbox(Sandbox::Off).results(Arc::clone(&store)));
    let command = json!({ "command": "head -c 400000 /dev/zero | tr '\\0' x", "run_in_background": true });
    let id = details(&world.call("bash", command).await.unwrap())["task_id"].clone();
    let look = async || {
        let output = world.call("task_output", json!({ "task_id": id, "wait": true })).await.unwrap();
        output.text().lines().find(|line| line.contains("read_result")).unwrap().to_owned()
    };
    let first = look().await;
    assert_eq!((look().await, look().await), (first.clone(), first));
}

// R13
#[tokio::test]
async fn tasks_end_when_their_tools_are_closed_or_dropped() {
    for mode in modes() {
        let world = World::new(mode);
        let command = json!({ "command": "sleep 1000 & sleep 1000", "run_in_background": true });
        world.call("bash", command.clone()).await.unwrap();
        assert_processes(&world.marker, |count| count > 2);
        world.shell.close().await;
        world.assert_nothing_is_left();

        world.call("bash", command).await.unwrap();
        assert_processes(&world.marker, |count| count > 2);
        let marker = world.marker.clone();
        drop(world);
        // The runtime drops the task.
        let gone = tokio::task::spawn_blocking(move || assert_processes(&marker, |count| count == 0));
        gone.await.unwrap();
    }
}

// R15
#[tokio::test]
async fn a_seventeenth_running_task_is_refused() {
    let world = World::new(Sandbox::Off);
    let command = json!({ "command": "sleep 1000", "run_in_background": true });
    for _ in 0..16 {
        world.call("bash", command.clone()).await.unwrap();
    }
    let error = world.call("bash", command).await.unwrap_err();
    assert!(error.to_string().contains("16 tasks run already"), "{error}");
    world.shell.close().await;
    world.assert_nothing_is_left();
}

#[tokio::test]
async fn a_task_is_known_to_its_user_and_session_alone() {
    let world = World::new(Sandbox::Off);
    let tools = Registry::builder().toolset(world.shell.clone()).build().unwrap();
    let person = |_: &tool_runtime::policy::ApprovalRequest| tool_runtime::policy::Approval::Approved;
    let executor = tool_runtime::Executor::builder(tools).approver(person).build().unwrap();
    let call = async |user: &str, session: &str, tool: &'static str, arguments: Value| {
        let run = tool_runtime::RunContext::new().with_user(user).with_session(session);
        let outcomes =
            executor.batch(vec![tool_runtime::ToolCall::new(tool, arguments)]).with_run(run).run().await;
        outcomes[0].result().unwrap().text().into_owned()
    };
    let command = json!({ "command": "sleep 1000", "run_in_background": true });
    assert!(call("u-7", "s", "bash", command).await.contains("task_1"));
    let id = json!({ "task_id": "task_1" });
    for (user, session) in [("u-8", "s"), ("u-7", "t")] {
        for tool in ["task_output", "task_stop"] {
            let text = call(user, session, tool, id.clone()).await;
            assert!(text.contains("there is no task `task_1`; the known tasks: none"), "{text}");
        }
    }
    assert!(call("u-7", "s", "task_output", id).await.contains("task_1 is still running"));
    world.shell.close().await;
    world.assert_nothing_is_left();
}

// R15
#[tokio::test]
async fn each_answer_about_a_task_has_its_text_and_details() {
    let world = World::new(Sandbox::Off);
    let command = json!({ "command": "echo one; sleep 1000", "run_in_background": true });
    let started = world.call("bash", command).await.unwrap();
    assert_eq!(started.text(), "task_1 runs; read it by `task_output`, end it by `task_stop`");
    assert_eq!(
        (&details(&started)["task_id"], &details(&started)["status"]),
        (&json!("task_1"), &json!("not_ready"))
    );
    assert_eq!(details(&started)["enforced"]["missing"], json!(["sandbox: it is off"]));
    let read = async |arguments: Value| world.call("task_output", arguments).await.unwrap();
    let mut polled = read(json!({ "task_id": "task_1" })).await;
    while !polled.text().contains("one") {
        tokio::task::yield_now().await;
        polled = read(json!({ "task_id": "task_1" })).await;
    }
    assert_eq!(polled.text(), "[not_ready: task_1 is still running]\none\n");
    assert_eq!(details(&polled), &json!({ "task_id": "task_1", "status": "not_ready" }));
    let awaited = read(json!({ "task_id": "task_1", "wait": true, "timeout_ms": 1 })).await;
    assert_eq!(awaited.text(), "[timeout: task_1 is still running]\none\n");
    assert_eq!(details(&awaited), &json!({ "task_id": "task_1", "status": "timeout" }));
    let stopped = world.call("task_stop", json!({ "task_id": "task_1" })).await.unwrap();
    assert_eq!(stopped.text(), "[task_1 is stopped]\none\n");
    let expected = json!({ "task_id": "task_1", "status": "stopped", "exit_code": 137 });
    assert_eq!(details(&stopped), &expected);
    let again = world.call("task_stop", json!({ "task_id": "task_1" })).await.unwrap_err();
    let message = "the task task_1 has ended with exit code 137; only a running task can be stopped";
    assert_eq!((again.kind(), &*again.reason()), (ErrorKind::Conflict, message));
    let ended = read(json!({ "task_id": "task_1" })).await;
    assert_eq!(ended.text(), "one\n[stopped]");
    let mut expected = details(&ended).clone();
    for (name, value) in [
        ("task_id", json!("task_1")),
        ("status", json!("success")),
        ("exit_code", json!(137)),
        ("success", json!(false)),
        ("stdout_bytes", json!(4)),
    ] {
        expected[name] = value;
    }
    assert_eq!(details(&ended), &expected);
    let command =
        json!({ "command": "echo two >&2; sleep 1000", "run_in_background": true, "timeout_ms": 50 });
    world.call("bash", command).await.unwrap();
    let ended = read(json!({ "task_id": "task_2", "wait": true })).await;
    assert_eq!((&details(&ended)["exit_code"], &details(&ended)["timed_out"]), (&json!(124), &json!(true)));
    world.assert_nothing_is_left();
}

// R15
#[tokio::test]
async fn the_last_64_tasks_are_known_and_those_that_run() {
    let world = World::new(Sandbox::Off);
    let start = async |command: &str| {
        let command = json!({ "command": command, "run_in_background": true });
        details(&world.call("bash", command).await.unwrap())["task_id"].clone()
    };
    start("sleep 1000").await;
    for _ in 0..65 {
        let id = start("true").await;
        world.call("task_output", json!({ "task_id": id, "wait": true })).await.unwrap();
    }
    let error = world.call("task_output", json!({ "task_id": "task_2" })).await.unwrap_err();
    let known: Vec<_> = [1].into_iter().chain(4..=66).map(|number| format!("task_{number}")).collect();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.reason(), format!("there is no task `task_2`; the known tasks: {}", known.join(", ")));
    world.shell.close().await;
    world.assert_nothing_is_left();
}
