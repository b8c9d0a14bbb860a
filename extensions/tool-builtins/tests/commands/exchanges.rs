//! Private folders that a command exchanges, because it may write around them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use tool_builtins::CodeTools;
use tool_runtime::prelude::*;

use super::{World, bubblewrap, confined};

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
