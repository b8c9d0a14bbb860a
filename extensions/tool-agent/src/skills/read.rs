//! The result of `skill_read`.

use tool_runtime::hook::Sanitizer;

use super::{SkillError, error::short_line};

/// The maximum number of bytes of a part.
const MAX_PART_BYTES: usize = 32 << 10;

/// Returns the part of a text file that begins at the byte `offset`.
pub(super) fn text_file_part(path: &str, content: Vec<u8>, offset: u64) -> Result<String, SkillError> {
    let bytes = content.len();
    let text = String::from_utf8(content).ok().filter(|text| !text.contains('\0')).ok_or_else(|| {
        SkillError::invalid(format!(
            "the file `{}` is not text in UTF-8: it has {bytes} bytes",
            short_line(path)
        ))
    })?;
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if start >= bytes && start > 0 {
        return Err(SkillError::invalid(format!(
            "`offset` is {offset}, but the file `{}` has {bytes} bytes; give a smaller one",
            short_line(path)
        )));
    }
    let start = floor_char_boundary(&text, start);
    let end = floor_char_boundary(&text, start.saturating_add(MAX_PART_BYTES));
    let part = text.get(start..end).unwrap_or_default();
    let mut shown_part = match part.is_empty() {
        true => "The file is empty.".to_owned(),
        false => Sanitizer::clean(part.trim_start_matches('\u{feff}')),
    };
    if end < bytes {
        shown_part.push_str(&format!("\n[the file has {bytes} bytes; continue with `offset` {end}]"));
    }
    Ok(shown_part)
}

/// Returns the last boundary between characters up to `index`.
fn floor_char_boundary(text: &str, index: usize) -> usize {
    let index = index.min(text.len());
    (0..=index).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}
