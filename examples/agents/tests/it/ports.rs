//! The ports of programs of other frameworks: their output, and their lengths.

use crate::transcripts::{compare, output_of};

/// The names of the ports, and the lines of each and of its original, if a guide shows it as a whole program.
async fn lengths() -> (String, Vec<(String, usize, Option<usize>)>) {
    let table = output_of(env!("CARGO_BIN_EXE_agent-ports"), &[], &[], "").await;
    let read = |line: &str| {
        let (port, counts) = line.split_once(": ").unwrap();
        let (lines, original) = counts.split_once(" lines").unwrap();
        let original = original.strip_prefix(", ").and_then(|it| it.strip_suffix(" in the original"));
        (port.to_owned(), lines.parse().unwrap(), original.map(|it| it.parse().unwrap()))
    };
    let lengths = table.lines().map(read).collect();
    (table, lengths)
}

// C02 G06 H01 K01 Q01 Q06 Q09 R24 Z03 Z15
#[tokio::test]
async fn each_port_of_an_agent_prints_its_transcript() {
    let (_, lengths) = lengths().await;
    assert_eq!(lengths.len(), 5);
    for (port, ..) in lengths {
        let output = output_of(env!("CARGO_BIN_EXE_agent-ports"), &[&port], &[], "").await;
        compare(&format!("ports/{port}"), &output);
    }
}

/// Of four ports, the guide shows no whole program: a change of their lengths is a change of the transcript.
#[tokio::test]
async fn the_lengths_of_all_ports_are_known_and_none_is_longer_than_an_original_that_is_a_whole_program() {
    let (table, lengths) = lengths().await;
    compare("ports/lengths", &table);
    let compared: Vec<_> =
        lengths.iter().filter_map(|(port, lines, original)| Some((port, lines, (*original)?))).collect();
    assert_eq!(compared.iter().map(|(port, ..)| port.as_str()).collect::<Vec<_>>(), ["trpc_calculator"]);
    for (port, lines, original) in compared {
        assert!((1..=original).contains(lines), "{port}: {lines} lines, {original} in the original");
    }
}
