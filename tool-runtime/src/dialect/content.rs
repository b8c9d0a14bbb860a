//! The content of a result for a provider: notes and error prefixes where its results have no field for them.

use crate::ToolResult;
pub(super) use crate::call::content::{Block, block_of_content, blocks};

/// Returns the text that replaces a file of a type that the provider does not accept.
pub(super) fn omitted_file_text(mime_type: &str, data: &str) -> String {
    // Three bytes are four characters, the last of which may be padding.
    let bytes = data.len() / 4 * 3 - data.bytes().rev().take_while(|it| *it == b'=').count();
    format!("[{mime_type}, {bytes} bytes: not shown, the provider does not accept this type of file]")
}

/// Returns `true` if a failure needs an explicit error prefix where the provider has no error flag: its text
/// may not identify it as an error.
pub(super) fn needs_error_prefix(result: &ToolResult) -> bool {
    match &result.outcome {
        Ok(output) => output.is_failure(),
        Err(error) => error.kind().has_message_of_tool(),
    }
}

/// Joins the texts with line breaks, with an error prefix for failures.
pub(super) fn with_error_prefix(texts: Vec<String>, result: &ToolResult) -> String {
    let text = texts.join("\n");
    let has_sign = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if needs_error_prefix(result) && !has_sign { format!("Error: {text}") } else { text }
}

#[cfg(test)]
mod tests {
    use tool_core::{ErrorKind, ToolError, ToolOutput};

    use super::*;

    #[test]
    fn a_file_that_is_not_shown_is_described_by_its_size() {
        for (data, bytes) in
            [("", 0), ("QQ==", 1), ("QUI=", 2), ("QUJD", 3), ("QUJDRA==", 4), ("QUJDREVG", 6)]
        {
            let text =
                format!("[a/b, {bytes} bytes: not shown, the provider does not accept this type of file]");
            assert_eq!(omitted_file_text("a/b", data), text);
        }
    }

    #[test]
    fn a_failure_is_known_as_an_error_by_its_text() {
        let of = |outcome: Result<ToolOutput, ToolError>| ToolResult::new("1".into(), "t", outcome);
        let prefixed = |result: &ToolResult, text: &str| {
            with_error_prefix(vec![text.to_owned(), "b".to_owned()], result)
        };
        for kind in [
            ErrorKind::Failed,
            ErrorKind::NotFound,
            ErrorKind::BadParameter,
            ErrorKind::NotImplemented,
            ErrorKind::Conflict,
            ErrorKind::Internal,
        ] {
            let result = of(Err(ToolError::new(kind, "x")));
            assert_eq!(prefixed(&result, "a"), "Error: a\nb", "{kind:?}");
            for sign in ["error: a", "Error", "ERRORS", "err"] {
                let expected = if sign == "err" { "Error: err\nb".to_owned() } else { format!("{sign}\nb") };
                assert_eq!(prefixed(&result, sign), expected);
            }
        }
        for other in [
            of(Err(ToolError::new(ErrorKind::TimedOut, "x"))),
            of(Err(ToolError::new(ErrorKind::InvalidArguments, "x"))),
            of(Ok(ToolOutput::from("a"))),
        ] {
            assert_eq!(prefixed(&other, "a"), "a\nb");
        }
        assert_eq!(prefixed(&of(Ok(ToolOutput::from("a").as_failure())), "a"), "Error: a\nb");
        assert_eq!(prefixed(&of(Ok(ToolOutput::from("a").as_failure())), "éé"), "Error: éé\nb");
    }
}
