//! Texts in the colour of what is behind them, and in none.

use super::{check_cases, check_declarations};

// R19
#[test]
fn a_text_in_a_colour_like_the_one_behind_it_is_hidden() {
    check_declarations(
        &[
            "color:#fff;background:#f7f7f7",
            "color:#f7f7f7;background:#fff",
            "color:#FFF;background:rgb(255,255,255)",
            "color:#ffff;background:rgb(255 255 255)",
            "color:#ffffffff;background:rgba(255, 255, 255, 1)",
            "color:rgb(1 2 3);background:#010203",
            "color:#123;background:#112233",
            "color:#1234;background:#112233",
            "color:#11223399;background:#123",
            "color:white;background:#fff",
            "color:Navy;background:#000080",
            "color:snow;background:no-repeat ghostwhite",
            "background-color:red;color:#f00",
            "color:#fff;background:#fff;color:#ggg;background:#12345",
            "color:#fff;background:#fff;color:#ffff0;background:#1234567",
            "color:#fff;background:#fff;color:rgb;background:rgb 1 2 3",
            "color:#fff;background:#fff;color:reddish;background:reddish",
            "color:#fff;background:white 0 0/9px",
        ],
        &[
            "color:#fff;background:#f6ffff",
            "color:#fff;background:#fff6ff",
            "color:#fff;background:#fffff6",
            "color:#f6f6f6;background:#fff",
            "color:#fff",
            "background:#fff",
            "color:#123;background:#321",
            "color:rgb(1 2 3);background:rgb(30 20 10)",
            "color:#fff;background:hotpink",
            "color:hotpink;background:#fff",
            "color:#fff;color:rgb(255 255);background:#fff",
            "color:#fff;color:rgb(254.9 255 255);background:#fff",
            "color:#fff;background:#fff;background:hsl(0 0% 0%)",
            "color:#fff;background:#fff url(a.png)",
            "color:#fff;background:#fff;background-image:linear-gradient(red, blue)",
            "color:#fff;background:#fff;color:initial",
            "color:#fff;background:#fff;background:var(--x)",
        ],
    );
}

// R19
#[test]
fn a_colour_of_less_than_a_twentieth_paints_nothing() {
    let transparent = [
        "transparent",
        "#0000",
        "#0000000c",
        "rgb(0 0 0 / 4%)",
        "rgb(0 0 0/.04)",
        "rgba(0,0,0,.04)",
        "rgba(0, 0, 0, 4%)",
        "hsl(0 0% 0% / 0)",
        "color(srgb 0 0 0 / 0)",
        "rgb(0 0 0 / -1)",
    ];
    let painted = [
        "#0001",
        "#0000000d",
        "#000",
        "#000000",
        "rgb(0 0 0 / 5%)",
        "rgb(0 0 0/.05)",
        "rgba(0,0,0,.05)",
        "rgba(0, 0, 0, 5%)",
        "rgb(0,0,0)",
        "hsl(0 0% 0%)",
        "rgb(0 0 0 / var(--x))",
        "currentcolor",
        "hotpink",
    ];
    for property in ["color", "-webkit-text-fill-color"] {
        let declarations = |colours: &[&str]| -> Vec<String> {
            colours.iter().map(|colour| format!("{property}:{colour}")).collect()
        };
        check_declarations(&declarations(&transparent), &declarations(&painted));
    }
    // Behind a background that paints nothing is the one around it.
    let case = |colour: &str| {
        format!("<div style='background:#fff'><p style='color:#fff;background:{colour}'>@</p></div>")
    };
    let painted =
        ["#000", "rgb(0 0 0 / 5%)", "rgb(0 0 0 / var(--x))", "hotpink", "hsl(0 0% 0%)", "url(a.png)"];
    let transparent = transparent.into_iter().chain(["none", "initial", "unset", "inherit", "revert"]);
    check_cases("", &transparent.map(case).collect::<Vec<_>>(), &painted.map(case));
}

// R19
#[test]
fn a_background_through_which_another_one_is_seen_has_a_colour_of_both() {
    let case = |behind: &str, background: &str, colour: &str| {
        format!(
            "<div style='background:{behind}'><p style='background:{background};color:{colour}'>@</p></div>"
        )
    };
    check_cases(
        "",
        &[
            case("#000", "rgb(255 255 255 / 50%)", "#808080"),
            case("#000", "rgb(255 255 255 / .5)", "#787878"),
            case("#000", "rgba(255, 255, 255, 50%)", "#888"),
            case("#ff0000", "rgb(0 0 255 / 25%)", "#bf0040"),
            // Of so much, what is behind it is not seen.
            case("#000", "#fffffff7", "#fff"),
            case("", "#fffffff7", "#fff"),
            case("url(a.png)", "#fffffff7", "#fff"),
            case("#fff", "rgb(255 255 255 / 150%)", "#fff"),
        ],
        &[
            case("#000", "rgb(255 255 255 / 50%)", "#777"),
            case("#000", "rgb(255 255 255 / 50%)", "#898989"),
            case("#ff0000", "rgb(0 0 255 / 25%)", "#ff0000"),
            case("#000", "#fffffff6", "#fff"),
            case("", "#fffffff6", "#fff"),
            case("url(a.png)", "#fffffff6", "#fff"),
            case("hotpink", "rgb(255 255 255 / 50%)", "#fff"),
        ],
    );
}

// R19
#[test]
fn a_text_has_the_colour_around_it_but_a_link_has_its_own() {
    let (white, clear) = ("color:#fff;background:#fff", "color:transparent");
    let around = |style: &str, inside: &str| format!("<div style='{style}'>{inside}</div>");
    let (mut hidden, mut seen) = (Vec::new(), Vec::new());
    for style in [white, clear] {
        hidden.extend(
            [
                "<b>@</b>",
                "<a>@</a>",
                "<a name=x>@</a>",
                "<b style='color:inherit'>@</b>",
                "<b style='color:unset'>@</b>",
                "<b style='color:revert'>@</b>",
                "<b style='color:currentcolor'>@</b>",
                "<a href=/ style='color:inherit'>@</a>",
                "<a href=/ style='color:currentcolor'>@</a>",
            ]
            .map(|inside| around(style, inside)),
        );
        seen.extend(
            [
                "<a href=/>@</a>",
                "<a href=/ style='color:revert'>@</a>",
                "<b style='color:#123'>@</b>",
                "<b style='color:initial'>@</b>",
                "<font color=red>@</font>",
            ]
            .map(|inside| around(style, inside)),
        );
    }
    hidden.extend(
        [
            "<font color=' WHITE '><span style='background:white'>@</span></font>",
            "<table><tr><td bgcolor='#FFFFFF'><font color='#fff'>@</font></table>",
            "<div bgcolor=#fff style='color:#fff'>@</div>",
            "<a href=/ style='color:transparent'>@</a>",
            "<div style='-webkit-text-fill-color:transparent'><a href=/>@</a></div>",
            "<div style='background:#000'><p style='color:#fff;background-color:#fff;color:#000;background:#000'>@</p></div>",
        ]
        .map(str::to_owned),
    );
    seen.extend(
        [
            "<font color=white style='color:red'><span style='background:white'>@</span></font>",
            "<div bgcolor=#fff style='background:#000;color:#fff'>@</div>",
            // Letters that are the shape of a background.
            "<div style='background:url(a.png);-webkit-background-clip:text;color:transparent'><b>@</b></div>",
            "<div style='background-clip:text;-webkit-text-fill-color:transparent'>@</div>",
            "<div style='background-clip:border-box;background-clip:text;color:#0000'>@</div>",
        ]
        .map(str::to_owned),
    );
    hidden.push("<div style='background-clip:border-box;color:transparent'>@</div>".to_owned());
    check_cases("", &hidden, &seen);
}
