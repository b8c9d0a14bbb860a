//! The declaration that decides among many, and what a text has from the elements around it.

use super::{check_cases, check_declarations, convert};

// R19: each selector weighs less than the next one, and as much as itself.
#[test]
fn the_heavier_selector_decides_and_of_equal_ones_the_last() {
    let element = "<div id=i class='c d' lang=en><p id=j class='c d' lang=en>@</p></div>";
    let groups: [&[&str]; 8] = [
        &["*", ":where(#i, #j)", "* *", "*:not(:where(#k))"],
        &["p", ":is(p)", ":not(i)", "*>p"],
        &["div p", "div>p", "div :is(b, p)", "body :not(b)"],
        &[
            ".c",
            "[lang]",
            ":first-child",
            ":only-child",
            ":nth-child(1)",
            ":not(.x)",
            ":is(b, .c)",
            ":not(:hover)",
        ],
        &["p.c", "p[lang=en]", ":is(b, p.c)", "p:last-of-type", "div .d", ":not(b.x)"],
        &[".c.d", ".c .d", ":only-of-type.c", ".c:not(:checked, b)", "[lang]:not(:empty)"],
        &["#j", "#i>*", ":is(#j, b)", ":not(#k)"],
        &["#j.c", "#i .c", ":is(#j.c, b)"],
    ];
    let rule = |selector: &str, value: &str| format!("{selector}{{visibility:{value}}}");
    for (index, group) in groups.iter().enumerate() {
        for (place, selector) in group.iter().enumerate() {
            let equal = group[(place + 1) % group.len()];
            for style in [
                rule(selector, "visible") + &rule(equal, "hidden"),
                rule(equal, "visible") + &rule(selector, "hidden"),
            ] {
                check_cases(&style, &[element], &[""; 0]);
            }
            let Some(heavier) = groups.get(index + 1).map(|it| it[place % it.len()]) else { continue };
            check_cases(&(rule(heavier, "visible") + &rule(selector, "hidden")), &[""; 0], &[element]);
        }
    }
}

// R19
#[test]
fn importance_decides_before_the_place_of_a_declaration_and_a_layer_before_the_weight() {
    let (none, block) = ("display:none", "display:block");
    for (style, inline, is_hidden) in [
        (".c{display:none!important}", block, true),
        (".c{display:none!important}", "display:block!important", false),
        ("#i.c{display:none}", block, false),
        ("#i.c{display:block}", none, true),
        ("#i.c{display:block!important}", none, false),
        (".c{display:block!important}#i{display:none}", "", false),
        (".c{display:none!important;display:block}", "", true),
        (".c{display:none;display:block!important}", "", false),
        ("@layer{#i{display:none}}.c{display:block}", "", false),
        (".c{display:block}@layer{#i{display:none}}", "", false),
        ("@layer{.c{display:none!important}}#i{display:block!important}", "", true),
        ("#i{display:none!important}@layer{.c{display:block!important}}", "", false),
        ("@layer a{@media all{.c{display:block}}}.c{display:none}", "", true),
        ("@layer a{.c{display:none}}@media all{.c{display:block}}", "", false),
        ("@layer a{.c{display:none}.c{display:block}}", "", false),
        ("@layer{.c{display:block!important}}", none, false),
        ("", "display:none;display:block", false),
        ("", "display:block;display:none", true),
        ("", "display:none!important;display:block", true),
        (".c{color:#fff}@layer{.c{background:#fff}}", "", true),
    ] {
        let case = [format!("<p id=i class=c style='{inline}'>@</p>")];
        let (hidden, seen) = if is_hidden { (&case[..], &case[..0]) } else { (&case[..0], &case[..]) };
        check_cases(style, hidden, seen);
    }
    // The old attributes of an element are weaker than each rule.
    check_cases(
        "@layer{*{color:#123}}",
        &["<p style='background:#112233'><font color=red>@</font></p>"],
        &["<p style='background:red'><font color=red>@</font></p>"],
    );
}

// R19
#[test]
fn a_value_that_a_browser_does_not_take_leaves_the_one_before_it() {
    for (property, value, unknown) in [
        ("display", "none", "gone"),
        ("display", "none", "inline gone"),
        ("visibility", "hidden", "none"),
        ("content-visibility", "hidden", "none"),
        ("opacity", "0", "1px"),
        ("zoom", "0", "rgb(1)"),
        ("font-size", "0", "-1px"),
        ("font-size", "0", "1"),
        ("font-size", "0", "1x"),
        ("color", "#0000", "1px"),
        ("text-indent", "-500px", "5"),
        ("letter-spacing", "-500px", "red"),
        ("margin-left", "-500px", "1deg2"),
        ("translate", "-9999px", "0 red"),
        ("filter", "opacity(0)", "scale(1)"),
        ("filter", "opacity(0)", "1"),
        ("transform", "scale(0)", "scale"),
        ("transform", "scale(0)", "opacity(1)"),
        ("clip-path", "circle(0)", "auto"),
        ("clip-path", "circle(0)", "rotate(1deg)"),
        ("clip", "rect(0 0 0 0)", "none"),
        ("height", "0", "-1px"),
        ("max-width", "0", "red"),
    ] {
        check_declarations(&[format!("overflow:hidden;{property}:{value};{property}:{unknown}")], &[""; 0]);
    }
    let taken = [
        "display:none;display:inline flex",
        "display:none;display:initial",
        "display:none;display:var(--x)",
        "visibility:hidden;visibility:visible",
        "content-visibility:hidden;content-visibility:auto",
        "opacity:0;opacity:min(1, 2)",
        "opacity:0;opacity:revert-layer",
        "zoom:0;zoom:normal",
        "zoom:0;zoom:reset",
        "scale:0;scale:none",
        "font-size:0;font-size:medium",
        "font-size:0;font-size:clamp(1em, 2em, 3em)",
        "font:0/0 a;font:caption",
        "color:#0000;color:oklch(0 0 0)",
        "text-indent:-500px;text-indent:0 hanging",
        "left:-500px;left:auto",
        "left:-500px;left:anchor(right)",
        "filter:opacity(0);filter:none",
        "clip-path:circle(0);clip-path:border-box",
        "clip-path:circle(0);clip-path:none",
        "transform:scale(0);transform:none",
        "overflow:hidden;height:0;height:fit-content",
        "overflow:hidden;height:0;overflow:visible",
    ];
    check_declarations(&[""; 0], &taken);
    // One of 512 bytes is not read: a browser may take it.
    let (read, unread) = ("x".repeat(511), "x".repeat(512));
    for declarations in [
        "opacity:0;opacity:",
        "text-indent:-500px;text-indent:",
        "filter:opacity(0);filter:",
        "clip-path:circle(0);clip-path:",
        "transform:scale(0);transform:",
        "color:#fff;background:#fff;background:",
    ] {
        check_declarations(&[format!("{declarations}{read}")], &[format!("{declarations}{unread}")]);
    }
}

// R19
#[test]
fn letters_have_a_part_of_the_size_around_them() {
    let inside = |around: &str, size: &str| {
        format!("<div style='font-size:{around}'><p style='font-size:{size}'>@</p></div>")
    };
    let rows = [
        ("100px", ".019em", ".02em"),
        ("100px", ".019ic", ".02ic"),
        ("100px", ".019lh", ".02lh"),
        ("100px", ".039ex", ".04ex"),
        ("100px", ".039ch", ".04ch"),
        ("100px", "1.9%", "2%"),
        ("1px", "1.9em", "2em"),
        ("1px", "199%", "200%"),
        ("1px", ".1rem", ".2rem"),
        ("1px", "1.9px", "2px"),
        ("1px", "1pt", "1.5pt"),
        ("1px", ".2vmin", ".3vmin"),
        ("1px", ".1vw", ".2vw"),
    ];
    let mut hidden: Vec<String> = rows.iter().map(|(around, size, _)| inside(around, size)).collect();
    let mut seen: Vec<String> = rows.iter().map(|(around, _, size)| inside(around, size)).collect();
    for (around, size) in [
        ("2.3px", "smaller"),
        ("1.6px", "larger"),
        ("1px", "inherit"),
        ("1px", "unset"),
        ("1px", "revert"),
        ("1px", "revert-layer"),
        ("1px", ""),
    ] {
        hidden.push(inside(around, size));
    }
    for (around, size) in [
        ("2.4px", "smaller"),
        ("1.7px", "larger"),
        ("1px", "xx-small"),
        ("1px", "initial"),
        ("1px", "calc(1px + 1vw)"),
        // A part of a size that is not known is not known.
        ("calc(1px + 1vw)", ".01em"),
        ("calc(1px + 1vw)", ".01ex"),
        ("calc(1px + 1vw)", "1%"),
        ("calc(1px + 1vw)", "smaller"),
    ] {
        seen.push(inside(around, size));
    }
    hidden.push(inside("calc(1px + 1vw)", "1px"));
    hidden.push(inside("xx-small", ".01em"));
    check_cases("", &hidden, &seen);
    check_declarations(
        &["font:1px a", "font:italic 700 1.9px/2 serif", "font:.1em/9px a", "font:0px a"],
        &["font:2px a", "font:italic 700 2px/2 serif", "font:700 1em a", "font:9px/0 a", "font:inherit"],
    );
}

// R19
#[test]
fn what_hides_a_text_holds_for_the_elements_inside_until_one_takes_it_back() {
    let around = |style: &str, inside: &str| format!("<div style='{style}'>{inside}</div>");
    let (mut hidden, mut seen) = (Vec::new(), Vec::new());
    for (hides, shows) in [
        ("visibility:hidden", "visibility:visible"),
        ("visibility:collapse", "visibility:initial"),
        ("text-indent:-500px", "text-indent:0"),
        ("letter-spacing:-500px", "letter-spacing:normal"),
        ("-webkit-text-fill-color:transparent", "-webkit-text-fill-color:red"),
        ("font-size:0", "font-size:9px"),
    ] {
        let property = hides.split(':').next().unwrap();
        seen.push(around(hides, &format!("<p style='{shows}'>@</p>")));
        hidden.push(around(hides, "<p>@</p>"));
        for word in ["inherit", "unset", "revert", "revert-layer"] {
            hidden.push(around(hides, &format!("<p style='{property}:{word}'>@</p>")));
        }
        // An image is as visible as a text; its description is the text.
        hidden.push(around(hides, "<img src=a.png alt='@'>"));
    }
    for hides in ["display:none", "content-visibility:hidden", "opacity:0", "filter:opacity(0)"] {
        hidden.push(around(
            hides,
            "<p style='display:block;content-visibility:visible;opacity:1;filter:none'>@</p>",
        ));
    }
    seen.push(around("visibility:visible", "<img src=a.png alt='@'>"));
    check_cases("", &hidden, &seen);
}

// R19
#[test]
fn the_characters_are_counted_that_a_style_sheet_hides() {
    for (style, body, expected) in [
        (".c{display:none}", "<p class=c>a b\n<b>cd</b> é", 5),
        (".c{display:none}", "<div class=c>ab<p class=c>cd</p></div><p class=c>e", 5),
        (".c{display:none}", "<p class=c>a<i hidden>b</i><script>c</script><svg>d</svg>", 1),
        (".c{display:none}", "<p class=c hidden>a</p><template class=c>b</template>", 0),
        (".c{display:none}", "<p style='display:none'>a<b class=c>b", 0),
        (".c{display:none}", "<p class=c style='display:none!important'>ab", 0),
        (".c{visibility:hidden}", "<p class=c>ab<b style='visibility:visible'>c</b>d", 3),
        (".c{visibility:hidden}", "<p style='visibility:hidden'>ab<b class=c>c</b>", 1),
        (".c{visibility:hidden}", "<p class=c><img src=a.png alt=abc>d", 1),
        // Two styles hide it together, of which one is a sheet.
        (".c{color:#fff}", "<p class=c style='background:#fff'>ab", 2),
        (".c{background:#fff}", "<p class=c style='color:#fff'>ab", 2),
        ("", "<p style='color:#fff;background:#fff'>ab", 0),
        (".c{background:#000}", "<p class=c><b style='background:rgb(255 255 255/50%);color:#808080'>ab", 2),
        (".c{margin-left:-300px}", "<p class=c style='left:-300px'>ab", 2),
        ("", "<p style='left:-300px;margin-left:-300px'>ab", 0),
        // The size around it hides it, whatever part of it a letter has.
        (".c{font-size:0}", "<p class=c>ab<b style='font-size:2em'>c</b>", 3),
        (".c{font-size:2em}", "<p style='font-size:0'>ab<b class=c>c</b>", 0),
        (".c{font-size:.1em}", "<p style='font-size:12px'>ab<b class=c>c</b>", 1),
        (".c{font-size:99px}", "<p class=c>ab<b style='font-size:1%'>c</b>", 0),
    ] {
        let html = format!("<!doctype html><style>{style}</style><p>seen</p>{body}");
        assert_eq!(convert(&html).hidden.chars, expected, "{html}");
    }
}
