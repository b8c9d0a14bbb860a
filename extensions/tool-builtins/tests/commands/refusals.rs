//! Refusals of each mode.

use std::{
    fs,
    net::TcpListener,
    os::unix::net::{UnixDatagram, UnixListener},
    process::Command,
};

use tool_builtins::Sandbox;
use tool_runtime::prelude::*;

use super::{SKIPPED_TESTS, World, confined, details, exit_code, this_program};

#[tokio::test]
async fn a_result_names_the_active_guards_and_the_missing_ones() {
    for mode in confined() {
        let output = World::new(mode).run("true").await;
        let enforced = &details(&output)["enforced"];
        let (files, network, processes) = match mode.has_bubblewrap {
            true => ("bubblewrap", "bubblewrap, seccomp", "bubblewrap"),
            false => ("landlock", "seccomp, namespace", "namespace"),
        };
        assert_eq!(enforced["files"], files);
        assert_eq!(enforced["network"], network);
        assert_eq!(enforced["processes"], processes);
        assert_eq!(enforced["memory"], "ulimit, for the private memory of each process");
        let is_root = rustix::process::geteuid().is_root();
        let missing = enforced["missing"].as_array().unwrap();
        assert!(missing[0].as_str().unwrap().starts_with("shared memory: nothing limits"), "{enforced}");
        assert_eq!(missing.len(), 1 + usize::from(is_root), "{enforced}");
    }
    let output = World::new(Sandbox::Off).run("true").await;
    let enforced = &details(&output)["enforced"];
    assert!(enforced["files"].is_null() && enforced["network"].is_null());
    assert_eq!(enforced["missing"][0], "sandbox: it is off");
}

#[tokio::test]
async fn a_command_reads_and_writes_its_folder_and_reads_the_system_alone() {
    for mode in confined() {
        let world = World::new(mode);
        let outside = world.folder.path().display().to_string();
        assert_eq!(
            world.text("echo text > file && cat file && ls /usr >/dev/null && echo listed").await,
            "text\nlisted\n"
        );
        let refused = [
            format!("cat {outside}/secret.txt"),
            "cat ../secret.txt".to_owned(),
            "ln -s ../secret.txt link && cat link".to_owned(),
            "ln ../secret.txt hard && cat hard".to_owned(),
            "ln /etc/passwd hard".to_owned(),
            format!("echo more > {outside}/new.txt"),
            format!("echo more >> {outside}/secret.txt"),
            format!("truncate -s 0 {outside}/secret.txt"),
            format!("mv {outside}/secret.txt ."),
            format!("rm {outside}/secret.txt"),
            "cat /etc/shadow".to_owned(),
            "ls /root".to_owned(),
            "ls /proc/".to_owned(),
            "cat /proc/1/environ".to_owned(),
            "cat /proc/self/environ".to_owned(),
            "ls /home/".to_owned(),
            "touch /new".to_owned(),
            "touch /tmp/new".to_owned(),
            "touch /dev/new".to_owned(),
            "touch /usr/new".to_owned(),
            "echo 1 > /proc/sys/kernel/panic".to_owned(),
            "cat /dev/kmsg".to_owned(),
            "mknod device c 1 1".to_owned(),
            "mkdir m && mount -t tmpfs none m".to_owned(),
            "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /tmp'".to_owned(),
            format!("cp /bin/cat . && ./cat {outside}/secret.txt"),
        ];
        for command in refused {
            let output = world.run(&command).await;
            assert_ne!(exit_code(&output), 0, "{mode:?} {command}: {}", output.text());
            assert!(!output.text().contains("a secret"), "{command}");
        }
        // The mount namespace has the folders that lead to others, and nothing in them.
        for folder in [outside.as_str(), "/", "/tmp", "/etc"] {
            let output = world.run(&format!("ls -a {folder}")).await;
            assert_eq!(exit_code(&output) == 0, mode.has_bubblewrap, "{mode:?} {folder}");
            for name in ["secret.txt", "home", "proc", "shadow"] {
                assert!(!output.text().lines().any(|line| line == name), "{mode:?}: {}", output.text());
            }
        }
        assert_eq!(fs::read_to_string(world.folder.path().join("secret.txt")).unwrap(), "a secret");
        assert!(!world.folder.path().join("new.txt").exists());
    }
    let world = World::new(Sandbox::Off);
    assert_eq!(world.text("cat ../secret.txt").await, "a secret");
}

/// `landlock` guards neither: the row states the limit.
#[tokio::test]
async fn modes_and_times_of_other_files_are_guarded_by_a_mount_namespace_alone() {
    for mode in confined() {
        let world = World::new(mode);
        let secret = world.folder.path().join("secret.txt");
        let before = fs::metadata(&secret).unwrap();
        let path = secret.display();
        let command = format!("chmod 600 {path}; chmod 444 {path}; touch -d 2001-01-01 {path}");
        let output = world.run(&command).await;
        let after = fs::metadata(&secret).unwrap();
        let is_kept = before.permissions() == after.permissions()
            && before.modified().unwrap() == after.modified().unwrap();
        assert_eq!(is_kept, mode.has_bubblewrap, "{mode:?}: {}", output.text());
    }
}

#[tokio::test]
async fn a_folder_that_the_program_names_is_readable_or_writable() {
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("tool.sh"), "#!/bin/sh\necho ran\n").unwrap();
    let path = other.path().display().to_string();
    let commands = format!("sh {path}/tool.sh; touch {path}/new 2>/dev/null && echo written");
    for mode in confined() {
        let _ = fs::remove_file(other.path().join("new"));
        let readable = World::with(|shell| mode.set(shell).readable(other.path()));
        assert_eq!(readable.run(&commands).await.text(), "ran\n[exit code 1]", "{mode:?}");
        let writable = World::with(|shell| mode.set(shell).writable(other.path()));
        assert_eq!(writable.text(&commands).await, "ran\nwritten\n", "{mode:?}");
        // A folder in one that is readable alone, and one around it.
        fs::create_dir_all(other.path().join("inner")).unwrap();
        let nested = World::with(|shell| {
            let root = shell.readable(other.path()).writable(other.path().join("inner"));
            mode.set(root)
        });
        let _ = fs::remove_file(other.path().join("new"));
        assert_eq!(
            nested.run(&format!("touch {path}/inner/new && touch {path}/new")).await.text().lines().last(),
            Some("[exit code 1]")
        );
        let all = World::with(|shell| mode.set(shell).readable(other.path()).writable(std::env::temp_dir()));
        assert_eq!(all.text(&commands).await, "ran\nwritten\n", "{mode:?}");
    }
}

/// Connects by a socket, and says the first error.
fn python(lines: &str) -> String {
    format!("/usr/bin/python3 - <<'END'\nimport socket, ctypes, os\n{lines}\nEND")
}

#[tokio::test]
async fn no_socket_of_the_network_or_of_a_path_is_reached() {
    if !super::has_python("no_socket_of_the_network_or_of_a_path_is_reached") {
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let connect = python(&format!("socket.create_connection(('127.0.0.1', {port})); print('connected')"));
    let udp = python(&format!(
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print(s.sendto(b'x', ('127.0.0.1', {port})))"
    ));
    let by_path = python("s = socket.socket(socket.AF_UNIX); s.connect('docker.sock'); print('connected')");
    let abstract_name =
        python("s = socket.socket(socket.AF_UNIX); s.connect('\\0tool-test'); print('connected')");
    let ring = python(
        "import sys; sys.exit(ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(256)) < 0)",
    );
    let pair = python("a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))");
    let datagrams = python(
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.connect('log.sock'); print('connected')",
    );
    for mode in confined() {
        let world = World::new(mode);
        let _docker = UnixListener::bind(world.root().join("docker.sock")).unwrap();
        let _log = UnixDatagram::bind(world.root().join("log.sock")).unwrap();
        for command in [&connect, &udp, &by_path, &abstract_name, &datagrams, &ring] {
            let output = world.run(command).await;
            assert_ne!(exit_code(&output), 0, "{command}: {}", output.text());
        }
        assert_eq!(world.text(&pair).await, "b'x'\n");
    }
    for mode in confined() {
        let world = World::with(|shell| mode.set(shell).network(true));
        let _docker = UnixListener::bind(world.root().join("docker.sock")).unwrap();
        assert_eq!(world.text(&connect).await, "connected\n", "{mode:?}");
        for command in [&by_path, &abstract_name, &ring] {
            assert_ne!(exit_code(&world.run(command).await), 0, "{mode:?} {command}");
        }
    }
    let world = World::new(Sandbox::Off);
    let _docker = UnixListener::bind(world.root().join("docker.sock")).unwrap();
    assert_eq!(world.text(&by_path).await, "connected\n");
    let _log = UnixDatagram::bind(world.root().join("log.sock")).unwrap();
    assert_eq!(world.text(&datagrams).await, "connected\n");
}

#[tokio::test]
async fn no_program_runs_as_its_owner_and_no_file_gets_another_one() {
    for mode in confined() {
        let world = World::new(mode);
        for command in [
            "touch a; chmod 4755 a",
            "touch a; chmod g+s a",
            "touch a; chown 1:1 a",
            "cp -p a b; chmod u+s b",
        ] {
            assert_ne!(exit_code(&world.run(command).await), 0, "{command}");
        }
        assert_eq!(world.text("touch c; chmod 755 c; echo done").await, "done\n");
        if super::has_python("no_program_runs_as_its_owner_and_no_file_gets_another_one") {
            let creates =
                "/usr/bin/python3 -c \"import os; os.close(os.open('d', os.O_CREAT | os.O_WRONLY, 0o4755))\"";
            assert_ne!(exit_code(&world.run(creates).await), 0);
            let creates = creates.replace("0o4755", "0o755");
            assert_eq!(exit_code(&world.run(&creates).await), 0);
        }
    }
}

#[tokio::test]
async fn no_other_process_is_traced_or_killed_and_a_process_has_a_limit_of_memory() {
    if !super::has_python("no_other_process_is_traced_or_killed_and_a_process_has_a_limit_of_memory") {
        return;
    }
    let mut neighbour = Command::new("sleep").arg("1000").spawn().unwrap();
    let id = neighbour.id();
    for mode in confined() {
        let world = World::with(|shell| mode.set(shell).memory_limit(256 << 20));
        let traces = python("import sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) < 0)");
        assert_ne!(exit_code(&world.run(&traces).await), 0);
        assert_ne!(exit_code(&world.run(&format!("kill -s KILL {id}")).await), 0);
        assert_ne!(exit_code(&world.run(&python("b'x' * (512 << 20)")).await), 0);
        assert_eq!(exit_code(&world.run(&python("b'x' * (64 << 20)")).await), 0);
    }
    assert!(neighbour.try_wait().unwrap().is_none());
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
}

const WITHOUT_NAMESPACES: &str = "TOOL_TEST_WITHOUT_NAMESPACES";

/// Commands where no namespace can be made, in the process that the test below starts; otherwise nothing.
#[tokio::test]
async fn program_without_namespaces() {
    if std::env::var(WITHOUT_NAMESPACES).is_err() {
        return;
    }
    let required = World::new(Sandbox::Required);
    let error = required.call("bash", json!({ "command": "touch began" })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("nothing guards processes on this machine"), "{error}");
    assert!(!required.root().join("began").exists());

    let preferred = World::new(Sandbox::Preferred);
    let output = preferred.run("sleep 1000 & touch began; cat ../secret.txt").await;
    assert_ne!(exit_code(&output), 0);
    assert!(preferred.root().join("began").exists());
    let enforced = &details(&output)["enforced"];
    assert_eq!(enforced["files"], "landlock");
    assert!(enforced["processes"].is_null());
    assert!(enforced["missing"].to_string().contains("no user namespace"), "{enforced}");
    preferred.assert_nothing_is_left();
    println!("proven");
}

#[test]
fn a_required_sandbox_runs_nothing_where_a_mechanism_is_missing_and_a_preferred_one_says_so() {
    let program = this_program("refusals::program_without_namespaces");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--", "sh", "-c"])
        .arg("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"")
        .arg("sh")
        .arg(program.get_program())
        .args(program.get_args())
        .env(WITHOUT_NAMESPACES, "1")
        // What the program lacks on purpose is no test that this machine skips.
        .env_remove(SKIPPED_TESTS)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("proven"), "{output:?}");
}

const TOOLS_LOSE_NAMESPACES: &str = "TOOL_TEST_TOOLS_LOSE_NAMESPACES";

/// Commands after the machine has stopped to permit namespaces, in the process that the test below starts; otherwise nothing.
#[tokio::test]
async fn program_that_loses_namespaces() {
    if std::env::var(TOOLS_LOSE_NAMESPACES).is_err() {
        return;
    }
    let worlds: Vec<World> = confined().into_iter().map(World::new).collect();
    for world in &worlds {
        assert_eq!(exit_code(&world.run("exit 1").await), 1);
    }
    fs::write("/proc/sys/user/max_user_namespaces", "0").unwrap();
    for world in &worlds {
        let error = world.call("bash", json!({ "command": "touch began" })).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        assert!(text.contains("the sandbox of the command did not start: "), "{text}");
        assert!(
            text.contains("nothing was run") && text.contains("amespace") || text.contains("unshare"),
            "{text}"
        );
        let task = json!({ "command": "touch began", "run_in_background": true });
        let task = world.call("bash", task).await.unwrap();
        let id = details(&task)["task_id"].clone();
        let error = world.call("task_output", json!({ "task_id": id, "wait": true })).await.unwrap_err();
        assert!(error.to_string().contains("nothing was run"), "{error}");
        assert!(!world.root().join("began").exists());
    }
    println!("proven");
}

#[test]
fn a_sandbox_that_fails_to_start_is_an_error_that_says_so() {
    let program = this_program("refusals::program_that_loses_namespaces");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--"])
        .arg(program.get_program())
        .args(program.get_args())
        .env(TOOLS_LOSE_NAMESPACES, "1")
        .env_remove(SKIPPED_TESTS)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("proven"), "{output:?}");
}

#[tokio::test]
async fn a_descriptor_that_the_program_left_open_does_not_reach_a_command() {
    use std::os::fd::AsRawFd as _;
    for mode in confined() {
        // So many paths that other descriptors are used for them.
        let others: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
        let world = World::with(|shell| {
            let shell = shell.readable(others[0].path()).readable(others[1].path());
            mode.set(shell.writable(others[2].path()).writable(others[3].path()))
        });
        let secret = fs::File::open(world.folder.path().join("secret.txt")).unwrap();
        let inherited = rustix::io::fcntl_dupfd_cloexec(&secret, 100).unwrap();
        rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
        let number = inherited.as_raw_fd();
        let own = "for n in {3..40}; do (true >&$n || true <&$n) 2>/dev/null && echo \"$n is open\"; done";
        assert_eq!(world.run(own).await.text(), "[no output]\n[exit code 1]", "{mode:?}");
        let output = world.run(&format!("cat <&{number}; echo end")).await;
        assert!(
            output.text().starts_with("end\n") && output.text().contains("Bad file descriptor"),
            "{mode:?}: {}",
            output.text()
        );
    }
}

#[tokio::test]
async fn a_file_that_shells_read_first_is_read_in_the_sandbox_alone() {
    use std::os::fd::AsRawFd as _;
    // It makes another shell necessary around each command.
    let inherited = rustix::io::fcntl_dupfd_cloexec(fs::File::open("/dev/null").unwrap(), 100).unwrap();
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    assert!(inherited.as_raw_fd() >= 100);
    for mode in confined() {
        let others: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
        let folder = tempfile::tempdir().unwrap();
        let first_file = folder.path().join("first.sh");
        let world = World::with(|shell| {
            let shell = others.iter().fold(shell, |shell, other| shell.writable(other.path()));
            mode.set(shell.writable(folder.path()).env("BASH_ENV", first_file.to_str().unwrap()))
        });
        let outside = world.folder.path().join("escaped");
        let command = format!("echo 'echo first; touch {}' > {}", outside.display(), first_file.display());
        world.run(&command).await;
        let text = world.text("echo second").await;
        assert!(text.starts_with("first\nsecond\n"), "{mode:?}: {text}");
        assert!(!outside.exists(), "{mode:?}");
    }
}

#[tokio::test]
async fn bubblewrap_that_does_not_work_is_named_with_the_reason() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bwrap");
    for (script, reason) in [
        ("exec sleep 1000", "it did not end within 5 s"),
        ("echo 'Unknown option --bind-fd' >&2; exit 1", "Unknown option --bind-fd"),
        ("exit 3", "exit status: 3"),
        ("yes more | head -n 100000 >&2; exit 4", "more"),
    ] {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let world = World::with(|shell| shell.bubblewrap(Some(program.clone())));
        let output = world.run("true").await;
        let enforced = &details(&output)["enforced"];
        assert_eq!(enforced["files"], "landlock", "{script}");
        let missing = enforced["missing"].as_array().unwrap();
        let named: Vec<_> =
            missing.iter().filter_map(|gap| gap.as_str()?.strip_prefix("bubblewrap: ")).collect();
        assert!(matches!(named[..], [named] if named.starts_with(reason)), "{script}: {enforced}");
    }
    // One that is not wanted is not missing.
    let output = World::with(|shell| shell.bubblewrap(None::<std::path::PathBuf>)).run("true").await;
    assert!(!details(&output)["enforced"]["missing"].to_string().contains("bubblewrap"));
}
