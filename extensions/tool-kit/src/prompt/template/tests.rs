#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

mod syntax;

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
        ("{{/* a }}", "{{/*", "write `*/}}` behind it"),
        ("a {{/* a */ .b }}", "{{/*", "write `*/}}` behind it"),
        ("a {# b", "{#", "add `#}`"),
        ("{{ include('x') }}", "include('x')", "functions are"),
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
    let grouped = |count: usize| format!("{{{{ {}.a{} }}}}", "(".repeat(count), ")".repeat(count));
    assert_eq!(render(&grouped(16), &json!({ "a": 1 })), "1");
    assert!(problem_of(&grouped(17), &json!({})).message.contains("more than 16 parentheses"));
}

#[test]
fn a_template_takes_a_bounded_stack_and_time() {
    let long = |part: &str| part.repeat(100_000);
    for (text, expected) in [
        (format!("{{{{ {} }}}}", long("[")), ""),
        (format!("{{{{ a{} }}}}", long(".b")), "more than 1024 bytes"),
        (format!("{{{{ 1{} }}}}", long("+1")), "more than 1024 bytes"),
        (format!("{{{{ {}a }}}}", long("not ")), "more than 1024 bytes"),
        (format!("{{{{ .a{} }}}}", long(" | upper")), "more than 1024 bytes"),
        (format!("{{% if a{} %}}{{% endif %}}", long(" or a")), "more than 1024 bytes"),
        (format!("{{% if a %}}{}{{% endif %}}", long("{% elif a %}")), "at most 128 `else if`"),
        (format!("{{{{ if .a }}}}{}{{{{ end }}}}", long("{{ else if .a }}")), "at most 128 `else if`"),
        (long("{% if a %}"), ""),
        (format!("{{{{ .a }}}}{}", long("{#")), "add `#}`"),
        (format!("{{{{ .a {}", long("\"")), "not closed"),
        (format!("{{{{ {} }}}}", long("eq (")), ""),
    ] {
        let problem = problem_of(&text, &json!({ "a": 1 }));
        assert!(problem.message.contains(expected), "{expected}: {}", problem.message);
        assert!(problem.message.len() < 1_000, "{expected}: {}", problem.message.len());
    }
    // Each value is written once, however often the ones around it name it.
    let nested = (0..8).fold(".a".to_owned(), |inner, _| format!("(eq {inner} (eq {inner}))"));
    assert!(Template::compile(&format!("{{{{ {nested} }}}}")).is_err());
    let nested = (0..14).fold(".a".to_owned(), |inner, _| format!("(eq {inner} true)"));
    assert_eq!(render(&format!("{{{{ {nested} }}}}"), &json!({ "a": true })), "true");
}

#[test]
fn what_functions_make_is_bounded_before_it_is_made() {
    let text = json!({ "text": "x".repeat(1 << 20), "list": vec!["y"; 1_000] });
    for template in [
        "{{ .text | json | json }}{{ join .list .text }}",
        "{{ list | join(text) }}",
        "{{ text | replace('x', text) }}",
        "{{ text | replace('', 'xxxxxxxx') }}",
    ] {
        let problem = problem_of(template, &text);
        assert!(problem.message.contains("exceeds 4194304 bytes"), "{template}: {}", problem.message);
    }
    for filter in ["batch(2)", "format(1)", "indent(1000000)", "pprint", "slice(2)"] {
        let problem = problem_of(&format!("{{{{ text | {filter} }}}}"), &text);
        assert!(problem.message.contains("functions are json"), "{filter}: {}", problem.message);
    }
}

#[test]
fn variables_and_the_value_of_a_block_are_those_of_go() {
    let input = json!({
        "a": 1, "b": { "c": 2 }, "none": [], "null": null, "items": { "z": 1, "a": 2, "m": 3 }, "list": [5, 6],
        "__v1": "mine", "__d1": "mine",
    });
    for (text, expected) in [
        ("{{ $x := 1 }}{{ if .a }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"),
        ("{{ $x := 1 }}{{ $x := print 2 }}{{ $x }}", "2"),
        ("{{ $x := 1 }}{{ range .list }}{{ $x }}{{ $x := . }}{{ $x }};{{ end }}{{ $x }}", "15;16;1"),
        ("{{ if $x := .a }}{{ $x }}{{ else }}none{{ end }}", "1"),
        ("{{ if $x := .none }}{{ $x }}{{ else }}{{ json $x }}{{ end }}", "[]"),
        ("{{ with $x := .b }}{{ $x.c }}{{ .c }}{{ $.a }}{{ end }}{{ .a }}", "2211"),
        ("{{ with .none }}x{{ else }}{{ .a }}{{ end }}", "1"),
        ("{{ with .b }}{{ with .c }}{{ . }}{{ $.a }}{{ end }}{{ .c }}{{ end }}", "212"),
        ("{{ $v1 := 7 }}{{ $v1 }}{{ .__v1 }}{{ .__d1 }}", "7minemine"),
        ("{{ range $key, $value := .items }}{{ $key }}{{ $value }}{{ end }}", "a2m3z1"),
        ("{{ range .items }}{{ . }}{{ end }}", "231"),
        ("{{ range $index, $item := .list }}{{ $index }}{{ $item }}{{ end }}", "0516"),
        ("{{ if eq .absent nil }}nil{{ end }}{{ if ne .absent 1 }}other{{ end }}", "nilother"),
        ("{{ if eq .null nil }}nil{{ end }}{{ if not .absent }}absent{{ end }}", "nilabsent"),
        ("{{ if or .absent .a }}or{{ end }}{{ with .absent }}x{{ else }}with{{ end }}", "orwith"),
        ("{{ index .list 1 }}{{ index .b \"c\" }}", "62"),
        ("{{ print true }}{{ a is eq 1 }}{{ \"x\" | default \"y\" }}", "truetruex"),
    ] {
        assert_eq!(render(text, &input), expected, "{text}"); // U34
    }
    for (text, expected) in [
        ("{{ $x }}", "`$x` is not declared; declare it by `:=`"),
        ("{{ if .a }}{{ $x := 2 }}{{ end }}{{ $x }}", "`$x` is not declared"),
        ("{{ if .a }}{{ $x := 2 }}{{ else }}{{ $x }}{{ end }}", "`$x` is not declared"),
        ("{{ range $x := .list }}{{ end }}{{ $x }}", "`$x` is not declared"),
        ("{{ $x := 1 }}{{ $x = 2 }}", "declare another one by `:=`"),
        ("{{ range $x, 1 := .list }}{{ end }}", "write `range $key, $value := ..`"),
        ("{{ range := .list }}{{ end }}", "declares one or two variables"),
        ("{{ index .list -1 }}", "an index is not negative"),
        ("{{ index .list 2 }}", "not in the input"),
        ("{{ range .a.b }}{{ end }}", "not in the input"),
        ("{{ range \"abc\" }}{{ end }}", "a text has no elements"),
        ("{{ lt .absent 1 }}", ""),
    ] {
        let problem = problem_of(text, &input);
        assert!(problem.message.contains(expected), "{text}: {}", problem.message); // U34
    }
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

#[test]
fn a_line_begins_where_the_original_has_it() {
    let text = rewrite::rewrite_actions("a{{ .x }}\nbb\nccc").unwrap();
    let offsets: Vec<_> = (0..5).map(|line| text.offset_of_line(line)).collect();
    assert_eq!(offsets, [0, 0, 10, 13, 0]);
}
