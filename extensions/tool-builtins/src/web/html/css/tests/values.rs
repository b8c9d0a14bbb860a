//! The values of declarations from which on a text is hidden.

use super::{check_cases, check_declarations};

// R19: each unit has the size that CSS gives it, in a window of 1280 to 800 pixels.
#[test]
fn a_text_is_moved_away_by_the_pixels_of_its_unit() {
    // Of each unit, the least whole number or tenth that hides, and the one below it.
    let absolute = [
        ("px", "500", "499"),
        ("pt", "375", "374"),
        ("pc", "31.25", "31.2"),
        ("em", "31.25", "31.2"),
        ("rem", "31.25", "31.2"),
        ("ic", "31.25", "31.2"),
        ("cap", "31.25", "31.2"),
        ("lh", "31.25", "31.2"),
        ("rlh", "31.25", "31.2"),
        ("ex", "62.5", "62.4"),
        ("ch", "62.5", "62.4"),
        ("in", "5.3", "5.2"),
        ("cm", "13.3", "13.2"),
        ("mm", "133", "132"),
        ("Q", "530", "529"),
    ];
    let of_the_side = [("%", "100", "99")];
    let of_the_width = ["vw", "svw", "lvw", "dvw", "vi", "vmax", "cqw", "cqi", "cqmax"];
    let of_the_height = ["vh", "svh", "lvh", "dvh", "vb", "vmin", "cqh", "cqb", "cqmin"];
    let (mut hidden, mut seen) = (Vec::new(), Vec::new());
    let mut add = |property: &str, unit: &str, hides: &str, shows: &str| {
        hidden.push(format!("position:absolute;{property}:-{hides}{unit}"));
        seen.push(format!("position:absolute;{property}:-{shows}{unit}"));
    };
    for property in ["left", "top"] {
        for (unit, hides, shows) in absolute.into_iter().chain(of_the_side) {
            add(property, unit, hides, shows);
        }
    }
    for unit in of_the_width {
        add("left", unit, "100", "99");
        add("top", unit, "62.5", "62");
    }
    for unit in of_the_height {
        add("left", unit, "160", "159");
        add("top", unit, "100", "99");
    }
    check_declarations(&hidden, &seen);
}

// R19
#[test]
fn a_box_is_moved_away_by_the_sum_of_its_offset_margin_and_padding() {
    check_declarations(
        &[
            "margin-left:-500px",
            "margin-left:3000px",
            "margin-top:-2000px",
            "margin-top:3000px",
            "left:3000px",
            "left:-99%;margin-left:-13px",
            "left:-400px;margin-left:-100px",
            "top:0;margin-top:-500px",
            "right:-500px",
            "right:-400px;margin-right:-100px",
            "left:auto;right:-500px",
            "left:initial;right:-500px",
            "bottom:-500px",
            "bottom:-400px;margin-bottom:-100px",
            "top:auto;bottom:-500px",
            "float:left;margin-left:-3000px",
            "float:right;margin-left:3000px",
            "float:right;margin-right:-3000px",
            "float:none;margin-left:-500px",
            "float:left;position:absolute;margin-left:-500px",
            "float:left;position:fixed;left:-500px",
            "float:right;margin-right:3000px",
            "inset:-500px 0 0",
            "inset:0 0 0 -500px",
            "inset:auto -500px auto",
            "inset:auto auto -500px",
            "margin:-2000px 0",
            "margin:0 0 0 -500px",
            "padding:0;margin:0 -500px",
            "text-indent:-500px",
            "text-indent:3000px",
            "letter-spacing:-500px",
        ],
        &[
            "margin-left:-499px",
            "margin-left:2999px",
            "margin-top:-1999px",
            "margin-top:2999px",
            "left:2999px",
            "left:-99%;margin-left:-12px",
            "left:-600px;margin-left:10%",
            "left:-600px;margin-left:200px",
            "left:-600px;padding-left:600px",
            "margin-left:-600px;padding-left:600px",
            "padding-left:9999px",
            "padding-top:9999px",
            "top:auto;margin-top:-600px",
            "top:-600px;padding-top:600px",
            "right:-499px",
            "right:auto;margin-right:-9999px",
            "left:0;right:-9999px",
            "position:static;right:-9999px;top:-9999px",
            "bottom:-499px",
            "top:0;bottom:-9999px",
            "bottom:auto;margin-bottom:-9999px",
            "float:left;margin-left:-2999px",
            "float:left;margin-left:2999px",
            "float:left;margin-right:-9999px",
            "float:right;margin-left:-2999px",
            "float:right;margin-right:-2999px",
            "float:right;left:0;right:-9999px",
            "margin:0 -499px",
            "margin:0 -9999px 0 0",
            "margin:0 0 -9999px",
            "inset:0 -9999px -9999px 0",
            "text-indent:-499px",
            "text-indent:2999px",
            "letter-spacing:-499px",
            "left:calc(-9999px + 100%)",
        ],
    );
}

// R19
#[test]
fn a_box_of_at_most_a_point_that_cuts_its_text_hides_it() {
    check_declarations(
        &[
            "overflow:hidden;height:1px",
            "overflow:hidden;width:1px",
            "overflow:hidden;inline-size:0",
            "overflow:auto;block-size:0",
            "overflow:clip;max-height:1px",
            "overflow:scroll;max-width:1px",
            "overflow:hidden;max-inline-size:0",
            "overflow:hidden;height:.006%",
            "overflow:hidden;height:0;padding:2px",
            "overflow:hidden;width:0;padding:9px 2px",
            "overflow:hidden;height:0;padding:1px 9px 3px",
            "overflow:hidden;height:0;padding-top:4px;padding-block-end:0",
            "overflow:hidden;height:0;min-height:1px",
            "overflow:hidden;width:0;min-inline-size:1px",
            "overflow:hidden;width:auto;height:0",
            "overflow:hidden;display:list-item;height:0",
        ],
        &[
            "overflow:hidden;height:1.1px",
            "overflow:hidden;width:1.1px",
            "overflow:clip;max-height:1.1px",
            "overflow:scroll;max-width:1.1px",
            "overflow:hidden;height:.007%",
            "overflow:hidden;height:.99px;height:1vh",
            "overflow:hidden;height:0;padding:2.1px",
            "overflow:hidden;width:0;padding:0 2.1px",
            "overflow:hidden;height:0;padding:1px 0 3.1px",
            "overflow:hidden;height:0;padding-bottom:calc(1px + 1px)",
            "overflow:hidden;height:0;min-height:1.1px",
            "overflow:hidden;width:0;min-width:1.1px",
            "overflow:hidden;width:0;min-width:min-content",
            "overflow:hidden;height:auto;width:initial;max-height:none",
            "overflow:visible;height:0",
            "overflow:hidden;display:table-cell;width:0",
            "overflow:hidden;display:inline-table;height:0",
        ],
    );
    // A sheet that is not read may cut what an element makes small.
    check_cases(
        ".zero{height:0}.cut{overflow:hidden}",
        &["<p style='height:0'>@</p>", "<p class='zero cut'>@</p>", "<p class=cut style='height:0'>@</p>"],
        &["<p class=zero>@</p>", "<p class=zero style='overflow:visible'>@</p>"],
    );
    // The size of a table is a smallest one, but for a part of it that is none by its style.
    let cell = |tag: &str, style: &str| match tag {
        "table" => format!("<table style='{style}'><tr><td>@</table>"),
        "caption" => format!("<table><caption style='{style}'>@</caption></table>"),
        "td" | "th" => format!("<table><tr><{tag} style='{style}'>@</table>"),
        "tr" => format!("<table><tr style='{style}'><td>@</table>"),
        group => format!("<table><{group} style='{style}'><tr><td>@</table>"),
    };
    let tags = ["table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"];
    let hidden = tags.map(|tag| cell(tag, "display:block;height:0;overflow:hidden"));
    let seen = tags.map(|tag| cell(tag, "height:0;overflow:hidden"));
    check_cases("", &hidden, &seen);
}

// R19
#[test]
fn a_box_grows_along_the_axis_of_a_flexible_parent() {
    let in_parent = |parent: &str, style: &str| {
        format!("<div style='{parent}'><p style='overflow:hidden;{style}'>@</p></div>")
    };
    let grows = |style: &str| format!("flex:1;{style}");
    let (mut hidden, mut seen) = (Vec::new(), Vec::new());
    for parent in [
        "display:flex",
        "display:inline-flex",
        "display:-webkit-flex",
        "display:-webkit-inline-flex",
        "display:flex;flex-direction:row",
        "display:flex;flex-direction:row-reverse",
        "display:flex;flex-direction:initial",
        "display:flex;flex-flow:wrap",
        "display:flex;flex-flow:wrap row-reverse",
    ] {
        hidden.push(in_parent(parent, &grows("height:0")));
        seen.push(in_parent(parent, &grows("width:0")));
    }
    for parent in [
        "flex-direction:column",
        "flex-direction:column-reverse",
        "flex-flow:column nowrap",
        "flex-flow:wrap column",
    ] {
        let parent = format!("display:flex;{parent}");
        hidden.push(in_parent(&parent, &grows("width:0")));
        seen.push(in_parent(&parent, &grows("height:0")));
    }
    // In these, nothing grows.
    for display in ["block", "inline", "inline-block", "list-item", "flow-root", "table-cell"] {
        hidden.push(in_parent(&format!("display:{display}"), &grows("width:0")));
        hidden.push(in_parent(&format!("display:{display}"), &grows("height:0")));
    }
    // These may be anything.
    for parent in ["", "display:grid", "display:flex;flex-direction:inherit"] {
        seen.push(in_parent(parent, &grows("width:0")));
        seen.push(in_parent(parent, &grows("height:0")));
    }
    for (value, can_grow) in [
        ("flex:none", false),
        ("flex:initial", false),
        ("flex:unset", false),
        ("flex:revert", false),
        ("flex:0 1 auto", false),
        ("flex-grow:0", false),
        ("flex-grow:initial", false),
        ("flex-grow:1;flex-grow:-1", true),
        ("flex-grow:.1", true),
        ("flex-grow:var(--x)", true),
        ("flex:auto", true),
        ("flex:2 0", true),
        ("flex:50px", true),
    ] {
        let case = in_parent("display:flex", &format!("{value};width:0"));
        if can_grow { seen.push(case) } else { hidden.push(case) }
    }
    hidden.push(in_parent("display:flex", &grows("max-width:0")));
    check_cases("", &hidden, &seen);
}

// R19
#[test]
fn what_leaves_less_than_a_twentieth_of_an_element_hides_it() {
    let (mut hidden, mut seen) = (Vec::new(), Vec::new());
    for template in [
        "opacity:$",
        "zoom:$",
        "scale:$",
        "scale:1 $",
        "filter:blur(1px) opacity($)",
        "-webkit-filter:opacity($)",
        "transform:scale($)",
        "transform:scale(1, $)",
        "transform:scale3d(1, $, 1)",
        "transform:scaleX($)",
        "-webkit-transform:rotate(3deg) scaleY($)",
    ] {
        for part in ["0", ".049", "4.9%", "calc(0)"] {
            hidden.push(template.replace('$', part));
        }
        for part in [".05", "5%", "1", "calc(0 + 1)"] {
            seen.push(template.replace('$', part));
        }
    }
    hidden.extend(["opacity:-1", "filter:opacity(-1)"].map(str::to_owned));
    // Others than these, and a negative factor, which mirrors.
    seen.extend(
        [
            "zoom:-1",
            "scale:-1",
            "scale:1 1 0",
            "transform:scaleX(-1)",
            "transform:scale3d(1, 1, 0)",
            "transform:scaleZ(0)",
            "transform:skew(0, 0)",
            "filter:grayscale(0)",
            "filter:blur(0)",
        ]
        .map(str::to_owned),
    );
    check_declarations(&hidden, &seen);
}

// R19
#[test]
fn transformations_that_flatten_or_move_an_element_away_hide_it() {
    check_declarations(
        &[
            "transform:rotateX(90deg)",
            "transform:rotateY(90deg)",
            "transform:matrix(0,0,1,1,0,0)",
            "transform:matrix(1,1,0,0,0,0)",
            "transform:matrix(1,0,0,1,-500,0)",
            "transform:matrix(1,0,0,1,0,-500)",
            "transform:translate(-100vw)",
            "transform:translate(0, -100vh)",
            "transform:translate3d(-100vw, 0, 0)",
            "transform:translateX(-100vw)",
            "transform:translateY(-100vh)",
            "translate:-100vw",
            "translate:0 -100vh",
        ],
        &[
            "transform:rotate(90deg)",
            "transform:rotateX(80deg)",
            "transform:matrix(1,0,1,1,0,0)",
            "transform:matrix(0,1,1,1,0,0)",
            "transform:matrix(0,1,0,1,0,0)",
            "transform:matrix(1,1,1,0,0,0)",
            "transform:matrix(1,1,0,1,0,0)",
            "transform:matrix(0,1,-1,0,0,0)",
            "transform:matrix(1,0,0,1,-499,-499)",
            "transform:translate(-99vw, -99vh)",
            "transform:translate3d(0, 0, -9999px)",
            "transform:translateX(-100vh)",
            "transform:translateY(-99vh)",
            "transform:translateZ(-9999px)",
            "transform:perspective(9999px)",
            "translate:-99vw -99vh",
            "translate:none",
        ],
    );
}

// R19
#[test]
fn shapes_without_room_hide_what_they_cut() {
    check_declarations(
        &[
            "clip-path:inset(49.75%)",
            "clip-path:inset(50% 0)",
            "clip-path:inset(0 50%)",
            "clip-path:inset(40% 0 60%)",
            "clip-path:inset(0 50% 0)",
            "clip-path:inset(100% 0 0 0)",
            "clip-path:inset(0 0 0 100%)",
            "clip-path:inset(50% round 9px)",
            "-webkit-clip-path:inset(100%)",
            "clip-path:circle(0)",
            "clip-path:circle(.04px at 9px 9px)",
            "clip-path:ellipse(0 9px)",
            "clip-path:ellipse(9px 0 at 9px 9px)",
            "clip-path:polygon(0 0, 0 0)",
            "clip:rect(0 0 0 0)",
            "position:absolute;clip:rect(5px,9px,6px,0)",
            "position:fixed;clip:rect(0,6px,9px,5px)",
            "position:absolute;clip:rect(0,auto,0,auto)",
        ],
        &[
            "clip-path:inset(49.7%)",
            "clip-path:inset(40% 30%)",
            "clip-path:inset(0 60% 0 30%)",
            "clip-path:inset(60% 0 30%)",
            "clip-path:inset(50px)",
            "clip-path:inset(0 0 round 100%)",
            "clip-path:inset()",
            "clip-path:circle(.05px)",
            "clip-path:circle(at 0 0)",
            "clip-path:ellipse(.05px .05px)",
            "clip-path:ellipse(at 0 0)",
            "clip-path:ellipse(9px 9px at 0 0)",
            "clip-path:polygon(0 0, 9px 0)",
            "clip-path:polygon()",
            "clip-path:path(0)",
            "clip:auto",
            "clip:rect(0 0 0)",
            "position:absolute;clip:rect(0,2px,2px,0)",
            "position:absolute;clip:rect(auto,9px,0,0)",
            "position:static;clip:rect(0 0 0 0)",
            "position:relative;clip:rect(0 0 0 0)",
            "position:sticky;clip:rect(0 0 0 0)",
            "position:-webkit-sticky;clip:rect(0 0 0 0)",
        ],
    );
}
