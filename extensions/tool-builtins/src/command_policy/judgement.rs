//! The verdict on a text.

use tool_runtime::{definition::Permission, policy::Escape};

use super::{
    CommandPolicy,
    danger::{interprets_argument_as_shell, runs_or_redefines_commands},
    parse::{MAX_DEPTH, parse_script},
    pattern::{CommandPattern, Restriction},
    script::{Redirection, ShellScript, SimpleCommand},
};

/// The maximum number of characters of a command that a message shows.
const MAX_SHOWN_CHARS: usize = 160;

impl CommandPolicy {
    pub(super) fn judge_shell_text(&self, text: &str) -> Permission {
        if text.len() > Self::MAX_COMMAND_BYTES {
            return Permission::ask(format!(
                "the command is unclear: it has {} bytes, and only {} are read; split it",
                text.len(),
                Self::MAX_COMMAND_BYTES
            ));
        }
        let script = parse_script(text, 0);
        if let Some((command, rule)) = self.find_denied_command(&script, 0) {
            return Permission::deny(format!("`{command}` is denied by the rule `{}`", rule.source()));
        }
        match self.reason_to_ask(&script) {
            Some(reason) => Permission::ask(reason),
            None => Permission::Allow,
        }
    }

    /// The first command that a rule clearly denies, also one in the arguments of a shell.
    fn find_denied_command<'a>(
        &'a self,
        script: &ShellScript,
        depth: usize,
    ) -> Option<(String, &'a CommandPattern)> {
        script.commands.iter().chain(&script.redirections_as_commands()).find_map(|command| {
            let is_denied = |rule: &&CommandPattern| rule.restriction_of(command) == Restriction::Certain;
            match self.denied.iter().find(is_denied) {
                Some(rule) => Some((escaped_excerpt(&command.source), rule)),
                None if interprets_argument_as_shell(command.program_name()) && depth < MAX_DEPTH => {
                    let mut texts = command.words.iter().skip(1).map(|word| word.text.as_str());
                    texts.find_map(|text| self.find_denied_command(&parse_script(text, depth + 1), depth + 1))
                }
                None => None,
            }
        })
    }

    fn reason_to_ask(&self, script: &ShellScript) -> Option<String> {
        if let Some(doubt) = script.doubts.first() {
            return Some(format!(
                "the command is unclear: `{}` {}",
                escaped_excerpt(&doubt.source),
                doubt.what
            ));
        }
        if script.commands.is_empty() {
            return Some("the command is unclear: it runs no program".to_owned());
        }
        let changes_folder = script.commands.iter().any(SimpleCommand::changes_folder);
        let is_moved = |command: &&SimpleCommand| changes_folder && command.depends_on_folder();
        if let Some(command) = script.commands.iter().find(is_moved) {
            let name = escaped_excerpt(&command.source);
            return Some(format!(
                "`{name}` is unclear: another folder may have programs and settings of its own"
            ));
        }
        let redirections = script.redirections.iter();
        let reason = redirections
            .filter_map(|redirection| self.reason_redirection_not_allowed(redirection, changes_folder))
            .next();
        reason
            .or_else(|| {
                script.redirections_as_commands().iter().find_map(|command| self.restriction_reason(command))
            })
            .or_else(|| script.commands.iter().find_map(|command| self.reason_not_allowed(command)))
    }

    /// The reason why a rule asks for a command, if one does.
    fn restriction_reason(&self, command: &SimpleCommand) -> Option<String> {
        let name = escaped_excerpt(&command.source);
        if let Some(rule) = self.denied.iter().find(|rule| rule.restriction_of(command) != Restriction::None)
        {
            return Some(format!("`{name}` may be what the rule `{}` denies", rule.source()));
        }
        let rule = self.asked.iter().find(|rule| rule.restriction_of(command) != Restriction::None)?;
        Some(format!("the rule `{}` asks for `{name}`", rule.source()))
    }

    /// The reason why a command is not allowed, if it is not.
    fn reason_not_allowed(&self, command: &SimpleCommand) -> Option<String> {
        if let Some(reason) = self.restriction_reason(command) {
            return Some(reason);
        }
        let name = escaped_excerpt(&command.source);
        if self.allowed.iter().any(|rule| rule.allows(command)) {
            return None;
        }
        let expansion = command.words.iter().find_map(|word| word.expansion);
        Some(match expansion {
            _ if runs_or_redefines_commands(command.program_name()) => {
                format!(
                    "`{name}` is unclear: `{}` runs other commands, or changes how they are found",
                    command.program_name()
                )
            }
            Some(expansion) => format!("`{name}` is unclear: a word contains {expansion}"),
            None => format!("no rule allows `{name}`"),
        })
    }

    fn reason_redirection_not_allowed(
        &self,
        redirection: &Redirection,
        changes_folder: bool,
    ) -> Option<String> {
        let path = redirection.path.as_str();
        if path == "/dev/null" {
            return None;
        }
        let name = escaped_excerpt(path);
        if redirection.writes && !self.allows_writes {
            return Some(format!(
                "`{name}` would be written, and the policy allows no redirection that writes"
            ));
        }
        let is_below = match path.strip_prefix('/') {
            None => !changes_folder && !path.is_empty(),
            Some(_) => self.folder.as_ref().is_some_and(|folder| {
                path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
            }),
        };
        let is_lexically_below = is_below && path.split('/').all(|part| part != "..");
        (!is_lexically_below)
            .then(|| format!("the redirection to `{name}` leaves the folder, or may leave it"))
    }
}

/// A text of a model in a message.
fn escaped_excerpt(text: &str) -> String {
    Escape::LINE.at_most(MAX_SHOWN_CHARS).text(text)
}
