//! The tools through `mytool call`: this program starts itself as `mytool`.

use std::{
    env, fs,
    path::Path,
    process::{self, Command, Output},
};

use tool_builtins::FileTools;

const ARGUMENTS: &str = "MYTOOL_ARGUMENTS";

/// The program `mytool`, in the process that [`mytool`] starts; otherwise nothing.
#[test]
fn program() {
    let Ok(arguments) = env::var(ARGUMENTS) else { return };
    let files = FileTools::new(".").unwrap().permit_unread_edits();
    let cli = tool_cli::Cli::new().tools(move |builder| builder.toolset(files.clone()));
    let exit = cli.run(["mytool"].into_iter().chain(arguments.split('|')));
    process::exit(exit.code().into());
}

fn mytool(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "files::command_line::program", "--nocapture"])
        .env(ARGUMENTS, arguments.join("|"))
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

// R05, R07, R09, R11, R14
#[test]
fn files_are_read_edited_and_searched_by_a_command_line_and_no_path_leaves_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret.txt"), super::SECRET).unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("notes.txt"), "one\ntwo\n").unwrap();

    let found = mytool(&root, &["call", "grep", "--pattern", "TWO"]);
    assert!(text(&found.stdout).contains("notes.txt:2: two"), "{found:?}");
    let edit = ["call", "edit_file", "--path", "notes.txt", "--old-text", "two", "--new-text", "three"];
    let edited = mytool(&root, &edit);
    assert!(edited.status.success(), "{edited:?}");
    let read = mytool(&root, &["call", "read_file", "--path", "notes.txt"]);
    assert!(text(&read.stdout).contains("     1\tone\n     2\tthree\n"), "{read:?}");

    let refused = mytool(&root, &["call", "read_file", "--path", "../secret.txt"]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("outside of the folder"), "{refused:?}");
    assert!(!text(&refused.stdout).contains(super::SECRET));
}
