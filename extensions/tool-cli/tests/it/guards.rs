//! Guards of a program, which no option of the command line weakens.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tool_cli::{Cli, Exit};
use tool_runtime::{
    ErrorKind, ToolCall,
    definition::Permission,
    executor::{ExecutionStrategy, ExecutorBuilder},
    policy::{Approval, ApprovalRequest, PermissionRequest, Rule, Rules},
    prelude::*,
};

use super::{Database, look};

/// The numbers of doors that were opened, that are open, and that were open at once.
#[derive(Clone, Default)]
struct Doors(Arc<[AtomicUsize; 3]>);

#[toolset]
impl Doors {
    /// Opens a door.
    #[tool(destructive, confirm)]
    async fn open(&self, door: String) -> String {
        let [opened, open, most] = &*self.0;
        opened.fetch_add(1, Ordering::Relaxed);
        most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        open.fetch_sub(1, Ordering::Relaxed);
        door
    }

    /// Looks through a door.
    #[tool(read_only)]
    fn peek(&self, door: String) -> String {
        self.0[0].fetch_add(1, Ordering::Relaxed);
        door
    }

    /// Waits for a visitor, who does not come.
    #[tool(read_only)]
    async fn wait(&self) {
        std::future::pending().await
    }
}

/// A command line with guards, and its doors.
fn house(configure: impl FnOnce(ExecutorBuilder) -> ExecutorBuilder + 'static) -> (Cli, Doors) {
    let doors = Doors::default();
    let toolset = doors.clone();
    let cli = Cli::new().tools(move |builder| builder.toolset(toolset.clone()));
    (cli.provide_with(|builder| builder.provide(Database(3))).executor(configure), doors)
}

/// A file with a response that calls `name` for each door.
fn response(name: &str, doors: &[&str]) -> String {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let file = FILES.fetch_add(1, Ordering::Relaxed);
    let path = format!("{}/guards-{file}.json", env!("CARGO_TARGET_TMPDIR"));
    let call = |door: &&str| {
        format!(r#"{{"type": "tool_use", "id": "{door}", "name": "{name}", "input": {{"door": "{door}"}}}}"#)
    };
    let calls: Vec<_> = doors.iter().map(call).collect();
    fs::write(&path, format!(r#"{{"content": [{}]}}"#, calls.join(", "))).unwrap();
    path
}

/// Asserts the exit code of `call` and `run` with each `--approve`, in this order: ask, never, read-only, always.
#[track_caller]
fn check(name: &str, configure: fn(ExecutorBuilder) -> ExecutorBuilder, expected: [Exit; 4]) {
    let file = response(name, &["front"]);
    for (how, expected) in ["ask", "never", "read-only", "always"].into_iter().zip(expected) {
        let call = ["house", "call", "--approve", how, name, "--door", "front"];
        let run = ["house", "run", "--dialect", "anthropic", "--approve", how, &file];
        for arguments in [&call[..], &run] {
            let (cli, doors) = house(configure);
            assert_eq!(cli.run(arguments.to_vec()), expected, "{arguments:?}");
            let opened = usize::from(expected == Exit::Done);
            assert_eq!(doors.0[0].load(Ordering::Relaxed), opened, "{arguments:?}");
        }
    }
}

use Exit::{Done, Refused};

// Without a terminal, `ask` rejects.
#[test]
fn default_guards_follow_the_option() {
    check("open", |it| it, [Refused, Refused, Refused, Done]);
    check("peek", |it| it, [Done; 4]);
}

// I01, I05
#[test]
fn no_option_overrides_a_denial_of_the_program() {
    let rules: fn(_) -> _ =
        |it: ExecutorBuilder| it.rules(Rules::new([Rule::deny("*").at("/door", "front")]));
    let policy: fn(_) -> _ =
        |it: ExecutorBuilder| it.permission(|_: &PermissionRequest<'_>| Permission::deny("closed"));
    let hook: fn(_) -> _ = |it: ExecutorBuilder| {
        it.before(|call| async move {
            let _ = call;
            Err(ToolError::new(ErrorKind::Denied, "closed"))
        })
    };
    for guard in [rules, policy, hook] {
        for name in ["open", "peek"] {
            check(name, guard, [Refused; 4]);
        }
    }
}

// A rule or a policy that asks is answered by the option, like a tool that asks.
#[test]
fn a_question_of_the_program_is_answered_by_the_option() {
    let rules: fn(_) -> _ = |it: ExecutorBuilder| it.rules(Rules::new([Rule::ask("*")]));
    let policy: fn(_) -> _ =
        |it: ExecutorBuilder| it.permission(|_: &PermissionRequest<'_>| Permission::ask("now?"));
    for guard in [rules, policy] {
        check("open", guard, [Refused, Refused, Refused, Done]);
        check("peek", guard, [Refused, Refused, Done, Done]);
    }
}

#[test]
fn the_approver_of_the_program_decides_after_the_option() {
    let no: fn(_) -> _ =
        |it: ExecutorBuilder| it.approver(|_: &ApprovalRequest| Approval::Rejected("no".to_owned()));
    let yes: fn(_) -> _ = |it: ExecutorBuilder| it.approver(|_: &ApprovalRequest| Approval::Approved);
    check("open", no, [Refused; 4]);
    check("open", yes, [Done, Refused, Refused, Done]);
    check("peek", no, [Done; 4]);
}

#[test]
fn the_strategy_with_fewer_calls_at_once_applies() {
    let doors = ["a", "b", "c", "d"];
    let file = response("open", &doors);
    let two = ExecutionStrategy::Batched { size: 2 };
    let all = [
        (ExecutionStrategy::Sequential, "parallel", 1),
        (two, "parallel", 2),
        (two, "batched=3", 2),
        (two, "sequential", 1),
        (ExecutionStrategy::Parallel, "batched=3", 3),
        (ExecutionStrategy::Parallel, "parallel", 4),
    ];
    for (of_program, option, most) in all {
        let (cli, doors) = house(move |builder| builder.strategy(of_program));
        let option = ["house", "run", "--dialect", "anthropic", "--approve", "always", "--strategy", option];
        assert_eq!(cli.run(option.into_iter().chain([&*file])), Exit::Done);
        assert_eq!(doors.0[2].load(Ordering::Relaxed), most, "{of_program:?} {option:?}");
    }
}

#[test]
fn a_timeout_of_the_program_ends_a_call() {
    let (cli, _) = house(|builder| builder.timeout(Duration::from_millis(1)));
    assert_eq!(cli.run(["house", "call", "wait"]), Exit::Failed);
}

#[test]
fn commands_of_the_program_use_its_guards() {
    let (cli, doors) = house(|builder| builder.rules(Rules::new([Rule::deny("peek")])));
    let (exit, _) = look(cli, |program| {
        let calls = vec![ToolCall::new("peek", r#"{"door": "front"}"#)];
        let outcomes = program.block_on(program.executor()?.run(calls))?;
        assert!(outcomes[0].result().unwrap().text().starts_with("Denied: "));
        Ok(Exit::Done)
    });
    assert_eq!((exit, doors.0[0].load(Ordering::Relaxed)), (Exit::Done, 0));
}

#[test]
fn an_executor_that_cannot_be_built_is_reported_with_exit_code_4() {
    let build = |program: &tool_cli::Program| program.executor().map(|_| Exit::Done);
    let (cli, _) = house(|builder| builder.rules(Rules::new([Rule::deny("open").at("/window", "x")])));
    let (exit, why) = look(cli, build);
    assert_eq!(exit, Exit::Unusable);
    assert!(
        why.starts_with("the executor of the tools cannot be built: ") && why.contains("/window"),
        "{why}"
    );

    let (cli, _) = house(|builder| builder);
    let (exit, why) = look(cli.executor(|_| Err::<ExecutorBuilder, _>("no rules")), build);
    assert_eq!((exit, &*why), (Exit::Unusable, "the executor of the tools cannot be built: no rules"));
}

// A call that the program leaves to its caller is not run, also with `--approve always`.
#[test]
fn a_call_that_is_left_to_the_caller_does_not_run() {
    for how in ["ask", "always"] {
        let (cli, doors) = house(|builder| builder.external(|call| call.tool() == "open"));
        assert_eq!(cli.run(["house", "call", "--approve", how, "open", "--door", "front"]), Done);
        assert_eq!(doors.0[0].load(Ordering::Relaxed), 0);
    }
}
