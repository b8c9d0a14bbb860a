//! Connectors whose connections the catalogue makes.

mod hostile;
#[cfg(feature = "mcp")]
mod http_servers;
#[cfg(feature = "mcp")]
mod mcp_servers;
#[cfg(feature = "mcp")]
mod raw_server;
#[cfg(feature = "mcp")]
mod real_servers;
mod reconnects;
mod registration;
mod threads;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};
use tool_kit::{
    catalogue::{
        Catalogue, Connector, ConnectorFactory, ConnectorInfo, ConnectorNotifier, ConnectorSource,
        ConnectorState,
    },
    prompt::Prompt,
    resource::ReadableResource,
};
use tool_runtime::{BoxFuture, CancellationToken, RunContext, ToolError, ToolSet};

use crate::catalogue::Fixed;

/// The behaviour of a server at its next connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Connections hold until the test ends them.
    Holds,
    Refuses,
    /// Each connection ends after the handshake.
    EndsAtOnce,
    /// The handshake never ends.
    Hangs,
    PanicsIn(&'static str),
}

/// A server of one tool, two prompts and a resource, whose connections the test controls. Clones are the same server.
#[derive(Clone)]
struct FakeServer(Arc<ServerState>);

struct ServerState {
    name: Mutex<String>,
    mode: Mutex<Mode>,
    /// The times of the attempts.
    attempts: Mutex<Vec<Instant>>,
    /// Ends the present connection.
    end: Notify,
    closed: Mutex<usize>,
    notifiers: Mutex<VecDeque<ConnectorNotifier>>,
}

impl FakeServer {
    fn new(name: &str, mode: Mode) -> Self {
        Self(Arc::new(ServerState {
            name: Mutex::new(name.to_owned()),
            mode: Mutex::new(mode),
            attempts: Mutex::default(),
            end: Notify::new(),
            closed: Mutex::default(),
            notifiers: Mutex::default(),
        }))
    }

    fn mode(&self) -> Mode {
        *self.0.mode.lock().unwrap()
    }

    fn set_mode(&self, mode: Mode) {
        *self.0.mode.lock().unwrap() = mode;
    }

    fn rename(&self, name: &str) {
        *self.0.name.lock().unwrap() = name.to_owned();
    }

    fn attempts(&self) -> Vec<Instant> {
        self.0.attempts.lock().unwrap().clone()
    }

    /// Returns the number of connections that were closed.
    fn closed(&self) -> usize {
        *self.0.closed.lock().unwrap()
    }

    fn notifier(&self) -> ConnectorNotifier {
        self.0.notifiers.lock().unwrap().back().unwrap().clone()
    }

    fn panic_in(&self, method: &str) {
        assert!(self.mode() != Mode::PanicsIn(method_name(method)), "a mistake in {method}");
    }
}

fn method_name(method: &str) -> &'static str {
    METHODS.into_iter().find(|known| *known == method).unwrap()
}

/// The methods of a source and its connector.
const METHODS: [&str; 9] =
    ["connect", "namespace", "toolset", "prompts", "resources", "diagnostics", "attached", "closed", "close"];

impl ConnectorSource for FakeServer {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Connector>, ToolError>> {
        Box::pin(async {
            self.0.attempts.lock().unwrap().push(Instant::now());
            self.panic_in("connect");
            match self.mode() {
                Mode::Refuses => Err(ToolError::failed("refused\u{1b}[31m")),
                Mode::Hangs => std::future::pending().await,
                _ => {
                    let name = self.0.name.lock().unwrap().clone();
                    Ok(Arc::new(FakeConnection { items: Fixed::named(&name), server: self.clone() })
                        as Arc<dyn Connector>)
                }
            }
        })
    }
}

struct FakeConnection {
    items: Fixed,
    server: FakeServer,
}

impl Connector for FakeConnection {
    fn namespace(&self) -> &str {
        self.server.panic_in("namespace");
        self.items.namespace()
    }

    fn toolset(&self) -> Option<Arc<dyn ToolSet>> {
        self.server.panic_in("toolset");
        self.items.toolset()
    }

    fn prompts<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        self.server.panic_in("prompts");
        self.items.prompts(run)
    }

    fn resources<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        self.server.panic_in("resources");
        self.items.resources(run)
    }

    fn diagnostics(&self) -> Vec<tool_runtime::diagnostic::Diagnostic> {
        self.server.panic_in("diagnostics");
        Vec::new()
    }

    fn attached(&self, notifier: ConnectorNotifier) {
        self.server.panic_in("attached");
        self.server.0.notifiers.lock().unwrap().push_back(notifier);
    }

    fn closed(&self) -> BoxFuture<'_, ToolError> {
        self.server.panic_in("closed");
        Box::pin(async {
            if self.server.mode() != Mode::EndsAtOnce {
                self.server.0.end.notified().await;
            }
            ToolError::failed("the connection ended")
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        *self.server.0.closed.lock().unwrap() += 1;
        self.server.panic_in("close");
        Box::pin(std::future::ready(()))
    }
}

/// Makes the sources of URLs by a function.
struct Factory<F>(F);

impl<F> ConnectorFactory for Factory<F>
where
    F: Fn(&str) -> Result<Option<Arc<dyn ConnectorSource>>, ToolError> + Send + Sync + 'static,
{
    fn create_connector(&self, url: &str) -> Result<Option<Arc<dyn ConnectorSource>>, ToolError> {
        (self.0)(url)
    }
}

/// Returns a catalogue whose URLs `http://<number>/` are those of servers.
fn catalogue_of<const N: usize>(servers: [&FakeServer; N]) -> Catalogue {
    let servers = servers.map(Clone::clone);
    let catalogue = Catalogue::new().with_connector_factory(Factory(move |url: &str| {
        let number = url.trim_start_matches("http://").trim_end_matches('/');
        Ok(Some(Arc::new(servers[number.parse::<usize>().unwrap()].clone()) as Arc<dyn ConnectorSource>))
    }));
    for number in 0..N {
        catalogue.add_server(&format!("http://{number}/")).unwrap();
    }
    catalogue
}

/// Runs the catalogue while `work` is done, and ends it.
async fn run_during<R>(catalogue: &Catalogue, work: impl Future<Output = R>) -> R {
    let token = CancellationToken::new();
    let worked = async {
        let result = work.await;
        token.cancel();
        result
    };
    let (ended, result) = tokio::join!(catalogue.run(token.clone()), worked);
    ended.unwrap();
    result
}

fn info(catalogue: &Catalogue, key: &str) -> ConnectorInfo {
    catalogue.connectors().into_iter().find(|info| info.key == key).unwrap()
}

/// Waits for the state of a connector, by events alone.
async fn wait_for_state(catalogue: &Catalogue, key: &str, expected: impl Fn(ConnectorState) -> bool) {
    let mut listener = catalogue.subscribe();
    while !catalogue.connectors().iter().any(|info| info.key == key && expected(info.state)) {
        listener.next().await.unwrap().ok();
    }
}

async fn wait_until_active(catalogue: &Catalogue, key: &str) {
    wait_for_state(catalogue, key, |state| state == ConnectorState::Active).await;
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
