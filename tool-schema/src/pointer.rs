//! JSON pointers ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)).

/// Adds a step to `pointer`: the name of a property, or the index of an item.
pub fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    // Most names need no escape.
    if !step.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        pointer.push_str(step);
        return;
    }
    for character in step.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(character),
        }
    }
}

/// Splits a JSON pointer into steps; `None` if it is malformed.
#[must_use]
pub fn pointer_steps(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let is_escaped = |step: &str| step.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    let steps = pointer.strip_prefix('/')?.split('/');
    steps.map(|step| is_escaped(step).then(|| step.replace("~1", "/").replace("~0", "~"))).collect()
}

/// Returns the JSON pointer of a `$ref` within its document.
pub(crate) fn local_pointer(reference: &str) -> Option<String> {
    reference.strip_prefix('#').map(percent_decoded)
}

/// Decodes percent escapes; invalid escapes and invalid UTF-8 are left unchanged.
pub fn percent_decoded(fragment: &str) -> String {
    if !fragment.contains('%') {
        return fragment.to_owned();
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex_value(*high).zip(hex_value(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_appended_with_escapes() {
        let mut pointer = String::new();
        for (step, expected) in [
            ("a", "/a"),
            ("", "/a/"),
            ("b~c", "/a//b~0c"),
            ("d/é", "/a//b~0c/d~1é"),
            ("~1", "/a//b~0c/d~1é/~01"),
        ] {
            push_step(&mut pointer, step);
            assert_eq!(pointer, expected);
        }
        let steps = ["a", "", "b~c", "d/é", "~1"].map(str::to_owned).to_vec();
        assert_eq!(pointer_steps(&pointer), Some(steps));
    }

    #[test]
    fn percent_escapes_are_decoded_and_other_percent_signs_stay() {
        for (text, expected) in [
            ("", ""),
            ("a/é", "a/é"),
            ("%41", "A"),
            ("a%20b%2Fc", "a b/c"),
            ("%c3%A9%F0%9f%98%80", "é😀"),
            ("100%25", "100%"),
            ("%%41%", "%A%"),
            ("%4", "%4"),
            ("%4g%g4", "%4g%g4"),
            ("%41%FF", "%41%FF"),
        ] {
            assert_eq!(percent_decoded(text), expected, "{text}");
        }
        assert_eq!(local_pointer("#/a%20b").as_deref(), Some("/a b"));
        assert_eq!(local_pointer("/a"), None);
    }
}
