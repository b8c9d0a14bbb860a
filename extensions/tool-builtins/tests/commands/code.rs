//! Programs that a model writes.

use std::path::PathBuf;

use tool_builtins::CodeTools;
use tool_runtime::{
    CancellationToken, Content, Executor, RunContext,
    event::EventKind,
    policy::{Approval, ApprovalRequest},
    prelude::*,
};

use super::{bubblewrap, details, exit_code};

/// The tools with each mechanism.
fn tools_of_each_mechanism() -> Vec<Registry> {
    let programs = [None, bubblewrap()];
    let count = if programs[1].is_some() { 2 } else { 1 };
    let tools = |program| CodeTools::new().unwrap().bubblewrap(program);
    let registry = |program| Registry::builder().toolset(tools(program)).build().unwrap();
    programs.into_iter().take(count).map(registry).collect()
}

async fn run(tools: &Registry, language: &str, code: &str) -> ToolOutput {
    tools.call_unguarded("run_code", json!({ "language": language, "code": code })).await.unwrap()
}

#[tokio::test]
async fn a_program_of_each_language_runs_in_a_required_sandbox_without_a_network() {
    for tools in tools_of_each_mechanism() {
        assert_eq!(
            tools.call("run_code", json!({ "language": "bash", "code": "" })).await.unwrap_err().kind(),
            ErrorKind::ApprovalRequired
        );
        let programs = [
            ("python3", "python", "import sys; print(6 * 7); sys.exit(3)"),
            ("node", "javascript", "console.log(6 * 7); process.exit(3)"),
            ("bash", "bash", "echo $((6 * 7)); exit 3"),
        ];
        for (program, language, code) in programs {
            if std::path::Path::new("/usr/bin").join(program).exists() {
                let output = run(&tools, language, code).await;
                assert_eq!(output.text(), "42\n[exit code 3]", "{language}");
                assert!(details(&output)["enforced"]["processes"].is_string());
            } else {
                super::report_skipped(
                    "a_program_of_each_language",
                    &format!("there is no /usr/bin/{program}"),
                );
            }
        }
        let connects =
            run(&tools, "bash", "exec 3<>/dev/tcp/127.0.0.1/1 || echo refused; cat /etc/shadow").await;
        assert!(
            connects.text().contains("Operation not permitted") && connects.text().contains("/etc/shadow: ")
        );
    }
}

#[tokio::test]
async fn files_and_images_that_a_program_left_are_in_the_result_each_with_a_limit() {
    for tools in tools_of_each_mechanism() {
        let code = r"
        printf '\x89PNG\r\n\x1a\nrest' > plot.png
        mkdir inner && echo one > inner/a.txt
        head -c 100000 /dev/zero | tr '\0' 'y' > long.txt
        head -c 100 /dev/urandom > zz.bin
        ln -s /etc/passwd link; mkfifo pipe; ln -s / everything
    ";
        let output = run(&tools, "bash", code).await;
        let text = output.text().to_string();
        assert!(
            text.starts_with("[no output]\n[inner/a.txt, 4 bytes]\none\n[long.txt, 100000 bytes]\nyyy"),
            "{text}"
        );
        assert!(text.contains(
            "[.. the rest of 100000 bytes left out ..]\n[plot.png, 12 bytes]\n[zz.bin, 100 bytes]"
        ));
        assert!(!text.contains("root:") && !text.contains("pipe"));
        assert!(text.len() < 20_000);
        let content = output.content();
        assert_eq!(content.iter().filter(|block| matches!(block, Content::Image { .. })).count(), 1);

        for (count, is_cut) in [(16, false), (17, true)] {
            let output =
                run(&tools, "bash", &format!("for i in {{1..{count}}}; do echo $i > $i; done")).await;
            assert_eq!(output.text().matches(" bytes]").count(), 16);
            assert_eq!(output.text().contains("[.. more files left out"), is_cut, "{count}");
        }
        let many = run(&tools, "bash", "for i in {1..1500}; do echo $i > $i; done").await;
        assert_eq!(many.text().matches(" bytes]").count(), 16);
        assert!(many.text().ends_with("[.. more files left out; a program can pack them into one ..]"));
        // Nothing is kept for the next one.
        assert_eq!(run(&tools, "bash", "ls; ls ..").await.text(), "home\nmain.sh\nwork\n");
        let endless = json!({ "language": "bash", "code": "while true; do :; done", "timeout_ms": 100 });
        assert_eq!(exit_code(&tools.call_unguarded("run_code", endless).await.unwrap()), 124);
    }
}

#[tokio::test]
async fn a_folder_that_the_program_exchanges_shows_no_file_of_the_user() {
    for tools in tools_of_each_mechanism() {
        let secrets = tempfile::tempdir().unwrap();
        std::fs::write(secrets.path().join("secret.txt"), "the secret").unwrap();
        let path = secrets.path().display();
        for code in [
            format!("cd ..; mv work old; ln -s {path} work"),
            format!("cd ..; rm -r work; ln -s {path} work"),
            format!("mkdir a; rm -r a; ln -s {path} a; ln -s {path}/secret.txt b.txt"),
        ] {
            let output = run(&tools, "bash", &code).await;
            assert!(!output.text().contains("secret"), "{code}: {}", output.text());
        }
    }
}

#[tokio::test]
async fn nothing_is_kept_from_one_program_to_the_next() {
    for tools in tools_of_each_mechanism() {
        let keeps = "echo x > $HOME/kept; echo x > ../../kept; mkdir -p $HOME/.local ../../run-other; chmod 0 $HOME/.local; cp -r .. ../../copy";
        run(&tools, "bash", keeps).await;
        let output = run(&tools, "bash", "ls -A $HOME; ls -A ../.. | wc -l").await;
        assert!(output.text().starts_with("1\n") || output.text() == "1", "{}", output.text());
        let deep = "for i in $(seq 300); do mkdir d && cd d; done; echo made";
        assert!(run(&tools, "bash", deep).await.text().starts_with("made"));
        assert!(run(&tools, "bash", "ls -A").await.text().starts_with("[no output]"));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_beside_the_folder_of_a_program_changes_no_mode_and_removes_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    for tools in tools_of_each_mechanism() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept.txt");
        std::fs::write(&file, "kept").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).unwrap();
        run(
            &tools,
            "bash",
            &format!("ln -s {} ../../x; ln -s {} ../y", folder.path().display(), file.display()),
        )
        .await;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o400);
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    }
}

/// Runs a program that never ends until its folder is known, and then cancels or drops the call.
async fn end_in_the_middle(tools: Registry, token: Option<CancellationToken>) -> PathBuf {
    let executor =
        Executor::builder(tools).approver(|_: &ApprovalRequest| Approval::Approved).build().unwrap();
    let mut events = executor.subscribe();
    let code = "mkdir -p a/b; echo x > a/b/c; chmod 0 a; echo \"folder:$PWD\"; while true; do :; done";
    let call = ToolCall::new("run_code", json!({ "language": "bash", "code": code }));
    let run = RunContext::new().with_cancellation(token.clone().unwrap_or_default());
    let folder = async {
        while let Some(event) = events.next().await {
            if let EventKind::Updated { update, .. } = &event.unwrap().kind
                && let Some(folder) = update.text().trim().strip_prefix("folder:")
            {
                return PathBuf::from(folder);
            }
        }
        panic!("the program ended");
    };
    tokio::pin!(folder);
    let running = executor.batch(vec![call]).with_run(run).run();
    tokio::pin!(running);
    let folder = tokio::select! {
        folder = &mut folder => folder,
        outcomes = &mut running => panic!("the program ended: {outcomes:?}"),
    };
    assert!(folder.join("a").exists());
    if let Some(token) = token {
        token.cancel();
        assert!(running.await[0].result().unwrap().is_error());
    }
    folder
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_dropped_leaves_no_file() {
    for tools in tools_of_each_mechanism() {
        let folder = end_in_the_middle(tools.clone(), Some(CancellationToken::new())).await;
        assert!(!folder.exists(), "{folder:?}");
        let folder = end_in_the_middle(tools.clone(), None).await;
        // The next program waits until its files are gone.
        assert_eq!(run(&tools, "bash", "ls ../..| wc -l").await.text(), "1\n");
        assert!(!folder.exists(), "{folder:?}");
    }
}

#[tokio::test]
async fn a_program_waits_for_another_one_within_its_time_limit() {
    let tools = tools_of_each_mechanism().remove(0);
    let endless = json!({ "language": "bash", "code": "echo begun > a; while true; do :; done" });
    let short = json!({ "language": "bash", "code": "echo one", "timeout_ms": 300 });
    tokio::select! {
        biased;
        output = tools.call_unguarded("run_code", endless) => panic!("it ended: {output:?}"),
        waited = tools.call_unguarded("run_code", short) => {
            let error = waited.unwrap_err();
            assert!(error.to_string().contains("another program ran until the time limit"), "{error}");
        }
    }
    assert_eq!(run(&tools, "bash", "echo one").await.text(), "one\n");
}

#[tokio::test]
async fn the_images_of_a_result_have_a_limit_together() {
    for tools in tools_of_each_mechanism() {
        let code = "for i in 1 2 3 4; do printf '\\x89PNG\\r\\n\\x1a\\n' > $i.png; head -c 4M /dev/zero >> $i.png; done";
        let output = run(&tools, "bash", code).await;
        let images = output.content().iter().filter(|block| matches!(block, Content::Image { .. })).count();
        assert_eq!(images, 2);
        let text = output.text();
        assert!(
            text.ends_with("[.. 2 images left out: at most 8 have 5 MiB each, and 10 MiB together ..]"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_program_has_no_folder_but_its_own() {
    for tools in tools_of_each_mechanism() {
        let kept = "for f in /tmp/* $TMPDIR/../..; do touch $f/kept 2>/dev/null; done; echo done";
        assert!(run(&tools, "bash", kept).await.text().starts_with("done"));
        let found = "find / -name kept 2>/dev/null | wc -l";
        assert_eq!(run(&tools, "bash", found).await.text(), "0\n");
    }
}
