//! Programs that a model writes.

use tool_builtins::CodeTools;
use tool_runtime::{Content, prelude::*};

use super::{details, exit_code};

fn tools() -> Registry {
    Registry::builder().toolset(CodeTools::new().unwrap()).build().unwrap()
}

async fn run(tools: &Registry, language: &str, code: &str) -> ToolOutput {
    tools.call_unguarded("run_code", json!({ "language": language, "code": code })).await.unwrap()
}

#[tokio::test]
async fn a_program_of_each_language_runs_in_a_required_sandbox_without_a_network() {
    let tools = tools();
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
            assert_eq!(details(&output)["enforced"]["processes"], "namespace");
        } else {
            super::report_skipped("a_program_of_each_language", &format!("there is no /usr/bin/{program}"));
        }
    }
    let connects = run(&tools, "bash", "exec 3<>/dev/tcp/127.0.0.1/1 || echo refused; cat /etc/shadow").await;
    assert!(
        connects.text().contains("Operation not permitted") && connects.text().contains("Permission denied")
    );
}

#[tokio::test]
async fn files_and_images_that_a_program_left_are_in_the_result_each_with_a_limit() {
    let tools = tools();
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
    assert!(
        text.contains("[.. the rest of 100000 bytes left out ..]\n[plot.png, 12 bytes]\n[zz.bin, 100 bytes]")
    );
    assert!(!text.contains("root:") && !text.contains("pipe"));
    assert!(text.len() < 20_000);
    let content = output.content();
    assert_eq!(content.iter().filter(|block| matches!(block, Content::Image { .. })).count(), 1);

    let many = run(&tools, "bash", "for i in {1..1500}; do echo $i > $i; done").await;
    assert_eq!(many.text().matches(" bytes]").count(), 16);
    assert!(many.text().ends_with("[.. more files left out; a program can pack them into one ..]"));
    // Nothing is kept for the next one.
    assert_eq!(run(&tools, "bash", "ls; ls ..").await.text(), "home\nmain.sh\nwork\n");
    let endless = json!({ "language": "bash", "code": "while true; do :; done", "timeout_ms": 100 });
    assert_eq!(exit_code(&tools.call_unguarded("run_code", endless).await.unwrap()), 124);
}

#[tokio::test]
async fn a_folder_that_the_program_exchanges_shows_no_file_of_the_user() {
    let tools = tools();
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

#[tokio::test]
async fn nothing_is_kept_from_one_program_to_the_next() {
    let tools = tools();
    let keeps = "echo x > $HOME/kept; echo x > ../../kept; mkdir -p $HOME/.local ../../run-other; chmod 0 $HOME/.local; cp -r .. ../../copy";
    run(&tools, "bash", keeps).await;
    let output = run(&tools, "bash", "ls -A $HOME; ls -A ../.. | wc -l").await;
    assert!(output.text().starts_with("1\n") || output.text() == "1", "{}", output.text());
    let deep = "for i in $(seq 1000); do mkdir d && cd d; done; echo made";
    assert!(run(&tools, "bash", deep).await.text().starts_with("made"));
    assert!(run(&tools, "bash", "ls -A").await.text().starts_with("[no output]"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_beside_the_folder_of_a_program_changes_no_mode_and_removes_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let tools = tools();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.txt");
    std::fs::write(&file, "kept").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).unwrap();
    run(&tools, "bash", &format!("ln -s {} ../../x; ln -s {} ../y", folder.path().display(), file.display()))
        .await;
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o400);
    assert_eq!(std::fs::read(&file).unwrap(), b"kept");
}
