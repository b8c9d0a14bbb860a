//! The length of a port, which both programs of ports print.

/// Returns the number of lines that are neither blank, nor a comment, nor part of an import.
pub(crate) fn code_lines(source: &str) -> usize {
    let mut is_import = false;
    let is_code = |line: &&str| {
        let line = line.trim();
        is_import |= line.starts_with("use ");
        let is_code = !is_import && !line.is_empty() && !line.starts_with("//");
        is_import &= !line.ends_with(';');
        is_code
    };
    source.lines().filter(is_code).count()
}
