//! Paths that lead out of a folder in some program, made from lists of their parts.

use std::fs;

use super::{SECRET, World};

/// Spellings of `..`.
const PARENTS: [&str; 16] = [
    "..",
    "...",
    "....",
    ".. ",
    ".%2e",
    "%2e%2e",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "%uff0e%uff0e",
    "\\.\\.",
    "..;",
    "..\t",
    "\u{ff0e}\u{ff0e}",
    "\u{2024}\u{2024}",
    "\u{2025}",
    ".\u{200b}.",
];

/// Spellings of `/`.
const SEPARATORS: [&str; 11] =
    ["/", "//", "/./", "\\", "\\/", "%2f", "%252f", "%5c", "%c0%af", "\u{2215}", "\u{ff0f}"];

/// Names that are devices, streams or roots in some system.
const NAMES: [&str; 22] = [
    "CON",
    "NUL",
    "aux.txt",
    "COM1",
    "LPT1",
    "secret.txt::$DATA",
    "C:\\secret.txt",
    "C:secret.txt",
    "\\\\?\\C:\\x",
    "\\\\.\\PhysicalDrive0",
    "//server/share/x",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "~/x",
    "~root/x",
    "$HOME/x",
    "${HOME}/x",
    "/dev/stdin",
    "/proc/self/environ",
    "/proc/self/fd/0",
    "/proc/self/cwd/../secret.txt",
    "x\0/../../secret.txt",
];

fn payloads(absolute: &str) -> Vec<String> {
    let mut payloads: Vec<String> = NAMES.map(str::to_owned).into();
    for parent in PARENTS {
        for separator in SEPARATORS {
            for depth in [1, 2, 8] {
                payloads.push(format!("{}secret.txt", format!("{parent}{separator}").repeat(depth)));
            }
            payloads.push(format!("inside{separator}{parent}{separator}{parent}{separator}secret.txt"));
        }
    }
    payloads.push(absolute.to_owned());
    payloads.push(format!("/{absolute}"));
    payloads.push(format!("/proc/self/root{absolute}"));
    payloads.push(format!("{}secret.txt", "../".repeat(200)));
    payloads.push("../".repeat(2000) + "secret.txt");
    payloads
}

// R07, R08, R09, R14
#[tokio::test]
async fn none_of_many_spellings_reads_or_changes_anything_outside() {
    let world = World::new();
    world.write("inside/a", "inside\n");
    let absolute = world.folder.path().join("secret.txt");
    let payloads = payloads(absolute.to_str().unwrap());
    assert!(payloads.len() > 700, "{}", payloads.len());
    for path in payloads {
        let read = world.read(&path).await.unwrap_or_else(|error| error);
        assert!(!read.contains(SECRET), "{path}");
        let _ = world.edit(&path, "secret", "changed").await;
        // It may be the name of a file inside, in this system.
        let _ = world.write_file(&path, "changed").await;
        assert_eq!(fs::read_to_string(&absolute).unwrap(), SECRET, "{path}");
        assert_eq!(fs::read_dir(world.folder.path()).unwrap().count(), 2, "{path}");
    }
}
