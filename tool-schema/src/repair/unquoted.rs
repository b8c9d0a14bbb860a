//! Unquoted words: keys, literals, numbers, and text.

use super::{
    ambiguity::Ambiguity,
    cursor::{Cursor, is_blank},
    quoted,
};

/// The result of reading an unquoted value.
pub(super) enum Word {
    /// A JSON value.
    Written(String),
    /// No value: the text ends within it, and the rest is ambiguous.
    Missing,
}

/// The literals of JSON, Python and JavaScript, in their exact spelling.
const LITERALS: [(&str, &str); 7] = [
    ("true", "true"),
    ("false", "false"),
    ("null", "null"),
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("undefined", "null"),
];

/// Numbers without a JSON equivalent. Reading them as `null` would change their meaning.
const NO_NUMBERS: [&str; 2] = ["nan", "infinity"];

/// Reads a key; returns `true` if there is one.
pub(super) fn read_key(cursor: &mut Cursor<'_>, out: &mut String) -> bool {
    let start = cursor.at();
    cursor.skip_while(is_key_char);
    let key = cursor.text_since(start);
    quoted::write_string(out, key);
    !key.is_empty()
}

pub(super) fn is_key_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.' | '@')
}

/// Reads a value; `follows_value` is set if it follows another one on the same line, without a comma.
pub(super) fn read_value(cursor: &mut Cursor<'_>, follows_value: bool) -> Result<Word, Ambiguity> {
    let start = cursor.at();
    skip_word(cursor);
    let word = cursor.text_since(start);
    if cursor.peek().is_some_and(|it| quoted::is_quote(it) || matches!(it, '{' | '[')) {
        return Err(Ambiguity::new("a value that is only partly in quotes", start));
    }
    let lower = word.to_ascii_lowercase();
    let literal = LITERALS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    if cursor.rest().starts_with("//") && (literal.is_some() || json_number(word).is_some()) {
        return Err(Ambiguity::new("a value that may go on in a comment", start));
    }
    if let Some((_, literal)) = LITERALS.iter().find(|(name, _)| *name == word) {
        return Ok(Word::Written((*literal).to_owned()));
    }
    // `none` and `NULL` may be texts; `none of these` is a text.
    if literal.is_some() && cursor.look_ahead(skip_blanks_to_entry_end) {
        return Err(Ambiguity::new("a word that may be a literal or a text", start));
    }
    if cursor.is_at_end() && is_beginning_of_literal(&lower) {
        return Ok(Word::Missing);
    }
    if let Some(number) = json_number(word) {
        return finite_number_word(number, start);
    }
    if cursor.is_at_end() && is_beginning_of_number(word) {
        let digits = word.trim_end_matches(['e', 'E', '+', '-', '.']);
        return json_number(digits).map_or(Ok(Word::Missing), |number| finite_number_word(number, start));
    }
    if is_doubtful_number(&lower) {
        return Err(Ambiguity::new("a number without a JSON equivalent", start));
    }
    if follows_value {
        return Err(Ambiguity::new("two values without a comma", start));
    }
    read_unquoted_text(cursor, start)
}

/// Returns `true` if a line or an entry ends after blanks.
fn skip_blanks_to_entry_end(cursor: &mut Cursor<'_>) -> bool {
    cursor.skip_while(|it| it != '\n' && is_blank(it));
    cursor.peek().is_none_or(|it| matches!(it, '\n' | ',' | '}' | ']'))
}

/// Reads unquoted text up to the end of its line or entry.
fn read_unquoted_text(cursor: &mut Cursor<'_>, start: usize) -> Result<Word, Ambiguity> {
    while !skip_blanks_to_entry_end(cursor) {
        // `src/*.rs`, `a // b` and `issue # 5` are also possible texts.
        if cursor.is_at_comment() {
            return Err(Ambiguity::new("a value without quotes that may go on in a comment", start));
        }
        let before = cursor.at();
        skip_word(cursor);
        if cursor.at() == before {
            return Err(Ambiguity::new("a value that is only partly in quotes", start));
        }
    }
    let text = cursor.text_since(start).trim_end_matches(is_blank);
    // `1,000` would be split.
    let digits_before =
        cursor.text_before(start).strip_suffix(',').map(|it| it.ends_with(|it: char| it.is_ascii_digit()));
    if !is_unambiguous_text(text) || (text.starts_with('0') && digits_before == Some(true)) {
        return Err(Ambiguity::new("a value that is neither JSON nor plain text", start));
    }
    let mut written = String::with_capacity(text.len() + 2);
    quoted::write_string(&mut written, text);
    Ok(Word::Written(written))
}

/// Returns `true` if `text` consists of words, a path, an address, a date or similar, and is neither an
/// expression nor a property.
fn is_unambiguous_text(text: &str) -> bool {
    let is_sign = |it: &str| it.chars().all(|it| it.is_ascii_punctuation());
    let is_expression = text.starts_with(['#', '+', ':', '='])
        || text.contains(['(', ')', ';', '\\', '…'])
        || text.contains("...");
    if text.contains(is_blank) {
        return !is_expression && !text.contains([':', '=']) && !text.split(is_blank).any(is_sign);
    }
    let is_address_or_time = text.contains("://") || text.starts_with(|it: char| it.is_ascii_digit());
    !is_expression && (is_address_or_time || !text.contains(':'))
}

/// Skips up to a blank, a bracket, a comma, a quote, or a comment other than the `//` of an address.
fn skip_word(cursor: &mut Cursor<'_>) {
    let mut last = ' ';
    while let Some(next) = cursor.peek() {
        let is_stop = is_blank(next)
            || quoted::is_quote(next)
            || matches!(next, ',' | '{' | '}' | '[' | ']')
            || (next == '/' && last != ':' && cursor.is_at_comment());
        if is_stop {
            break;
        }
        last = next;
        cursor.take_char();
    }
}

/// Writes a number, unless it is out of the range of a float: `serde_json` accepts those depending on its
/// features.
fn finite_number_word(number: String, start: usize) -> Result<Word, Ambiguity> {
    match number.parse::<f64>() {
        Ok(float) if float.is_finite() => Ok(Word::Written(number)),
        _ => Err(Ambiguity::new("a number that is too large", start)),
    }
}

/// Returns `word` as a JSON number, if it is a number; digits may be absent before or after the point.
fn json_number(word: &str) -> Option<String> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word),
    };
    let zero = if digits.starts_with('.') { "0" } else { "" };
    let digits = digits.strip_suffix('.').unwrap_or(digits);
    let number = format!("{sign}{zero}{digits}");
    is_json_number(&number).then_some(number)
}

/// The grammar of JSON: `-? (0 | [1-9] digits) (. digits)? (e [+-]? digits)?`.
fn is_json_number(text: &str) -> bool {
    let is_digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    is_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(is_digits)
        && exponent.is_none_or(is_digits)
}

fn is_beginning_of_literal(lower: &str) -> bool {
    let mut names = LITERALS.iter().map(|(name, _)| name.to_ascii_lowercase());
    names.any(|name| name.starts_with(lower)) || NO_NUMBERS.iter().any(|name| name.starts_with(lower))
}

fn is_beginning_of_number(word: &str) -> bool {
    json_number(&format!("{word}0")).is_some()
}

/// Returns `true` if the word must be a number but its value or meaning is uncertain: a telephone number may
/// begin with `+`.
fn is_doubtful_number(lower: &str) -> bool {
    let unsigned = lower.strip_prefix(['+', '-']).unwrap_or(lower);
    let is_based = ["0x", "0b", "0o"].iter().any(|it| unsigned.starts_with(it));
    let is_grouped =
        unsigned.contains('_') && unsigned.bytes().all(|it| it.is_ascii_digit() || matches!(it, b'_' | b'.'));
    NO_NUMBERS.contains(&unsigned)
        || is_based
        || is_grouped
        || is_beginning_of_number(lower)
        || (lower.starts_with('+') && unsigned.starts_with(|it: char| it.is_ascii_digit()))
}
