//! The elements that a selector is about, and the selectors that are not read.

use super::{check_cases, convert};

fn hiding_rule(selector: &str) -> String {
    format!("{selector}{{display:none}}")
}

// R19
#[test]
fn a_selector_is_about_the_elements_that_have_what_it_names() {
    for (selector, hidden, seen) in [
        ("P", &["<p>@</p>"][..], &["<b>@</b>"][..]),
        ("#i", &["<p id=i>@</p>"], &["<p id=I>@</p>", "<p class=i>@</p>"]),
        (".c", &["<p class='b c'>@</p>"], &["<p class=C>@</p>", "<p class=c-d>@</p>", "<p id=c>@</p>"]),
        ("[data-x]", &["<p data-x>@</p>"], &["<p data-y>@</p>"]),
        ("[DATA-X=a]", &["<p data-x=a>@</p>"], &["<p data-x=A>@</p>", "<p data-x=ab>@</p>"]),
        ("[data-x=ab I]", &["<p data-x=Ab>@</p>"], &["<p data-x=abc>@</p>"]),
        ("[data-x=ab s]", &["<p data-x=ab>@</p>"], &["<p data-x=Ab>@</p>"]),
        ("[type=AB]", &["<p type=ab>@</p>"], &["<p type=abc>@</p>"]),
        ("[data-x~=ab]", &["<p data-x='c ab'>@</p>"], &["<p data-x=c-ab>@</p>"]),
        ("[data-x|=ab]", &["<p data-x=ab>@</p>", "<p data-x=ab-c>@</p>"], &["<p data-x=abc>@</p>"]),
        ("[data-x^=ab]", &["<p data-x=abc>@</p>"], &["<p data-x=cab>@</p>"]),
        ("[data-x$=ab]", &["<p data-x=cab>@</p>"], &["<p data-x=abc>@</p>"]),
        ("[data-x*=ab]", &["<p data-x=cabd>@</p>"], &["<p data-x=acb>@</p>"]),
        ("[x^=''],[x$=''],[x*='']", &[], &["<p x>@</p>", "<p x=a>@</p>"]),
        (":link", &["<a href>@</a>"], &["<a>@</a>"]),
        (":any-link", &["<a href=/>@</a>"], &["<a name=x>@</a>"]),
        (
            ":empty+p",
            &["<i></i><p>@</p>"],
            &["<i>x</i><p>@</p>", "<i> </i><p>@</p>", "<i><b></b></i><p>@</p>"],
        ),
        ("p:first-child", &["<p>@</p>", "x<p>@</p>"], &["<b>x</b><p>@</p>"]),
        ("p:last-child", &["<p>@</p>", "<p>@</p>x"], &["<p>@</p><b>x</b>"]),
        ("p:first-of-type", &["<p>@</p>", "<b>x</b><p>@</p>"], &["<p hidden>x</p><p>@</p>"]),
        ("p:last-of-type", &["<p>@</p>", "<p>@</p><b>x</b>"], &["<p>@</p><p hidden>x</p>"]),
        ("p:only-child", &["<p>@</p>", "x<p>@</p>x"], &["<b>x</b><p>@</p>", "<p>@</p><b>x</b>"]),
        (
            "p:only-of-type",
            &["<b>x</b><p>@</p><b>x</b>"],
            &["<i><p hidden></p><p>@</p></i>", "<i><p>@</p><p hidden></p></i>"],
        ),
        ("p:not(.c,#i)", &["<p>@</p>", "<p id=c class=i>@</p>"], &["<p class=c>@</p>", "<p id=i>@</p>"]),
        ("p:is(.c,#i)", &["<p class=c>@</p>", "<p id=i>@</p>"], &["<p>@</p>", "<b class=c>@</b>"]),
        ("u:where(.c)", &["<u class=c>@</u>"], &["<u>@</u>"]),
        (
            "u:matches(.c),u:-webkit-any(.d),u:-moz-any(.e)",
            &["<u class=c>@</u>", "<u class=d>@</u>", "<u class=e>@</u>"],
            &["<u>@</u>"],
        ),
        ("i>b", &["<i><b>@</b></i>"], &["<i><u><b>@</b></u></i>", "<b>@</b>"]),
        ("i b", &["<i><u><b>@</b></u></i>"], &["<i>x</i><b>@</b>"]),
        ("i+b", &["<i>x</i>y<b>@</b>"], &["<i>x</i><u>y</u><b>@</b>", "<i><b>@</b></i>"]),
        ("i~b", &["<i>x</i><u>y</u><b>@</b>"], &["<b>@</b><i>x</i>"]),
        // The nearest part that fits is not always the one.
        ("i>s b", &["<i><s><s><b>@</b></s></s></i>"], &["<s><s><b>@</b></s></s>"]),
        ("i+s~b", &["<i>x</i><s>x</s><s>x</s><b>@</b>"], &["<s>x</s><i>x</i><b>@</b>"]),
        (":root>body>div>p", &["<p>@</p>"], &["<i><p>@</p></i>"]),
        ("p:root,p:scope", &[], &["<p>@</p>"]),
        (":not(html,body,h2,div,p)", &["<b>@</b>"], &["<p>@</p>"]),
        ("p::before,p::after,p:before,p:after,p:first-line,p:first-letter,p::marker", &[], &["<p>@</p>"]),
        ("p:hover,p:focus,p:active,p:visited,p:target,p:invalid,p:modal,p:paused", &[], &["<p>@</p>"]),
        (".\\31 , .a\\.b", &["<p class=1>@</p>", "<p class=a.b>@</p>"], &["<p class='a b'>@</p>"]),
    ] {
        check_cases(&hiding_rule(selector), hidden, seen);
    }
    // A name is compared to its end, however long it is.
    let long = "n".repeat(64);
    for (selector, start, end) in [(".", "<p class=", ""), ("#", "<p id=", ""), ("", "<", "-x")] {
        let case = |tail: &str| [format!("{start}{long}{tail}{end}>@</p>")];
        check_cases(&hiding_rule(&format!("{selector}{long}a{end}")), &case("a"), &case("b"));
    }
}

// R19
#[test]
fn controls_have_the_states_that_their_attributes_give_them() {
    let before = |control: &str| format!("{control}<p>@</p>");
    let checked =
        ["<input type=checkbox checked>", "<input type=RADIO checked>", "<option selected>x</option>"];
    let unchecked = [
        "<input type=checkbox>",
        "<input type=text checked>",
        "<input checked>",
        "<input type=radio selected>",
        "<option>x</option>",
        "<option checked>x</option>",
        "<b checked selected>x</b>",
    ];
    check_cases(":checked+p{display:none}", &checked.map(before), &unchecked.map(before));
    let controls = ["button", "fieldset", "input", "optgroup", "option", "select", "textarea"];
    let disabled = controls.map(|tag| before(&format!("<{tag} disabled></{tag}>")));
    let enabled = controls.map(|tag| before(&format!("<{tag}></{tag}>")));
    check_cases(":disabled+p{display:none}", &disabled, &enabled);
    check_cases(":disabled+p{display:none}", &[""; 0], &["<b disabled>x</b><p>@</p>"]);
}

// R19: against all numbers that a formula stands for.
#[test]
fn a_position_is_one_of_the_numbers_of_its_formula() {
    let tags = ["i", "b", "i", "i", "b", "i", "b", "b"];
    for (name, is_from_end, is_of_type) in [
        ("nth-child", false, false),
        ("nth-last-child", true, false),
        ("nth-of-type", false, true),
        ("nth-last-of-type", true, true),
    ] {
        let (mut style, mut hidden, mut seen) = (String::new(), Vec::new(), Vec::new());
        for (step, first) in (-3..=3).flat_map(|step| (-3..=9).map(move |first| (step, first))) {
            let class = hidden.len() + seen.len();
            style += &hiding_rule(&format!(".c{class}:{name}({step}n{first:+})"));
            for (index, tag) in tags.iter().enumerate() {
                let others = if is_from_end { &tags[index + 1..] } else { &tags[..index] };
                let before = others.iter().filter(|other| !is_of_type || *other == tag).count();
                let is_one = (0..20).any(|n| step * n + first == i32::try_from(before).unwrap() + 1);
                let marked = |(at, tag): (usize, &&str)| {
                    let text = if at == index { "@" } else { "x" };
                    format!("<{tag} class=c{class}>{text}</{tag}>")
                };
                let all: String = tags.iter().enumerate().map(marked).collect();
                let case = format!("<p>{all}</p>");
                if is_one { hidden.push(case) } else { seen.push(case) }
            }
        }
        check_cases(&style, &hidden, &seen);
    }
}

// R19
#[test]
fn rules_inside_of_others_are_about_the_elements_of_both() {
    for (style, hidden, seen) in [
        ("p{b{display:none}}", &["<p><i><b>@</b></i></p>"][..], &["<b>@</b>", "<p>@</p>"][..]),
        ("p{b,u{display:none}}", &["<p><b>@</b></p>", "<p><u>@</u></p>"], &["<u>@</u>"]),
        ("p{>b{display:none}}", &["<p><b>@</b></p>"], &["<p><i><b>@</b></i></p>"]),
        ("p{+u{display:none}}", &["<p>x</p><u>@</u>"], &["<p>x</p><b>x</b><u>@</u>"]),
        ("p{~u{display:none}}", &["<p>x</p><b>x</b><u>@</u>"], &["<u>@</u>"]),
        ("p{&.c{display:none}}", &["<p class=c>@</p>"], &["<p><b class=c>@</b></p>"]),
        ("p{.c &{display:none}}", &["<div class=c><p>@</p></div>"], &["<p class=c>@</p>"]),
        ("p,u{&{display:none}}", &["<p>@</p>", "<u>@</u>"], &["<b>@</b>"]),
        (
            "p{.c{&:not(u){display:none}}}",
            &["<p><b class=c>@</b></p>"],
            &["<p><u class=c>@</u></p>", "<p class=c>@</p>"],
        ),
        ("p{@media all{display:none}}", &["<p>@</p>"], &["<b>@</b>"]),
        ("p{@media all{b{display:none}}}", &["<p><b>@</b></p>"], &["<b>@</b>", "<p>@</p>"]),
        ("p{@media print{display:none}}", &[], &["<p>@</p>"]),
        // What comes later decides, also after a rule inside.
        ("p{display:none;&{display:block}}", &[], &["<p>@</p>"]),
        ("p{&{display:none}display:block}", &[], &["<p>@</p>"]),
        ("p{display:block;&{display:none}}", &["<p>@</p>"], &[]),
        ("p{&{display:block}display:none}", &["<p>@</p>"], &[]),
        ("p{display:none;b{color:red}", &["<p>@</p>"], &[]),
    ] {
        check_cases(style, hidden, seen);
    }
}

// R19
#[test]
fn the_rules_inside_of_an_at_rule_hold_if_it_may() {
    let cases = ["<p class=c>@</p>"];
    for at_rule in [
        "@media screen",
        "@MEDIA (min-width:1px)",
        "@media screen,print",
        "@supports (display:grid)",
        "@container (width>1px)",
        "@layer",
        "@layer a.b",
        "@scope (body)",
    ] {
        check_cases(&format!("{at_rule}{{.c{{display:none}}}}"), &cases, &cases[..0]);
    }
    for at_rule in ["@media print", "@media (width<1px)", "@keyframes c", "@font-face", "@page", "@unknown"] {
        check_cases(&format!("{at_rule}{{.c{{display:none}}}}"), &cases[..0], &cases);
    }
    for before in ["@layer a,b;", "@import url(x);", "@charset \"x\";", "@unknown;", "}", "<!--", "x{};"] {
        check_cases(&format!("{before}.b{{color:red}}.c{{display:none}}"), &cases, &cases[..0]);
    }
}

// R19
#[test]
fn selectors_that_are_not_understood_are_counted_if_they_can_hide_a_text() {
    let nested = |levels: usize| format!("p{}.c{}", ":not(".repeat(levels), ")".repeat(levels));
    let descendants = |count: usize| "p ".repeat(count);
    let media =
        |levels: usize| format!("{}p{{opacity:0}}{}", "@media all{".repeat(levels), "}".repeat(levels));
    let rule = |selector: &str| format!("{selector}{{opacity:0}}");
    for (style, unread) in [
        (rule("b"), 0),
        (rule("p:has(b)"), 1),
        (rule("p:has(b),i:lang(en),b"), 2),
        (rule("b,p:unknown,p:dir(ltr)"), 2),
        (rule("p:has(b),i::before"), 1),
        (rule("p::before,p:after,p::part(x):hover b"), 0),
        ("p:has(b){border:0}".to_owned(), 0),
        ("p:has(b){x:y}i:has(b){opacity:1}".to_owned(), 1),
        ("p:has(b){i{opacity:0}}".to_owned(), 1),
        ("p:has(b){opacity:0;i{opacity:0}color:red}".to_owned(), 2),
        ("p{b:has(i){opacity:0}}".to_owned(), 1),
        (rule("p>"), 1),
        (rule("p~"), 1),
        (rule(">p"), 1),
        (rule("p,,b"), 1),
        (rule("p,"), 1),
        (rule("."), 1),
        (rule("p. c"), 1),
        (rule("p.1"), 1),
        (rule("p:"), 1),
        (rule("p: root"), 1),
        (rule("p&"), 1),
        (rule("p%"), 1),
        (rule("p[=a]"), 1),
        (rule("p[a=]"), 1),
        (rule("p[a b]"), 1),
        (rule("p[a%=b]"), 1),
        (rule("p[a%b]"), 1),
        (rule("p[a=b c d]"), 1),
        (rule("p[1]"), 1),
        (rule("p:not()"), 1),
        (rule("p:not(b"), 0),
        (rule("p:not(:has(b))"), 1),
        (rule("p:is(b,:has(b))"), 1),
        (rule("p:nth-child(x)"), 1),
        (rule("p:nth-child(2 of b)"), 1),
        (rule("p:nth-column(2)"), 1),
        (rule(&nested(8)), 0),
        (rule(&nested(9)), 1),
        (rule(&descendants(33)), 0),
        (rule(&descendants(34)), 1),
        (media(23), 0),
        (media(24), 1),
    ] {
        let page = convert(&format!("<!doctype html><style>{style}</style>text"));
        assert_eq!(page.hidden.unread, unread, "{style}");
    }
}

// R19
#[test]
fn the_style_sheets_of_a_page_are_its_elements_and_links_to_others_are_not_read() {
    let case = ["<p class=c>@</p>"];
    let rule = ".c{display:none}";
    for sheet in [
        "<style>$</style>",
        "<style type>$</style>",
        "<style type=' TEXT/css '>$</style>",
        "<style media>$</style>",
        "<style media=' SCREEN '>$</style>",
        "<style media='(MIN-WIDTH:1px)'>$</style>",
        "<svg><style>$</style></svg>",
        "<svg><style>.c{<g>x</g>display:none}</style></svg>",
        "<svg><style>.c{<!-- x -->display:none}</style></svg>",
        "<style>.c{display:block}</style><style>$</style>",
    ] {
        check_cases(&format!("</style>{}<style>", sheet.replace('$', rule)), &case, &case[..0]);
    }
    for sheet in [
        "<style type=text/less>$</style>",
        "<style media=print>$</style>",
        "<template><style>$</style></template>",
        "<noscript><style>$</style></noscript>",
        "<math><style>$</style></math>",
        "<svg><style><g>$</g></style></svg>",
        "<style>$</style><style>.c{display:block}</style>",
    ] {
        check_cases(&format!("</style>{}<style>", sheet.replace('$', rule)), &case[..0], &case);
    }
    for (link, unread) in [
        ("<link rel=stylesheet href='data:text/css,p{opacity:0}'>", 1),
        ("<link rel='alternate STYLESHEET' href=' DATA:,'>", 1),
        ("<template><link rel=stylesheet href='data:,'></template>", 0),
        ("<link rel=icon href='data:,'>", 0),
        ("<link href='data:,'>", 0),
        ("<link rel=stylesheet href=/data:>", 0),
        ("<link rel=stylesheet href=dat>", 0),
        ("<link rel=stylesheet>", 0),
        ("<a rel=stylesheet href='data:,'>x</a>", 0),
    ] {
        assert_eq!(convert(link).hidden.unread, unread, "{link}");
    }
}
