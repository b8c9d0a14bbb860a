use crate::json::{escape_string, special_mask};

/// Appends `string` in quotes.
pub(super) fn push_quoted(text: &mut Vec<u8>, string: &str) {
    match pack_unescaped(string.as_bytes()) {
        Some(short) => push_word(text, pack_between(b"\"", short, string.len(), b"\""), string.len() + 2),
        None => push_between(text, b"\"", string, b"\""),
    }
}

/// Appends the name of a field, and a comma before it unless it is the first. Inlined, since names are mostly constants, so
/// that the word to append is one, too.
#[inline(always)]
pub(super) fn push_field_name(text: &mut Vec<u8>, name: &str, is_first: bool) {
    match pack_unescaped(name.as_bytes()) {
        Some(short) if is_first => {
            append_word(text, pack_between(b"\"", short, name.len(), b"\":"), name.len() + 3)
        }
        Some(short) => append_word(text, pack_between(b",\"", short, name.len(), b"\":"), name.len() + 4),
        None => push_long_field_name(text, name, is_first),
    }
}

fn push_long_field_name(text: &mut Vec<u8>, name: &str, is_first: bool) {
    push_between(text, if is_first { b"\"" } else { b",\"" }, name, b"\":");
}

/// Appends the content of a JSON string between others.
#[inline(never)]
fn push_between(text: &mut Vec<u8>, before: &[u8], string: &str, after: &[u8]) {
    text.extend_from_slice(before);
    push_escaped(text, string);
    text.extend_from_slice(after);
}

/// Appends the content of the JSON string of `string`.
pub(super) fn push_escaped(text: &mut Vec<u8>, string: &str) {
    if needs_no_escape(string.as_bytes()) {
        text.extend_from_slice(string.as_bytes());
    } else {
        escape_string(string, |part| text.extend_from_slice(part.as_bytes()));
    }
}

/// Returns a word with `length` bytes between others.
#[inline(always)]
fn pack_between<const B: usize, const A: usize>(
    before: &[u8; B],
    short: u64,
    length: usize,
    after: &[u8; A],
) -> u128 {
    let number =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |number: u128, byte| number << 8 | u128::from(*byte));
    number(before) | u128::from(short) << (8 * B) | number(after) << (8 * (B + length))
}

/// Appends the first `length` bytes of a word: a constant number of bytes is copied, and those that are too many are cut
/// off.
#[inline(always)]
fn push_word(text: &mut Vec<u8>, word: u128, length: usize) {
    let end = text.len() + length;
    text.extend_from_slice(&word.to_le_bytes());
    text.truncate(end);
}

#[inline(never)]
fn append_word(text: &mut Vec<u8>, word: u128, length: usize) {
    push_word(text, word, length);
}

/// Returns at most eight bytes, of which a JSON string escapes none, followed by zeros.
#[inline(always)]
fn pack_unescaped(bytes: &[u8]) -> Option<u64> {
    /// The digit zero, eight times.
    const DIGITS: u64 = u64::MAX / 255 * b'0' as u64;

    let byte = |at: usize| bytes.get(at).copied().map_or(0, u64::from) << (8 * at);
    let word = match bytes.len() {
        8 => u64::from_le_bytes(*bytes.first_chunk()?),
        4..8 => {
            // The two parts overlap.
            let [first, last] =
                [bytes.first_chunk()?, bytes.last_chunk()?].map(|part| u32::from_le_bytes(*part));
            u64::from(first) | u64::from(last) << (8 * (bytes.len() - 4))
        }
        0..4 => byte(0) | byte(1) | byte(2),
        _ => return None,
    };
    let filled = word | DIGITS.checked_shl(8 * bytes.len() as u32).unwrap_or_default();
    (special_mask(filled.to_le_bytes()) == 0).then_some(word)
}

/// Returns `true` if a JSON string escapes none of at least eight bytes.
#[inline]
fn needs_no_escape(bytes: &[u8]) -> bool {
    let is_plain = |eight: &[u8; 8]| special_mask(*eight) == 0;
    let (words, _) = bytes.as_chunks();
    words.iter().all(is_plain) && bytes.last_chunk().is_some_and(is_plain)
}

/// From this number on, the digits do not fit into a register.
const LARGE: u64 = 10_u64.pow(16);

/// Appends `number`.
pub(super) fn push_unsigned(text: &mut Vec<u8>, number: u64) {
    match number {
        0..10 => text.push(b'0' | number as u8),
        10..100 => text.extend_from_slice(&[b'0' | (number / 10) as u8, b'0' | (number % 10) as u8]),
        100..LARGE => push_digits(text, number, 1),
        _ => push_large_number(text, number),
    }
}

/// Appends a number of more digits.
fn push_large_number(text: &mut Vec<u8>, number: u64) {
    push_digits(text, number / LARGE, 1);
    push_digits(text, number % LARGE, 16);
}

/// Appends at least `least` digits of a number of at most 16.
#[inline]
fn push_digits(text: &mut Vec<u8>, number: u64, least: usize) {
    let (mut rest, mut all, mut count) = (number, 0_u128, 0);
    while rest > 0 || count < least {
        all = all << 8 | u128::from(b'0' | (rest % 10) as u8);
        (rest, count) = (rest / 10, count + 1);
    }
    push_word(text, all, count);
}

/// Appends `number`.
pub(super) fn push_signed(text: &mut Vec<u8>, number: i64) {
    match u64::try_from(number) {
        Ok(number) => push_unsigned(text, number),
        Err(_) => {
            text.push(b'-');
            push_unsigned(text, number.unsigned_abs());
        }
    }
}
