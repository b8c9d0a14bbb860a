//! The JSON Schema Test Suite, validated by a plan or by `jsonschema`, as in a registry.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use serde_json::Value;

use crate::validator::Validator;

#[test]
fn every_verdict_equals_the_suite_and_every_verdict_of_jsonschema_is_present() {
    let (mut right, mut cases) = (0, 0);
    let mut failures = Vec::new();
    for (file, group) in suite() {
        let schema = &group["schema"];
        let alone = jsonschema::options().offline().should_validate_formats(false).build(schema);
        let ours = Validator::compile(schema);
        for case in group["tests"].as_array().unwrap() {
            let (data, valid) = (&case["data"], case["valid"].as_bool().unwrap());
            let is_right_alone = alone.as_ref().is_ok_and(|it| it.is_valid(data) == valid);
            let is_right = ours.as_ref().is_ok_and(|it| it.violations(data).is_empty() == valid);
            cases += 1;
            right += usize::from(is_right);
            // A schema may be rejected, such as one that refers to another document; an accepted one must give
            // the right verdict.
            if !is_right && (is_right_alone || ours.is_ok()) {
                let why = ours.as_ref().err();
                failures.push(format!("{file}: {}: {} {why:?}", group["description"], case["description"]));
            }
        }
    }
    assert_eq!(failures, Vec::<String>::new());
    assert!(cases > 1_250 && right > 1_200, "{right} of {cases} cases");
}

/// Returns all groups of the suite with their file names.
fn suite() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/draft2020-12");
    let mut groups = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let list: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        groups.extend(list.into_iter().map(|group| (name.clone(), group)));
    }
    groups
}
