//! The approval question for a call.
//!
//! The arguments come first and the question last, on a line of its own with no text of others but the name of the tool:
//! arguments can neither imitate the question nor push it off the screen. Shortened arguments can be shown in full before
//! the answer.

use std::{io, sync::Arc};

use tool_runtime::policy::{ApprovalCause, ApprovalRequest, Escape};

use crate::{
    flags::object_members,
    keyboard::Keyboard,
    page::{Page, TextStyle},
    sanitize::escaped_line,
    stderr::write_stderr,
};

/// The limit of all arguments, in characters; less than a screen.
const MAX_ALL_ARGUMENTS_CHARS: usize = 1000;
/// The limit of one argument, in characters.
const MAX_ARGUMENT_CHARS: usize = 240;
/// The limit of the name of an argument, in characters.
const MAX_ARGUMENT_NAME_CHARS: usize = 60;
/// The limit of arguments.
const MAX_ARGUMENTS: usize = 12;

/// A question with the arguments of the call.
pub(crate) struct ApprovalQuestion {
    brief: Page,
    /// The text in full, if it is longer.
    full: Option<Page>,
}

impl ApprovalQuestion {
    /// Creates the question of `request`; `page` is empty.
    pub(crate) fn new(request: &ApprovalRequest, page: &Page) -> Self {
        let brief = question_page(request, page.clone(), false);
        let full = question_page(request, page.clone(), true);
        let is_brief = brief.as_str() == full.as_str();
        let asked = |mut page: Page, more: &str| {
            let name = escaped_line(&request.call.name);
            let what = if request.cause == ApprovalCause::Tool { "Answer yes to" } else { "Run" };
            page.add_styled_text(TextStyle::Name, &format!("{what} `{name}`?"))
                .add(&format!(" [y/N{more}] "));
            page
        };
        if is_brief {
            return Self { brief: asked(brief, ""), full: None };
        }
        Self { brief: asked(brief, "; all = show everything"), full: Some(asked(full, "")) }
    }

    /// Asks at the terminal, which is [open](crate::stderr::SharedStderr::open_question), and waits. Returns `true` if the answer is yes.
    ///
    /// # Errors
    ///
    /// If the standard input cannot be read.
    pub(crate) async fn ask(&self, keyboard: &Arc<Keyboard>) -> io::Result<bool> {
        // Keys that were pressed before the question.
        keyboard.discard_input();
        write_stderr(self.brief.as_str());
        loop {
            let line = keyboard.read_line().await?.unwrap_or_default();
            if !line.ends_with('\n') {
                write_stderr("\n");
            }
            match (line.trim().to_lowercase().as_str(), &self.full) {
                ("y" | "yes", _) => return Ok(true),
                ("all", Some(full)) => write_stderr(full.as_str()),
                _ => return Ok(false),
            }
        }
    }
}

/// The call with the hint of its tool; `in_full` without limits.
fn question_page(request: &ApprovalRequest, mut page: Page, in_full: bool) -> Page {
    let name = escaped_line(&request.call.name);
    page.add("The call of ").add_styled_text(TextStyle::Name, &format!("`{name}`")).add(
        match request.cause {
            ApprovalCause::Tool => " asks:\n",
            _ => " requires approval:\n",
        },
    );
    let shown = |text: &str, most: usize| {
        let how = if in_full { Escape::LINE } else { Escape::LINE.at_most(most) };
        how.text(text)
    };
    // A tool that always requires confirmation has no hint of its own.
    if request.cause != ApprovalCause::Confirmation {
        page.add(&format!("  {}\n", shown(&request.hint, MAX_ARGUMENT_CHARS)));
    }
    let mut room = MAX_ALL_ARGUMENTS_CHARS;
    let mut member = |name: &str, value: &str| {
        let line = format!(
            "  {}: {}\n",
            shown(name, MAX_ARGUMENT_NAME_CHARS),
            shown(value, MAX_ARGUMENT_CHARS.min(room))
        );
        room = room.saturating_sub(line.chars().count());
        page.add(&line);
    };
    let text = request.call.arguments.as_str();
    match object_members(text) {
        Some(members) => {
            let count = members.len();
            let most = if in_full { count } else { MAX_ARGUMENTS };
            for (name, value) in members.iter().take(most) {
                member(name, value.get());
            }
            if count > most {
                page.add(&format!("  [{} more arguments]\n", count - most));
            }
        }
        None => member("arguments", text),
    }
    if !request.payload.is_null() {
        page.add(&format!("  Details: {}\n", shown(&request.payload.to_string(), MAX_ARGUMENT_CHARS)));
    }
    page
}
