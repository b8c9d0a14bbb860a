//! Pages that mean harm, by the steps that they cost: no test here reads a clock.

use std::sync::atomic::AtomicBool;

use super::super::{
    HiddenText, StyleWalk, add_rules_of_sheets,
    sheet::{MAX_SELECTORS, StyleRules},
};
use crate::web::html::tree::{DOCUMENT, HtmlTree, NodeData};

/// The costs and the result of a page.
#[derive(Debug)]
struct PageReport {
    rules: usize,
    steps: u64,
    is_exhausted: bool,
    hidden: HiddenText,
    /// The text that is shown.
    text: String,
}

fn page_report(html: &str) -> PageReport {
    let stop = AtomicBool::new(false);
    let tree = HtmlTree::parse(html, &stop).unwrap();
    let mut rules = StyleRules::default();
    add_rules_of_sheets(&tree, &mut rules, &stop);
    let mut walk = StyleWalk::new(&tree, &rules);
    walk.visit_all(&stop).unwrap();
    let (steps, is_exhausted) = (walk.matcher.used_steps(), walk.matcher.is_exhausted());
    let hidden = tree.hidden;
    let text = tree.text_line(DOCUMENT, 100, |id| crate::web::html::is_dropped(&tree, id));
    PageReport { rules: rules.rules.len(), steps, is_exhausted, hidden, text }
}

fn styled(style: &str, body: &str) -> PageReport {
    page_report(&format!("<!doctype html><style>{style}</style>{body}<p>after"))
}

fn sheet_rules(style: &str) -> StyleRules {
    let mut rules = StyleRules::default();
    rules.read_sheet(style, &AtomicBool::new(false));
    rules
}

/// Rules inside of others, each with `selector`, and a declaration in the last one.
fn nested_rules(selector: &str, levels: usize) -> String {
    let opening = format!("{selector}{{").repeat(levels);
    format!(".a{{{opening}display:none{}}}", "}".repeat(levels))
}

// R19: a list whose weight is not stored costs 3 to the power of the levels.
#[test]
fn the_weight_of_selectors_inside_of_others_is_found_once_and_has_a_greatest_one() {
    let rules = sheet_rules(&nested_rules("&&&", 22));
    assert_eq!(rules.rules[0].selector.specificity, u32::MAX);
    let rules = sheet_rules(&nested_rules("&&&", 3));
    assert_eq!(rules.rules[0].selector.specificity, 27 << 8);
    // The sum of this many does not fit in 32 bits.
    let rules = sheet_rules(&format!("{}{{display:none}}", "#a".repeat(70_000)));
    assert_eq!(rules.rules[0].selector.specificity, u32::MAX);
}

// R19
#[test]
fn rules_inside_of_others_cost_steps_for_their_levels_and_not_for_their_product() {
    for (selector, body) in [
        ("&&&", "<b class=a>evil</b>".repeat(100)),
        ("&&&", "<b>seen</b>".repeat(100)),
        ("&,&,&", "<b>seen</b>".repeat(100)),
        ("& &", "<div class=a>".repeat(60)),
        (":not(.x) &", "<div class=a>".repeat(60)),
    ] {
        let report = styled(&nested_rules(selector, 20), &body);
        assert!(!report.is_exhausted && report.steps < 2_000_000, "{selector} {body}: {report:?}");
        assert!(!report.text.contains("evil"), "{selector} {body}: {report:?}");
        assert_eq!(report.text.contains("seen"), body.contains("seen"), "{selector} {body}: {report:?}");
    }
    // All levels with all parts: neither the stack nor the steps end.
    for (selector, body) in [
        (format!("& {}", "div ".repeat(31)), format!("<b class=a>{}x", "<div>".repeat(500))),
        (format!("& {}", "~ i".repeat(31)), format!("<b class=a></b>{}", "<i></i>".repeat(1000))),
        (format!("{} &", "i ~".repeat(31)), format!("{}<b class=a>x", "<i></i>".repeat(1000))),
    ] {
        let report = styled(&nested_rules(&selector, 22), &body);
        assert!(report.rules == 1 && report.steps > 0, "{selector}: {report:?}");
    }
}

// R19
#[test]
fn each_condition_takes_a_step_and_each_byte_that_is_compared_a_part_of_one() {
    let body = "<b a=x>x</b>".repeat(100);
    let steps = |selector: &str, body: &str| styled(&format!("{selector}{{display:none}}"), body).steps;
    for selector in ["*", ":root", ":empty", ":not(i)", ":first-child", ":disabled", "b/**/"] {
        let (one, many) =
            (steps(&format!("{selector}.x"), &body), steps(&format!("{}:hover", selector.repeat(50)), &body));
        assert!(many >= one, "{selector}: {one} {many}");
    }
    let stars = steps(&format!("{}:hover", "*".repeat(1000)), &body);
    assert!(stars >= 100 * 1000, "{stars}");
    // The names with which one of up to 16 bytes is compared count as one byte each; the page has 104 elements.
    let named = format!("<b{}>x</b>", (0..8).map(|it| format!(" x{it}")).collect::<String>()).repeat(100);
    let [short, longer] = [16, 17].map(|count| steps(&format!("[{}]", "a".repeat(count)), &named));
    assert_eq!([short, longer - short], [104, 100 * (8 * 17 / 16)]);
    let long = "x".repeat(16_000);
    let names = format!("<b {long}=1>x</b>").repeat(10);
    assert!(steps(&format!("[{}y]", &long[1..]), &names) >= 10 * 1000);
    let tags = format!("<{long}>x</{long}>").repeat(10);
    assert!(steps(&format!("{long}:not(#x)"), &tags) >= 10 * 1000);
    assert!(steps(":nth-last-of-type(20)", &tags) >= 40 * 1000);
    assert!(steps(":nth-last-child(20)", &tags) < 1000);
    let values = format!("<b a='{long}'>x</b>").repeat(10);
    assert!(steps("[a*=z]", &values) >= 10 * 1000);
}

// R19
#[test]
fn a_rule_in_many_parts_adds_no_more_rules_than_there_is_room_for_and_counts_what_is_unread_once() {
    let parts = "color:red;b{x:y}".repeat(2000);
    let rules = sheet_rules(&format!("{}.c{{{parts}}}", ".a,".repeat(999)));
    assert_eq!(rules.rules.len(), MAX_SELECTORS);
    assert!(rules.unread <= 1000, "{}", rules.unread);
    let rules =
        sheet_rules(&format!(".a:has(b), .c{{{}}}", "color:red;b{x:y}@media all{color:red}".repeat(9)));
    assert_eq!((rules.rules.len(), rules.unread), (18, 1));
    // Of one property, the last declaration decides.
    let rules = sheet_rules(&format!(".a{{{}color:blue}}", "color:red;color:red!important;".repeat(1000)));
    assert_eq!(rules.rules[0].declarations.len(), 2);
}

// R19
#[test]
fn a_sheet_is_read_until_its_reader_stops() {
    let mut rules = StyleRules::default();
    rules.read_sheet(&".a{color:red}".repeat(100), &AtomicBool::new(true));
    assert_eq!(rules.rules.len(), 1);
    let mut rules = StyleRules::default();
    rules.read_sheet(&format!(".a{{{}}}", "color:red;.b{x:y}".repeat(100)), &AtomicBool::new(true));
    assert_eq!(rules.rules.len(), 1);
}

// R19
#[test]
fn attributes_are_kept_in_any_number_and_those_of_a_second_tag_once() {
    let many: String = (0..200).map(|it| format!(" a{it}")).collect();
    for (style, body) in [
        ("", format!("<p{many} hidden>evil</p>")),
        ("", format!("<p{many} popover>evil</p>")),
        ("", format!("<p{many} style='display:none'>evil</p>")),
        ("", format!("<font{many} color=#fff style='background:#fff'>evil</font>")),
        (".c{display:none}", format!("<p{many} class=c>evil</p>")),
        ("[data-x]{display:none}", format!("<p{many} data-x>evil</p>")),
        ("[data-x$=z]{display:none}", format!("<p data-x='{}z'>evil</p>", "x".repeat(20_000))),
        ("[href^=data]{display:none}", format!("<a href='data:{}'>evil</a>", "x".repeat(20_000))),
        ("", format!("<style{many} media=print>p{{display:none}}</style>")),
    ] {
        let report = styled(style, &body);
        assert_eq!(report.text, "after", "{style} {body}");
    }
    let html = format!("<html{many} a=1>{}<p>x", "<html a=2 b=3 b0><html hidden>".repeat(100));
    let tree = HtmlTree::parse(&html, &AtomicBool::new(false)).unwrap();
    let root = tree.descendants(DOCUMENT, |_| false).find(|id| tree.tag(*id) == "html").unwrap();
    let NodeData::Element { attributes, .. } = tree.data(root) else { return assert_eq!(root, DOCUMENT) };
    assert_eq!(attributes.len(), 200 + 4);
    assert_eq!([tree.attribute(root, "a"), tree.attribute(root, "b")], [Some("1"), Some("3")]);
}

// R19
#[test]
fn media_of_an_element_are_read_to_a_depth() {
    let media = format!("{}width<1px{}", "(".repeat(100_000), ")".repeat(100_000));
    let report =
        page_report(&format!("<style media='{media}'>.a{{display:none}}</style><p class=a>x<p>after"));
    assert_eq!(report.text, "after");
}

/// Pages with their names, and whether their style sheets can be read and compared in full.
fn hostile_pages() -> Vec<(&'static str, String, String, bool)> {
    let chain = |name: &str| format!("{}b", format!("{name} ").repeat(30));
    vec![
        ("nested blocks", "a{".repeat(100_000) + "display:none", String::new(), false),
        ("nested brackets", "a{display:".to_owned() + &"(".repeat(100_000), String::new(), true),
        ("nested functions", ":not(".repeat(100_000) + "a", String::new(), true),
        (
            "nested selectors",
            format!("{}a{}{{display:none}}", ":not(".repeat(50), ")".repeat(50)),
            String::new(),
            false,
        ),
        ("nested at-rules", "@media screen{".repeat(100) + "p{display:none}", String::new(), false),
        ("many selectors", ".a,".repeat(50_000) + ".b{display:none}", "<p class=a>x".repeat(10), false),
        (
            "ancestors without end",
            chain("div") + "{display:none}",
            "<div>".repeat(400) + &"<b>x</b>".repeat(2000),
            true,
        ),
        (
            "siblings without end",
            "i ~ i ~ i ~ i ~ u{display:none}".to_owned(),
            "<i>x</i><u>y</u>".repeat(10_000),
            true,
        ),
        ("positions", "i:nth-last-child(3){display:none}".to_owned(), "<i>x</i>".repeat(5000), false),
        ("rules for all", "[x^='a']{display:none}".repeat(3000), "<i x=b></i>".repeat(3000), false),
        (
            "long lists",
            format!(":is({}b){{display:none}}", "i,".repeat(20_000)),
            "<u>x</u>".repeat(1000),
            false,
        ),
        (
            "long compounds",
            format!("{}:hover{{display:none}}", "*".repeat(100_000)),
            "<u>x</u>".repeat(1000),
            false,
        ),
        (
            "long classes",
            ".c.d{display:none}".to_owned(),
            format!("<i class='{}c'>x</i>", "a ".repeat(50_000)).repeat(10),
            true,
        ),
        (
            "blanks between comments",
            format!(
                "a{{color:red{0};{0}color{0}:{0}red{0}!{0}important{0}}}@media{0}all{0}{{b{0}{{display:none}}}}",
                "/**/ ".repeat(50_000)
            ),
            "<a>x</a>".to_owned(),
            true,
        ),
        ("strings", "a{display:\"".repeat(50_000), String::new(), true),
        ("comments", "/*".repeat(100_000), String::new(), true),
        (
            "values",
            format!("a{{clip-path:polygon({})}}", "0 0,".repeat(200_000)),
            "<a>x</a>".repeat(1000),
            true,
        ),
    ]
}

// R19
#[test]
fn hostile_style_sheets_are_bounded_and_what_was_not_compared_is_counted() {
    for (name, style, body, is_read) in hostile_pages() {
        let report = styled(&style, &body);
        assert!(report.rules <= MAX_SELECTORS, "{name}: {report:?}");
        assert_eq!(report.is_exhausted, report.steps >= 4_000_000, "{name}: {report:?}");
        if !is_read {
            assert!(report.hidden.unread > 0, "{name}: {report:?}");
        }
        if report.is_exhausted {
            assert!(report.hidden.unread >= report.rules, "{name}: {report:?}");
        }
    }
}
