//! The tests of this program as another user.

use std::{env, fs, os::unix::fs::PermissionsExt, process::Command};

const AS_ANOTHER_USER: &str = "TOOL_TEST_AS_ANOTHER_USER";

#[test]
fn all_of_it_holds_for_a_user_without_rights() {
    if env::var(AS_ANOTHER_USER).is_ok() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        super::report_skipped(
            "all_of_it_holds_for_a_user_without_rights",
            "it needs root, to become another user",
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("commands");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .current_dir(folder.path())
        .env(AS_ANOTHER_USER, "1")
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
