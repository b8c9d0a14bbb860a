//! The memory that a hostile listing takes. A program of its own: tests of one program share its peak.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::expect_used, reason = "tests")]

#[path = "it/skipped.rs"]
mod skipped;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tool_mcp::client::{McpToolSet, Process, ServerConfig};

/// The size and number of the pages.
const PAGE_BYTES: usize = 8 * 1024 * 1024;
const PAGES: usize = 61;
/// The highest growth of the peak, which includes the pages as the server makes them.
const MAX_PEAK_MIB: usize = 200;

/// The peak of the memory of this process, in MiB; `None` where it is not known.
fn peak_mib() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").trim().parse::<usize>().ok()? / 1024)
}

/// Answers requests, and each listing with a page of many tools.
async fn answer(far: tokio::io::DuplexStream) {
    let (read, mut write) = tokio::io::split(far);
    let mut lines = BufReader::new(read).lines();
    let mut page = 0;
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let id = &request["id"];
        let answer = match request["method"].as_str() {
            Some("server/discover") => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "?" } }).to_string()
            }
            Some("initialize") => {
                let info = json!({ "name": "hostile", "version": "1" });
                let result =
                    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info });
                json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
            }
            Some("tools/list") => {
                page += 1;
                let tools: Vec<_> = (0..8)
                    .map(|tool| {
                        let text = "x".repeat(PAGE_BYTES / 8);
                        json!({ "name": format!("t{page}_{tool}"), "description": text, "inputSchema": { "type": "object" } })
                    })
                    .collect();
                let mut result = json!({ "tools": tools });
                if page < PAGES {
                    result["nextCursor"] = page.to_string().into();
                }
                json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
            }
            _ => continue,
        };
        if write.write_all(answer.as_bytes()).await.is_err() || write.write_all(b"\n").await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_listing_of_many_large_pages_takes_bounded_memory() {
    let before = peak_mib();
    let builder = McpToolSet::builder(ServerConfig::new("hostile", Process::new("unused"))).over(|| {
        let (near, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(answer(far));
        async { Ok(tokio::io::split(near)) }
    });
    let set = builder.connect().await.unwrap();
    assert_eq!(set.diagnostics()[0].code, "listing_cut");
    let (Some(before), Some(after)) = (before, peak_mib()) else {
        return skipped::report("the peak of the memory is not known on this system");
    };
    println!("{PAGES} pages of {} MiB: the peak grew by {} MiB", PAGE_BYTES >> 20, after - before);
    assert!(after - before < MAX_PEAK_MIB, "{} MiB", after - before);
}
