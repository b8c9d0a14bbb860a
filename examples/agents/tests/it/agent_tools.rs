//! Agents as tools: links to calls, the settings of the tool, and a question below a call over several processes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use crate::transcripts::{compare, output_of};

// Q23 Z06
#[tokio::test]
async fn events_below_two_calls_with_one_id_are_on_the_card_of_their_call() {
    let output = output_of(env!("CARGO_BIN_EXE_call-ids"), &[], &[], "").await;
    compare("call-ids", &output);
    let on_card = |card: &str, text: &str| {
        output.lines().filter(|line| line.starts_with(card) && line.contains(text)).count()
    };
    for (card, town, other) in [("card 1", "Oslo", "Bergen"), ("card 2", "Bergen", "Oslo")] {
        assert_eq!((on_card(card, town), on_card(card, other)), (2, 0), "{output}");
    }
}

/// Runs `agent-tool` with flags; returns its output, which is compared with a transcript.
async fn agent_tool(transcript: &str, flags: &[&str]) -> String {
    let output = output_of(env!("CARGO_BIN_EXE_agent-tool"), flags, &[], "").await;
    compare(&format!("agent-tool/{transcript}"), &output);
    output
}

/// Returns what the agent below is asked in its first, second and third call.
fn requests(output: &str) -> [&str; 3] {
    let requests = output.split("the researcher is asked:\n").skip(1);
    let requests: Vec<_> = requests.map(|it| it.split("\nresearcher {").next().unwrap()).collect();
    requests.try_into().unwrap()
}

// Q17 Q19 Z12
#[tokio::test]
async fn flags_choose_the_history_that_the_second_call_of_an_agent_sees() {
    let (oslo, bergen) = ("assistant: 717,710 people.", "assistant: 291,940 people.");
    let has = |output: &str, text: &str| requests(output).map(|request| request.contains(text));
    let alone = agent_tool("isolated", &[]).await;
    assert_eq!((has(&alone, oslo), has(&alone, bergen)), ([false; 3], [false; 3]), "{alone}");
    let persistent = agent_tool("persistent", &["--persistent-child-history"]).await;
    let seen = (has(&persistent, oslo), has(&persistent, bergen));
    assert_eq!(seen, ([false, true, true], [false, false, true]), "{persistent}");
    let keyed = ["--persistent-child-history", "--child-history-key", "towns"];
    assert_eq!(output_of(env!("CARGO_BIN_EXE_agent-tool"), &keyed, &[], "").await, persistent);
    // The third question is about the town of the first one.
    let by_town = agent_tool("by-town", &["--child-history-by-town"]).await;
    assert_eq!((has(&by_town, oslo), has(&by_town, bergen)), ([false, false, true], [false; 3]), "{by_town}");
    let branch = agent_tool("parent", &["--parent-history"]).await;
    assert_eq!(has(&branch, "How large is Oslo?"), [true; 3], "{branch}");
}

// Q12 Q13 Q14 Q16 Z12
#[tokio::test]
async fn flags_choose_what_is_shown_of_an_agent_and_what_its_call_returns() {
    let streamed = agent_tool("streamed", &["--stream-inner"]).await;
    assert!(streamed.contains("  text: I look it up. \n"), "{streamed}");
    let hidden = agent_tool("hidden", &["--hide-inner-text"]).await;
    assert!(!hidden.contains("  message: ") && hidden.contains("  inhabitants: 717710"), "{hidden}");
    let last = agent_tool("last", &["--last-text"]).await;
    assert!(last.contains("\nresearcher: 717,710 people.\n"), "{last}");
    let skipped = agent_tool("skipped", &["--skip-summarization"]).await;
    assert!(skipped.contains("\na tool answered the user\n"), "{skipped}");
}

/// A folder that is removed with its value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("payment-{}-{name}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    /// Runs `payment` in this folder in a process of its own.
    async fn pay(&self, decision: &[&str]) -> String {
        let folder = self.0.to_str().unwrap();
        let arguments = [&[folder], decision].concat();
        output_of(env!("CARGO_BIN_EXE_payment"), &arguments, &[], "").await
    }

    /// Runs `payment` as [`pay`](Self::pay) does; returns the error with which it ends.
    async fn failed_payment(&self, decision: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_payment"));
        command.arg(&self.0).arg(decision).env_remove("MODEL").stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await.unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

// Z12
#[tokio::test]
async fn another_process_answers_a_question_below_a_call_and_the_body_runs_once() {
    let mut transcript = String::new();
    for decision in ["approve", "reject"] {
        let folder = Folder::new(decision);
        let asked = folder.pay(&[]).await;
        assert!(asked.ends_with("payments so far:\n"), "{asked}");
        let answered = folder.pay(&[decision]).await;
        transcript += &format!("# the first process\n{asked}# {decision}, in another process\n{answered}");
        let payments = usize::from(decision == "approve");
        assert_eq!(answered.matches("12 EUR to \"the baker\"\n").count(), payments, "{answered}");
        // The answer is used once.
        let again = folder.failed_payment(decision).await;
        assert!(again.contains("no call waits for an answer"), "{again}");
    }
    compare("payment", &transcript);
}
