//! The JSON Schema Test Suite, the required part of draft 2020-12.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use super::Plan;
use crate::SchemaProblem;

/// The minimum percentage of groups whose schema compiles.
const COVERED: usize = 85;

/// Each verdict on a supported group equals the suite's; other groups are reported as unsupported.
#[test]
fn plan_passes_every_case_of_a_group_that_it_covers() {
    let (mut groups, mut cases) = (0, 0);
    let mut failures = Vec::new();
    let mut uncovered: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, group) in suite() {
        groups += 1;
        let name = format!("{file}: {}", group["description"].as_str().unwrap());
        let plan = match Plan::compile(&group["schema"]) {
            Ok(plan) => plan,
            Err(problems) if problems.iter().all(is_left_out) => {
                uncovered.entry(problems[0].message.clone()).or_default().push(name);
                continue;
            }
            Err(problems) => {
                failures.push(format!("{name}: {problems:?}"));
                continue;
            }
        };
        for case in group["tests"].as_array().unwrap() {
            cases += 1;
            let (data, valid) = (&case["data"], case["valid"].as_bool().unwrap());
            if plan.admits(data) != valid || plan.violations(data).is_empty() != valid {
                failures.push(format!("{name}: {} should be {valid}", case["description"]));
            }
        }
    }
    let left: usize = uncovered.values().map(Vec::len).sum();
    println!("{} of {groups} groups are covered, with {cases} cases; not covered:", groups - left);
    for (why, names) in &uncovered {
        println!("{} {why}\n    {}", names.len(), names.join("\n    "));
    }
    assert_eq!(failures, Vec::<String>::new());
    assert_eq!(groups, 368, "the suite has so many groups");
    assert!((groups - left) * 100 >= groups * COVERED, "{} of {groups} groups are covered", groups - left);
}

/// Returns `true` for an unsupported keyword or a reference to a missing document.
fn is_left_out(problem: &SchemaProblem) -> bool {
    let is_elsewhere = |it: &&str| problem.message.ends_with(*it);
    problem.uncovered
        || ["leaves the schema; nothing is fetched", "names no draft that is known"].iter().any(is_elsewhere)
}

/// Returns all groups of the suite with their file names.
fn suite() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/draft2020-12");
    let mut groups = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Value::Array(list) = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap() else {
            panic!("{name}")
        };
        groups.extend(list.into_iter().map(|group| (name.clone(), group)));
    }
    groups
}
