//! Names of tools in rules.

use tool_runtime::{
    Registry, ToolBuilder,
    policy::{Rule, RuleDiagnostic, Rules},
    prelude::*,
};

#[tool_args]
struct Nothing {}

fn tools(names: &[&str]) -> Registry {
    names
        .iter()
        .fold(Registry::builder(), |builder, name| {
            let handler = |_: Nothing, _| async { Ok::<_, ToolError>("done") };
            let tool = ToolBuilder::new((*name).to_owned()).description("Does it.").handler(handler);
            builder.add(tool.unwrap())
        })
        .build()
        .unwrap()
}

/// Returns the suggestion for a rule that fits no tool, if there is one; `None` for a rule that fits.
fn suggestion(tools: &Registry, rule: Rule) -> Option<Option<String>> {
    let diagnostics = Rules::new([rule]).diagnostics(tools);
    match &diagnostics[..] {
        [] => None,
        [RuleDiagnostic::MisspelledTool { similar, .. }] => Some(Some(similar.clone())),
        [RuleDiagnostic::NoTool { .. }] => Some(None),
        other => panic!("{other:?}"),
    }
}

// I25
#[test]
fn a_name_in_a_rule_is_a_misspelled_one_within_few_edits_for_its_length() {
    let tools = tools(&["list", "listing", "download", "read_file2", "exec"]);
    for (written, similar) in [
        // Names of three letters are near to each other by chance.
        ("lis", None),
        ("exe", None),
        ("lixt", Some("list")),
        ("lxxt", None),
        ("exac", Some("exec")),
        ("listin", Some("listing")),
        ("lxstin", None),
        ("lxsting", Some("listing")),
        ("lxstixg", None),
        ("downxxad", Some("download")),
        ("doxnxxad", None),
        ("downlod", Some("download")),
        // Another number is another tool.
        ("read_file3", None),
        ("read_file", None),
        ("reed_fill2", Some("read_file2")),
    ] {
        let found = suggestion(&tools, Rule::deny(written));
        assert_eq!(found, Some(similar.map(str::to_owned)), "{written}");
    }
    for (rule, is_suggested) in [
        (Rule::deny("lixt"), true),
        (Rule::ask("lixt"), true),
        (Rule::allow("lixt"), false),
        (Rule::deny("lixt*"), false),
        (Rule::deny("lixt:a*"), true),
    ] {
        let found = suggestion(&tools, rule.clone());
        assert_eq!(found, Some(is_suggested.then(|| "list".to_owned())), "{rule:?}");
    }
    for fine in [Rule::deny("list"), Rule::deny("l*"), Rule::allow("exec:*")] {
        assert_eq!(suggestion(&tools, fine), None);
    }
}
