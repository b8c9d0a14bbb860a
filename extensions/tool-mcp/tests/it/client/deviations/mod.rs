//! Deviations from the protocol beside those that servers were seen to send: of each kind, in other messages, types and
//! transports.

mod content;
mod errors;
mod events;
mod handshake;
mod listings;
mod offers;

use serde_json::Value;
use tool_mcp::client::{ClientError, McpToolSet};

use super::{config, lives::started};

/// The codes of the diagnostics of a toolset, each once and in order.
fn codes(set: &McpToolSet) -> Vec<&'static str> {
    let mut codes: Vec<_> = set.diagnostics().iter().map(|it| it.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Sends a request of the toolset, which the server answers with this result.
async fn answered<T: Send + 'static, F>(
    ask: impl FnOnce(McpToolSet) -> F,
    result: &Value,
) -> (McpToolSet, Result<T, ClientError>)
where
    F: Future<Output = Result<T, ClientError>> + Send + 'static,
{
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let asking = tokio::spawn(ask(set.clone()));
    let request = fake.message().await.unwrap();
    fake.answer(&request, result.clone()).await;
    (set, asking.await.unwrap())
}
