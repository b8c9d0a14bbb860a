//! Settings, devices and readable files in a sandbox.

use std::fs;

use super::{World, confined, exit_code};

#[tokio::test]
async fn settings_and_devices_of_the_system_are_used_and_a_readable_file_is_read() {
    let other = tempfile::tempdir().unwrap();
    let file = other.path().join("data.txt");
    fs::write(&file, "data\n").unwrap();
    let path = file.display();
    for mode in confined() {
        let world = World::with(|shell| mode.set(shell).readable(&file));
        let settings =
            "head -c 1 /etc/passwd >/dev/null && ls /etc/ssl/certs /usr/bin >/dev/null && echo read";
        assert_eq!(world.text(settings).await, "read\n", "{mode:?}");
        let devices = "head -c 3 /dev/zero | wc -c; : > /dev/null && echo a >> /dev/null && echo written; \
                       head -c 2 /dev/urandom | wc -c; (echo a > /dev/full) 2>/dev/null || echo full";
        assert_eq!(world.text(devices).await, "3\nwritten\n2\nfull\n", "{mode:?}");
        assert_eq!(world.text(&format!("cat {path}")).await, "data\n", "{mode:?}");
        assert_ne!(exit_code(&world.run(&format!("echo more >> {path}")).await), 0, "{mode:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "data\n");
}
