//! F01, F17, F18, F20, F21: repair as a stage of a call.

use tool_runtime::{ErrorKind, Tool as _, prelude::*, schema::Repair};

use crate::run;

/// Looks something up.
#[tool(register = false, read_only)]
fn look_up(city: String, days: Option<u8>) -> String {
    format!("{city} {days:?}")
}

/// Deletes something.
#[tool(register = false, destructive)]
fn delete(city: String) -> String {
    city
}

/// Returns its secret.
#[tool(register = false, read_only)]
fn log_in(#[arg(secret)] pin: String) -> usize {
    pin.len()
}

fn tools(repair: Option<Repair>) -> Registry {
    let builder = Registry::builder().tool::<look_up>().tool::<delete>().tool::<log_in>();
    repair.into_iter().fold(builder, |builder, repair| builder.repair(repair)).build().unwrap()
}

fn answer(repair: Option<Repair>, tool: &str, arguments: &str) -> Result<String, String> {
    let reply = run(tools(repair).call(tool, arguments));
    reply.map(|reply| reply.text().into_owned()).map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        error.feedback()
    })
}

#[test]
fn arguments_are_not_repaired_by_default() {
    for repair in [None, Some(Repair::Off)] {
        let refused = answer(repair, "look_up", "{city: 'Oslo'}").unwrap_err();
        assert!(refused.contains("text that is not JSON (key must be a string"), "{refused}");
    }
    let read_only = Some(Repair::ReadOnlyTools);
    assert_eq!(answer(read_only, "look_up", "{city: 'Oslo'}").as_deref(), Ok("Oslo None"));
    assert_eq!(answer(Some(Repair::AllTools), "delete", "{city: 'Oslo'}").as_deref(), Ok("Oslo"));
    let refused = answer(read_only, "delete", "{city: 'Oslo'}").unwrap_err();
    assert!(refused.contains("is not JSON, and the tool is not read-only (key must be"), "{refused}");
    assert!(refused.ends_with("Nothing was executed."), "{refused}");
}

#[test]
fn no_tool_runs_with_truncated_arguments() {
    // F21, CF14
    let cut = r#"{"city":"Osl"#;
    for tool in ["look_up", "delete"] {
        let refused = answer(Some(Repair::AllTools), tool, cut).unwrap_err();
        assert!(refused.contains("text that was cut off (EOF while"), "{refused}");
    }
    let beyond = answer(Some(Repair::AllTools), "look_up", r#"{"city":"Oslo"}{}"#).unwrap_err();
    assert!(beyond.contains("is not JSON, and cannot be repaired"), "{beyond}");
}

#[test]
fn repair_precedes_coercion_and_is_reported() {
    let tools = tools(Some(Repair::ReadOnlyTools));
    // Repaired, then coerced, then validated.
    let reply = run(tools.call("look_up", "{city: 'Oslo', days: '3'}")).unwrap();
    assert_eq!(reply.text(), "Oslo Some(3)");
    let told: Vec<_> = reply.corrections().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            r#"the arguments: read {city: 'Oslo', days: '3'} as {"city":"Oslo","days":"3"}"#,
            r#"/days: read "3" as 3"#,
        ]
    );
    let fitted = tools.check("look_up", "{city: 'Oslo', days: '3'}").unwrap();
    assert_eq!(fitted.as_str(), r#"{"city":"Oslo","days":3}"#);
    // Valid JSON is unchanged.
    let sent = r#"{ "city" :"Oslo"}"#;
    let fitted = tools.check("look_up", sent).unwrap();
    assert_eq!((fitted.as_str(), fitted.corrections().len()), (sent, 0));
    assert_eq!(tools.get("look_up").unwrap().definition().metadata().read_only, Some(true));
}

#[test]
fn a_reported_repair_contains_no_secret() {
    let reply = run(tools(Some(Repair::ReadOnlyTools)).call("log_in", "{pin: '4711'}")).unwrap();
    assert_eq!(reply.text(), "4");
    let told = reply.corrections()[0].to_string();
    assert_eq!(told, "the arguments: read a value that is hidden as JSON");
}
