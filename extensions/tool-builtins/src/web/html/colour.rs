//! Colours of styles and old attributes.

/// Parts of a colour by which it may differ from another one that no person tells apart.
const MAX_DIFFERENCE: u32 = 8;

/// The part of what is behind a colour that it covers at least, if it is seen.
const MIN_VISIBLE_ALPHA: f64 = 0.05;

/// All names of colours.
const COLOUR_NAMES: &str = "\
    aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood \
    cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod \
    darkgray darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon \
    darkseagreen darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray \
    dimgrey dodgerblue firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green \
    greenyellow grey honeydew hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon \
    lightblue lightcoral lightcyan lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon \
    lightseagreen lightskyblue lightslategray lightslategrey lightsteelblue lightyellow lime limegreen linen \
    magenta maroon mediumaquamarine mediumblue mediumorchid mediumpurple mediumseagreen mediumslateblue \
    mediumspringgreen mediumturquoise mediumvioletred midnightblue mintcream mistyrose moccasin navajowhite navy \
    oldlace olive olivedrab orange orangered orchid palegoldenrod palegreen paleturquoise palevioletred papayawhip \
    peachpuff peru pink plum powderblue purple rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown \
    seagreen seashell sienna silver skyblue slateblue slategray slategrey snow springgreen steelblue tan teal \
    thistle tomato turquoise violet wheat white whitesmoke yellow yellowgreen";

/// Returns `true` for a word that browsers know as a colour.
pub(crate) fn is_colour_name(word: &str) -> bool {
    COLOUR_NAMES.split(' ').any(|name| name == word)
}

/// One number for the spellings of a colour; `None` if it is not known.
pub(crate) fn canonical_colour(value: &str) -> Option<u32> {
    const NAMES: [(&str, u32); 17] = [
        ("white", 0xff_ff_ff),
        ("black", 0),
        ("red", 0xff_00_00),
        ("blue", 0x00_00_ff),
        ("green", 0x00_80_00),
        ("lime", 0x00_ff_00),
        ("yellow", 0xff_ff_00),
        ("navy", 0x00_00_80),
        ("gray", 0x80_80_80),
        ("grey", 0x80_80_80),
        ("silver", 0xc0_c0_c0),
        ("snow", 0xff_fa_fa),
        ("ivory", 0xff_ff_f0),
        ("ghostwhite", 0xf8_f8_ff),
        ("floralwhite", 0xff_fa_f0),
        ("whitesmoke", 0xf5_f5_f5),
        ("azure", 0xf0_ff_ff),
    ];
    let value = value.trim().to_ascii_lowercase();
    if let Some((_, colour)) = NAMES.iter().find(|(name, _)| *name == value) {
        return Some(*colour);
    }
    if let Some(digits) = value.strip_prefix('#') {
        let long: String = match digits.len() {
            3 | 4 => digits.chars().take(3).flat_map(|it| [it, it]).collect(),
            6 | 8 => digits.chars().take(6).collect(),
            _ => return None,
        };
        return u32::from_str_radix(&long, 16).ok();
    }
    let parts = value.strip_prefix("rgb(").or_else(|| value.strip_prefix("rgba("))?.strip_suffix(')')?;
    let parts = parts.split([',', ' ', '/']).map(str::trim).filter(|part| !part.is_empty()).take(3);
    let parts: Vec<u8> = parts.map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match parts[..] {
        [red, green, blue] => Some(u32::from_be_bytes([0, red, green, blue])),
        _ => None,
    }
}

/// Returns `true` for a colour that paints nothing.
pub(crate) fn is_transparent(value: &str) -> bool {
    value == "transparent" || alpha_of_colour(value).is_some_and(|it| it < MIN_VISIBLE_ALPHA)
}

/// Returns `true` for a colour behind which no other one is seen.
pub(crate) fn is_opaque(value: &str) -> bool {
    alpha_of_colour(value).is_some_and(|it| (1.0 - it) * 255.0 <= f64::from(MAX_DIFFERENCE))
}

/// The part of what is behind it that a colour covers; `None` if it cannot be read.
pub(crate) fn alpha_of_colour(value: &str) -> Option<f64> {
    if let Some(digits) = value.strip_prefix('#') {
        let (alpha, whole) = match digits.len() {
            4 => (digits.get(3..)?, 15.0),
            8 => (digits.get(6..)?, 255.0),
            _ => return Some(1.0),
        };
        return u8::from_str_radix(alpha, 16).ok().map(|it| f64::from(it) / whole);
    }
    let Some((_, parts)) = value.split_once('(') else { return Some(1.0) };
    let parts = parts.strip_suffix(')')?;
    let alpha = match parts.split_once('/') {
        Some((_, alpha)) => Some(alpha),
        None => parts.split(',').nth(3),
    };
    let Some(alpha) = alpha.map(str::trim) else { return Some(1.0) };
    match alpha.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok().map(|it| it / 100.0),
        None => alpha.parse().ok(),
    }
}

/// The colour that is seen where `colour` covers a part of the one behind it.
pub(crate) fn mixed_colour(colour: u32, behind: u32, alpha: f64) -> u32 {
    let (mut mixed, behind) = (colour.to_be_bytes(), behind.to_be_bytes());
    for (part, other) in mixed.iter_mut().zip(behind) {
        *part = (f64::from(*part) * alpha + f64::from(other) * (1.0 - alpha)).round() as u8;
    }
    u32::from_be_bytes(mixed)
}

/// Returns `true` if no person tells the colours apart.
pub(crate) fn is_same_colour(one: u32, other: u32) -> bool {
    let (one, other) = (one.to_be_bytes(), other.to_be_bytes());
    one.iter().zip(other).all(|(one, other)| u32::from(one.abs_diff(other)) <= MAX_DIFFERENCE)
}
