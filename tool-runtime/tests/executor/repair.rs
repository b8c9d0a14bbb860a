//! F20: arguments are repaired before all other stages of a call.

use std::sync::{Arc, Mutex};

use tool_runtime::{
    CallOutcome, ToolCall,
    call::Incomplete,
    definition::Permission,
    event::EventKind,
    hook::CallView,
    open_calls::OpenCall,
    policy::{Approval, ApprovalHandle, Approver, PermissionPolicy, PermissionRequest},
    prelude::*,
    schema::{InputSchema, Repair},
};

use super::{On, building, events, ways::each_way};

/// Looks something up.
#[tool(register = false, read_only)]
fn look_up(city: String, days: Option<u8>) -> String {
    format!("{city} {days:?}")
}

const NEARLY: &str = "{city: 'Oslo', days: '3'}";
const REPAIRED: &str = r#"{"city":"Oslo","days":"3"}"#;

#[test]
fn events_have_the_repaired_text_and_the_corrections_the_repair() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<look_up>().repair(Repair::ReadOnlyTools);
        let executor = way.executor(tools);
        let outcomes = executor.run(vec![ToolCall::new("look_up", NEARLY); 2]).await;
        for outcome in &outcomes {
            let result = outcome.result().unwrap();
            assert_eq!(result.text(), "Oslo Some(3)");
            let told: Vec<_> = result.corrections().iter().map(ToString::to_string).collect();
            let repair = format!("the arguments: read {NEARLY} as {REPAIRED}");
            assert_eq!(told, [repair.as_str(), r#"/days: read "3" as 3"#]);
        }
        for event in executor.events().into_iter().flatten() {
            if let EventKind::Started { call } = event.kind {
                assert_eq!(call.arguments.as_str(), REPAIRED);
            }
        }
    });
}

#[test]
fn admit_hooks_see_the_repaired_text() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let hook = On::admit(move |call: &CallView<'_>| {
        noted.lock().unwrap().push(call.arguments().as_str().to_owned());
        true
    });
    let tools = Registry::builder().tool::<look_up>().repair(Repair::AllTools);
    let executor = building(tools).hook(hook).build().unwrap();
    crate::run(executor.run(vec![ToolCall::new("look_up", NEARLY)]));
    assert_eq!(*seen.lock().unwrap(), [REPAIRED]);
}

/// Looks something up after an approval.
#[tool(register = false, read_only, confirm)]
fn look_up_approved(city: String, days: Option<u8>) -> String {
    format!("{city} {days:?}")
}

/// Notes the arguments that a policy and an approver receive.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl PermissionPolicy for Notes {
    async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        self.0.lock().unwrap().push(format!("policy: {}", request.arguments.as_str()));
        Ok(Permission::Allow)
    }
}

impl Approver for Notes {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        self.0.lock().unwrap().push(format!("approver: {}", request.call.arguments.as_str()));
        Ok(Approval::Approved)
    }
}

// F20: the canonical form of the repaired text, never the received one.
#[test]
fn policies_and_approvers_see_the_repaired_text() {
    each_way(async |way| {
        let notes = Notes::default();
        let tools = Registry::builder().tool::<look_up_approved>().repair(Repair::ReadOnlyTools);
        let executor = way.of(building(tools).permission(notes.clone()).approver(notes.clone()));
        let outcomes = executor.run(vec![ToolCall::new("look_up_approved", NEARLY)]).await;
        assert_eq!(outcomes[0].result().unwrap().text(), "Oslo Some(3)");
        let read = r#"{"city":"Oslo","days":3}"#;
        assert_eq!(*notes.0.lock().unwrap(), [format!("policy: {read}"), format!("approver: {read}")]);
    });
}

#[test]
fn external_calls_and_open_calls_carry_the_repaired_text() {
    let declared = ToolBuilder::new("look_up_elsewhere")
        .description("Looks something up.")
        .input_schema(InputSchema::new(json!({ "properties": { "city": { "type": "string" } } })).unwrap())
        .external()
        .unwrap()
        .external();
    let tools = Registry::builder().add(declared).repair(Repair::AllTools);
    let executor = building(tools).build().unwrap();
    let mut listener = executor.subscribe();
    let outcomes = crate::run(executor.run(vec![ToolCall::new("look_up_elsewhere", "{city: 'Oslo'}")]));
    let CallOutcome::External(call, ..) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(call.arguments.as_str(), r#"{"city":"Oslo"}"#);
    let open: Vec<OpenCall> = crate::now(executor.open_calls()).unwrap();
    assert_eq!(open[0].call().arguments.as_str(), r#"{"city":"Oslo"}"#);
    drop(events(&mut listener));
}

#[test]
fn an_incomplete_call_is_not_repaired() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<look_up>().repair(Repair::AllTools);
        let executor = way.executor(tools);
        let call = ToolCall::new("look_up", NEARLY).with_incomplete(Incomplete::new("length"));
        let outcomes = executor.run(vec![call]).await;
        let result = outcomes[0].result().unwrap();
        assert!(result.is_error() && result.text().starts_with("Incomplete"), "{}", result.text());
        for event in executor.events().into_iter().flatten() {
            if let EventKind::Started { call } = event.kind {
                assert_eq!(call.arguments.as_str(), NEARLY);
            }
        }
    });
}
