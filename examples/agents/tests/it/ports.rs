//! The ports of programs of other frameworks: their output, and their lengths.

use crate::transcripts::{compare, output_of};

/// The lines of a port, and of its original.
struct Lengths {
    port: String,
    lines: usize,
    original: Option<usize>,
}

async fn lengths() -> Vec<Lengths> {
    let table = output_of(env!("CARGO_BIN_EXE_agent-ports"), &[], &[], "").await;
    print!("{table}");
    let read = |line: &str| {
        let (port, counts) = line.split_once(": ").unwrap();
        let (lines, original) = counts.split_once(" lines").unwrap();
        let original = original.strip_prefix(", ").and_then(|it| it.strip_suffix(" in the original"));
        Lengths {
            port: port.to_owned(),
            lines: lines.parse().unwrap(),
            original: original.map(|it| it.parse().unwrap()),
        }
    };
    table.lines().map(read).collect()
}

// C02 G06 H01 H08 K01 L11 Q01 Q06 Q09 R21 R23 R24 Z03 Z15
#[tokio::test]
async fn each_port_of_an_agent_prints_its_transcript() {
    let lengths = lengths().await;
    assert_eq!(lengths.len(), 5);
    for Lengths { port, .. } in lengths {
        let output = output_of(env!("CARGO_BIN_EXE_agent-ports"), &[&port], &[], "").await;
        compare(&format!("ports/{port}"), &output);
    }
}

#[tokio::test]
async fn no_port_is_longer_than_its_original() {
    let lengths = lengths().await;
    let compared: Vec<_> = lengths.iter().filter_map(|it| Some((&it.port, it.lines, it.original?))).collect();
    assert_eq!(compared.len(), 1);
    for (port, lines, original) in compared {
        assert!((1..=original).contains(&lines), "{port}: {lines} lines, {original} in the original");
    }
}
