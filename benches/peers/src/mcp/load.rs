//! Many calls at once, many sessions, and the memory of a server after many calls.

use std::time::Instant;

use crate::{Case, Connected, Outcome};

/// The calls after which memory is compared, and the most growth between them, in KiB.
const CALLS: [usize; 2] = [10_000, 100_000];
const GROWTH: i64 = 20 * 1024;

pub async fn load() -> Outcome<()> {
    for version in ["2025-11-25", "2026-07-28"] {
        let case = Case { transport: "http", version, tool: "add", in_flight: 1_000 };
        let connected = Connected::to("tool-mcp", case, false).await?;
        let begun = Instant::now();
        connected.run(case, 1_000).await?;
        println!("{version}: 1,000 calls in flight over one client were answered in {:?}", begun.elapsed());
        connected.close().await?;

        sessions(version).await?;
        memory(version).await?;
    }
    Ok(())
}

/// 100 clients at once, each with ten calls.
async fn sessions(version: &'static str) -> Outcome<()> {
    let case = Case { transport: "http", version, tool: "add", in_flight: 10 };
    let first = Connected::to("tool-mcp", case, false).await?;
    let mut others = tokio::task::JoinSet::new();
    for _ in 0..99 {
        let url = first.url.clone().ok_or("no address")?;
        others.spawn(async move {
            let other = Connected::at(url, case).await?;
            other.run(case, 10).await?;
            Outcome::Ok(other)
        });
    }
    first.run(case, 10).await?;
    let mut open = Vec::new();
    while let Some(other) = others.join_next().await {
        open.push(other??);
    }
    println!("{version}: 100 clients at once, {} of them beside the first, were answered", open.len());
    first.close().await
}

/// Calls with 1 kB.
async fn memory(version: &'static str) -> Outcome<()> {
    let case = Case { transport: "http", version, tool: "echo-1k", in_flight: 16 };
    let connected = Connected::to("tool-mcp", case, false).await?;
    let mut sizes = Vec::new();
    let mut done = 0;
    for calls in CALLS {
        connected.run(case, calls - done).await?;
        done = calls;
        sizes.push(connected.resident()?);
    }
    let growth = sizes[1] - sizes[0];
    println!(
        "{version}: resident after {} calls: {} KiB, after {}: {} KiB ({growth:+} KiB)",
        CALLS[0], sizes[0], CALLS[1], sizes[1]
    );
    connected.close().await?;
    if growth > GROWTH { Err(format!("grew by {growth} KiB, more than {GROWTH} KiB").into()) } else { Ok(()) }
}
