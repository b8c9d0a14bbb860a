//! Tests that compared implementations do the same work.

use benches::{Side, calls};
use tool_runtime::registry::BuildError;

fn answers(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    side(&mut |answer| answers.push(String::from_utf8_lossy(answer).into_owned()));
    answers
}

#[test]
fn all_sides_of_a_call_give_the_same_answer() -> Result<(), BuildError> {
    for workload in calls::workloads()? {
        let ours = answers(&workload.ours);
        assert!(!ours.is_empty(), "{}", workload.name);
        let Some(floor) = &workload.floor else { continue };
        let floor = answers(floor);
        if workload.name.contains("report") {
            assert!(floor.concat().contains("shipping") || floor.concat().contains("old"), "{floor:?}");
            assert!(ours.concat().starts_with("Invalid arguments"), "{ours:?}");
        } else {
            assert_eq!(floor, ours, "{}", workload.name);
            let validated = workload.validated.as_ref().map(answers);
            assert_eq!(validated.unwrap_or(floor), ours, "{}", workload.name);
        }
    }
    Ok(())
}
