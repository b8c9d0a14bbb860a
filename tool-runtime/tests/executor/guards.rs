//! The guards of one executor before the calls of another one.

use std::sync::{Arc, Mutex};

use tool_runtime::{
    definition::Permission,
    executor::{CallGuards, ExecutorBuilder, RunSettings},
    policy::{Approval, ApprovalRequest, PermissionRequest, Rule, Rules},
    prelude::*,
    registry::RegistryBuilder,
};

use super::{
    Counter, Noting, Timeline, building, calls, echo, one, texts,
    ways::{Way, each_way},
};

/// Requires a confirmation.
#[tool(register = false, confirm)]
fn pay(cx: &ToolContext) -> String {
    format!("paid {}", cx.approval().unwrap().payload)
}

fn paying() -> RegistryBuilder {
    Registry::builder().tool::<pay>()
}

const ASKED: &str = "requires confirmation: May the tool pay be called?";

/// The names of the approvers that were asked, in this order.
type Asked = Arc<Mutex<Vec<&'static str>>>;

/// An approver that is noted under its name when it is asked.
fn approver(
    name: &'static str,
    approval: Approval,
    asked: &Asked,
) -> impl Fn(&ApprovalRequest) -> Approval + Send + Sync + 'static {
    let asked = Arc::clone(asked);
    move |_| {
        asked.lock().unwrap().push(name);
        approval.clone()
    }
}

/// Pays by an executor with the approver `own`, below `guards`. Returns the text, and the approvers that were asked.
async fn pay_below(
    way: Way,
    guards: &CallGuards,
    own: Option<Approval>,
    asked: &Asked,
) -> (String, Vec<&'static str>) {
    let builder = building(paying()).pending_approvals(true);
    let builder = match own {
        Some(approval) => builder.approver(approver("own", approval, asked)),
        None => builder,
    };
    let executor = way.of(builder);
    let outcomes = executor.drive(executor.with_guards(guards).batch(calls(&["pay"]))).await;
    (texts(&outcomes).remove(0), std::mem::take(&mut *asked.lock().unwrap()))
}

// Neither approver is a way around the other one.
#[test]
fn the_approvers_of_both_executors_must_approve() {
    each_way(async |way| {
        let (yes, later) = (Some(Approval::Approved), Some(Approval::Pending));
        let no = Some(Approval::Rejected("too much".to_owned()));
        let with = |payload: &str| Some(Approval::ApprovedWith(json!(payload)));
        let denied = "Denied: the \"pay\" call is rejected: too much";
        for (guard, own, text, expected) in [
            (&yes, &None, "paid null", &["guard"][..]),
            (&yes, &yes, "paid null", &["guard", "own"]),
            (&yes, &no, denied, &["guard", "own"]),
            (&yes, &later, ASKED, &["guard", "own"]),
            (&no, &yes, denied, &["guard"]),
            (&no, &None, denied, &["guard"]),
            (&later, &yes, ASKED, &["guard"]),
            (&with("a"), &yes, r#"paid "a""#, &["guard", "own"]),
            (&yes, &with("b"), r#"paid "b""#, &["guard", "own"]),
            (&with("a"), &with("b"), r#"paid "b""#, &["guard", "own"]),
            (&with("a"), &no, denied, &["guard", "own"]),
        ] {
            let asked = Asked::default();
            let guard = || approver("guard", guard.clone().unwrap(), &asked);
            let of_executor = building(paying()).approver(guard()).build().unwrap().guards();
            let of_run = CallGuards::from(&RunSettings::new().approver(guard()));
            for guards in [of_executor, of_run] {
                let paid = pay_below(way, &guards, own.clone(), &asked).await;
                assert_eq!((paid.0.as_str(), &paid.1[..]), (text, expected), "{guards:?} {own:?}");
            }
        }
    });
}

// An executor without an approver leaves approvals to a person; the settings of a run without one say nothing about them.
#[test]
fn guards_without_an_approver_keep_the_own_one_from_answering_if_they_are_those_of_an_executor() {
    each_way(async |way| {
        let asked = Asked::default();
        let of_executor = building(paying()).build().unwrap().guards();
        let paid = pay_below(way, &of_executor, Some(Approval::Approved), &asked).await;
        assert_eq!(paid, (ASKED.to_owned(), vec![]));
        let of_run = CallGuards::from(&RunSettings::new());
        let paid = pay_below(way, &of_run, Some(Approval::Approved), &asked).await;
        assert_eq!(paid, ("paid null".to_owned(), vec!["own"]));
    });
}

/// Adds rules, a policy, a hook and an approver, all with this name.
fn guarded(
    builder: ExecutorBuilder,
    name: &'static str,
    denied: &'static str,
    (timeline, asked): (&Timeline, &Asked),
) -> ExecutorBuilder {
    let policies = timeline.clone();
    builder
        .rules(Rules::new([Rule::deny(denied)]))
        .permission(move |_: &PermissionRequest<'_>| {
            policies.note(format!("{name} policy"));
            Permission::Allow
        })
        .hook(Noting(timeline.clone(), name))
        .approver(approver(name, Approval::Approved, asked))
}

/// Does nothing.
#[tool(register = false)]
fn rest() {}

fn tools() -> RegistryBuilder {
    paying().tool::<echo>().tool::<rest>().provide(Counter::default())
}

// H01, Q21
#[test]
fn rules_policies_and_hooks_of_both_executors_apply_and_those_of_the_guards_see_the_call_last() {
    each_way(async |way| {
        let (timeline, asked) = (Timeline::default(), Asked::default());
        let noted = (&timeline, &asked);
        let above = guarded(building(tools()), "guard", "echo", noted).build().unwrap();
        let own = way.of(guarded(building(tools()), "own", "rest", noted));
        let below = own.with_guards(&above.guards());
        let mut batch = calls(&["rest", "pay"]);
        batch.extend(one("echo", r#"{"text":"a"}"#).into_iter().map(|call| call.with_id("2")));
        let outcomes = own.drive(below.batch(batch)).await;
        assert_eq!(
            texts(&outcomes),
            ["Denied: a rule denies it: rest", "paid null", "Denied: a rule denies it: echo"]
        );
        let of_call: Vec<_> = timeline.all().into_iter().filter(|note| note.ends_with("before 1")).collect();
        assert_eq!(of_call, ["ownbefore 1", "guardbefore 1"]);
        let policies: Vec<_> = timeline.all().into_iter().filter(|note| note.ends_with("policy")).collect();
        assert!(policies.contains(&"own policy".to_owned()) && policies.contains(&"guard policy".to_owned()));
        assert_eq!(*asked.lock().unwrap(), ["guard", "own"]);
    });
}

// Such as an agent that calls itself.
#[test]
fn guards_that_an_executor_has_already_decide_once() {
    each_way(async |way| {
        let (timeline, asked) = (Timeline::default(), Asked::default());
        let own = way.of(guarded(building(tools()), "own", "rest", (&timeline, &asked)));
        let twice = own.with_guards(&own.guards()).with_guards(&own.guards());
        assert_eq!(texts(&own.drive(twice.batch(calls(&["pay"]))).await), ["paid null"]);
        let noted = |end: &str| timeline.all().iter().filter(|note| note.ends_with(end)).count();
        assert_eq!((noted("before 0"), noted("policy")), (1, 1));
        assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), ["own"]);

        // Three executors, of which two are the same.
        let above = guarded(building(tools()), "guard", "echo", (&timeline, &asked)).build().unwrap();
        let below = own.with_guards(&above.guards()).with_guards(&own.guards()).with_guards(&above.guards());
        assert_eq!(texts(&own.drive(below.batch(calls(&["pay"]))).await), ["paid null"]);
        assert_eq!(*asked.lock().unwrap(), ["guard", "own"]);
    });
}

// X02
#[test]
fn a_call_that_is_external_to_either_executor_is_left_to_the_caller() {
    each_way(async |way| {
        let external = |name: &'static str| building(tools()).external(move |call| call.tool() == name);
        let names = ["rest", "pay", "echo"];
        for (guard, own, expected) in [
            (Some("rest"), Some("pay"), [true, true, false]),
            (Some("rest"), None, [true, false, false]),
            (None, Some("pay"), [false, true, false]),
        ] {
            let builder = |name: Option<&'static str>| {
                name.map_or_else(|| building(tools()), external).pending_approvals(false)
            };
            let guards = builder(guard).build().unwrap().guards();
            let executor = way.of(builder(own));
            let outcomes = executor.drive(executor.with_guards(&guards).batch(calls(&names))).await;
            let is_external = outcomes.iter().map(|it| matches!(it, tool_runtime::CallOutcome::External(..)));
            assert_eq!(is_external.collect::<Vec<_>>(), expected, "{outcomes:?}");
        }
        // A filter that both executors have is asked once.
        let asked = Counter::default();
        let counted = asked.clone();
        let builder = building(tools()).external(move |_| {
            counted.count();
            false
        });
        let executor = way.of(builder);
        let below = executor.with_guards(&executor.guards());
        assert_eq!(texts(&executor.drive(below.batch(calls(&["rest"]))).await), [""]);
        assert_eq!(asked.get(), 1);
        // The settings of a run leave no call of another executor to its caller.
        let settings = RunSettings::new().external(|call| call.tool() == "rest");
        let executor = way.of(building(tools()));
        let below = executor.with_guards(&CallGuards::from(&settings));
        assert_eq!(texts(&executor.drive(below.batch(calls(&["rest"]))).await), [""]);
    });
}

// Q21: plugins concern all calls below a run, other guards those below a call.
#[test]
fn the_plugins_of_guards_are_without_their_rules_hooks_and_approvers() {
    each_way(async |way| {
        let (timeline, asked) = (Timeline::default(), Asked::default());
        let above = guarded(building(tools()), "guard", "rest", (&timeline, &asked));
        let above = above.plugin(Noting(timeline.clone(), "plugin")).build().unwrap();
        let executor = way.of(building(tools()).pending_approvals(true));
        let below = executor.with_guards(&above.guards().plugins().unwrap());
        assert_eq!(texts(&executor.drive(below.batch(calls(&["rest", "pay"]))).await), ["", ASKED]);
        let notes = timeline.all();
        assert!(!notes.is_empty() && notes.iter().all(|note| note.starts_with("plugin")), "{notes:?}");
        assert!(asked.lock().unwrap().is_empty());
        assert!(building(tools()).build().unwrap().guards().plugins().is_none());
    });
}
