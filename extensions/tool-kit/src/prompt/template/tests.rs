#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn render(text: &str, input: &Json) -> String {
    match Template::compile(text).and_then(|template| template.render(input)) {
        Ok(text) => text,
        Err(problem) => format!("error at {}: {}", problem.offset, problem.message),
    }
}

fn problem_of(text: &str, input: &Json) -> TemplateProblem {
    match Template::compile(text).and_then(|template| template.render(input)) {
        Ok(text) => panic!("{text}"),
        Err(problem) => problem,
    }
}

#[test]
fn go_actions_are_rewritten() {
    let input = json!({
        "name": "Ada", "empty": "", "n": 3, "list": ["a", "b", 7], "map": { "k": "v", "l": { "m": true } },
        "people": [{ "name": "Bo" }, { "name": "Cy" }], "none": [], "null": null, "größe": 1, "in": "keyword",
    });
    for (text, expected) in [
        ("{{ .name }}", "Ada"),
        ("{{.name}}", "Ada"),
        ("{{ $.name }} {{ .map.l.m }}", "Ada true"),
        ("{{ .map }}", r#"{"k":"v","l":{"m":true}}"#),
        ("{{ .null }}", "null"),
        ("{{ .größe }}{{ .in }}{{ $ñ := .größe }}{{ $ñ }}", "1keyword1"),
        ("{{ json .list }}", r#"["a","b",7]"#),
        ("{{ .list | json }}", r#"["a","b",7]"#),
        (r#"{{ default "x" .empty }}{{ default "x" .absent }}{{ default "x" .name }}"#, "xxAda"),
        (r#"{{ .empty | default "x" | upper }}"#, "X"),
        (r#"{{ join .list ", " }}"#, "a, b, 7"),
        (r#"{{ join ", " .list }}{{ .list | join "-" }}"#, "a, b, 7a-b-7"),
        (r#"{{ upper .name }}{{ lower .name }}{{ trim " x " }}"#, "ADAadax"),
        ("{{ if .name }}yes{{ else }}no{{ end }}", "yes"),
        ("{{ if .absent }}yes{{ else }}no{{ end }}", "no"),
        ("{{ if .none }}yes{{ else if eq .n 3 }}three{{ else }}no{{ end }}", "three"),
        (r#"{{ if and .name (not .empty) (or .absent .n) }}all{{ end }}"#, "all"),
        (r#"{{ if eq .name "Bo" "Ada" }}one of{{ end }}{{ if ne .n 3 }}other{{ end }}"#, "one of"),
        ("{{ lt .n 4 }}{{ le .n 2 }}{{ gt .n 2 }}{{ ge .n 4 }}", "truefalsetruefalse"),
        ("{{ len .list }}{{ index .list 1 }}{{ index .map \"k\" }}{{ (index .people 1).name }}", "3bvCy"),
        ("{{ range .people }}{{ .name }} of {{ $.name }};{{ end }}", "Bo of Ada;Cy of Ada;"),
        ("{{ range .none }}x{{ else }}none of {{ .name }}{{ end }}", "none of Ada"),
        (
            "{{ range $at, $person := .people }}{{ $at }}{{ $person.name }}{{ .name }} {{ end }}",
            "0BoBo 1CyCy ",
        ),
        ("{{ range $key, $value := .map }}{{ $key }}={{ $value }} {{ end }}", "k=v l={\"m\":true} "),
        ("{{ range .map }}{{ . }};{{ end }}{{ range .n }}{{ . }}{{ end }}", "v;{\"m\":true};012"),
        ("{{ range .people }}{{ range $.list }}{{ . }}{{ end }}{{ .name }}{{ end }}", "ab7Boab7Cy"),
        (
            "{{ with .map.l }}{{ .m }}{{ else }}no{{ end }}{{ with .empty }}x{{ else }}{{ .name }}{{ end }}",
            "trueAda",
        ),
        ("{{ $x := upper .name }}{{ $x }}", "ADA"),
        ("a {{- /* no */ -}} b {{- .name -}} c", "abAdac"),
        ("a\n{{/* no\n }} no */}}\nb", "a\n\nb"),
        ("{{ .name }}\n", "Ada\n"),
        ("{{ `a\"b` }}{{ \"c\\\"d\\n\" }}{{ print .n }}{{ -2 | json }}", "a\"bc\"d\n3-2"),
    ] {
        assert_eq!(render(text, &input), expected, "{text}"); // U34
    }
}

#[test]
fn forms_of_the_engine_stay() {
    let input = json!({ "user": { "name": "Ada" }, "list": [1, 2], "a": true });
    for (text, expected) in [
        ("{{ user.name }} {{ user.name | upper }}", "Ada ADA"),
        ("{% for item in list %}{{ item }}{% if not loop.last %}, {% endif %}{% endfor %}", "1, 2"),
        ("{{ 'x' if a else 'y' }}{{ list[0] + 1 }}{{ {\"a\": {\"b\": 1}} }}", "x2{\"a\":{\"b\":1}}"),
        ("{% raw %}{{ .name }}{% endraw %}{# {{ .no }} #}", "{{ .name }}"),
        ("{ {a} {", "{ {a} {"),
        ("{{ missing | default('x') }}{{ list | join('-') }}", "x1-2"),
    ] {
        assert_eq!(render(text, &input), expected, "{text}"); // U34
    }
}

#[test]
fn the_whole_input_is_a_value_of_any_type() {
    for (input, expected) in [
        (json!("text"), "text"),
        (json!(7), "7"),
        (json!([1, "a"]), "[1,\"a\"]"),
        (json!({ "__input": 1, "a": "<&>" }), "{\"__input\":1,\"a\":\"<&>\"}"),
        (json!(null), "null"),
        (json!(18_446_744_073_709_551_615_u64), "18446744073709551615"),
    ] {
        assert_eq!(render("{{ . }}", &input), expected); // U35
    }
}

#[test]
fn a_problem_has_its_place_and_says_what_to_do() {
    let input = json!({ "a": 1, "list": [1] });
    for (text, place, expected) in [
        ("x\n  {{ .b }}", "{{ .b", "not in the input"),
        ("x {{ .a.b.c }}", "{{ .a", "not in the input"),
        ("x {{ nothing }}", "nothing", "not in the input"),
        ("{{ .a }}{{ exec .a }}", "exec", "there is no function `exec`; functions are json, default"),
        ("{{ .a | exec }}", "exec", "there is no function `exec`"),
        ("{{ .a | .b }}", ".b", "name one after `|`"),
        ("{{ upper }}{{ .a }}{{ upper .a .a }}", "upper .a .a", "`upper` takes one argument, not 2"),
        ("{{ if .a }}x", "if", "add `{{ end }}`"),
        ("a{{ end }}", "end", "`end` without a block"),
        ("a{{ else }}", "else", "`else` belongs to"),
        ("{{ range .list }}{{ else if .a }}{{ end }}", "else if", "belongs to an `if`"),
        ("{{ (.a }}", "(", "add `)`"),
        ("{{ template \"x\" }}", "template", "not supported"),
        ("{{ .a", "{{ .a", "add `}}`"),
        ("{{/* a }}", "{{/*", "add `*/}}`"),
        ("{{ \"a }}", "\"a", "quotes is not closed"),
        ("{% if a", "{% if", "add `%}`"),
        ("{% raw %} a", "{% raw", "endraw"),
        ("{% include 'x' %}", "include", ""),
        ("{{ a | nothing }}", "nothing", "functions are"),
    ] {
        let problem = problem_of(text, &input);
        let at = &text[problem.offset..];
        assert!(at.starts_with(place), "{text}: {at}: {}", problem.message);
        assert!(problem.message.contains(expected), "{text}: {}", problem.message);
    }
}

#[test]
fn a_template_ends_within_limits() {
    let problem = problem_of(
        "{% for a in range(50000) %}{% for b in range(50000) %}{% endfor %}{% endfor %}",
        &json!({}),
    );
    assert!(problem.message.contains("too many steps"), "{problem:?}");
    let text = "x".repeat(1 << 20);
    let problem = problem_of("{{ . }}{{ . }}{{ . }}{{ . }}{{ . }}", &json!(text));
    assert!(problem.message.contains("exceeds 4194304 bytes"), "{problem:?}");
    assert!(problem_of(&"{{ if .a }}".repeat(65), &json!({})).message.contains("more than 64 blocks"));
    let deep = format!("{{{{ {}.a{} }}}}", "(".repeat(33), ")".repeat(33));
    assert!(problem_of(&deep, &json!({})).message.contains("more than 32 parentheses"));
    assert!(problem_of(&format!("{{{{ {} }}}}", "[".repeat(100_000)), &json!({})).message.len() < 1_000);
}

#[test]
fn the_variables_of_a_template_are_known() {
    let template =
        Template::compile("{{ .topic }} {{ user.name }} {{ range .list }}{{ .x }}{{ end }}{{ $.a.b }}")
            .unwrap();
    assert_eq!(template.variable_names(), ["a", "list", "topic", "user"]);
}

proptest! {
    #[test]
    fn any_text_is_rendered_or_refused(parts in proptest::collection::vec(fragment(), 0..12)) {
        let text = parts.concat();
        match Template::compile(&text).and_then(|template| template.render(&json!({ "a": [1, "x"], "ä": { "b": null } }))) {
            Ok(_) => {}
            Err(problem) => prop_assert!(text.is_char_boundary(problem.offset), "{text}: {problem:?}"),
        }
    }

    #[test]
    fn a_text_without_actions_stays(text in "[^{]{0,40}") {
        prop_assert_eq!(render(&text, &json!({})), text);
    }
}

fn fragment() -> impl Strategy<Value = String> {
    let known = [
        "{{",
        "}}",
        "{{-",
        "-}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "/*",
        "*/",
        " if ",
        " else ",
        " end ",
        " range ",
        " with ",
        ".a",
        ".ä.b",
        " . ",
        "$",
        "$x",
        ":=",
        "|",
        "(",
        ")",
        ",",
        "\"",
        "`",
        "'",
        "\\",
        "upper",
        "join",
        "raw",
        "endraw",
        "for x in a",
        "endfor",
        "\n",
        "é",
        "1",
        "-",
        "[",
        "{",
        "}",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,4}"]
}
