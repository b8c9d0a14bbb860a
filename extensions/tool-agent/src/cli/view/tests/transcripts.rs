//! Transcripts of turns: the test runs itself as the program, whose output is read.

use std::{env, process};

use tool_cli::{Cli, Command, clap};
use tool_runtime::{
    Executor, Registry, ToolBuilder,
    context::{LogLevel, LogLine, Progress},
    prelude::*,
};

use super::super::*;
use crate::{
    Agent, AgentTool, Limits, OutputType, Part, Runner, ScriptedModel,
    model::{Fallback, ModelErrorKind, Reply, SharedModel},
};

/// The variable with the case that the program shows, and with the form of its output.
const CASE: &str = "TOOL_AGENT_TURN_VIEW";

#[tool_args]
struct Nothing {}

fn tools() -> Executor {
    let chatty = ToolBuilder::new("chatty").description("Says what it does.");
    let chatty = chatty.expect_handler(|_: Nothing, cx| async move {
        let _ = cx.progress(Progress::new(1.0));
        let _ = cx.progress(Progress::new(2.0).of(4.0).message("half"));
        let _ = cx.log(LogLine::new(LogLevel::Info, "a log line"));
        cx.update("an update").await;
        Ok::<_, ToolError>("done")
    });
    let deliver = ToolBuilder::new("deliver").description("Delivers.").input_schema(
        tool_runtime::schema::InputSchema::new(tool_runtime::serde_json::json!({ "type": "object" }))
            .unwrap(),
    );
    let deliver: tool_runtime::builder::ExternalTool = deliver.external().unwrap();
    let tools = Registry::builder().add(chatty).add(deliver).build().unwrap();
    Executor::builder(tools).external(|call| call.tool() == "deliver").build().unwrap()
}

fn says_and_calls(tool: &str) -> Reply {
    let call = tool_runtime::ToolCall::new(tool, "{}").with_id("1");
    Reply::parts([Part::Text("Let me see".to_owned()), Part::Call(call)])
}

/// An agent that calls the agent `below`, and answers.
fn calling(name: &str, below: Agent) -> Agent {
    let call = tool_runtime::ToolCall::new(below.name(), r#"{"request":"Go."}"#).with_id("1");
    let model = ScriptedModel::new([Reply::calls([call]), Reply::text("Done.")]);
    let tools = Registry::builder().add(AgentTool::new(below).unwrap()).build().unwrap();
    Agent::builder(name, model).tools(tools).build().unwrap()
}

/// An agent that transfers the conversation to the agent `expert`.
fn transferring(name: &str) -> Agent {
    let expert = Agent::builder("expert", ScriptedModel::new([Reply::text("I know.")])).build().unwrap();
    let transfer = Reply::call("transfer_to_agent", r#"{"agent_name":"expert"}"#);
    Agent::builder(name, ScriptedModel::new([transfer])).sub_agent(expert).build().unwrap()
}

/// An agent whose model sends a notice before its answer.
fn noticing(name: &str) -> Agent {
    let reply = r#"{"response":{"parts":[{"text":"Hm."}],"stream":["Hm.",{"notice":"be careful"}]}}"#;
    Agent::builder(name, ScriptedModel::from_text(reply).unwrap()).build().unwrap()
}

/// The agent of a case.
fn agent(case: &str) -> Agent {
    let speaker = |name: &str| Agent::builder(name, ScriptedModel::new([Reply::text(name)])).build().unwrap();
    let pair = || [speaker("one"), speaker("two")];
    match case {
        "members" => return Agent::sequence("team", pair()).build().unwrap(),
        "parallel" => return Agent::parallel("panel", pair()).build().unwrap(),
        "panel of a team" => {
            let panel = Agent::parallel("panel", pair()).build().unwrap();
            return Agent::sequence("team", [panel, speaker("three")]).build().unwrap();
        }
        "below" => {
            let call = tool_runtime::ToolCall::new("chatty", "{}").with_id("1");
            let model = ScriptedModel::new([Reply::calls([call]), Reply::text("Ready.")]);
            let chatty = Agent::builder("c", model).tools(tools()).build().unwrap();
            return calling("a", calling("b", chatty));
        }
        "transfer" => return transferring("a"),
        "transfer below" => return calling("a", transferring("b")),
        "notice" => return noticing("a"),
        "notice below" => return calling("a", noticing("b")),
        _ => {}
    }
    let limits = Limits { rounds: Some(1), ..Limits::default() };
    let model: SharedModel = match case {
        "chatty" | "limit" | "cancelled" => {
            ScriptedModel::new([says_and_calls("chatty"), Reply::text("Done.")]).into()
        }
        "external" => ScriptedModel::new([says_and_calls("deliver")]).into(),
        "line" => ScriptedModel::new([Reply::text("Done.\n")]).into(),
        "failed" => ScriptedModel::new([Reply::error(ModelErrorKind::Refused, "no")]).into(),
        "submitted" => ScriptedModel::new([Reply::call("submit_output", r#"{"a":1}"#)]).into(),
        "withdrawn later" => {
            let broken = Reply::error(ModelErrorKind::Connection, "it broke");
            let first = ScriptedModel::new([says_and_calls("chatty"), broken]);
            Fallback::new(first).or(ScriptedModel::new([Reply::text("5")])).into()
        }
        _ => {
            let broken = Reply::error(ModelErrorKind::Connection, "it broke").with_stream(["It is "]);
            Fallback::new(ScriptedModel::new([broken])).or(ScriptedModel::new([Reply::text("5")])).into()
        }
    };
    let agent = Agent::builder("a", model).tools(tools());
    let agent = match case {
        "limit" => agent.limits(limits),
        "submitted" => agent.output_type(OutputType::any()),
        "cancelled" => agent.hook(crate::hook::before_model(|step| async move {
            if step.number > 1 {
                step.request.run.cancellation().cancel();
                std::future::pending::<()>().await;
            }
            Ok(step.into())
        })),
        _ => agent,
    };
    agent.build().unwrap()
}

struct Show;

impl Command for Show {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("show-turn")
    }

    fn run(&self, program: &Program, _: &clap::ArgMatches) -> Result<Exit, Failure> {
        let case = env::var(CASE).unwrap();
        let (form, case) = case.split_once(' ').unwrap();
        let mut view = TurnView::new(program, form == "json");
        view.streams = form == "streams";
        let mut events = Runner::new(agent(case)).run("Hi.");
        program.print("\u{2}")?;
        program.block_on(async {
            while let Some(event) = events.next().await {
                view.show_event(&event)?;
            }
            Ok(view.exit())
        })?
    }
}

/// Returns the output of the program for a case, its messages, and its exit code.
fn transcript(form: &str, case: &str) -> (String, String, Option<i32>) {
    let this = "cli::view::tests::transcripts::a_turn_is_written_as_its_form_says";
    let mut program = process::Command::new(env::current_exe().unwrap());
    program.args(["--exact", this, "--nocapture"]).env(CASE, format!("{form} {case}")).env("COLUMNS", "200");
    let output = program.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let out = out.split_once('\u{2}').unwrap().1.to_owned();
    (out, String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[test]
fn a_turn_is_written_as_its_form_says() {
    if env::var_os(CASE).is_some() {
        process::exit(Cli::new().command(Show).run(["program", "show-turn"]).code().into());
    }
    let chatty = "about to call chatty: {}\nchatty: 1\nchatty: 2 of 4 half\nchatty: a log line\nchatty: an update\nchatty: done\n";
    let withdrawn = "`scripted:scripted` failed (it broke); `scripted:scripted` is asked\n";
    let before = "the text before the end: Let me see\n";
    let external = "note: deliver: the call must be executed by the caller\n";
    let below = "about to call b: {\"request\":\"Go.\"}\nabout to call b > c: {\"request\":\"Go.\"}\n\
                 about to call b > c > chatty: {}\nb > c > chatty: 1\nb > c > chatty: 2 of 4 half\n\
                 b > c > chatty: a log line\nb > c > chatty: an update\nb > c > chatty: done\nb > c: Ready.\nb: Done.\n";
    let transfer = |above: &str| {
        let tool = format!("{above}transfer_to_agent");
        format!(
            "about to call {tool}: {{\"agent_name\":\"expert\"}}\n{tool}: The agent `expert` has the conversation.\n"
        )
    };
    let calls_b =
        |told: &str, answer: &str| format!("about to call b: {{\"request\":\"Go.\"}}\n{told}b: {answer}\n");
    for (form, case, out, err, code) in [
        ("streams", "chatty", "Let me see\nDone.\n", chatty.to_owned(), 0),
        ("whole", "chatty", "Done.\n", chatty.to_owned(), 0),
        ("streams", "line", "Done.\n", String::new(), 0),
        ("whole", "line", "Done.\n", String::new(), 0),
        ("streams", "withdrawn", "It is \n5\n", format!("note: the text above is withdrawn: {withdrawn}"), 0),
        ("whole", "withdrawn", "5\n", format!("note: {withdrawn}"), 0),
        ("streams", "members", "one\ntwo\n", "note: one:\nnote: two:\n".to_owned(), 0),
        ("whole", "members", "two\n", String::new(), 0),
        ("streams", "parallel", "one\ntwo\n", "note: one:\nnote: two:\n".to_owned(), 0),
        ("whole", "parallel", "one:\none\n\ntwo:\ntwo\n", String::new(), 0),
        (
            "streams",
            "panel of a team",
            "one\ntwo\nthree\n",
            "note: one:\nnote: two:\nnote: three:\n".to_owned(),
            0,
        ),
        ("whole", "panel of a team", "three\n", String::new(), 0),
        ("streams", "limit", "Let me see\n", chatty.to_owned(), 1),
        ("whole", "limit", "", format!("{chatty}{before}"), 1),
        ("streams", "cancelled", "Let me see\n", chatty.to_owned(), 130),
        ("whole", "cancelled", "", format!("{chatty}{before}"), 130),
        ("streams", "failed", "", String::new(), 1),
        ("whole", "failed", "", String::new(), 1),
        ("streams", "submitted", "{\"a\":1}\n", String::new(), 0),
        ("whole", "submitted", "{\"a\":1}\n", String::new(), 0),
        ("streams", "external", "Let me see\n", external.to_owned(), 1),
        ("streams", "withdrawn later", "Let me see\n5\n", format!("{chatty}note: {withdrawn}"), 0),
        ("streams", "below", "Done.\n", below.to_owned(), 0),
        ("whole", "below", "Done.\n", below.to_owned(), 0),
        (
            "streams",
            "transfer",
            "I know.\n",
            format!("{}note: a transfers the conversation to expert\nnote: expert:\n", transfer("")),
            0,
        ),
        (
            "whole",
            "transfer",
            "I know.\n",
            format!("{}note: a transfers the conversation to expert\n", transfer("")),
            0,
        ),
        (
            "streams",
            "transfer below",
            "Done.\n",
            calls_b(
                &format!("{}note: b > transfers the conversation to expert\n", transfer("b > ")),
                "I know.",
            ),
            0,
        ),
        ("streams", "notice", "Hm.\n", "note: be careful\n".to_owned(), 0),
        ("whole", "notice", "Hm.\n", "note: be careful\n".to_owned(), 0),
        ("streams", "notice below", "Done.\n", calls_b("note: b > be careful\n", "Hm."), 0),
    ] {
        let (seen, told, exit) = transcript(form, case);
        assert_eq!((seen.as_str(), exit), (out, Some(code)), "{form} {case}: {told}");
        // Calls of the output's tool are those of any tool; the reason of an end is one line.
        let is_shown = |line: &&str| !line.contains("submit_output");
        let told: String = told.lines().filter(is_shown).map(|line| format!("{line}\n")).collect();
        let (before_error, error) = told.split_at(told.find("error: ").unwrap_or(told.len()));
        assert_eq!((before_error, error.lines().count()), (&*err, usize::from(code == 1)), "{form} {case}");
    }
    let (out, err, code) = transcript("json", "chatty");
    let types: Vec<_> =
        out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).collect();
    assert_eq!((types.last().unwrap()["type"].as_str(), err.as_str(), code), (Some("ended"), "", Some(0)));
    let (_, err, code) = transcript("json", "below");
    assert_eq!((err.as_str(), code), ("", Some(0)));
    let (_, err, code) = transcript("json", "external");
    assert!(err.starts_with("error: ") && code == Some(1), "{err}");
    let (_, err, code) = transcript("json", "limit");
    assert!(err.starts_with("error: ") && code == Some(1), "{err}");
}
