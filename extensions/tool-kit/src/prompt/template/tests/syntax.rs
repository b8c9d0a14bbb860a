//! The tokens, the ends and the rewritten forms of actions.

use serde_json::json;

use super::{
    super::{
        MAX_OUTPUT_BYTES, TOO_LONG, Template, TemplateProblem,
        rewrite::rewrite_actions,
        scan::delimited_part_end,
        tokens::{Token, TokenKind, tokenize_go_action},
    },
    problem_of, render,
};

fn names_of(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn an_action_has_these_tokens() {
    let word = |text: &str| TokenKind::Word(text.to_owned());
    let text = |text: &str| TokenKind::Text(text.to_owned());
    let number = |text: &str| TokenKind::Number(text.to_owned());
    let field = |names: &[&str]| TokenKind::Field(names_of(names));
    let variable = |name: &str, names: &[&str]| TokenKind::Variable(name.to_owned(), names_of(names));
    let close = |names: &[&str]| TokenKind::Close(names_of(names));
    for (action, expected) in [
        ("", vec![]),
        ("  ", vec![]),
        (".a|upper", vec![(0, field(&["a"])), (2, TokenKind::Pipe), (3, word("upper"))]),
        (".|json", vec![(0, field(&[])), (1, TokenKind::Pipe), (2, word("json"))]),
        (
            " (.a.b).c|x",
            vec![
                (1, TokenKind::Open),
                (2, field(&["a", "b"])),
                (6, close(&["c"])),
                (9, TokenKind::Pipe),
                (10, word("x")),
            ],
        ),
        ("(.a).", vec![(0, TokenKind::Open), (1, field(&["a"])), (3, close(&[])), (4, field(&[]))]),
        ("$x:=1", vec![(0, variable("x", &[])), (2, TokenKind::Declare), (4, number("1"))]),
        ("$x=1", vec![(0, variable("x", &[])), (2, TokenKind::Assign), (3, number("1"))]),
        (
            "$k,$_v.a.b",
            vec![(0, variable("k", &[])), (2, TokenKind::Comma), (3, variable("_v", &["a", "b"]))],
        ),
        ("$.a $", vec![(0, variable("", &["a"])), (4, variable("", &[]))]),
        ("_a1 ß", vec![(0, word("_a1")), (4, word("ß"))]),
        ("-1 +2.5 30", vec![(0, number("-1")), (3, number("2.5")), (8, number("30"))]),
        (r#""" "a\t\r\n\\\"\'""#, vec![(0, text("")), (3, text("a\t\r\n\\\"'"))]),
        (r#""\u00e9a"x"#, vec![(0, text("éa")), (9, word("x"))]),
        (r"`a\`b``", vec![(0, text(r"a\")), (4, word("b")), (5, text(""))]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(offset, kind)| Token { offset, kind }).collect();
        assert_eq!(tokenize_go_action(action), Some(expected), "{action}");
    }
}

#[test]
fn an_action_of_another_language_has_no_tokens() {
    for action in [
        "a || b",
        "a == b",
        ":",
        "a : b",
        ".a[0]",
        ".a(b)",
        "..",
        "...a",
        ".a.",
        ".a..b",
        "$x[0]",
        "(.a)[0]",
        "user.name",
        "f(x)",
        "a[0]",
        "a'",
        "%",
        "'a'",
        r#""\x""#,
        r#""\u12""#,
        r#""\u00zz""#,
        r#""\ud800""#,
        r#""a"#,
        r#""a\""#,
        "`a",
        "-",
        "-x",
        "1.2.3",
        "{",
        "a * b",
    ] {
        assert_eq!(tokenize_go_action(action), None, "{action}");
    }
}

#[test]
fn an_action_a_statement_and_a_comment_have_an_end() {
    for (text, start, expected) in [
        ("{{}}x", 0, Some(4)),
        ("{{ a }}x", 0, Some(7)),
        ("ab{{ a }}x", 2, Some(9)),
        ("{{ 'é}}' }}x", 0, Some(12)),
        ("{{ \"\" }}x", 0, Some(8)),
        ("{{ `\\` }}x", 0, Some(9)),
        ("{{ \"\\\"}}\" }}x", 0, Some(12)),
        ("{{ {\"a\": {\"b\": 1}} }}x", 0, Some(21)),
        ("{{ {a} }}x", 0, Some(9)),
        ("{{{{a}b}}}}x", 0, Some(10)),
        ("{{ } }}x", 0, Some(7)),
        ("{#}#}x", 0, Some(5)),
        ("{##}x", 0, Some(4)),
        ("ab{# {{ a #}x", 2, Some(12)),
        ("{% if a %}x", 0, Some(10)),
        ("{%%}x", 0, Some(4)),
        ("{{/**/}}x", 0, Some(8)),
        ("ab{{/* a */}}x", 2, Some(13)),
        ("{{- /* a */ -}}x", 0, Some(15)),
        ("{{/* a */ }}x", 0, Some(12)),
        ("{%raw%}{%%}{% x %}{%endraw%}x", 0, Some(28)),
        ("ab{%- raw -%} {% endraw -%}{% a %}", 2, Some(27)),
        ("{x", 0, None),
        ("{", 0, None),
        ("{é", 0, None),
        ("ab{ {", 2, None),
    ] {
        assert_eq!(delimited_part_end(text, start), Ok(expected), "{text}");
    }
    let comment = "the comment is not closed; write `*/}}` behind it, and nothing else";
    for (text, start, offset, message) in [
        ("ab{# b", 2, 2, "the comment is not closed; add `#}`"),
        ("ab{#}", 2, 2, "the comment is not closed; add `#}`"),
        ("ab{{ b", 2, 2, "the action is not closed; add `}}`"),
        ("ab{% b", 2, 2, "the statement is not closed; add `%}`"),
        ("ab{{ é\"b }}", 2, 7, "the text in quotes is not closed"),
        ("ab{{/* b", 2, 2, comment),
        ("ab{{/* b */-}}", 2, 2, comment),
        ("ab{{/* b */ c }}", 2, 2, comment),
        ("ab{{/*/}}", 2, 2, comment),
        ("ab{% raw %}c", 2, 2, "the block has no end; add `{% endraw %}`"),
        ("ab{% raw %}c{% d %}", 2, 2, "the block has no end; add `{% endraw %}`"),
        ("ab{% raw %}c{% d", 2, 12, "the statement is not closed; add `%}`"),
        ("ab{% raw %}c{%}", 2, 12, "the statement is not closed; add `%}`"),
    ] {
        let problem = TemplateProblem { offset, message: message.to_owned() };
        assert_eq!(delimited_part_end(text, start), Err(problem), "{text}");
    }
}

#[test]
fn an_action_has_at_most_1024_bytes() {
    for (open, close) in [("{{", "}}"), ("{%", "%}")] {
        let longest = format!("a{open}{}{close}b", " ".repeat(1024));
        assert_eq!(delimited_part_end(&longest, 1), Ok(Some(1029)));
        let longer = format!("a{open}{}{close}b", " ".repeat(1025));
        let message = "the action has more than 1024 bytes; divide it".to_owned();
        assert_eq!(delimited_part_end(&longer, 1), Err(TemplateProblem { offset: 1, message }));
    }
}

#[test]
fn actions_become_these_forms_of_the_engine() {
    for (text, expected) in [
        ("{{.name}}", "{{ __input.name }}"),
        ("{{ .größe.a }}", r#"{{ __input["größe"].a }}"#),
        ("a {{- $.a | upper -}} b", "a {{- ((__input.a)|upper) -}} b"),
        ("{{-.a-}}", "{{-.a-}}"),
        (
            "{{ if .a }}x{{ else if .b }}y{{ else }}z{{ end }}",
            "{% if __input.a %}x{% elif __input.b %}y{% else %}z{% endif %}",
        ),
        (
            "{{ with .a }}{{ . }}{{ else }}{{ . }}{{ end }}{{ . }}",
            "{% set __d1 = __input.a %}{% if __d1 %}{{ __d1 }}{% else %}{{ __input }}{% endif %}{{ __input }}",
        ),
        (
            "{{- if $x := .a -}}{{ $x.b }}{{ end }}",
            "{%- set __v1 = __input.a %}{% if __v1 -%}{{ __v1.b }}{% endif %}",
        ),
        (
            "{{ range $k, $v := .m }}{{ $k }}{{ . }}{{ end }}",
            "{% for __v1, __v2 in (__input.m)|__pairs %}{{ __v1 }}{{ __v2 }}{% endfor %}",
        ),
        (
            "{{ range .l }}{{ range $x := .l }}{{ . }}{{ end }}{{ . }}{{ end }}",
            "{% for __d1 in (__input.l)|__values %}{% for __v2 in (__d1.l)|__values %}{{ __v2 }}{% endfor %}{{ __d1 }}{% endfor %}",
        ),
        ("{{ $x := 1 }}{{ $x := 2 }}{{ $x }}", "{% set __v1 = 1 %}{% set __v2 = 2 %}{{ __v2 }}"),
        (r#"{{ $x := "a\n\r\"\\é" }}"#, r#"{% set __v1 = "a\n\r\"\\é" %}"#),
        ("a\n{{- /* x\n */}}\nb", "a\n{#- \n#}\nb"),
        ("{{\n.a\n}}b", "{{ __input.a \n\n}}b"),
        ("{{ eq .a +2 nil }}", "{{ (((__input.a)|__present) in [((2)|__present), ((none)|__present)]) }}"),
        ("{{ ne .a true }}", "{{ (((__input.a)|__present) != ((true)|__present)) }}"),
        (
            "{{ lt .a 1 }}{{ le .a 1 }}{{ gt .a 1 }}{{ ge .a 1 }}",
            "{{ ((__input.a) < (1)) }}{{ ((__input.a) <= (1)) }}{{ ((__input.a) > (1)) }}{{ ((__input.a) >= (1)) }}",
        ),
        ("{{ and .a (not .b) }}", "{{ ((__input.a) and (((not (__input.b))))) }}"),
        ("{{ or .a .b .c }}", "{{ ((__input.a) or (__input.b) or (__input.c)) }}"),
        ("{{ index .a 1 \"b\" }}", "{{ ((__input.a)|__element(1)|__element(\"b\")) }}"),
        ("{{ len .a }}{{ trim .a }}", "{{ ((__input.a)|length) }}{{ ((__input.a)|trim) }}"),
        ("{{ .a | default 1 }}", "{{ ((__input.a)|default(1)) }}"),
        ("{{ join .a .l }}", "{{ ((__input.a)|join(__input.l)) }}"),
        ("{{ join \", \" .l }}", "{{ ((__input.l)|join(\", \")) }}"),
        ("{{ join (\", \") .l }}", "{{ ((__input.l)|join((\", \"))) }}"),
        ("{{ join (\", \").a .l }}", "{{ (((\", \").a)|join(__input.l)) }}"),
        ("{{ join (print \", \") .l }}", "{{ ((((\", \")))|join(__input.l)) }}"),
        // What has no mark of Go is the engine's.
        (
            "{{ a }}{{ +2.5 }}{{ not true }}{{ a and true }}",
            "{{ a }}{{ +2.5 }}{{ not true }}{{ a and true }}",
        ),
        ("{{ a is eq 5 }}{{ a is not eq 5 }}{{ f 5 }}", "{{ a is eq 5 }}{{ a is not eq 5 }}{{ f 5 }}"),
        (
            "{{ upper \"a\" }}{{ print nil }}{{ len 1 }}",
            "{{ ((\"a\")|upper) }}{{ (none) }}{{ ((1)|length) }}",
        ),
        ("{{ `a` }}{{ \"a\" }}", "{{ \"a\" }}{{ \"a\" }}"),
        (
            "{{ a }}{x{é{# {{ .a }} #}{% raw %}{{ .a }}{% endraw %}",
            "{{ a }}{x{é{# {{ .a }} #}{% raw %}{{ .a }}{% endraw %}",
        ),
    ] {
        assert_eq!(rewrite_actions(text).map(|rewritten| rewritten.text), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn offsets_are_in_the_original_text() {
    // In the text of the engine, the first action begins at 2, `cd` at 17, the second action at 19.
    let text = rewrite_actions("ab{{ .x }}cd{{ upper .y }}ef").unwrap();
    let offsets = [0, 1, 2, 3, 16, 17, 18, 19, 25].map(|offset| text.original_offset(offset));
    assert_eq!(offsets, [0, 1, 2, 2, 2, 10, 11, 12, 12]);
    assert_eq!(text.original_offset(text.text.len() - 1), 27);
    assert_eq!(rewrite_actions("").unwrap().original_offset(5), 0);
}

#[test]
fn a_mistake_in_an_action_has_this_place_and_text() {
    let count =
        |function: &str, expected: &str, found: &str| format!("`{function}` takes {expected}, not {found}");
    let two_or_more = "two arguments or more";
    for (text, offset, message) in [
        ("ab{{ . | }}", 4, "a value is missing; state one, such as `.` or `.name`".to_owned()),
        ("ab{{- . | }}", 5, "a value is missing; state one, such as `.` or `.name`".to_owned()),
        ("ab{{ if }}{{ end }}", 4, "a value is missing; state one, such as `.` or `.name`".to_owned()),
        ("ab{{ . , . }}", 7, "this is not expected here".to_owned()),
        ("ab{{ ) . }}", 5, "a value is expected here".to_owned()),
        ("ab{{ .a | .b }}", 10, "a pipeline goes to a function; name one after `|`".to_owned()),
        ("ab{{ .a | nil }}", 10, "a pipeline goes to a function; name one after `|`".to_owned()),
        ("ab{{ . | print upper }}", 15, "`upper` is a function; write it in parentheses: `(upper ..)`".to_owned()),
        ("ab{{ print $x }}", 11, "the variable `$x` is not declared; declare it by `:=`".to_owned()),
        ("ab{{ print (.a }}", 11, "the parenthesis is not closed; add `)`".to_owned()),
        ("ab{{ . | upper 1 }}", 9, count("upper", "one argument", "2")),
        ("ab{{ $.a | print (upper) }}", 18, count("upper", "one argument", "none")),
        ("ab{{ .a | ne }}", 10, count("ne", "two arguments", "one")),
        ("ab{{ lt . }}", 5, count("lt", "two arguments", "one")),
        ("ab{{ eq . }}", 5, count("eq", two_or_more, "one")),
        ("ab{{ index . }}", 5, count("index", two_or_more, "one")),
        ("ab{{ . | default }}", 9, count("default", "another value and a value", "one")),
        ("ab{{ . | join }}", 9, count("join", "a list and a separator", "one")),
        ("ab{{ $x := and }}", 11, count("and", "at least one argument", "none")),
        ("ab{{ if or }}{{ end }}", 8, count("or", "at least one argument", "none")),
        ("ab{{ not . . . }}", 5, count("not", "one argument", "3")),
        (
            "ab{{ . | exec }}",
            9,
            "there is no function `exec`; functions are json, default, join, upper, lower, trim, eq, ne, lt, le, gt, ge, and, \
             or, not, len, index, print"
                .to_owned(),
        ),
        ("ab{{ . }}{{ if . }}", 12, "the block has no end; add `{{ end }}`".to_owned()),
        ("ab{{ end }}", 5, "`end` without a block".to_owned()),
        ("ab{{ else }}", 5, "`else` belongs to an `if`, a `with` or a `range`, once".to_owned()),
        ("{{ if . }}{{ else }}{{ else }}{{ end }}", 23, "`else` belongs to an `if`, a `with` or a `range`, once".to_owned()),
        ("{{ if . }}{{ else }}{{ else if . }}{{ end }}", 23, "`else if` belongs to an `if`, before its `else`".to_owned()),
        ("{{ with . }}{{ else if . }}{{ end }}", 15, "`else if` belongs to an `if`, before its `else`".to_owned()),
        ("{{ if . }}{{ end . }}", 13, "`else` and `end` stand alone".to_owned()),
        ("{{ if . }}{{ else . }}{{ end }}", 13, "`else` and `end` stand alone".to_owned()),
        (
            "ab{{ break }}",
            5,
            "`break`, `continue`, `define`, `template` and `block` are not supported".to_owned(),
        ),
        ("{{ $x := 1 }}{{ $x = 2 }}", 16, "a variable keeps its value; declare another one by `:=`".to_owned()),
        ("ab{{ range 1 := . }}{{ end }}", 5, "write `range $value := ..`".to_owned()),
        ("ab{{ range $x.a := . }}{{ end }}", 5, "write `range $value := ..`".to_owned()),
        ("ab{{ range $ := . }}{{ end }}", 5, "write `range $value := ..`".to_owned()),
        ("ab{{ range 1, $x := . }}{{ end }}", 5, "write `range $key, $value := ..`".to_owned()),
        ("ab{{ range $x $y := . }}{{ end }}", 5, "a `range` declares one or two variables".to_owned()),
    ] {
        let problem = rewrite_actions(text).map(|rewritten| rewritten.text);
        assert_eq!(problem, Err(TemplateProblem { offset, message }), "{text}");
    }
}

#[test]
fn blocks_parentheses_and_alternatives_have_their_number() {
    let blocks = |count: usize| format!("{}x{}", "{{ if .a }}".repeat(count), "{{ end }}".repeat(count));
    let alternatives =
        |count: usize| format!("{{{{ if .a }}}}x{}{{{{ end }}}}", "{{ else if .b }}y".repeat(count));
    let of_engine = |count: usize| format!("{{% if a %}}x{}{{% endif %}}", "{%- elif b %}y".repeat(count));
    let input = json!({ "a": 1 });
    for text in [blocks(64), alternatives(128), of_engine(128)] {
        assert_eq!(render(&text, &input), "x");
    }
    let too_many = "a template has at most 128 `else if`; divide it";
    for (text, offset, message) in [
        (blocks(65), 64 * 11 + 3, "more than 64 blocks are nested"),
        (alternatives(129), 12 + 128 * 17 + 3, too_many),
        (of_engine(129), 11 + 128 * 14, too_many),
    ] {
        assert_eq!(problem_of(&text, &input), TemplateProblem { offset, message: message.to_owned() });
    }
    let groups = format!("{{{{ and{} }}}}", " (.a)".repeat(17));
    assert_eq!(render(&groups, &input), "1");
}

#[test]
fn a_text_has_at_most_4_mib() {
    let longest = json!({ "text": "x".repeat(MAX_OUTPUT_BYTES) });
    for template in ["{{ .text }}", "{{ text | replace('x', 'y') }}"] {
        assert_eq!(render(template, &longest).len(), MAX_OUTPUT_BYTES, "{template}");
    }
    for template in ["{{ .text }}y", "y{{ .text }}"] {
        let problem = problem_of(template, &longest);
        assert_eq!(problem, TemplateProblem { offset: 0, message: TOO_LONG.to_owned() }, "{template}");
    }
    let message = format!("invalid operation: {TOO_LONG}");
    for template in ["{{ .text | json }}", "{{ text | replace('x', 'yy') }}"] {
        assert_eq!(problem_of(template, &longest).message, message, "{template}");
    }
}

#[test]
fn functions_take_these_values() {
    let input = json!({ "null": null, "list": ["a", "b"], "mark": "<a>", "n": 100_000, "o": 100_001 });
    for (template, expected) in [
        ("{{ index .list 0 }}{{ .null | json }}", "anull"),
        ("{{ range .null }}x{{ else }}none{{ end }}", "none"),
        ("{{ mark | tojson }}{{ mark }}{{ list | tojson }}", r#""<a>"<a>["a","b"]"#),
        ("{{ list | join }}{{ list | join('') }}{{ 3 | join('-') }}", "abab0-1-2"),
        ("{{ missing | default(list) | join('<') }}", "a<b"),
    ] {
        assert_eq!(render(template, &input), expected, "{template}");
    }
    assert_eq!(render("{{ n | join('') }}", &input).len(), 488_890);
    for (template, message) in [
        ("{{ o | join('') }}", "invalid operation: a range has at most 100000 numbers"),
        ("{{ index .list -1 }}", "invalid operation: an index is not negative"),
        (
            "{{ .missing }}",
            "a value is not in the input (`.missing` is undefined); state it, or use `default`",
        ),
        ("{{ missing }}", "a value is not in the input (`missing` is undefined); state it, or use `default`"),
        ("{{ range .list }}{{ .b }}{{ end }}", "a value is not in the input; state it, or use `default`"),
    ] {
        assert_eq!(problem_of(template, &input).message, message, "{template}");
    }
    let problem = problem_of("{% for item in missing %}{% endfor %}", &input);
    assert!(problem.message.starts_with("a value is not in the input"), "{problem:?}");
}

#[test]
fn a_template_is_shown_without_its_parts() {
    assert_eq!(format!("{:?}", Template::compile("{{ .a }}").unwrap()), "Template { .. }");
}
