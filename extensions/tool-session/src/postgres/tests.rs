use super::{DeadlockRetries, PostgresOptions};
use crate::SessionError;

#[test]
fn a_transaction_is_run_five_times_and_only_after_a_deadlock() {
    let deadlock: Result<(), _> = Err(SessionError::Unavailable(
        "two transactions of the database waited for each other; try again".to_owned(),
    ));
    let mut retries = DeadlockRetries::default();
    let repeats: Vec<_> = (0..6).map(|_| retries.should_repeat_after(&deadlock)).collect();
    assert_eq!(repeats, [true, true, true, true, false, false]);
    for result in [Ok(()), Err(SessionError::Closed), Err(SessionError::Unavailable("late".to_owned()))] {
        assert!(!DeadlockRetries::default().should_repeat_after(&result), "{result:?}");
    }
}

#[test]
fn the_default_options_are_those_of_the_documentation() -> Result<(), SessionError> {
    let shown = |options: &PostgresOptions| format!("{options:?}");
    let options = PostgresOptions::new("postgres://ada:hush@db.example/agents")?;
    assert_eq!(
        shown(&options),
        "PostgresOptions { host: \"db.example\", database: Some(\"agents\"), schema: \"tool_session\", max_connections: 10, \
         operation_timeout: 10s, .. }"
    );
    assert_eq!(options.to_string(), "postgres://db.example/agents");
    for (connections, expected) in [(0, 1), (1, 1), (2, 2)] {
        let options = options.clone().max_connections(connections);
        assert!(shown(&options).contains(&format!("max_connections: {expected},")), "{connections}");
    }
    for (micros, expected) in [(0, "1ms"), (999, "1ms"), (1_000, "1ms"), (1_001, "1.001ms")] {
        let options = options.clone().operation_timeout(std::time::Duration::from_micros(micros));
        assert!(shown(&options).contains(&format!("operation_timeout: {expected},")), "{micros}");
    }
    Ok(())
}

#[test]
fn a_schema_is_a_plain_name() -> Result<(), SessionError> {
    let longest = "a".repeat(63);
    for schema in ["a", "a_9", "pg", "apg_", &longest] {
        let options = PostgresOptions::new("postgresql://db.example/agents")?.schema(schema)?;
        assert!(format!("{options:?}").contains(&format!("schema: \"{schema}\"")));
    }
    let longer = "a".repeat(64);
    for schema in ["", "9a", "_a", "A", "aB", "a-b", "a b", "a\"", "ä", "pg_a", &longer] {
        let refused = PostgresOptions::new("postgres://db.example/agents")?.schema(schema);
        let problem = format!("{schema:?} is not a valid schema; use at most 63 of `a-z`, `0-9` and `_`");
        assert_eq!(refused.err(), Some(SessionError::Invalid(problem)));
    }
    for url in ["", "db.example", "mysql://db.example/agents", "postgres:/db", "postgres://db.example:port/a"]
    {
        let problem = "the URL of the database is not valid; write it as `postgres://user@host/database`";
        assert_eq!(PostgresOptions::new(url).err(), Some(SessionError::Invalid(problem.to_owned())), "{url}");
    }
    Ok(())
}
