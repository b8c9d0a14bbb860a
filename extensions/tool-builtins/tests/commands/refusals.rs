//! Refusals of each mode.

use std::{
    fs,
    net::TcpListener,
    os::unix::net::{UnixDatagram, UnixListener},
    process::Command,
};

use tool_builtins::Sandbox;
use tool_runtime::prelude::*;

use super::{World, details, exit_code, this_program};

const CONFINED: [Sandbox; 2] = [Sandbox::Required, Sandbox::Preferred];

#[tokio::test]
async fn a_result_names_the_active_guards_and_the_missing_ones() {
    for sandbox in CONFINED {
        let output = World::new(sandbox).run("true").await;
        let enforced = &details(&output)["enforced"];
        assert_eq!(enforced["files"], "landlock");
        assert_eq!(enforced["network"], "seccomp, namespace");
        assert_eq!(enforced["processes"], "namespace");
        assert_eq!(enforced["memory"], "ulimit, for the private memory of each process");
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(enforced["missing"].as_array().unwrap().len(), usize::from(is_root), "{enforced}");
    }
    let output = World::new(Sandbox::Off).run("true").await;
    let enforced = &details(&output)["enforced"];
    assert!(enforced["files"].is_null() && enforced["network"].is_null());
    assert_eq!(enforced["missing"][0], "sandbox: it is off");
}

#[tokio::test]
async fn a_command_reads_and_writes_its_folder_and_reads_the_system_alone() {
    for sandbox in CONFINED {
        let world = World::new(sandbox);
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
            format!("ls {outside}"),
            format!("echo more > {outside}/new.txt"),
            format!("echo more >> {outside}/secret.txt"),
            format!("truncate -s 0 {outside}/secret.txt"),
            format!("mv {outside}/secret.txt ."),
            format!("rm {outside}/secret.txt"),
            "cat /etc/shadow".to_owned(),
            "ls /root".to_owned(),
            "ls /proc".to_owned(),
            "cat /proc/1/environ".to_owned(),
            "cat /proc/self/environ".to_owned(),
            "ls /tmp".to_owned(),
            "ls /".to_owned(),
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
            assert_ne!(exit_code(&output), 0, "{sandbox:?} {command}: {}", output.text());
            assert!(!output.text().contains("a secret"), "{command}");
        }
        assert_eq!(fs::read_to_string(world.folder.path().join("secret.txt")).unwrap(), "a secret");
        assert!(!world.folder.path().join("new.txt").exists());
    }
    let world = World::new(Sandbox::Off);
    assert_eq!(world.text("cat ../secret.txt").await, "a secret");
}

#[tokio::test]
async fn a_folder_that_the_program_names_is_readable_or_writable() {
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("tool.sh"), "#!/bin/sh\necho ran\n").unwrap();
    let path = other.path().display().to_string();
    let commands = format!("sh {path}/tool.sh; touch {path}/new 2>/dev/null && echo written");
    assert_eq!(
        World::with(|shell| shell.sandbox(Sandbox::Required).readable(other.path()))
            .run(&commands)
            .await
            .text(),
        "ran\n[exit code 1]"
    );
    assert_eq!(
        World::with(|shell| shell.sandbox(Sandbox::Required).writable(other.path())).text(&commands).await,
        "ran\nwritten\n"
    );
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
    for sandbox in CONFINED {
        let world = World::new(sandbox);
        let _docker = UnixListener::bind(world.root().join("docker.sock")).unwrap();
        let _log = UnixDatagram::bind(world.root().join("log.sock")).unwrap();
        for command in [&connect, &udp, &by_path, &abstract_name, &datagrams, &ring] {
            let output = world.run(command).await;
            assert_ne!(exit_code(&output), 0, "{command}: {}", output.text());
        }
        assert_eq!(world.text(&pair).await, "b'x'\n");
    }
    let world = World::with(|shell| shell.sandbox(Sandbox::Required).network(true));
    let _docker = UnixListener::bind(world.root().join("docker.sock")).unwrap();
    assert_eq!(world.text(&connect).await, "connected\n");
    for command in [&by_path, &abstract_name, &ring] {
        assert_ne!(exit_code(&world.run(command).await), 0, "{command}");
    }
    let world = World::new(Sandbox::Off);
    let _docker = UnixListener::bind(world.root().join("docker.sock")).unwrap();
    assert_eq!(world.text(&by_path).await, "connected\n");
    let _log = UnixDatagram::bind(world.root().join("log.sock")).unwrap();
    assert_eq!(world.text(&datagrams).await, "connected\n");
}

#[tokio::test]
async fn no_program_runs_as_its_owner_and_no_file_gets_another_one() {
    for sandbox in CONFINED {
        let world = World::new(sandbox);
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
    for sandbox in CONFINED {
        let world = World::with(|shell| shell.sandbox(sandbox).memory_limit(256 << 20));
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
    assert!(enforced["missing"][0].as_str().unwrap().contains("no user namespace"), "{enforced}");
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
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("proven"), "{output:?}");
}
