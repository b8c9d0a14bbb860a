//! The latency of calls to an MCP server: one by hand on `rmcp`, and one of `tool-mcp` with the same tools.
//!
//! Both servers are processes of this program, the client is `rmcp`'s in both cases. Rounds of the two are interleaved; the
//! median round counts; an argument is the number of calls of a round. `--instructions` runs the servers in callgrind instead: instructions
//! of the server process per call. Words after both choose cases, such as `stdio add` or `http 2026-07-28`.
//! `--load` makes many calls at once, in many sessions, and reads the memory of the server.

mod by_rmcp;
mod load;
mod ours;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    process::Stdio,
    time::{Duration, Instant},
};

use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, ClientConfig, ProtocolVersion},
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ROUNDS: usize = 5;
const SERVERS: [&str; 2] = ["rmcp", "tool-mcp"];

/// One way to call.
#[derive(Clone, Copy)]
struct Case {
    transport: &'static str,
    version: &'static str,
    tool: &'static str,
    in_flight: usize,
}

impl Case {
    fn is_among(self, chosen: &[&str]) -> bool {
        let in_flight = self.in_flight.to_string();
        chosen.iter().all(|it| [self.transport, self.version, self.tool, &in_flight].contains(it))
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match words[..] {
        ["serve", "rmcp", transport] => runtime.block_on(by_rmcp::serve(transport)),
        ["serve", "tool-mcp", transport] => runtime.block_on(ours::serve(transport)),
        ["--load"] => runtime.block_on(load::load()),
        ["--instructions", ref chosen @ ..] => runtime.block_on(instructions(chosen)),
        [calls, ref chosen @ ..] => runtime.block_on(latencies(calls.parse()?, chosen)),
        [] => runtime.block_on(latencies(10_000, &[])),
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for transport in ["stdio", "http"] {
        for version in ["2025-11-25", "2026-07-28"] {
            for tool in ["add", "echo"] {
                for in_flight in [1, 16] {
                    cases.push(Case { transport, version, tool, in_flight });
                }
            }
        }
    }
    cases
}

async fn latencies(calls: usize, chosen: &[&str]) -> Outcome<()> {
    println!("| transport | revision | tool | in flight | `rmcp`, µs | `tool-mcp`, µs | ratio | scatter |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for case in cases().into_iter().filter(|case| case.is_among(chosen)) {
        let calls = if case.tool == "echo" { calls.div_ceil(10) } else { calls };
        let mut rounds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for _ in 0..ROUNDS {
            for server in SERVERS {
                let connected = Connected::to(server, case, false).await?;
                connected.run(case, calls.div_ceil(20)).await?;
                let begun = Instant::now();
                connected.run(case, calls).await?;
                let each = begun.elapsed().as_secs_f64() * 1e6 / calls as f64;
                rounds.entry(server).or_default().push(each);
                connected.close().await?;
            }
        }
        let mut scatter: f64 = 0.0;
        let mut median = |server: &str| {
            let rounds = rounds.get_mut(server).map(std::mem::take).unwrap_or_default();
            let mut sorted = rounds.clone();
            sorted.sort_by(f64::total_cmp);
            scatter = scatter.max(sorted[ROUNDS - 2] / sorted[1] - 1.0);
            sorted[ROUNDS / 2]
        };
        let (by_hand, ours) = (median("rmcp"), median("tool-mcp"));
        let Case { transport, version, tool, in_flight } = case;
        let (ratio, scatter) = (ours / by_hand, scatter * 100.0);
        println!(
            "| {transport} | {version} | `{tool}` | {in_flight} | {by_hand:.1} | {ours:.1} | {ratio:.2} | {scatter:.0} % |"
        );
    }
    Ok(())
}

/// Instructions of the server process per call: the difference of two runs of different length.
async fn instructions(chosen: &[&str]) -> Outcome<()> {
    println!("| transport | revision | tool | `rmcp` | `tool-mcp` | ratio |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for case in cases().into_iter().filter(|case| case.in_flight == 1 && case.is_among(chosen)) {
        let calls = if case.tool == "echo" { 60 } else { 600 };
        let mut each = Vec::new();
        for server in SERVERS {
            let mut totals = Vec::new();
            for calls in [calls, 2 * calls] {
                let connected = Connected::to(server, case, true).await?;
                connected.run(case, calls).await?;
                totals.push(connected.instructions().await?);
            }
            each.push((totals[1] - totals[0]) as f64 / calls as f64);
        }
        let Case { transport, version, tool, .. } = case;
        println!(
            "| {transport} | {version} | `{tool}` | {:.0} | {:.0} | {:.2} |",
            each[0],
            each[1],
            each[1] / each[0]
        );
    }
    Ok(())
}

fn mode_of(case: Case) -> Outcome<ClientLifecycleMode> {
    let version: ProtocolVersion = serde_json::from_value(json!(case.version))?;
    Ok(match version.has_initialize() {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto { preferred_versions: vec![version], legacy_version: None },
    })
}

/// A client of a server process.
struct Connected {
    client: RunningService<RoleClient, ClientConfig>,
    /// The process, if it is not the transport's.
    child: Option<Child>,
    counts: Option<String>,
    /// The address, over HTTP.
    url: Option<String>,
}

impl Connected {
    async fn to(server: &str, case: Case, counted: bool) -> Outcome<Self> {
        let counts = counted.then(|| format!("{}/mcp-{}.out", env::temp_dir().display(), std::process::id()));
        let mut command = match &counts {
            None => Command::new(env::current_exe()?),
            Some(file) => {
                let mut command = Command::new("valgrind");
                // Else a copy of more than 4 kB is an instruction per byte or one per some bytes, as its addresses happen to be.
                command.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1000000000");
                command.args(["--tool=callgrind", "--quiet", &format!("--callgrind-out-file={file}")]);
                command.arg(env::current_exe()?);
                command
            }
        };
        command.args(["serve", server, case.transport]);
        let mode = mode_of(case)?;
        let handler = ClientConfig::default();
        if case.transport == "stdio" {
            let client = handler.serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?;
            return Ok(Self { client, child: None, counts, url: None });
        }
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let url = BufReader::new(stdout).lines().next_line().await?.ok_or("the server printed no address")?;
        let transport = StreamableHttpClientTransport::from_uri(url.clone());
        let client = handler.serve_with_lifecycle(transport, mode).await?;
        Ok(Self { client, child: Some(child), counts, url: Some(url) })
    }

    /// Another client of a server over HTTP.
    async fn at(url: String, case: Case) -> Outcome<Self> {
        let transport = StreamableHttpClientTransport::from_uri(url.clone());
        let client = ClientConfig::default().serve_with_lifecycle(transport, mode_of(case)?).await?;
        Ok(Self { client, child: None, counts: None, url: Some(url) })
    }

    /// The memory of the server, in KiB.
    fn resident(&self) -> Outcome<i64> {
        let id = self.child.as_ref().and_then(Child::id).ok_or("the server has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no size")?;
        Ok(line.split_whitespace().nth(1).ok_or("no size")?.parse()?)
    }

    async fn run(&self, case: Case, calls: usize) -> Outcome<()> {
        let mut running = tokio::task::JoinSet::new();
        let times = if case.tool == "echo" { 3_300 } else { 33 };
        let text = "The quick brown fox said \"no\".\n".repeat(times);
        for lane in 0..case.in_flight {
            let (peer, text) = (self.client.peer().clone(), text.clone());
            let share = calls / case.in_flight + usize::from(lane < calls % case.in_flight);
            running.spawn(async move {
                for at in 0..share {
                    let arguments = match case.tool {
                        "add" => json!({ "a": at, "b": 3 }),
                        _ => json!({ "text": text }),
                    };
                    let tool = if case.tool == "add" { "add" } else { "echo" };
                    let mut params = CallToolRequestParams::new(tool);
                    params.arguments = arguments.as_object().cloned();
                    let answer = peer.call_tool_once(params).await?;
                    let rmcp::model::CallToolResponse::Complete(result) = answer else {
                        return Err("no result".into());
                    };
                    let got = result.content.first().and_then(|it| it.as_text()).map(|it| it.text.as_str());
                    let right = match case.tool {
                        "add" => got == Some(&(at + 3).to_string()),
                        _ => got == Some(&text),
                    };
                    if !right {
                        return Err(format!("a wrong answer: {got:?}").into());
                    }
                }
                Outcome::Ok(())
            });
        }
        while let Some(ended) = running.join_next().await {
            ended??;
        }
        Ok(())
    }

    async fn close(mut self) -> Outcome<()> {
        self.client.cancel().await?;
        if let Some(child) = &mut self.child {
            child.kill().await?;
        }
        Ok(())
    }

    /// Ends the server, and returns the instructions that it executed.
    async fn instructions(mut self) -> Outcome<u64> {
        let file = self.counts.take().ok_or("not counted")?;
        let _ = std::fs::remove_file(&file);
        self.client.cancel().await?;
        if let Some(mut child) = self.child.take() {
            let id = child.id().ok_or("the server has ended")?;
            Command::new("kill").args(["-INT", &id.to_string()]).status().await?;
            child.wait().await?;
        }
        for _ in 0..200 {
            if let Ok(text) = std::fs::read_to_string(&file)
                && let Some(line) =
                    text.lines().find(|line| line.starts_with("summary:") || line.starts_with("totals:"))
            {
                return Ok(line.split_whitespace().nth(1).ok_or("no count")?.parse()?);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("callgrind wrote no file".into())
    }
}
