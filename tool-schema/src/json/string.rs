//! Strings: their ends, and their escapes.
//!
//! A string is scanned once. [`scan_literal`] skips 16 bytes at a time, in a long string 64, with a comparison that the
//! compiler vectorises, and finds the place in 8 bytes with bit tricks. The parts between escapes are copied as text,
//! so that nothing is checked for UTF-8 again.

use super::Fault;

/// Up to this length, strings are scanned in place; longer ones are worth a call.
const SHORT: usize = 32;

/// Returns the number of bytes before the first quote or backslash.
#[inline]
pub(super) fn literal_length(bytes: &[u8]) -> Result<usize, Fault> {
    let mut rest = bytes;
    while let Some((eight, after)) = rest.split_first_chunk() {
        let found = special_mask(*eight);
        if found != 0 {
            let at = bytes.len() - rest.len() + found.trailing_zeros() as usize / 8;
            return if bytes.get(at).is_some_and(|byte| *byte < 0x20) { Err(Fault::Syntax) } else { Ok(at) };
        }
        rest = after;
        if bytes.len() - rest.len() == SHORT {
            break;
        }
    }
    long_literal_length(bytes, bytes.len() - rest.len())
}

/// Continues [`literal_length`] after the first `done` bytes.
#[inline(never)]
fn long_literal_length(bytes: &[u8], done: usize) -> Result<usize, Fault> {
    let rest = skip_chunks_without_specials::<64>(bytes.get(done..).unwrap_or_default());
    let at = bytes.len() - rest.len() + scan_literal(rest);
    if matches!(bytes.get(at), Some(b'"' | b'\\')) { Ok(at) } else { Err(Fault::Syntax) }
}

/// Returns the number of bytes of `text` before the first that a JSON string escapes.
pub(super) fn unescaped_prefix_length(text: &str) -> usize {
    scan_literal(text.as_bytes())
}

/// Returns the number of bytes before the first quote, backslash or control character.
#[inline(always)]
fn scan_literal(bytes: &[u8]) -> usize {
    let mut rest = skip_chunks_without_specials::<16>(bytes);
    while let Some((eight, after)) = rest.split_first_chunk() {
        let found = special_mask(*eight);
        if found != 0 {
            return bytes.len() - rest.len() + found.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    bytes.len() - rest.len() + rest.iter().take_while(|byte| !is_special(**byte)).count()
}

/// Skips `N` bytes at a time while none of them [is special](is_special).
#[inline(always)]
fn skip_chunks_without_specials<const N: usize>(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let Some((chunk, after)) = rest.split_first_chunk::<N>() {
        // Without an early exit, the compiler vectorises the comparison.
        if chunk.iter().fold(false, |found, byte| found | is_special(*byte)) {
            break;
        }
        rest = after;
    }
    rest
}

/// Returns `true` for a quote, a backslash and a control character. Flipping the second bit of a byte moves the quote
/// behind the control characters.
#[inline(always)]
const fn is_special(byte: u8) -> bool {
    (byte ^ 2 <= b' ') | (byte == b'\\')
}

/// Returns a mask with the high bit of each byte that [is special](is_special); only the lowest set bit is exact. Known
/// as the bit tricks "has zero byte" and "has less".
#[inline]
pub(crate) const fn special_mask(bytes: [u8; 8]) -> u64 {
    const LOW: u64 = u64::MAX / 255;
    const HIGH: u64 = LOW << 7;
    let word = u64::from_le_bytes(bytes);
    let quote_or_control = (word ^ (LOW * 2)).wrapping_sub(LOW * (b' ' + 1) as u64);
    let backslash = (word ^ (LOW * b'\\' as u64)).wrapping_sub(LOW);
    (quote_or_control | backslash) & !word & HIGH
}

/// Decodes the string from `start`, whose first escape is at `stop`; returns it and the offset of its end.
pub(super) fn decode_escapes(text: &str, start: usize, stop: usize) -> Result<(String, usize), Fault> {
    let mut string = String::with_capacity(stop.saturating_sub(start) + SHORT);
    string.push_str(text.get(start..stop).unwrap_or_default());
    let mut rest = text.get(stop..).unwrap_or_default();
    loop {
        while let [b'\\', code, ..] = rest.as_bytes() {
            let simple = SIMPLE_ESCAPES[usize::from(*code)];
            if simple == 0 {
                let (character, length) = decode_unicode_escape(rest)?;
                string.push(character);
                rest = rest.get(length..).ok_or(Fault::Syntax)?;
            } else {
                string.push(char::from(simple));
                rest = rest.get(2..).ok_or(Fault::Syntax)?;
            }
        }
        if rest.as_bytes().first() == Some(&b'"') {
            if string.capacity() / 2 > string.len() {
                string.shrink_to_fit();
            }
            return Ok((string, text.len() - rest.len() + 1));
        }
        let (plain, after) = rest.split_at_checked(scan_literal(rest.as_bytes())).unwrap_or_default();
        if plain.is_empty() {
            return Err(Fault::Syntax);
        }
        if string.capacity() - string.len() <= plain.len() {
            // A long string is usually most of the text: it is moved a few times only.
            string.reserve(rest.len().min(16 * string.len()).max(plain.len()));
        }
        string.push_str(plain);
        rest = after;
    }
}

/// The characters that a backslash and a letter stand for, by the letter; 0 for the others.
const SIMPLE_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 8;
    table[b'f' as usize] = 12;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

/// Decodes the `\uXXXX` at the start of `text`, or two of them that form a surrogate pair; returns the character and
/// the length of its escape.
#[inline(never)]
fn decode_unicode_escape(text: &str) -> Result<(char, usize), Fault> {
    if !text.starts_with(r"\u") {
        return Err(Fault::Syntax);
    }
    let first = read_hex(text, 2)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, 6));
    }
    let is_pair = text.as_bytes().get(6..8) == Some(br"\u");
    let second = if is_pair { read_hex(text, 8)? } else { 0 };
    if !(0xDC00..0xE000).contains(&second) {
        return Err(Fault::Syntax);
    }
    // A first half that is a second one makes a code beyond the last character.
    let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    char::from_u32(code).map(|character| (character, 12)).ok_or(Fault::Syntax)
}

fn read_hex(text: &str, at: usize) -> Result<u32, Fault> {
    let digits = text.as_bytes().get(at..at + 4).ok_or(Fault::Syntax)?;
    digits.iter().try_fold(0, |code, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(Fault::Syntax)?;
        Ok(code << 4 | digit)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    /// Decodes `literal`, a string in quotes.
    fn decoded(literal: &str) -> Result<(String, usize), Fault> {
        let stop = 1 + literal_length(&literal.as_bytes()[1..])?;
        decode_escapes(literal, 1, stop)
    }

    #[test]
    fn a_string_ends_at_the_first_quote_without_a_backslash_and_has_no_control_characters() {
        for length in [0, 1, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 39, 40, 63, 64, 65, 96, 97, 200] {
            let plain = "a".repeat(length);
            for rest in ["", "b", "bcdefghijklmnop", r#""\"#] {
                assert_eq!(
                    literal_length(format!("{plain}\"{rest}").as_bytes()),
                    Ok(length),
                    "{length} {rest}"
                );
                assert_eq!(
                    literal_length(format!("{plain}\\{rest}").as_bytes()),
                    Ok(length),
                    "{length} {rest}"
                );
                for control in ['\0', '\n', '\u{1f}'] {
                    let text = format!("{plain}{control}{rest}\"");
                    assert_eq!(literal_length(text.as_bytes()), Err(Fault::Syntax), "{length} {rest}");
                }
            }
            assert_eq!(literal_length(plain.as_bytes()), Err(Fault::Syntax), "{length}");
            // None of these is special.
            let others = format!("{plain} !#[]\u{7f}é\"");
            assert_eq!(literal_length(others.as_bytes()), Ok(others.len() - 1));
            assert_eq!(unescaped_prefix_length(&format!("{plain}\u{1f}")), length);
            assert_eq!(unescaped_prefix_length(&plain), length);
        }
    }

    #[test]
    fn escapes_stand_for_their_characters_wherever_they_are() {
        let pairs = [
            (r#"\""#, "\""),
            (r"\\", "\\"),
            (r"\/", "/"),
            (r"\b", "\u{8}"),
            (r"\f", "\u{c}"),
            (r"\n", "\n"),
            (r"\r", "\r"),
            (r"\t", "\t"),
            (r"\u0000", "\0"),
            (r"\u00e9\u00E9", "éé"),
            (r"\ud7ff\ue000", "\u{d7ff}\u{e000}"),
            (r"\ud800\udc00", "\u{10000}"),
            (r"\uDBFF\uDFFF", "\u{10ffff}"),
        ];
        for (escape, character) in pairs {
            for (before, after) in [("", ""), ("a", ""), ("", "b"), ("é", "ü"), ("abcdefghijklmnopq", "b")]
            {
                let literal = format!("\"{before}{escape}{after}\"");
                let expected = (format!("{before}{character}{after}"), literal.len());
                assert_eq!(decoded(&literal), Ok(expected), "{literal}");
            }
        }
    }

    #[test]
    fn what_is_no_escape_is_a_syntax_error() {
        for literal in [
            r#""\a""#,
            r#""\x41""#,
            r#""\U0041""#,
            r#""\u""#,
            r#""\u004""#,
            r#""\u00g0""#,
            r#""\u+041""#,
            r#""\udc00""#,
            r#""\udfff\ud800""#,
            r#""\udc00\udc00""#,
            r#""\udc01\udc00""#,
            r#""\udfff\udfff""#,
            r#""\ud800\ud800""#,
            r#""\ud800\ue000""#,
            r#""\ud800""#,
            r#""\ud800a""#,
            r#""\ud800xxdc00""#,
            r#""\ud800\ndc00""#,
            r#""\ud800\n""#,
            r#""\ud800\u0041""#,
            r#""\ud800\ud800""#,
            r#""\ud800\ue000""#,
            r#""\n"#,
            r#""\"#,
            "\"\\n\n\"",
        ] {
            assert_eq!(decoded(literal), Err(Fault::Syntax), "{literal}");
        }
    }

    #[test]
    fn a_decoded_string_keeps_little_more_memory_than_it_needs() {
        for (literal, length) in [
            (r#""\n""#.to_owned(), 1),
            (format!("\"{}\\n\"", "a".repeat(1_000)), 1_001),
            (format!("\"\\n{}\\n\"", "a".repeat(1_000)), 1_002),
            (format!("\"{}\"", r"\u0041".repeat(1_000)), 1_000),
        ] {
            let (string, _) = decoded(&literal).unwrap();
            assert_eq!(string.len(), length);
            assert!(string.capacity() <= 2 * length + 1, "{} for {length}", string.capacity());
        }
    }
}
