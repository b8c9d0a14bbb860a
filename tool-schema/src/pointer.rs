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
