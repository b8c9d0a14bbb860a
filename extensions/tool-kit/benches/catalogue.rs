//! The cost of a catalogue of 10,000 items: `cargo bench -p tool-kit --bench catalogue`; with `--features mcp`, also of 50 servers that come again. Each figure is
//! printed with its bar, and the program fails if one is beyond it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program")]

use std::{
    env, fs,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use benches::{Workload, measure};
use tool_kit::{
    catalogue::{Catalogue, CatalogueSnapshot, ItemQuery},
    prompt::{Prompt, PromptDefinition, text_prompt},
    resource::{ReadableResource, StoredResource},
};
use tool_runtime::{RunContext, Tool, testing::ScriptedTool};

const ITEMS_OF_A_KIND: usize = 3_334;
const ROUNDS: u32 = 200;
const MAX_LOOKUP_INSTRUCTIONS: u64 = 1_000;
const MAX_PAGE_TIME: Duration = Duration::from_micros(10);
const MAX_ADDITION_TIME: Duration = Duration::from_micros(200);
const MAX_KILOBYTES: u64 = 20_000;

fn tool(at: usize) -> Arc<dyn Tool> {
    Arc::new(ScriptedTool::new(&format!("tool_{at:05}")).gives("5"))
}

fn prompt(at: usize) -> Arc<dyn Prompt> {
    let definition = PromptDefinition::new(format!("prompt_{at:05}")).unwrap();
    Arc::new(text_prompt(definition, |_| Ok(String::new())))
}

fn resource(at: usize) -> Arc<dyn ReadableResource> {
    Arc::new(StoredResource::must_text(&format!("resource_{at:05}"), "text"))
}

/// Returns the median of the times that `work` takes.
fn median(mut work: impl FnMut(usize)) -> Duration {
    let mut times: Vec<_> = (0..ROUNDS as usize)
        .map(|round| {
            let start = Instant::now();
            work(round);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// The figures that are beyond their bars.
#[derive(Default)]
struct Report {
    beyond: Vec<String>,
}

impl Report {
    fn add_time(&mut self, name: &str, time: Duration, bar: Duration) {
        self.add(name, &format!("{:>12.3} µs  at most {bar:?}", time.as_secs_f64() * 1e6), time <= bar);
    }

    fn add(&mut self, name: &str, figure: &str, is_within: bool) {
        let mark = if is_within { "" } else { "  BEYOND THE BAR" };
        println!("{name:<40}{figure}{mark}");
        if !is_within {
            self.beyond.push(name.to_owned());
        }
    }

    fn into_result(self) -> Result<(), String> {
        if self.beyond.is_empty() {
            Ok(())
        } else {
            Err(format!("beyond the bar: {}", self.beyond.join(", ")))
        }
    }
}

/// Returns the memory of the process without its code, in kB.
fn resident_kilobytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns a catalogue of 10,000 items of the program.
fn filled_catalogue() -> Catalogue {
    let catalogue = Catalogue::new();
    catalogue.tools().add_all((0..ITEMS_OF_A_KIND).map(tool)).unwrap();
    catalogue.add_prompts((0..ITEMS_OF_A_KIND).map(prompt)).unwrap();
    catalogue.add_resources((0..ITEMS_OF_A_KIND).map(resource)).unwrap();
    catalogue
}

fn take_snapshot(catalogue: &Catalogue) -> CatalogueSnapshot {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(catalogue.snapshot(&Arc::new(RunContext::new()))).unwrap()
}

/// Look-ups of present names, whose instructions are counted. A snapshot has no lock.
fn lookups() -> Vec<(Workload, u64)> {
    let snapshot = take_snapshot(&filled_catalogue());
    let lookup = |name, key: &'static str| {
        let snapshot = snapshot.clone();
        let work = move |done: &mut dyn FnMut(&[u8])| {
            done(snapshot.lookup(black_box(key)).unwrap().key().as_bytes())
        };
        (Workload::without_floor(name, work), MAX_LOOKUP_INSTRUCTIONS)
    };
    vec![
        lookup("look-up of a tool", "tool_01234"),
        lookup("look-up of a prompt", "prompt_01234"),
        lookup("look-up of a URI", "text:resource_01234"),
    ]
}

fn main() -> Result<(), String> {
    // A child process counts instructions alone.
    if env::args().any(|argument| argument == "--count-instructions") {
        return measure::against_bars("catalogue", lookups());
    }
    let mut report = Report::default();
    let before = resident_kilobytes();
    let catalogue = filled_catalogue();
    let items = take_snapshot(&catalogue);
    println!("{} items", items.list(&ItemQuery::all()).count);
    if let Some(kilobytes) = resident_kilobytes().zip(before).map(|(after, before)| after - before) {
        let figure = format!("{kilobytes:>12} kB  at most {MAX_KILOBYTES} kB");
        report.add("memory, with a snapshot", &figure, kilobytes <= MAX_KILOBYTES);
    }
    let page = || drop(black_box(items.list(&ItemQuery::all().at(5_000))));
    report.add_time("a page of 100", median(|_| (0..1_000).for_each(|_| page())) / 1_000, MAX_PAGE_TIME);
    let next = ITEMS_OF_A_KIND;
    let add_tool = |round| catalogue.tools().add_all([tool(next + round)]).unwrap();
    report.add_time("adding a tool", median(add_tool), MAX_ADDITION_TIME);
    let add_prompt = |round| catalogue.add_prompts([prompt(next + round)]).unwrap();
    report.add_time("adding a prompt", median(add_prompt), MAX_ADDITION_TIME);
    let add_resource = |round| _ = catalogue.add_resources([resource(next + round)]).unwrap();
    report.add_time("adding a resource", median(add_resource), MAX_ADDITION_TIME);
    #[cfg(feature = "mcp")]
    servers::report_reconnection(&mut report);
    let counted = measure::against_bars("catalogue", lookups());
    report.into_result().and(counted)
}

/// 50 servers of ours in this process that go and come again.
#[cfg(feature = "mcp")]
mod servers {
    use std::{
        net::SocketAddr,
        sync::Arc,
        time::{Duration, Instant},
    };

    use tokio::{net::TcpListener, task::JoinSet};
    use tool_kit::{
        catalogue::{Catalogue, ConnectorState, ItemQuery},
        mcp::McpConnectorFactory,
    };
    use tool_mcp::server::McpServer;
    use tool_runtime::{CancellationToken, RunContext, Toolbox, prelude::*};

    const SERVERS: usize = 50;
    const MAX_RECONNECTION_TIME: Duration = Duration::from_secs(3);

    /// Adds two numbers.
    #[tool(register = false)]
    fn add(a: i64, b: i64) -> i64 {
        a + b
    }

    /// Servers that are served until the token is cancelled.
    struct Serving {
        addresses: Vec<SocketAddr>,
        tasks: JoinSet<()>,
        stop: CancellationToken,
    }

    impl Serving {
        async fn start(addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
            let (mut bound, mut tasks, stop) = (Vec::new(), JoinSet::new(), CancellationToken::new());
            for (number, address) in addresses.into_iter().enumerate() {
                let listener = TcpListener::bind(address).await.unwrap();
                bound.push(listener.local_addr().unwrap());
                // Its connections end with it: a client is subscribed to tools that may change.
                let tools = Toolbox::from_registry(&Registry::builder().tool::<add>().build().unwrap());
                let server = McpServer::new(tools).named(format!("server-{number}"), "1").http().unwrap();
                let stop = stop.clone();
                tasks.spawn(async move { server.serve(listener, stop).await.unwrap() });
            }
            Self { addresses: bound, tasks, stop }
        }

        async fn end(mut self) -> Vec<SocketAddr> {
            self.stop.cancel();
            while self.tasks.join_next().await.is_some() {}
            self.addresses
        }
    }

    /// Reports the time from the restart of all servers until all their tools are listed.
    pub(super) fn report_reconnection(report: &mut super::Report) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let catalogue = Catalogue::new().with_connector_factory(McpConnectorFactory::new());
            let serving = Serving::start((0..SERVERS).map(|_| SocketAddr::from(([127, 0, 0, 1], 0)))).await;
            for address in &serving.addresses {
                catalogue.add_server(&format!("http://{address}/mcp")).unwrap();
            }
            let token = CancellationToken::new();
            let work = async {
                wait_for_all(&catalogue, |state| state == ConnectorState::Active).await;
                let addresses = serving.end().await;
                wait_for_all(&catalogue, |state| state != ConnectorState::Active).await;
                // A wait that began before goes on.
                let states = catalogue.connectors().into_iter().map(|info| info.state);
                let waits = states.map(|state| match state {
                    ConnectorState::Waiting { delay } => delay + Duration::from_secs(1),
                    _ => Duration::ZERO,
                });
                let bar = waits.max().unwrap_or_default().max(MAX_RECONNECTION_TIME);
                let started = Instant::now();
                let serving = Serving::start(addresses).await;
                wait_for_all(&catalogue, |state| state == ConnectorState::Active).await;
                let items = catalogue.snapshot(&Arc::new(RunContext::new())).await.unwrap();
                assert_eq!(items.list(&ItemQuery::all()).count, SERVERS);
                let time = started.elapsed();
                let figure = format!("{:>12.3} s   at most {bar:?}", time.as_secs_f64());
                report.add("50 servers listed again", &figure, time <= bar);
                token.cancel();
                serving.end().await;
            };
            let (ended, ()) = tokio::join!(catalogue.run(token.clone()), work);
            ended.unwrap();
        });
    }

    async fn wait_for_all(catalogue: &Catalogue, expected: impl Fn(ConnectorState) -> bool) {
        let mut listener = catalogue.subscribe();
        while !catalogue.connectors().iter().all(|info| expected(info.state)) {
            listener.next().await.unwrap().ok();
        }
    }
}
