//! Tests that compared implementations do the same work.

use std::error::Error;

use benches::{
    FLOOR, OURS, Side, VALIDATED, calls,
    table::{Answer, Contender, Floor, Ours, Table},
};
use tool_runtime::registry::BuildError;

fn answers(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    side(&mut |answer| answers.push(String::from_utf8_lossy(answer).into_owned()));
    answers
}

#[test]
fn all_sides_of_a_call_give_the_same_answer() -> Result<(), BuildError> {
    for workload in calls::workloads()? {
        let ours = workload.side(OURS).map(answers).unwrap_or_default();
        assert!(!ours.is_empty(), "{}", workload.name);
        let Some(floor) = workload.side(FLOOR) else { continue };
        let floor = answers(floor);
        if workload.name.contains("report") {
            assert!(floor.concat().contains("shipping") || floor.concat().contains("old"), "{floor:?}");
            assert!(ours.concat().starts_with("Invalid arguments"), "{ours:?}");
        } else {
            assert_eq!(floor, ours, "{}", workload.name);
            let validated = workload.side(VALIDATED).map(answers);
            assert_eq!(validated.unwrap_or(floor), ours, "{}", workload.name);
        }
    }
    Ok(())
}

#[test]
fn floor_and_framework_answer_the_calls_of_the_table_alike() -> Result<(), Box<dyn Error>> {
    Table::new().contender(Floor::new())?.contender(Ours::new()?)?;
    Ok(())
}

#[test]
fn contender_with_a_wrong_answer_is_refused() {
    struct Wrong;

    impl Contender for Wrong {
        const NAME: &'static str = "wrong";

        async fn call(&self, _: &str, _: &str) -> Answer {
            Ok("{}".to_owned())
        }
    }

    let error = Table::new().contender(Wrong).err().unwrap_or_default();
    assert!(error.contains("W1"), "{error}");
}
