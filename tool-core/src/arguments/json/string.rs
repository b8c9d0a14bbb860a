use memchr::memchr2;

use super::Fault;

/// Up to this length, eight bytes at a time are faster than wider comparisons.
const SHORT: usize = 32;

/// Returns the number of bytes before the first quote or backslash.
#[inline]
pub(super) fn plain(bytes: &[u8]) -> Result<usize, Fault> {
    let mut rest = bytes;
    while let Some((eight, after)) = rest.split_first_chunk() {
        let found = special(*eight);
        if found != 0 {
            let at = bytes.len() - rest.len() + found.trailing_zeros() as usize / 8;
            return if bytes.get(at).is_some_and(|byte| *byte < 0x20) { Err(Fault::Syntax) } else { Ok(at) };
        }
        rest = after;
        if bytes.len() - rest.len() == SHORT {
            break;
        }
    }
    long(bytes, bytes.len() - rest.len())
}

/// Returns a mask with the high bit of each byte that is a quote, a backslash or a control character; only the lowest
/// set bit is exact. Known as the bit tricks "has zero byte" and "has less".
#[inline]
const fn special(bytes: [u8; 8]) -> u64 {
    const LOW: u64 = u64::MAX / 255;
    const HIGH: u64 = LOW << 7;
    let word = u64::from_le_bytes(bytes);
    let quote = word ^ (LOW * b'"' as u64);
    let backslash = word ^ (LOW * b'\\' as u64);
    let zero = (quote.wrapping_sub(LOW) & !quote) | (backslash.wrapping_sub(LOW) & !backslash);
    let control = word.wrapping_sub(LOW * 0x20) & !word;
    (zero | control) & HIGH
}

/// Continues [`plain`] after the first `done` bytes.
fn long(bytes: &[u8], done: usize) -> Result<usize, Fault> {
    let rest = bytes.get(done..).unwrap_or_default();
    let length = memchr2(b'"', b'\\', rest).ok_or(Fault::Syntax)?;
    // The loop has no early exit, so that the compiler vectorises it.
    let has_control = rest.iter().take(length).fold(false, |found, byte| found | (*byte < 0x20));
    if has_control { Err(Fault::Syntax) } else { Ok(done + length) }
}

/// Decodes the string from `start`, which has no escapes before `stop`.
pub(super) fn unescaped(text: &str, mut start: usize, mut stop: usize) -> Result<(String, usize), Fault> {
    let mut string = String::new();
    loop {
        string.push_str(text.get(start..stop).unwrap_or_default());
        if text.as_bytes().get(stop) == Some(&b'"') {
            return Ok((string, stop + 1));
        }
        let (character, end) = escape(text, stop + 1)?;
        string.push(character);
        start = end;
        stop = start + plain(text.as_bytes().get(start..).unwrap_or_default())?;
    }
}

/// Decodes the escape after a backslash at `at`; returns the character and the offset of its end.
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

/// Decodes `\uXXXX`, or two of them that form a surrogate pair.
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
