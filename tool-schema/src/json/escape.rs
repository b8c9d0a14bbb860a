//! Writing strings.

use super::string::unescaped_prefix_length;

/// Writes `string` as JSON with as few escapes as possible.
pub(crate) fn write_quoted(text: &mut String, string: &str) {
    text.push('"');
    escape_string(string, |part| text.push_str(part));
    text.push('"');
}

/// Passes the parts of the content of a JSON string to `push`.
pub(crate) fn escape_string(string: &str, mut push: impl FnMut(&str)) {
    let mut rest = string;
    loop {
        let (plain, after) = rest.split_at_checked(unescaped_prefix_length(rest)).unwrap_or((rest, ""));
        push(plain);
        let Some(byte) = after.bytes().next() else { return };
        match byte {
            b'"' => push("\\\""),
            b'\\' => push("\\\\"),
            b'\n' => push("\\n"),
            b'\r' => push("\\r"),
            b'\t' => push("\\t"),
            0x08 => push("\\b"),
            0x0c => push("\\f"),
            byte => push(&format!("\\u{byte:04x}")),
        }
        rest = after.get(1..).unwrap_or_default();
    }
}
