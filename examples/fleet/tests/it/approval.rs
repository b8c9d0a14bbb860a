//! An agent in one process after another, and a worker of a tool that needs an approval.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio, id},
    sync::atomic::{AtomicU64, Ordering},
};

use test_support::nats::{Server, reported};

/// A broker, a worker of the pool `payments`, and the folder of the agent; all of it ends with the value.
struct Fleet {
    server: Server,
    folder: PathBuf,
    worker: Child,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        drop(self.worker.kill());
        drop(self.worker.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}

impl Fleet {
    fn start() -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let server = reported(Server::start())?;
        let name = format!("fleet-agent-{}-{}", id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        let [program_key, key] = ["program.key", "payments.key"].map(|name| folder.join(name));
        let mut command = payments();
        command.args(["fleet", "key", "--program-key"]).arg(program_key).arg("--save").arg(&key);
        assert!(command.output().unwrap().status.success());
        let mut command = payments();
        command.env("FLEET_PAYMENTS", folder.join("payments.txt"));
        command.args(["work", "--nats", server.url(), "--key"]).arg(&key);
        let worker = command.stderr(Stdio::null()).spawn().unwrap();
        Some(Self { server, folder, worker })
    }

    /// Runs the agent in a process until it ends, again while there is no worker yet; returns what it prints.
    fn run_agent(&self, order: &[&str]) -> String {
        loop {
            let mut command = Command::new(env!("CARGO_BIN_EXE_fleet-agent"));
            command.arg(self.server.url()).arg(&self.folder).args(order).env_remove("MODEL");
            let ran = command.output().unwrap();
            let [output, errors] = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
            if ran.status.success() {
                return output.trim_end().to_owned();
            }
            assert!(errors.contains("no worker of the pool `payments` answers"), "{output}{errors}");
        }
    }

    fn payments(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("payments.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn payments() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fleet-payments"))
}

#[test]
fn an_approval_of_a_call_at_a_worker_is_given_in_another_process_and_runs_once() {
    let Some(fleet) = Fleet::start() else { return };
    let question = fleet.run_agent(&["message", "pay the baker 12"]);
    assert_eq!(question, r#"waiting for an answer: payments__pay {"to":"the baker","amount":12}"#);
    assert_eq!(fleet.payments(), [""; 0]);
    assert_eq!(fleet.run_agent(&["approve"]), "Done: paid 12 EUR to the baker.");
    assert_eq!(fleet.payments(), [r#"12 EUR to "the baker""#]);
}

#[test]
fn of_approvals_at_once_in_two_processes_one_runs_the_call() {
    let Some(fleet) = Fleet::start() else { return };
    fleet.run_agent(&["message", "pay the baker 12"]);
    let approving: Vec<_> = (0..2)
        .map(|_| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_fleet-agent"));
            command.arg(fleet.server.url()).arg(&fleet.folder).arg("approve").env_remove("MODEL");
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let ran: Vec<_> = approving.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    assert!(ran.iter().any(|ran| String::from_utf8_lossy(&ran.stdout).contains("paid 12 EUR")), "{ran:?}");
    assert_eq!(fleet.payments(), [r#"12 EUR to "the baker""#]);
}

#[test]
fn a_call_at_a_worker_that_is_rejected_in_another_process_does_not_run() {
    let Some(fleet) = Fleet::start() else { return };
    fleet.run_agent(&["message", "pay the baker 12"]);
    let text = fleet.run_agent(&["reject"]);
    assert!(text.contains("call is rejected"), "{text}");
    assert_eq!(fleet.payments(), [""; 0]);
    // The conversation goes on.
    assert_eq!(fleet.run_agent(&["message", "Thanks."]), "What is to be paid?");
}
