//! The result of a command.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use tool_builtins::{CodeTools, Sandbox, ShellTools};
use tool_runtime::{
    BoxFuture, CancellationToken, Executor,
    context::CallSink,
    event::EventKind,
    policy::{Approval, ApprovalRequest, ResultStore},
    prelude::*,
};

use super::{World, confined, details, exit_code, modes};

// R02
#[tokio::test]
async fn a_command_that_fails_is_a_normal_result_with_exit_code_and_both_streams() {
    for mode in modes() {
        let world = World::new(mode);
        let output = world.run("echo one; echo two >&2; exit 3").await;
        assert!(!output.is_failure());
        assert_eq!(output.text(), "one\n[stderr]\ntwo\n[exit code 3]");
        assert_eq!(details(&output)["exit_code"], 3);
        assert_eq!(details(&output)["success"], false);
        assert_eq!(details(&output)["stdout_bytes"], 4);
        let killed = world.run("kill -s KILL $$").await;
        assert_eq!(exit_code(&killed), 137);
        assert_eq!(world.text("true").await, "[no output]");
    }
}

// R02, R04
#[tokio::test]
async fn a_command_starts_in_the_folder_with_an_empty_standard_input_and_few_variables() {
    for mode in modes() {
        let world = World::with(|shell| mode.set(shell).env("COLOUR", "red"));
        fs::create_dir(world.root().join("inner")).unwrap();
        assert_eq!(world.text("pwd -P").await.trim(), world.root().canonicalize().unwrap().to_str().unwrap());
        let inner =
            world.call("bash", json!({ "command": "pwd -P | grep -c inner", "folder": "inner" })).await;
        assert_eq!(inner.unwrap().text(), "1\n");
        assert!(world.call("bash", json!({ "command": "pwd", "folder": ".." })).await.is_err());
        assert_eq!(world.text("cat; read -r line; echo \"end $?\"").await, "end 1\n");
        assert_eq!(world.text("echo $COLOUR").await, "red\n");
        // Cargo sets it for each test.
        assert_eq!(world.text("echo \"[$CARGO_PKG_NAME]\"").await, "[]\n");
        assert_eq!(world.text("echo mine > \"$TMPDIR/file-$$\" && cat \"$TMPDIR/file-$$\"").await, "mine\n");
    }
}

// R03, R15
#[tokio::test]
async fn a_command_that_reaches_its_time_limit_is_killed_and_has_exit_code_124() {
    for mode in modes() {
        let world = World::new(mode);
        let command = json!({ "command": "trap '' TERM INT HUP; echo begun; sleep 1000", "timeout_ms": 200 });
        let output = world.call("bash", command).await.unwrap();
        assert_eq!(exit_code(&output), 124);
        assert_eq!(details(&output)["timed_out"], true);
        assert!(output.text().ends_with("[timed out and was killed; exit code 124]"), "{}", output.text());
        world.assert_nothing_is_left();
        assert!(world.call("bash", json!({ "command": "true", "timeout_ms": 600_001 })).await.is_err());
    }
}

// R03
#[tokio::test(start_paused = true)]
async fn a_command_has_two_minutes_unless_its_call_says_otherwise() {
    let world = World::new(Sandbox::Off);
    let start = tokio::time::Instant::now();
    let output = world.run("sleep 1000").await;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(exit_code(&output), 124);
    assert!((120.0..121.0).contains(&seconds), "{seconds}");
    world.assert_nothing_is_left();
}

// R03
#[tokio::test]
async fn long_output_is_cut_in_the_middle_between_characters_and_kept_for_a_store() {
    let store = Arc::new(ResultStore::new(64 << 20));
    let world = World::with(|shell| shell.results(Arc::clone(&store)));
    // 300,001 bytes: the first one shifts the characters off every even limit.
    let output =
        world.text("printf x; for i in {1..10000}; do printf 'ééééééééééééééé'; done; printf end").await;
    assert!(output.len() <= 257 << 10, "{}", output.len());
    assert!(output.starts_with("xéé") && output.ends_with("ééend"));
    assert!(!output.contains('\u{fffd}'));
    let note = output.lines().nth(1).unwrap();
    assert!(note.contains("of 300004 bytes left out; read on with read_result"), "{note}");
    let number =
        |name: &str| note.split(name).nth(1).unwrap().split([',', '}']).next().unwrap().parse().unwrap();
    let read =
        store.read(number("\"handle\":"), usize::try_from(number("\"offset\":")).unwrap(), 10).unwrap();
    assert!(read.starts_with('é'), "{read}");
}

// R03
#[tokio::test]
async fn a_gigabyte_of_output_needs_bounded_memory() {
    let world = World::new(Sandbox::Preferred);
    let output = world.run("head -c 1G /dev/zero; echo end").await;
    assert_eq!(details(&output)["stdout_bytes"], (1_u64 << 30) + 4);
    assert!(output.text().len() <= 257 << 10);
    assert!(output.text().ends_with("end\n"));
    let binary = world.text("head -c 200000 /dev/zero | tr '\\0' '\\377'").await;
    assert!(binary.len() <= 257 << 10, "{}", binary.len());
}

// R03
#[tokio::test]
async fn output_that_a_process_outside_of_the_group_holds_is_named_as_cut() {
    let world = World::new(Sandbox::Off);
    let output =
        world.run("mkfifo a; setsid sh -c 'echo $$ >a; exec sleep 1000' & read -r id <a; echo $id").await;
    let text = output.text().to_string();
    assert!(
        text.contains("[.. a process that left the command holds its output; what it writes is left out ..]"),
        "{text}"
    );
    let id = text.lines().next().unwrap().parse().unwrap();
    let id = rustix::process::Pid::from_raw(id).unwrap();
    let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
    world.assert_nothing_is_left();
    assert!(!World::new(Sandbox::Off).text("sleep 1000 & echo one").await.contains("[.."));
}

// R03
#[tokio::test]
async fn a_folder_that_its_owner_may_not_change_is_removed_with_the_tools() {
    for mode in confined() {
        let world = World::new(mode);
        let made = "mkdir -p $TMPDIR/a/b; ln -s $PWD/.. $TMPDIR/a/link; chmod 0 $TMPDIR/a; echo $TMPDIR";
        let private = world.text(made).await;
        let World { folder, shell, tools, .. } = world;
        assert!(Path::new(private.trim()).join("a").exists());
        drop((shell, tools));
        assert!(!Path::new(private.trim()).exists(), "{mode:?}");
        assert!(folder.path().join("secret.txt").exists());
    }
}

// R04
#[tokio::test]
async fn denied_and_unconfirmed_commands_start_nothing() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let confirms = move |command: &str| {
        count.fetch_add(1, Ordering::Relaxed);
        !command.contains("never")
    };
    let world = World::with(|shell| shell.sandbox(Sandbox::Off).deny("git push").confirm(confirms));
    let denied = [
        "touch began; rm -rf /",
        "touch began && sudo rm -r -f '/' ",
        "touch began; rm --recursive /*",
        "touch began; rm -fr ~/",
        "touch began; rm -rf $HOME",
        "touch began; /sbin/mkfs.ext4 image",
        "touch began; dd if=/dev/zero of=/dev/sda",
        "touch began; :(){ :|:& };:",
        "touch began; bomb() { bomb | bomb & }; bomb",
        "touch began; git push origin",
    ];
    for command in denied {
        let error = world.call("bash", json!({ "command": command })).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{command}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let unconfirmed = world.call("bash", json!({ "command": "touch began; echo never" })).await.unwrap_err();
    assert!(unconfirmed.to_string().contains("was not confirmed"), "{unconfirmed}");
    assert!(!world.root().join("began").exists());
    let allowed = [
        "rm -rf ./build",
        "dd if=/dev/zero of=image count=1",
        "echo mkfs",
        "rm -rf /nonexistent/x",
        "rm /",
        "rm --interactive=once /",
    ];
    for command in allowed {
        assert!(world.call("bash", json!({ "command": command })).await.is_ok(), "{command}");
    }
}

// R02, R04
#[tokio::test]
async fn every_command_asks_by_default_and_its_output_is_shown_as_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Registry::builder().toolset(ShellTools::new(folder.path()).unwrap()).build().unwrap();
    let arguments = json!({ "command": "echo öne; mkfifo gate; read -r _ <gate; echo two" });
    let refused = tools.call("bash", arguments.clone()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ApprovalRequired);
    assert!(!folder.path().join("gate").exists());

    let executor =
        Executor::builder(tools).approver(|_: &ApprovalRequest| Approval::Approved).build().unwrap();
    let mut events = executor.subscribe();
    // The command ends only because its first line was shown before.
    let opens_gate = async {
        while let Some(Ok(event)) = events.next().await {
            if let EventKind::Updated { update, .. } = &event.kind
                && update.text().contains("öne")
            {
                let gate = folder.path().join("gate");
                let written = tokio::task::spawn_blocking(move || fs::write(until_there(&gate), "go\n"));
                return written.await.unwrap().unwrap();
            }
        }
    };
    let (outcomes, ()) = tokio::join!(executor.run(vec![ToolCall::new("bash", arguments)]), opens_gate);
    assert_eq!(outcomes[0].result().unwrap().text(), "öne\ntwo\n");
}

// R02
#[tokio::test]
async fn a_prompt_without_a_line_end_is_shown_before_its_command_ends() {
    for mode in modes() {
        let folder = tempfile::tempdir().unwrap();
        let shell = mode.set(ShellTools::new(folder.path()).unwrap());
        let tools = Registry::builder().toolset(shell).build().unwrap();
        let executor =
            Executor::builder(tools).approver(|_: &ApprovalRequest| Approval::Approved).build().unwrap();
        let mut events = executor.subscribe();
        let arguments =
            json!({ "command": "mkfifo gate; printf 'Your name? '; read -r name <gate; echo $name" });
        let answers = async {
            let mut shown = String::new();
            while let Some(Ok(event)) = events.next().await {
                if let EventKind::Updated { update, .. } = &event.kind {
                    shown.push_str(&update.text());
                    if shown == "Your name? " {
                        let gate = folder.path().join("gate");
                        let written = tokio::task::spawn_blocking(move || fs::write(gate, "Ada\n"));
                        return written.await.unwrap().unwrap();
                    }
                }
            }
        };
        let (outcomes, ()) = tokio::join!(executor.run(vec![ToolCall::new("bash", arguments)]), answers);
        assert_eq!(outcomes[0].result().unwrap().text(), "Your name? Ada\n", "{mode:?}");
    }
}

/// Has no room for an update at once.
#[derive(Default)]
struct SlowListener(Mutex<String>);

impl CallSink for SlowListener {
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push_str(&update.text());
        Box::pin(std::future::ready(()))
    }

    fn try_update(&self, _: ToolOutput) -> bool {
        false
    }
}

// R02
#[tokio::test]
async fn a_slow_listener_is_shown_the_end_of_a_command_and_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let shell = ShellTools::new(folder.path()).unwrap();
    let code = CodeTools::new().unwrap();
    let tools = Registry::builder().toolset(shell).toolset(code).build().unwrap();
    let text = "echo one; printf two";
    for (tool, arguments) in
        [("bash", json!({ "command": text })), ("run_code", json!({ "language": "bash", "code": text }))]
    {
        let listener = Arc::new(SlowListener::default());
        let sink: Arc<dyn CallSink> = Arc::clone(&listener) as _;
        let cx = tools.context_for(tool).unwrap().with_sink(sink);
        let output = tools.get(tool).unwrap().call(arguments.into(), &cx).await.unwrap();
        assert_eq!(output.text(), "one\ntwo", "{tool}");
        assert_eq!(*listener.0.lock().unwrap(), "one\ntwo", "{tool}");
    }
}

/// Cancels the call when it is shown something.
struct CancellingListener(CancellationToken);

impl CallSink for CancellingListener {
    fn update(&self, _: ToolOutput) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn try_update(&self, _: ToolOutput) -> bool {
        self.0.cancel();
        true
    }
}

// R03
#[tokio::test]
async fn a_call_that_is_cancelled_has_the_output_of_its_command_in_its_details() {
    let world = World::new(Sandbox::Off);
    let token = CancellationToken::new();
    let sink: Arc<dyn CallSink> = Arc::new(CancellingListener(token.clone()));
    let cx = world.tools.context_for("bash").unwrap().with_cancellation(token).with_sink(sink);
    let arguments = json!({ "command": "echo one; sleep 1000" });
    let error = world.tools.get("bash").unwrap().call(arguments.into(), &cx).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.details(), Some(&json!({ "output": "one\n[stopped]" })));
    world.assert_nothing_is_left();
}

// R02, R04
#[tokio::test]
async fn a_command_with_a_nul_character_or_another_folder_is_not_run() {
    let world = World::new(Sandbox::Off);
    fs::write(world.root().join("file"), "").unwrap();
    for (arguments, kind, message) in [
        (
            json!({ "command": "touch began \0" }),
            ErrorKind::BadParameter,
            "the command contains a NUL character; leave it out",
        ),
        (
            json!({ "command": "touch began", "folder": "none" }),
            ErrorKind::NotFound,
            "there is no folder `none`",
        ),
        (
            json!({ "command": "touch began", "folder": "file" }),
            ErrorKind::NotFound,
            "there is no folder `file`",
        ),
        (
            json!({ "command": "touch began", "folder": ".." }),
            ErrorKind::BadParameter,
            "`..` is outside of the folder; use a path inside of it",
        ),
    ] {
        let error = world.call("bash", arguments).await.unwrap_err();
        assert_eq!((error.kind(), &*error.reason()), (kind, message));
    }
    assert!(!world.root().join("began").exists() && !world.folder.path().join("began").exists());
}

// R04
#[test]
fn the_folder_of_the_tools_is_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().canonicalize().unwrap().join("file");
    fs::write(&file, "").unwrap();
    let error = ShellTools::new(&file).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotADirectory);
    assert_eq!(error.to_string(), format!("`{}` is no folder; commands run in one", file.display()));
    assert!(ShellTools::new(folder.path().join("none")).is_err());
    let shell = format!("{:?}", ShellTools::new(folder.path()).unwrap().deny("git push").memory_limit(7));
    for part in ["denied_patterns: [\"git push\"]", "memory_bytes: 7", "writable: [", "sandbox: Preferred"] {
        assert!(shell.contains(part), "{shell}");
    }
}

fn until_there(path: &Path) -> &Path {
    while !path.exists() {
        thread::yield_now();
    }
    path
}
