//! Private folders that a command exchanges, because it may write around them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use tool_builtins::{CodeTools, ShellTools};
use tool_runtime::prelude::*;

use super::{Mode, World, bubblewrap, confined, details};

/// A folder of the user that no command may change: a file and a folder, each with its mode.
struct Kept(TempDir);

impl Kept {
    fn new() -> Self {
        let kept = Self(tempfile::tempdir().unwrap());
        fs::create_dir(kept.0.path().join("inner")).unwrap();
        fs::write(kept.0.path().join("inner/a.txt"), "kept").unwrap();
        kept.set_mode("inner/a.txt", 0o400);
        kept.set_mode("inner", 0o500);
        kept
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.0.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn assert_unchanged(&self) {
        let mode = |name: &str| fs::metadata(self.0.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("inner"), mode("inner/a.txt")), (0o500, 0o400));
        assert_eq!(fs::read(self.0.path().join("inner/a.txt")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(self.0.path()).unwrap().count(), 1);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.set_mode("inner", 0o700);
    }
}

/// A command that puts a link to `kept` at the path of a folder.
fn exchange(folder: &str, kept: &Kept) -> String {
    format!(
        "d={folder}; echo \"at:$d\"; mv $d $d.old && ln -s {} $d && echo exchanged",
        kept.0.path().display()
    )
}

fn remove_exchanged(place: &Path) {
    assert!(place.is_symlink());
    fs::remove_file(place).unwrap();
    let mut old = place.as_os_str().to_owned();
    old.push(".old");
    // It was emptied.
    fs::remove_dir(old).unwrap();
}

#[tokio::test]
async fn a_shell_that_exchanges_its_private_folder_changes_nothing_outside() {
    for mode in confined() {
        let kept = Kept::new();
        let world = World::with(|shell| mode.set(shell).writable(std::env::temp_dir()));
        let text = world.text(&format!("touch $TMPDIR/x; {}", exchange("$TMPDIR", &kept))).await;
        let place = PathBuf::from(text.lines().find_map(|line| line.strip_prefix("at:")).unwrap());
        // With `bubblewrap`, it is a mount.
        assert_eq!(text.contains("exchanged"), !mode.has_bubblewrap, "{mode:?}: {text}");
        let next = world.call("bash", json!({ "command": "touch $TMPDIR/new" })).await;
        if !mode.has_bubblewrap {
            let error = next.unwrap_err();
            assert!(error.to_string().contains("a command exchanged the private folder"), "{error}");
        }
        drop(world);
        kept.assert_unchanged();
        match mode.has_bubblewrap {
            true => assert!(!place.exists()),
            false => remove_exchanged(&place),
        }
    }
}

#[tokio::test]
async fn a_program_whose_folder_a_shell_exchanges_does_not_run() {
    for mode in confined() {
        for runs_before in [false, true] {
            let kept = Kept::new();
            let code = CodeTools::new().unwrap().bubblewrap(bubblewrap().filter(|_| mode.has_bubblewrap));
            let place = format!("{code:?}");
            let place = PathBuf::from(place.split('"').find(|text| text.contains("/tool-code-")).unwrap());
            let tools = Registry::builder().toolset(code).build().unwrap();
            let call =
                |code: String| tools.call_unguarded("run_code", json!({ "language": "bash", "code": code }));
            if runs_before {
                call("echo one".to_owned()).await.unwrap();
            }
            let world = World::with(|shell| mode.set(shell).writable(std::env::temp_dir()));
            let text = world.text(&exchange(&place.to_string_lossy(), &kept)).await;
            assert!(text.contains("exchanged"), "{mode:?}: {text}");
            let path = kept.0.path().display();
            let error = call(format!("touch {path}/new; cat {path}/inner/a.txt")).await.unwrap_err();
            assert!(error.to_string().contains("a command exchanged the private folder"), "{error}");
            drop(tools);
            kept.assert_unchanged();
            remove_exchanged(&place);
        }
    }
}

/// Tools with the folders of others, and the tools of someone who may write around these.
struct Neighbours {
    folder: TempDir,
    tools: Registry,
    writer: Registry,
}

impl Neighbours {
    /// With `more` writable folders.
    fn new(mode: Mode, more: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["root", "readable"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let shell = ShellTools::new(folder.path().join("root")).unwrap();
        let shell = (0..more).fold(shell, |shell, number| {
            let name = folder.path().join(format!("more{number}"));
            fs::create_dir(&name).unwrap();
            shell.writable(name)
        });
        let shell = mode.set(shell.readable(folder.path().join("readable")));
        let writer = mode.set(ShellTools::new(folder.path()).unwrap());
        let registry = |shell| Registry::builder().toolset(shell).build().unwrap();
        Self { folder, tools: registry(shell), writer: registry(writer) }
    }

    async fn bash(tools: &Registry, command: &str) -> Result<ToolOutput, ToolError> {
        tools.call_unguarded("bash", json!({ "command": command })).await
    }
}

#[tokio::test]
async fn a_link_in_the_place_of_a_folder_of_the_setting_leads_nowhere() {
    for mode in confined() {
        for (name, more, runs_before) in [
            ("root", 0, true),
            ("root", 0, false),
            ("readable", 0, true),
            ("readable", 0, false),
            ("root", 3, true),
        ] {
            let kept = Kept::new();
            let world = Neighbours::new(mode, more);
            if runs_before {
                assert_eq!(Neighbours::bash(&world.tools, "echo one").await.unwrap().text(), "one\n");
            }
            let outside = kept.0.path().display();
            let exchange = format!("mv {name} old && ln -s {outside} {name} && echo exchanged");
            let exchanged = Neighbours::bash(&world.writer, &exchange).await.unwrap();
            assert_eq!(exchanged.text(), "exchanged\n", "{mode:?}");
            let (folder, place) = (world.folder.path(), world.folder.path().join(name));
            let uses = format!(
                "for d in . {} {outside}; do cat $d/inner/a.txt; touch $d/new; done; echo end",
                place.display()
            );
            match Neighbours::bash(&world.tools, &uses).await {
                Ok(output) => {
                    assert!(!output.text().contains("kept"), "{mode:?}: {}", output.text());
                    let missing = details(&output)["enforced"]["missing"].to_string();
                    let named =
                        format!("paths: commands do not reach `{}`: there is a link at", place.display());
                    assert_eq!(missing.contains(&named), !runs_before, "{mode:?} {name}: {missing}");
                    let is_named = missing.contains("bubblewrap: there is a link at");
                    assert_eq!(is_named, mode.has_bubblewrap, "{mode:?} {name}: {missing}");
                }
                Err(error) => assert!(error.to_string().contains("there is a link at"), "{mode:?}: {error}"),
            }
            kept.assert_unchanged();
            if mode.has_bubblewrap && runs_before {
                fs::remove_file(&place).unwrap();
                assert!(Neighbours::bash(&world.tools, "touch new").await.is_ok() == (name == "readable"));
                fs::rename(folder.join("old"), &place).unwrap();
                assert_eq!(Neighbours::bash(&world.tools, "echo two").await.unwrap().text(), "two\n");
            }
        }
    }
}
