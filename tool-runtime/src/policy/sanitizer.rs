//! Results that somebody else has written.

use std::ops::ControlFlow;

use tool_core::{Content, Running, ToolError};

use crate::{CallView, Hook, ToolResult};

/// Takes out of results what a person would not see and a model would read, and says whose words they
/// are.
///
/// A tool that says `trust = "…"` of itself, and not `"trusted"`, has its text cleaned: control
/// characters and escape sequences for terminals, invisible characters, characters that turn the direction
/// of text. The text then stands between two lines that name the tool and its trust; pictures and sounds
/// stay, documents and their addresses do not. That makes an
/// injected instruction easier to tell from the program's own words; it does not make it harmless.
///
/// # Examples
///
/// ```
/// use tool_runtime::Sanitizer;
///
/// assert_eq!(Sanitizer::clean("a\u{1b}[31mb\u{200b}c\u{e0041}\n"), "abc\n");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Sanitizer;

impl Sanitizer {
    /// `text` without what nobody sees.
    #[must_use]
    pub fn clean(text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            match character {
                '\u{1b}' => skip_escape(&mut rest),
                '\n' | '\t' => clean.push(character),
                _ if character.is_control() || is_invisible(character) => {}
                _ => clean.push(character),
            }
        }
        clean
    }

    /// `text` on one line, with all that cannot be seen in it written out: for a person who decides by it, and
    /// from whom those who wrote it may want to hide something.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::Sanitizer;
    ///
    /// assert_eq!(Sanitizer::reveal("pay\u{200b} Bob\n"), r"pay\u{200b} Bob\u{a}");
    /// ```
    #[must_use]
    pub fn reveal(text: &str) -> String {
        let mut plain = String::with_capacity(text.len());
        for character in text.chars() {
            if is_unseen(character) {
                plain.extend(character.escape_unicode());
            } else {
                plain.push(character);
            }
        }
        plain
    }
}

/// Passes over what follows an escape: a sequence that ends with a letter, or a text up to its end.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            for character in rest.by_ref() {
                if ('@'..='~').contains(&character) {
                    break;
                }
            }
        }
        Some(']') => {
            // Up to the bell, or to an escape and a backslash; without either, only this much is taken.
            let mut end = ahead.clone();
            while let Some(character) = end.next() {
                match character {
                    '\u{7}' => {
                        *rest = end;
                        return;
                    }
                    '\u{1b}' if end.clone().next() == Some('\\') => {
                        end.next();
                        *rest = end;
                        return;
                    }
                    '\n' => break,
                    _ => {}
                }
            }
            *rest = ahead;
        }
        _ => {}
    }
}

/// Characters without width or with an effect on others only: Unicode's format characters, tags and fillers.
/// Joiners inside words and emoji are kept: texts are wrong without them.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{115f}' | '\u{1160}'
            | '\u{3164}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Controls, what changes the direction of a text or has no width, and what looks like a space and is another.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

impl Hook for Sanitizer {
    fn after<'a>(
        &'a self,
        call: &'a CallView<'a>,
        result: &'a mut ToolResult,
    ) -> Running<'a, Result<ControlFlow<()>, ToolError>> {
        let trust = call.definition().and_then(|definition| definition.metadata().trust.as_deref());
        if let Some(trust) = trust.filter(|trust| *trust != "trusted") {
            let tool = call.tool();
            // What pretends to be the end is not.
            let words = Sanitizer::clean(&result.words()).replace("</output", "<\\/output");
            // An error without words of the tool is told in those of the framework.
            if result.outcome.is_ok() || !words.is_empty() {
                let words = format!("<output tool=\"{tool}\" trust=\"{trust}\">\n{words}\n</output>");
                let shows = |block: &Content| matches!(block, Content::Image { .. } | Content::Audio { .. });
                result.reword(words, shows);
            }
        }
        Box::pin(std::future::ready(Ok(ControlFlow::Continue(()))))
    }
}
