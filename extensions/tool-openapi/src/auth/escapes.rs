//! Escapes of JSON, HTML and URLs.

/// The maximum length of an HTML entity between `&` and `;`, in characters.
const MAX_ENTITY_CHARS: usize = 10;

/// Entities of HTML for characters that escapes are written for.
const ENTITIES: [(&str, char); 38] = [
    ("amp", '&'),
    ("ast", '*'),
    ("apos", '\''),
    ("bsol", '\\'),
    ("colon", ':'),
    ("comma", ','),
    ("commat", '@'),
    ("dash", '\u{2010}'),
    ("dollar", '$'),
    ("equals", '='),
    ("excl", '!'),
    ("grave", '`'),
    ("gt", '>'),
    ("hat", '^'),
    ("lbrace", '{'),
    ("lbrack", '['),
    ("lcub", '{'),
    ("lowbar", '_'),
    ("lpar", '('),
    ("lsqb", '['),
    ("lt", '<'),
    ("nbsp", '\u{a0}'),
    ("num", '#'),
    ("percnt", '%'),
    ("period", '.'),
    ("plus", '+'),
    ("quest", '?'),
    ("quot", '"'),
    ("rbrace", '}'),
    ("rbrack", ']'),
    ("rcub", '}'),
    ("rpar", ')'),
    ("rsqb", ']'),
    ("semi", ';'),
    ("sol", '/'),
    ("tab", '\t'),
    ("verbar", '|'),
    ("vert", '|'),
];

/// The character that an escape at the start of `text` stands for, and the length of the escape.
pub(super) fn decode_escape(text: &[char]) -> Option<(char, usize)> {
    match text {
        ['\\', 'u', '{', rest @ ..] => {
            let length = rest.iter().take(8).position(|it| *it == '}')?;
            Some((char::from_u32(parse_digits(rest.get(..length)?, 16)?)?, length + 4))
        }
        ['\\', 'u', ..] => decode_utf16_escape(text),
        ['\\', 'x', rest @ ..] => Some((char::from_u32(parse_digits(rest.get(..2)?, 16)?)?, 4)),
        ['\\', letter, ..] => {
            let decoded = match letter {
                '"' | '\\' | '/' | '\'' => *letter,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                _ => return None,
            };
            Some((decoded, 2))
        }
        ['&', rest @ ..] => decode_html_entity(rest),
        ['%', ..] => decode_url_escape(text),
        _ => None,
    }
}

/// Reads `\uXXXX`, or two of them for one character.
fn decode_utf16_escape(text: &[char]) -> Option<(char, usize)> {
    let unit = |text: &[char]| match text {
        ['\\', 'u', rest @ ..] => u16::try_from(parse_digits(rest.get(..4)?, 16)?).ok(),
        _ => None,
    };
    let first = unit(text)?;
    let second = text.get(6..).and_then(unit);
    let mut decoded = char::decode_utf16([Some(first), second].into_iter().flatten());
    let decoded = decoded.next()?.ok()?;
    Some((decoded, decoded.len_utf16() * 6))
}

/// Reads an entity after its `&`; browsers accept numbers without `;`.
fn decode_html_entity(rest: &[char]) -> Option<(char, usize)> {
    let (digits, radix, before) = match rest {
        ['#', 'x', digits @ ..] => (digits, 16, 3),
        ['#', digits @ ..] => (digits, 10, 2),
        name => {
            let length = name.iter().take(MAX_ENTITY_CHARS).position(|it| *it == ';')?;
            let name: String = name.get(..length)?.iter().collect();
            let (_, decoded) = ENTITIES.iter().find(|(known, _)| *known == name)?;
            return Some((*decoded, length + 2));
        }
    };
    let length = digits.iter().take(MAX_ENTITY_CHARS).take_while(|it| it.is_digit(radix)).count();
    let decoded = char::from_u32(parse_digits(digits.get(..length)?, radix)?)?;
    let closed = usize::from(digits.get(length) == Some(&';'));
    Some((decoded, before + length + closed))
}

/// Reads the escapes of one character in a URL.
fn decode_url_escape(text: &[char]) -> Option<(char, usize)> {
    let byte = |at: usize| match text.get(at * 3..at * 3 + 3)? {
        ['%', digits @ ..] => u8::try_from(parse_digits(digits, 16)?).ok(),
        _ => None,
    };
    let first = byte(0)?;
    let count = match first {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    let bytes: Vec<u8> = (0..count).map_while(byte).collect();
    let decoded = std::str::from_utf8(&bytes).ok()?.chars().next()?;
    Some((decoded, bytes.len() * 3))
}

fn parse_digits(digits: &[char], radix: u32) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |sum, digit| sum.checked_mul(radix)?.checked_add(digit.to_digit(radix)?))
}

#[cfg(test)]
mod tests {
    use super::{ENTITIES, decode_escape};

    fn decoded(text: &str) -> Option<(char, usize)> {
        decode_escape(&text.chars().collect::<Vec<_>>())
    }

    #[test]
    fn an_escape_is_read_with_its_length() {
        for (text, expected) in [
            ("\\u{41}", Some(('A', 6))),
            ("\\u{1f511}x", Some(('\u{1f511}', 9))),
            ("\\u{0000041}", Some(('A', 11))),
            ("\\u{00000041}", None),
            ("\\u{}", None),
            ("\\u{41", None),
            ("\\u{110000}", None),
            ("\\u0041\\u0042", Some(('A', 6))),
            ("\\u004", None),
            ("\\ud83d\\udd11", Some(('\u{1f511}', 12))),
            ("\\ud83d", None),
            ("\\ud83d\\u0041", None),
            ("\\udd11", None),
            ("\\x41", Some(('A', 4))),
            ("\\x4", None),
            ("\\x4g", None),
            ("\\\"", Some(('"', 2))),
            ("\\\\", Some(('\\', 2))),
            ("\\/", Some(('/', 2))),
            ("\\'", Some(('\'', 2))),
            ("\\b", Some(('\u{8}', 2))),
            ("\\f", Some(('\u{c}', 2))),
            ("\\n", Some(('\n', 2))),
            ("\\r", Some(('\r', 2))),
            ("\\t", Some(('\t', 2))),
            ("\\q", None),
            ("\\", None),
            ("A", None),
            ("", None),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn an_entity_is_read_with_its_length() {
        for (name, letter) in ENTITIES {
            assert_eq!(decoded(&format!("&{name};x")), Some((letter, name.len() + 2)), "{name}");
        }
        for (text, expected) in [
            ("&amp", None),
            ("&AMP;", None),
            ("&;", None),
            ("&#65;", Some(('A', 5))),
            ("&#65", Some(('A', 4))),
            ("&#65x", Some(('A', 4))),
            ("&#0000000065;", Some(('A', 13))),
            ("&#9999999999;", None),
            ("&#x41;", Some(('A', 6))),
            ("&#x41", Some(('A', 5))),
            ("&#x0000000041;", Some(('A', 14))),
            ("&#xd800;", None),
            ("&#;", None),
            ("&#x;", None),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn the_escapes_of_a_character_in_a_url_are_read_at_once() {
        for (text, expected) in [
            ("%41%42", Some(('A', 3))),
            ("%7f", Some(('\u{7f}', 3))),
            ("%C2%80", Some(('\u{80}', 6))),
            ("%df%bf", Some(('\u{7ff}', 6))),
            ("%e0%a0%80", Some(('\u{800}', 9))),
            ("%ef%bf%bf%41", Some(('\u{ffff}', 9))),
            ("%f0%90%80%80", Some(('\u{10000}', 12))),
            ("%c2", None),
            ("%c2x80", None),
            ("%e0%a0", None),
            ("%80", None),
            ("%ff", None),
            ("%4", None),
            ("%4g", None),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }
}
