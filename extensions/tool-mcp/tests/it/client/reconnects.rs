//! Connections that end during each operation.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::Map;
use tool_mcp::client::{ClientErrorKind, McpToolSet, ServerConfig};

use super::{config, fake::Fakes};

/// A toolset that may reconnect so often, and the number of its connections, each of which ends with its first request.
fn ending(reconnects: Option<u32>) -> (McpToolSet, Arc<AtomicUsize>) {
    let config = reconnects.into_iter().fold(config(), ServerConfig::reconnect);
    let (builder, fakes) = Fakes::builder(config);
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let mut fake = fakes.next().await;
            count.fetch_add(1, Ordering::Relaxed);
            fake.initialize().await;
            fake.message().await;
        }
    });
    (builder.lazy(), connections)
}

#[tokio::test]
async fn an_operation_that_fails_on_each_connection_leaves_none_to_the_next_one() {
    for (reconnects, connections) in [(None, [1, 1]), (Some(0), [2, 4]), (Some(1), [2, 4]), (Some(2), [3, 6])]
    {
        let (set, count) = ending(reconnects);
        for expected in connections {
            // M12
            assert_eq!(set.list_prompts().await.unwrap_err().kind(), ClientErrorKind::Lost);
            assert_eq!(count.load(Ordering::Relaxed), expected, "{reconnects:?}");
        }
    }
}

#[tokio::test]
async fn a_call_that_may_have_arrived_is_not_repeated_and_the_next_one_has_a_new_connection() {
    for (reconnects, connections) in [(None, [1, 1]), (Some(0), [1, 2]), (Some(2), [1, 2])] {
        let (set, count) = ending(reconnects);
        for expected in connections {
            // M12
            let error = set.call_raw("one", Map::new()).await.unwrap_err();
            assert_eq!(error.kind(), ClientErrorKind::Lost);
            assert_eq!(count.load(Ordering::Relaxed), expected, "{reconnects:?}");
        }
    }
}
