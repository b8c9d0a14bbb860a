//! Servers of ours over HTTP.

use std::time::Duration;

use tokio::net::TcpListener;
use tool_kit::{
    catalogue::{Catalogue, ConnectorInfo, ConnectorState},
    mcp::McpConnectorFactory,
};
use tool_mcp::{
    client::{McpToolSet, Transport},
    rmcp::model::ProtocolVersion,
    server::McpServer,
};
use tool_runtime::{CancellationToken, Toolbox, prelude::*};

use super::{run_during, wait_for_state};
use crate::catalogue::{add, snapshot};

/// Serves a server of ours, whose tools may change, until the token is cancelled.
async fn serve_kitchen(listener: TcpListener, tools: Toolbox, stop: CancellationToken) {
    McpServer::new(tools).named("kitchen", "1").http().unwrap().serve(listener, stop).await.unwrap();
}

/// Waits for the state of the connector of a namespace.
async fn wait_for_namespace(
    catalogue: &Catalogue,
    namespace: &str,
    expected: impl Fn(ConnectorState) -> bool,
) {
    let of_namespace = |info: &ConnectorInfo| info.namespace.as_deref() == Some(namespace);
    let key = catalogue.connectors().into_iter().find(of_namespace).unwrap().key;
    wait_for_state(catalogue, &key, expected).await;
}

/// Waits until the tool of both connectors is listed.
async fn wait_until_listed(catalogue: &Catalogue) {
    for namespace in ["old", "new"] {
        wait_for_namespace(catalogue, namespace, |state| state == ConnectorState::Active).await;
        assert!(snapshot(catalogue).await.lookup(&format!("{namespace}.add")).is_ok(), "{namespace}"); // U16
    }
}

#[tokio::test]
async fn a_server_over_http_that_is_restarted_is_connected_again_on_both_revisions() {
    let registry = Registry::builder().tool::<add>().build().unwrap();
    let tools = Toolbox::from_registry(&registry);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let factory = McpConnectorFactory::with(|mut config| {
        config.limits.min_reconnect_pause = Duration::from_millis(5);
        let is_old = matches!(&config.transport, Transport::Http(it) if it.url.ends_with("?old"));
        let builder = McpToolSet::builder(config);
        if is_old { builder.protocol(ProtocolVersion::V_2025_11_25) } else { builder }
    });
    let catalogue = Catalogue::new().with_connector_factory(factory);
    // A URL has one connector; this is another one of the same server.
    catalogue.add_server_as("old", &format!("http://localhost:{}/mcp?old", address.port())).unwrap();
    catalogue.add_server_as("new", &format!("http://{address}/mcp")).unwrap();
    run_during(&catalogue, async {
        let stop = CancellationToken::new();
        let serving = serve_kitchen(listener, tools.clone(), stop.clone());
        tokio::join!(serving, async {
            wait_until_listed(&catalogue).await;
            // At once: its event streams may not be open yet.
            stop.cancel();
        });
        for namespace in ["old", "new"] {
            wait_for_namespace(&catalogue, namespace, |state| state != ConnectorState::Active).await; // U16
            assert!(snapshot(&catalogue).await.lookup(&format!("{namespace}.add")).is_err()); // U16
        }
        let stop = CancellationToken::new();
        let serving = serve_kitchen(TcpListener::bind(address).await.unwrap(), tools.clone(), stop.clone());
        tokio::join!(serving, async {
            wait_until_listed(&catalogue).await;
            stop.cancel();
        });
    })
    .await;
}
