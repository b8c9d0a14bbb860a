#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may")]

use std::fs;

use tool_runtime::{CancellationToken, ToolName};

use super::{
    super::root::{FileRoots, WalkStart},
    *,
};

/// Four folders with two files each.
fn folders() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c", "d"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        for file in ["1", "2"] {
            fs::write(folder.path().join(name).join(file), "").unwrap();
        }
    }
    folder
}

// R17: the cancellation comes while a file is visited; no other one is.
#[test]
fn a_cancelled_walk_visits_no_other_file() {
    let folder = folders();
    let WalkStart::Folders(starts) = FileRoots::open(folder.path()).unwrap().open_walk_start(None).unwrap()
    else {
        panic!("a folder is no file");
    };
    for cancelled_visit in 1..=8 {
        let token = CancellationToken::new();
        let cx =
            ToolContext::new(ToolName::new("grep").unwrap(), Arc::default()).with_cancellation(token.clone());
        let mut visits = 0;
        let result = FileWalk::new(&cx, MAX_DEPTH).visit_start_folder(&starts[0], &mut |_| {
            visits += 1;
            if visits == cancelled_visit {
                token.cancel();
            }
            Ok(ControlFlow::Continue(()))
        });
        assert_eq!(visits, cancelled_visit);
        assert_eq!(result.is_err(), cancelled_visit < 8);
    }
}
