//! Validation of the golden files with the types of the providers' SDKs, if those are installed.

use std::{io::Write, path::Path, process::Command};

// `.ci/run` installs them, and validates further exports.
#[test]
fn the_sdks_of_the_providers_accept_the_golden_files() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../providers/bin/python");
    if !python.exists() {
        // `eprintln!` is shown only if a test fails.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: exports are not held to the types of the providers' SDKs; `.ci/run` does it, as will this test \
             after `python3 -m venv target/providers && target/providers/bin/pip install -r \
             tool-runtime/tests/providers/requirements.txt`"
        );
        if let Some(path) = std::env::var_os("TOOL_TESTS_SKIPPED") {
            let line = "tool-runtime: the_sdks_of_the_providers_accept_the_golden_files: the SDKs are not installed; a later \
                        step of `.ci/run` does the same\n";
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
            file.write_all(line.as_bytes()).unwrap();
        }
        return;
    }
    let check = Command::new(python)
        .arg(tests.join("providers/check.py"))
        .arg(tests.join("dialects/golden"))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(check.status.success(), "{}{}", text(&check.stdout), text(&check.stderr));
}
