//! The golden files by the types of the providers' own SDKs, where those are installed.

use std::{io::Write, path::Path, process::Command};

// `.ci/run` installs them, and holds more than this to them.
#[test]
fn the_sdks_of_the_providers_take_what_is_sent() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../providers/bin/python");
    if !python.exists() {
        // Not by `eprintln!`, which is shown only where a test fails.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: exports are not held to the types of the providers' SDKs; `.ci/run` does it, as will this test \
             after `python3 -m venv target/providers && target/providers/bin/pip install -r \
             tool-runtime/tests/providers/requirements.txt`"
        );
        return;
    }
    let check = Command::new(python)
        .arg(tests.join("providers/check.py"))
        .arg(tests.join("it/dialects/golden"))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(check.status.success(), "{}{}", text(&check.stdout), text(&check.stderr));
}
