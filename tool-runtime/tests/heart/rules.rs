//! Rules of an executor.

use tool_runtime::{
    Executor, Registry, RunContext, ToolCall, ToolName, Toolbox,
    definition::Permission,
    executor::ExecutorError,
    policy::{Matcher, NumberPattern, PathPattern, Rule, RuleDiagnostic, Rules},
    prelude::*,
    schema::InputSchema,
    serde_json,
    toolbox::RunDiagnostic,
};

use crate::run;

/// Reads a file.
#[tool(register = false)]
fn read(#[serde(alias = "file")] path: String) -> String {
    path
}

/// Lists files.
#[tool(register = false)]
fn list(paths: Option<Vec<String>>) -> usize {
    paths.map_or(0, |paths| paths.len())
}

/// Pays.
#[tool(register = false)]
fn pay(amount: f64) -> f64 {
    amount
}

/// Sets variables.
#[tool(register = false)]
fn set(variables: std::collections::BTreeMap<String, String>) -> usize {
    variables.len()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Read {
    path: Option<String>,
}

fn tools() -> Registry {
    Registry::builder().tool::<read>().tool::<list>().tool::<pay>().tool::<set>().build().unwrap()
}

/// Returns `true` if the call is denied, with and without listeners.
fn is_denied(rules: &Rules, name: &str, arguments: &str) -> bool {
    let executor = Executor::builder(tools()).rules(rules.clone()).build().unwrap();
    let text = || {
        let outcomes = run(executor.run(vec![ToolCall::new(name, arguments.to_owned())]));
        outcomes[0].result().unwrap().text().into_owned()
    };
    let unwatched = text();
    let listener = executor.subscribe();
    assert_eq!(text(), unwatched);
    drop(listener);
    unwatched.starts_with("Denied: ")
}

fn etc() -> PathPattern {
    PathPattern::new("/etc/**").unwrap()
}

#[test]
fn a_guarded_path_is_denied_in_all_of_its_spellings() {
    let rules = Rules::new([Rule::deny("read").at("/path", etc())]);
    for path in ["/etc/shadow", "//etc/shadow", "/tmp/../etc/shadow", "file:///etc/shadow", "etc/shadow", ""]
    {
        assert!(is_denied(&rules, "read", &json!({ "path": path }).to_string()), "{path}");
    }
    assert!(is_denied(&rules, "read", r#"{ "path": "/\u0065tc/shadow" }"#));
    assert!(!is_denied(&rules, "read", r#"{ "path": "/tmp/etc" }"#));
}

#[test]
fn a_text_pattern_matches_keys_of_maps() {
    let (key, value) = (r#"{"variables":{"LD_PRELOAD":"a"}}"#, r#"{"variables":{"a":"LD_PRELOAD"}}"#);
    let rules = Rules::new([Rule::deny("set:LD_*")]);
    assert!(is_denied(&rules, "set", key) && is_denied(&rules, "set", value));
    assert!(!is_denied(&rules, "set", r#"{"variables":{"a":"b"}}"#));
    // Names of declared properties are not matched.
    assert!(!is_denied(&Rules::new([Rule::deny("set:variables")]), "set", key));
    let rules = Rules::new([Rule::deny("set"), Rule::allow("set:my_*")]);
    assert!(!is_denied(&rules, "set", r#"{"variables":{"my_a":"my_b"}}"#));
    assert!(is_denied(&rules, "set", r#"{"variables":{"LD_PRELOAD":"my_b"}}"#));
}

// A body with a float parameter reads 100.
#[test]
fn a_number_near_a_limit_is_compared_as_the_tool_may_read_it() {
    let amount = |pattern: &str| Matcher::from(NumberPattern::new(pattern).unwrap());
    let rules = Rules::new([Rule::deny("pay").at("/amount", amount(">= 100"))]);
    assert!(is_denied(&rules, "pay", r#"{"amount":99.99999999999999999999}"#));
    assert!(!is_denied(&rules, "pay", r#"{"amount":99.99}"#));
    let rules = Rules::new([Rule::deny("pay"), Rule::allow("pay").at("/amount", amount("< 100"))]);
    assert!(is_denied(&rules, "pay", r#"{"amount":99.99999999999999999999}"#));
    assert!(!is_denied(&rules, "pay", r#"{"amount":99.99}"#));
}

#[test]
fn a_rule_may_name_a_property_by_its_alias() {
    for pointer in ["/path", "/file"] {
        let rules = Rules::new([Rule::deny("read").at(pointer, etc())]);
        for name in ["path", "file"] {
            assert!(
                is_denied(&rules, "read", &json!({ name: "/etc/shadow" }).to_string()),
                "{pointer} {name}"
            );
            assert!(!is_denied(&rules, "read", &json!({ name: "/tmp/a" }).to_string()), "{pointer} {name}");
        }
    }
}

/// A type whose default cannot be serialized.
#[tool_args]
#[derive(Default)]
struct Options {
    recursive: bool,
    #[serde(default)]
    depth: Option<u32>,
    #[serde(default)]
    inner: Inner,
    other: Option<Inner>,
}

#[tool_args]
#[derive(Default)]
struct Inner {
    force: bool,
}

/// Empties a folder.
#[tool(register = false)]
fn empty(#[serde(default)] options: Options, #[serde(default)] spare: Option<Inner>) -> bool {
    let Options { recursive, depth, inner, other } = options;
    recursive
        || depth.is_some()
        || inner.force
        || other.is_some_and(|it| it.force)
        || spare.is_some_and(|it| it.force)
}

#[test]
fn an_absent_value_with_an_unserializable_default_is_denied() {
    let is_denied = |pointer: &str, arguments: &str| {
        let tools = Registry::builder().tool::<empty>().build().unwrap();
        let pattern = if pointer.ends_with("/depth") { "7" } else { "false" };
        let rules = Rules::new([Rule::deny("empty").at(pointer, pattern)]);
        let executor = Executor::builder(tools).rules(rules).build().unwrap();
        let outcomes = run(executor.run(vec![ToolCall::new("empty", arguments.to_owned())]));
        outcomes[0].result().unwrap().text().starts_with("Denied: ")
    };
    for (pointer, arguments) in [
        ("/options/recursive", "{}"),
        ("/options", "{}"),
        ("/options/inner/force", "{}"),
        ("/options/inner/force", r#"{"options":{"recursive":true}}"#),
        ("/options/inner", r#"{"options":{"recursive":true}}"#),
    ] {
        assert!(is_denied(pointer, arguments), "{pointer} {arguments}");
    }
    // An absent `None` has no value to match.
    for (pointer, arguments) in [
        ("/spare/force", "{}"),
        ("/options/depth", r#"{"options":{"recursive":true}}"#),
        ("/options/other/force", r#"{"options":{"recursive":true}}"#),
        ("/options/inner/force", r#"{"options":{"recursive":true,"inner":{"force":true}}}"#),
    ] {
        assert!(!is_denied(pointer, arguments), "{pointer} {arguments}");
    }
}

#[test]
fn a_list_is_denied_for_any_item() {
    let rules = Rules::new([Rule::deny("*").at("/paths", etc())]);
    assert!(is_denied(&rules, "list", r#"{ "paths": ["/tmp/a", "/etc/a"] }"#));
    assert!(!is_denied(&rules, "list", r#"{ "paths": ["/tmp/a"] }"#));
    assert!(!is_denied(&rules, "list", "{}"));
    // A rule for all tools applies to tools with such an argument.
    assert!(!is_denied(&rules, "pay", r#"{ "amount": 1 }"#));
}

#[test]
fn amounts_are_compared_exactly() {
    let rules = Rules::new([Rule::deny("pay").at("/amount", NumberPattern::new("> 100").unwrap())]);
    for denied in ["101", "100.00000000000000000001", "1e3"] {
        assert!(is_denied(&rules, "pay", &format!(r#"{{ "amount": {denied} }}"#)), "{denied}");
    }
    for allowed in ["100", "100.0", "1e2", "1000e-1"] {
        assert!(!is_denied(&rules, "pay", &format!(r#"{{ "amount": {allowed} }}"#)), "{allowed}");
    }
    let exactly = Rules::new([Rule::deny("pay").at("/amount", NumberPattern::new("100").unwrap())]);
    for denied in ["100", "100.0", "1e2", "1000e-1"] {
        assert!(is_denied(&exactly, "pay", &format!(r#"{{ "amount": {denied} }}"#)), "{denied}");
    }
}

#[test]
fn an_absent_value_with_a_schema_default_is_denied() {
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "string", "default": "/etc" }, "other": { "type": "string" } },
    });
    let tool = ToolBuilder::new("read").input_schema(InputSchema::new(schema).unwrap());
    let tool = tool.handler(|_: Read, _| async { Ok::<_, ToolError>("read") }).unwrap();
    let denied = |pointer: &str, arguments: Value| {
        let tools = Registry::builder().add(tool.clone()).build().unwrap();
        let rules = Rules::new([Rule::deny("read").at(pointer, etc())]);
        let executor = Executor::builder(tools).rules(rules).build().unwrap();
        let outcomes = run(executor.run(vec![ToolCall::new("read", arguments)]));
        outcomes[0].result().unwrap().outcome.is_err()
    };
    assert!(denied("/path", json!({})));
    assert!(!denied("/path", json!({ "path": "/tmp" })));
    assert!(!denied("/other", json!({})));
}

#[test]
fn an_executor_with_a_rule_without_effect_is_a_build_error() {
    for (rule, message) in [
        (
            Rule::deny("read").at("/pth", etc()),
            "the rule `deny read` compares `/pth`, and `read` has no such argument; correct the pointer",
        ),
        (
            Rule::allow("read").at("path", "*"),
            "the rule `allow read` compares `path`, which is not a JSON pointer: it does not begin with `/`; correct the pointer",
        ),
        (
            Rule::ask("*").at("/path/x", "*"),
            "the rule `ask *` compares `/path/x`, and none of the 4 tools that it fits has such an argument; correct the pointer",
        ),
    ] {
        let error = Executor::builder(tools()).rules(Rules::new([rule])).build().unwrap_err();
        assert!(matches!(error, ExecutorError::Rules(_)));
        assert_eq!(error.to_string(), message);
    }
    for fine in
        [Rule::deny("*").at("/path", etc()), Rule::deny("pay"), Rule::deny("bash").at("/command", "rm *")]
    {
        assert!(Executor::builder(tools()).rules(Rules::new([fine])).build().is_ok());
    }
}

#[test]
fn rules_without_tools_are_diagnostics() {
    let rules = Rules::new([
        Rule::deny("bash"),
        Rule::deny("read").at("/pth", Matcher::from(etc())),
        Rule::deny("pay").at("/amount", NumberPattern::new("> 100").unwrap()),
    ]);
    let executor = Executor::builder(Registry::builder().build().unwrap()).rules(rules).build().unwrap();
    assert_eq!(executor.diagnostics().len(), 3);
    let snapshot = run(Toolbox::from_registry(&tools()).snapshot(&RunContext::new())).unwrap();
    let of_run = executor.with_tools(snapshot.into_tools()).unwrap();
    let [
        RunDiagnostic::Rule(RuleDiagnostic::NoTool { rule }),
        RunDiagnostic::Rule(RuleDiagnostic::NoProperty { pointer, .. }),
    ] = of_run.diagnostics()
    else {
        panic!("{:?}", of_run.diagnostics());
    };
    assert_eq!((rule.as_str(), pointer.as_str()), ("deny bash", "/pth"));
    // Such a rule denies all calls of its tool until it is corrected.
    let outcomes = run(of_run.run(vec![ToolCall::new("read", json!({ "path": "/tmp/a" }))]));
    assert_eq!(outcomes[0].result().unwrap().text(), "Denied: a rule denies it: read");
    assert!(Executor::new(tools()).diagnostics().is_empty());
}

#[tool_args]
struct Mail {
    to: String,
}

/// A tool of another program.
fn remote(raw: &str, prefix: &str) -> Registry {
    let name = ToolName::from_foreign(raw).prefixed(prefix);
    let handler = |mail: Mail, _cx| async move { Ok::<_, ToolError>(format!("sent to {}", mail.to)) };
    let tool = ToolBuilder::named(name).description("Is elsewhere.").expect_handler(handler);
    Registry::builder().add(tool).build().unwrap()
}

// I13: rules may use the raw names of other programs.
#[test]
fn rules_match_the_raw_name_of_a_tool() {
    let cases = [
        ("mail.send", "", "mail.send"),
        ("mail.send", "post__", "mail.*"),
        ("mail:send", "", "mail:send"),
        ("mail:send", "", "mail:*"),
        ("send", "post__", "send"),
        ("send", "post__", "post__send"),
    ];
    for (raw, prefix, pattern) in cases {
        let tools = remote(raw, prefix);
        let name = tools.definitions()[0].name().to_string();
        let said = |rules: Vec<Rule>| {
            let executor = Executor::builder(tools.clone()).rules(Rules::new(rules)).build().unwrap();
            let outcomes = run(executor.run(vec![ToolCall::new(name.as_str(), json!({ "to": "ada" }))]));
            (outcomes[0].result().unwrap().text().into_owned(), executor.diagnostics().len())
        };
        assert_eq!(said(vec![Rule::deny(pattern)]), (format!("Denied: a rule denies it: {pattern}"), 0));
        let (text, notices) = said(vec![Rule::ask(pattern)]);
        assert!(text.contains(&format!("a rule asks for it: {pattern}")) && notices == 0, "{text}");
        // A server may choose any raw name.
        let is_own = pattern == name;
        let (text, notices) = said(vec![Rule::deny("*"), Rule::allow(pattern)]);
        assert_eq!((text == "sent to ada", notices == 0), (is_own, is_own), "{pattern}: {text}");
        // The visible name overrides it, and arguments apply as usual.
        assert_eq!(said(vec![Rule::deny(pattern), Rule::allow(&name)]), ("sent to ada".to_owned(), 0));
        let to = |whom: &str| said(vec![Rule::deny(pattern).at("/to", whom)]).0;
        assert_eq!(
            (to("ada"), to("bob")),
            (format!("Denied: a rule denies it: {pattern}"), "sent to ada".to_owned())
        );
    }
    // A text with a `:` is a pattern for arguments, and round-trips unchanged.
    let rules: Rules = serde_json::from_value(json!(["deny mail:send", "deny bash:*"])).unwrap();
    assert_eq!(
        rules.judge("mail", &json!({ "action": "send" })),
        Permission::deny("a rule denies it: mail:send")
    );
    assert_eq!(rules.judge("mail", &json!({ "action": "read" })), Permission::Allow);
    assert_eq!(serde_json::from_value::<Rules>(serde_json::to_value(&rules).unwrap()).unwrap(), rules);
}

/// Forecasts the weather.
#[tool(register = false)]
fn forecast(city: String, days: Option<u8>, levels: Vec<f64>, detailed: bool, code: NumberOrText) -> String {
    format!("{city} {days:?} {levels:?} {detailed} {code:?}")
}

#[derive(Debug)]
#[tool_runtime::tool_args]
#[serde(untagged)]
enum NumberOrText {
    Number(i64),
    Text(String),
}

fn forecasts() -> Registry {
    Registry::builder().tool::<forecast>().build().unwrap()
}

// I25
#[test]
fn a_matcher_that_matches_no_value_of_the_argument_is_an_error() {
    let more = || NumberPattern::new("> 3").unwrap();
    let error = |rule| match Executor::builder(forecasts()).rules(Rules::new([rule])).build() {
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    let wrong = |pointer: &str, kind: &str, pattern: &str, values: &str, help: &str| {
        Some(format!(
            "the rule `deny forecast` compares `{pointer}` with the {kind} pattern `{pattern}`, which matches no \
             {values}; {help}"
        ))
    };
    let number = |pattern: &str| format!("write a number matcher, such as `{{ \"number\": \"{pattern}\" }}`");
    let rule = || Rule::deny("forecast");
    assert_eq!(error(rule().at("/days", "> 3")), wrong("/days", "text", "> 3", "number", &number("> 3")));
    assert_eq!(
        error(rule().at("/days", "many*")),
        wrong("/days", "text", "many*", "number", &number("> 100"))
    );
    assert_eq!(
        error(rule().at("/levels", "low")),
        wrong("/levels", "text", "low", "number", &number("> 100"))
    );
    assert_eq!(
        error(rule().at("/days", etc())),
        wrong("/days", "path", "/etc/**", "number", &number("> 100"))
    );
    for pattern in ["2.0", "1e0", "-0"] {
        assert_eq!(
            error(rule().at("/days", pattern)),
            wrong("/days", "text", pattern, "number", &number(pattern)),
        );
    }
    assert_eq!(
        error(rule().at("/detailed", "True")),
        wrong("/detailed", "text", "True", "boolean", "write `true` or `false`")
    );
    assert_eq!(
        error(rule().at("/city", more())),
        wrong("/city", "number", "> 3", "string", "write a text pattern")
    );
    assert_eq!(
        error(rule().at("/detailed", more())),
        wrong("/detailed", "number", "> 3", "boolean", "write `true` or `false`")
    );
    for fine in [
        rule().at("/days", more()),
        rule().at("/days", "3"),
        rule().at("/days", "1*"),
        rule().at("/days", "*"),
        rule().at("/levels", more()),
        rule().at("/city", "P*").at("/city", etc()),
        rule().at("/detailed", "true"),
        rule().at("/code", "> 3").at("/code", more()),
    ] {
        assert_eq!(error(fine.clone()), None, "{fine:?}");
    }
}

// I25
#[test]
fn a_misspelled_tool_is_an_error_for_a_registry_and_a_diagnostic_for_a_toolbox() {
    let build = |rule| Executor::builder(forecasts()).rules(Rules::new([rule])).build();
    for (rule, text) in [
        (Rule::deny("forcast"), "the rule `deny forcast` fits no tool; did you mean `forecast`?"),
        (Rule::ask("Forecats:P*"), "the rule `ask Forecats:P*` fits no tool; did you mean `forecast`?"),
    ] {
        let error = build(rule).unwrap_err();
        assert!(matches!(error, ExecutorError::Rules(_)));
        assert_eq!(error.to_string(), text);
    }
    // An `allow` guards nothing, and other names may be names of tools that come later.
    for rule in [Rule::allow("forcast"), Rule::deny("forecast_2"), Rule::deny("bash"), Rule::deny("forcast*")]
    {
        assert!(build(rule.clone()).is_ok_and(|it| it.diagnostics().len() == 1), "{rule:?}");
    }
    let base = Executor::builder(Registry::builder().build().unwrap());
    let base = base.rules(Rules::new([Rule::deny("forcast")])).build().unwrap();
    let snapshot = run(Toolbox::from_registry(&forecasts()).snapshot(&RunContext::new())).unwrap();
    let live = base.with_tools(snapshot.into_tools()).unwrap();
    assert_eq!(live.diagnostics()[0].to_string(), "the rule `deny forcast` fits no tool");
    let more = tool_runtime::executor::RunSettings::new().rules(Rules::new([Rule::deny("forecats")]));
    assert_eq!(live.with_settings(&RunContext::new(), more).unwrap().diagnostics().len(), 2);
}
