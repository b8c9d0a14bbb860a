//! Tools that are implemented by hand: defaults of the trait, and prepared calls.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use serde_json::json;
use tool_core::{
    Arguments, Checks, ErrorKind, InputSchema, ModelRequest, Permission, Prepared, RunContext, Tool,
    ToolContext, ToolDefinition, ToolError, ToolName,
};

fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready at once"),
    }
}

struct Echo(ToolDefinition);

impl Echo {
    fn new() -> Self {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        Self(ToolDefinition::new(ToolName::new("echo").unwrap(), "Echoes.", schema))
    }
}

impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        if arguments.as_str() == r#"{"n":0}"# {
            return Err(ToolError::bad_parameter("no zero"));
        }
        Ok(Prepared::new(arguments, |arguments, cx| {
            Box::pin(async move { Ok(format!("{} {}", cx.call_id(), arguments.as_str()).into()) })
        }))
    }
}

#[test]
fn a_tool_has_no_steps_of_its_own_unless_it_says_so() {
    let tools: [Box<dyn Tool>; 3] = [Box::new(Echo::new()), Box::new(Arc::new(Echo::new())), {
        let shared: Arc<dyn Tool> = Arc::new(Echo::new());
        Box::new(shared)
    }];
    for tool in tools {
        assert!(!tool.holds_arguments() && !tool.is_external() && !tool.only_decodes());
        assert!(!tool.retries_blindly() && tool.adds_to_requests());
        assert!(tool.needs().is_empty() && tool.prepare_arguments().is_none() && tool.redirect().is_none());
        assert!(tool.site().is_none() && tool.remote_steps().is_none());
        assert_eq!((tool.checks(), tool.definition()), (Checks::NONE, Echo::new().definition()));
        let request = ModelRequest::new("neutral", json!({}), Arc::new(RunContext::new()));
        now(tool.on_request(request.clone())).unwrap();
        assert_eq!(request.finish(), (json!({}), Default::default()));
        let cx = ToolContext::for_test().with_call_id("c");
        assert_eq!(now(tool.call(r#"{"n":1}"#.into(), &cx)).unwrap().text(), r#"c {"n":1}"#);
        let refused = now(tool.call(r#"{"n":0}"#.into(), &cx)).unwrap_err();
        assert_eq!((refused.kind(), refused.feedback()), (ErrorKind::BadParameter, "no zero".to_owned()));
        assert!(tool.start(r#"{"n":0}"#.into(), &cx).is_err());
    }
    assert_eq!(Checks::ALL, Checks { confirmation: true, permission: true });
}

#[test]
fn checks_of_a_prepared_call_are_asked_in_order_until_one_decides() {
    let cx = ToolContext::for_test();
    let asked = Mutex::new(Vec::new());
    let prepared = || {
        Prepared::new("{}".into(), |arguments, _| {
            Box::pin(async move { Ok(arguments.as_str().to_owned().into()) })
        })
    };
    let note = |name: &'static str| asked.lock().unwrap().push(name);
    let taken = || std::mem::take(&mut *asked.lock().unwrap());
    assert_eq!(prepared().wants_confirmation(&cx).unwrap(), None);
    assert_eq!(prepared().permission(&cx).unwrap(), None);
    assert_eq!(prepared().asking().wants_confirmation(&cx).unwrap(), Some(true));
    assert_eq!(prepared().arguments().as_str(), "{}");
    let says = |name, answer| {
        move |_: &ToolContext| {
            note(name);
            Ok::<_, ToolError>(answer)
        }
    };
    for (answers, expected, names) in [
        ([false, false], false, vec!["first", "second"]),
        ([false, true], true, vec!["first", "second"]),
        ([true, false], true, vec!["first"]),
    ] {
        let prepared = prepared()
            .with_confirmation(says("first", answers[0]))
            .with_confirmation(says("second", answers[1]));
        assert_eq!((prepared.wants_confirmation(&cx).unwrap(), taken()), (Some(expected), names));
        // It is no permission, and is not asked when the call runs.
        assert_eq!(prepared.permission(&cx).unwrap(), None);
        assert_eq!((now(prepared.run(&cx)).unwrap().text(), taken()), ("{}".into(), Vec::new()));
    }
    let permits = |name, answer: &Permission| {
        let answer = answer.clone();
        move |_: &ToolContext| {
            note(name);
            Ok::<_, ToolError>(answer.clone())
        }
    };
    let (deny, ask) = (Permission::deny("no"), Permission::ask("sure?"));
    for (first, second, expected, names) in [
        (&Permission::Allow, &Permission::Allow, &Permission::Allow, vec!["first", "second"]),
        (&Permission::Allow, &ask, &ask, vec!["first", "second"]),
        (&ask, &deny, &ask, vec!["first"]),
        (&deny, &Permission::Allow, &deny, vec!["first"]),
    ] {
        let prepared =
            prepared().with_permission(permits("first", first)).with_permission(permits("second", second));
        assert_eq!((prepared.permission(&cx).unwrap().as_ref(), taken()), (Some(expected), names));
        assert_eq!(prepared.wants_confirmation(&cx).unwrap(), None);
    }
    let failing = prepared()
        .with_confirmation(|_| Err(ToolError::failed("no answer")))
        .with_permission(|_| Err(ToolError::failed("no permission")));
    assert_eq!(failing.wants_confirmation(&cx).unwrap_err().feedback(), "no answer");
    assert_eq!(failing.permission(&cx).unwrap_err().feedback(), "no permission");
}
