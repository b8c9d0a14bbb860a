//! Tests of the output of the ports. `UPDATE=1` rewrites the transcripts.

use std::{env, fs, path::Path, process::Command};

fn output(port: Option<&str>) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ports")).args(port).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the ports with their numbers of lines of code.
fn ports() -> Vec<(String, usize)> {
    let lines = output(None);
    let parse = |line: &str| {
        let (name, count) = line.strip_suffix(" lines").unwrap().split_once(": ").unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    lines.lines().map(parse).collect()
}

// C02, G09, H01, I14, K01, L13, Z06, Z07
#[test]
fn each_port_prints_its_transcript() {
    for (port, _) in ports() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("ports/transcripts/{port}.txt"));
        let printed = output(Some(&port));
        if env::var_os("UPDATE").is_some() {
            fs::write(&path, &printed).unwrap();
        }
        assert_eq!(printed, fs::read_to_string(&path).unwrap(), "{port}");
    }
}

#[test]
fn the_calculator_has_at_most_fifteen_lines() {
    let ports = ports();
    println!("{ports:?}");
    let lines = ports.iter().find(|(port, _)| port == "trpc_calculator").unwrap().1;
    assert!((1..=15).contains(&lines), "{lines}");
}
