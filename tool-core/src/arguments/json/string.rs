use std::borrow::Cow;

use memchr::memchr2;

use super::Fault;

/// So many bytes are looked at one by one, which for a short text is faster than anything cleverer.
const SHORT: usize = 24;

/// The string whose first character stands at `start`, and where the text goes on after it.
pub(super) fn read(text: &str, start: usize) -> Result<(Cow<'_, str>, usize), Fault> {
    let end = plain(text, start)?;
    if text.as_bytes().get(end) == Some(&b'"') {
        return Ok((Cow::Borrowed(text.get(start..end).unwrap_or_default()), end + 1));
    }
    let (string, end) = unescaped(text, start, end)?;
    Ok((Cow::Owned(string), end))
}

/// Where the first quote or backslash from `start` on stands.
fn plain(text: &str, start: usize) -> Result<usize, Fault> {
    let bytes = text.as_bytes().get(start..).unwrap_or_default();
    for (at, byte) in bytes.iter().take(SHORT).enumerate() {
        match byte {
            b'"' | b'\\' => return Ok(start + at),
            0..0x20 => return Err(Fault::Syntax),
            _ => {}
        }
    }
    let rest = bytes.get(SHORT..).unwrap_or_default();
    let length = memchr2(b'"', b'\\', rest).ok_or(Fault::Syntax)?;
    // All of them, without a way out, so that many are compared at once.
    let has_control = rest.iter().take(length).fold(false, |found, byte| found | (*byte < 0x20));
    if has_control { Err(Fault::Syntax) } else { Ok(start + SHORT + length) }
}

/// The string from `start` on, which is plain up to `stop`.
fn unescaped(text: &str, mut start: usize, mut stop: usize) -> Result<(String, usize), Fault> {
    let mut string = String::new();
    loop {
        string.push_str(text.get(start..stop).unwrap_or_default());
        if text.as_bytes().get(stop) == Some(&b'"') {
            return Ok((string, stop + 1));
        }
        let (character, end) = escape(text, stop + 1)?;
        string.push(character);
        start = end;
        stop = plain(text, start)?;
    }
}

/// The character of an escape, from the one after the backslash on, and where the text goes on.
fn escape(text: &str, at: usize) -> Result<(char, usize), Fault> {
    let character = match text.as_bytes().get(at).ok_or(Fault::Syntax)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return code_point(text, at + 1),
        _ => return Err(Fault::Syntax),
    };
    Ok((character, at + 1))
}

/// The character of `\uXXXX`, or of two of them that are a pair of surrogates.
fn code_point(text: &str, at: usize) -> Result<(char, usize), Fault> {
    let first = hex(text, at)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, at + 4));
    }
    let is_pair = first < 0xDC00 && text.as_bytes().get(at + 4..at + 6) == Some(br"\u");
    let second = if is_pair { hex(text, at + 6)? } else { 0 };
    if !(0xDC00..0xE000).contains(&second) {
        return Err(Fault::Syntax);
    }
    let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    char::from_u32(code).map(|character| (character, at + 10)).ok_or(Fault::Syntax)
}

fn hex(text: &str, at: usize) -> Result<u32, Fault> {
    let digits = text.as_bytes().get(at..at + 4).ok_or(Fault::Syntax)?;
    digits.iter().try_fold(0, |code, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(Fault::Syntax)?;
        Ok(code << 4 | digit)
    })
}
