//! The tokens of an action of a Go template.

/// A token, with its offset in the action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) offset: usize,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `.` or `.a.b`: the names below the current value.
    Field(Vec<String>),
    /// `$`, `$x` or `$x.a`: the name of a variable, empty for the input, and the names below it.
    Variable(String, Vec<String>),
    Word(String),
    /// A text, as it is meant.
    Text(String),
    Number(String),
    Pipe,
    Open,
    /// `)`, and the names below the value in parentheses.
    Close(Vec<String>),
    Comma,
    Declare,
    Assign,
}

/// Returns the tokens of an action; `None` if it has others than those of Go.
pub(super) fn tokenize_go_action(action: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = action;
    loop {
        rest = rest.trim_start();
        let offset = action.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Some(tokens) };
        let (kind, length) = match first {
            '|' if !rest.starts_with("||") => (TokenKind::Pipe, 1),
            '(' => (TokenKind::Open, 1),
            ',' => (TokenKind::Comma, 1),
            ')' => {
                let (names, length) = read_field_path(&rest[1..])?;
                (TokenKind::Close(names), 1 + length)
            }
            ':' if rest.starts_with(":=") => (TokenKind::Declare, 2),
            '=' if !rest.starts_with("==") => (TokenKind::Assign, 1),
            '.' => field_path_token(rest)?,
            '$' => {
                let name = leading_name(&rest[1..]);
                let (names, length) = read_field_path(&rest[1 + name.len()..])?;
                (TokenKind::Variable(name.to_owned(), names), 1 + name.len() + length)
            }
            '"' | '`' => text_token(rest, first)?,
            '-' | '+' | '0'..='9' => number_token(rest)?,
            _ => {
                let name = leading_name(rest);
                let after = &rest[name.len()..];
                // `user.name` is no word of Go.
                if name.is_empty() || after.starts_with(['.', '(', '[', '\'']) {
                    return None;
                }
                (TokenKind::Word(name.to_owned()), name.len())
            }
        };
        tokens.push(Token { offset, kind });
        rest = &rest[length..];
    }
}

fn field_path_token(rest: &str) -> Option<(TokenKind, usize)> {
    let (names, length) = read_field_path(rest)?;
    match length {
        0 => Some((TokenKind::Field(names), 1)),
        _ => Some((TokenKind::Field(names), length)),
    }
}

/// Reads `.a.b` at the beginning of a text.
fn read_field_path(text: &str) -> Option<(Vec<String>, usize)> {
    let (mut names, mut length) = (Vec::new(), 0);
    while let Some(after) = text[length..].strip_prefix('.') {
        let name = leading_name(after);
        if name.is_empty() {
            // A `.` alone is one value; `.a.` and `..` are nothing.
            return (length == 0 && !after.starts_with('.')).then_some((names, 0));
        }
        names.push(name.to_owned());
        length += 1 + name.len();
    }
    // `.a[0]`, `.a(b)` and `.f == 1` are those of another language.
    (!text[length..].starts_with(['[', '('])).then_some((names, length))
}

/// Returns the name at the beginning of a text.
fn leading_name(text: &str) -> &str {
    let is_first = |character: char| character == '_' || character.is_alphabetic();
    if !text.starts_with(is_first) {
        return "";
    }
    let end = text.find(|character: char| character != '_' && !character.is_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

fn text_token(rest: &str, quote: char) -> Option<(TokenKind, usize)> {
    let end = quoted_text_end(rest, quote)?;
    let quoted = &rest[..end];
    let text = match quote {
        '`' => quoted[1..end - 1].to_owned(),
        _ => unescape_text(&quoted[1..end - 1])?,
    };
    Some((TokenKind::Text(text), end))
}

/// Returns the end of the text in quotes at the beginning.
pub(super) fn quoted_text_end(rest: &str, quote: char) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' if quote != '`' => {
                characters.next();
            }
            _ if character == quote => return Some(at + quote.len_utf8()),
            _ => {}
        }
    }
    None
}

fn unescape_text(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'u' => {
                    let digits: String = characters.by_ref().take(4).collect();
                    char::from_u32(u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4)?)?
                }
                same @ ('\\' | '"' | '\'') => same,
                _ => return None,
            },
            _ => character,
        });
    }
    Some(plain)
}

fn number_token(rest: &str) -> Option<(TokenKind, usize)> {
    let digits = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let end = digits.find(|character: char| !character.is_ascii_digit() && character != '.');
    let digits = &digits[..end.unwrap_or(digits.len())];
    let is_number =
        digits.starts_with(|character: char| character.is_ascii_digit()) && digits.parse::<f64>().is_ok();
    let length = rest.len().min(usize::from(rest.starts_with(['-', '+'])) + digits.len());
    is_number.then(|| (TokenKind::Number(rest[..length].trim_start_matches('+').to_owned()), length))
}
