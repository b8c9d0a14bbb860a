//! The cost of a catalogue of 10,000 items: `cargo bench -p tool-kit --bench catalogue`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program")]

use std::{
    fs,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use tool_kit::{
    catalogue::{Catalogue, ItemQuery},
    prompt::{Prompt, PromptDefinition, text_prompt},
    resource::{ReadableResource, StoredResource},
};
use tool_runtime::{RunContext, Tool, testing::ScriptedTool};

const ITEMS_OF_A_KIND: usize = 3_334;
const ROUNDS: u32 = 200;

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

fn print_row(name: &str, time: Duration, limit: Option<Duration>) {
    let limit = limit.map(|limit| format!("at most {limit:?}")).unwrap_or_default();
    println!("{name:<40}{:>12.3} µs  {limit}", time.as_secs_f64() * 1e6);
}

/// Returns the memory of the process, in kB.
fn resident_kilobytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let run = Arc::new(RunContext::new());
    let before = resident_kilobytes();
    let catalogue = Catalogue::new();
    catalogue.tools().add_all((0..ITEMS_OF_A_KIND).map(tool)).unwrap();
    catalogue.add_prompts((0..ITEMS_OF_A_KIND).map(prompt)).unwrap();
    catalogue.add_resources((0..ITEMS_OF_A_KIND).map(resource)).unwrap();
    let items = runtime.block_on(catalogue.snapshot(&run)).unwrap();
    let page = items.list(&ItemQuery::all());
    println!("{} items", page.count);
    if let (Some(before), Some(after)) = (before, resident_kilobytes()) {
        println!("{:<40}{:>12} kB  at most 20000 kB", "memory, with a snapshot", after - before);
    }
    let micros = Duration::from_micros;
    let of_many = |work: &mut dyn FnMut(usize)| median(|round| (0..1_000).for_each(|_| work(round))) / 1_000;
    print_row(
        "look-up of a tool",
        of_many(&mut |_| _ = black_box(items.lookup("tool_01234").unwrap())),
        None,
    );
    print_row(
        "look-up of a URI",
        of_many(&mut |_| _ = black_box(items.lookup("text:resource_01234").unwrap())),
        None,
    );
    print_row(
        "a page of 100",
        of_many(&mut |_| drop(black_box(items.list(&ItemQuery::all().at(5_000))))),
        Some(micros(10)),
    );
    let next = ITEMS_OF_A_KIND;
    print_row(
        "adding a tool",
        median(|round| catalogue.tools().add_all([tool(next + round)]).unwrap()),
        Some(micros(200)),
    );
    print_row(
        "adding a prompt",
        median(|round| catalogue.add_prompts([prompt(next + round)]).unwrap()),
        Some(micros(200)),
    );
    let add_resource = |round| _ = catalogue.add_resources([resource(next + round)]).unwrap();
    print_row("adding a resource", median(add_resource), Some(micros(200)));
    print_row(
        "a snapshot",
        median(|_| drop(black_box(runtime.block_on(catalogue.snapshot(&run)).unwrap()))),
        None,
    );
    #[cfg(feature = "mcp")]
    servers::print_reconnection();
}

/// 50 servers of ours in this process that go and come again.
#[cfg(feature = "mcp")]
mod servers {
    use std::{net::SocketAddr, sync::Arc, time::Instant};

    use tokio::{net::TcpListener, task::JoinSet};
    use tool_kit::{
        catalogue::{Catalogue, ConnectorState, ItemQuery},
        mcp::McpConnectorFactory,
    };
    use tool_mcp::server::McpServer;
    use tool_runtime::{CancellationToken, RunContext, Toolbox, prelude::*};

    const SERVERS: usize = 50;

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

    /// Prints the time from the restart of all servers until all their tools are listed.
    pub(super) fn print_reconnection() {
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
                let started = Instant::now();
                let serving = Serving::start(addresses).await;
                wait_for_all(&catalogue, |state| state == ConnectorState::Active).await;
                let items = catalogue.snapshot(&Arc::new(RunContext::new())).await.unwrap();
                assert_eq!(items.list(&ItemQuery::all()).count, SERVERS);
                let seconds = started.elapsed().as_secs_f64();
                println!(
                    "{:<40}{seconds:>12.3} s   at most 3 s, or the wait that began before",
                    "50 servers listed again"
                );
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
