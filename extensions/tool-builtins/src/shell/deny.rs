//! Commands that are refused because they are mistakes.
//!
//! A guard rail and no sandbox: the same command has other spellings.

/// The reason for which `command` is refused, if it is.
pub(super) fn reason_to_deny_command(command: &str, own_patterns: &[String]) -> Option<String> {
    if let Some(pattern) = own_patterns.iter().find(|pattern| command.contains(pattern.as_str())) {
        return Some(format!("it contains `{pattern}`"));
    }
    if is_fork_bomb(command) {
        return Some("it is a fork bomb".to_owned());
    }
    // The braces of the variable are no group.
    let command = command.replace("${HOME}", "$HOME");
    command.split([';', '|', '&', '\n', '(', ')', '{', '}', '`']).find_map(reason_to_deny_single_command)
}

fn reason_to_deny_single_command(command: &str) -> Option<String> {
    let unquoted = command.replace(['"', '\'', '\\'], "");
    let is_prefix =
        |word: &&str| matches!(*word, "sudo" | "command" | "exec" | "nohup" | "env") || word.contains('=');
    let mut words = unquoted.split_whitespace().skip_while(is_prefix);
    let program = words.next()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let arguments: Vec<&str> = words.collect();
    if name == "mkfs" || name.starts_with("mkfs.") {
        return Some("it makes a file system".to_owned());
    }
    if name == "dd" && arguments.iter().any(|word| is_write_to_device(word)) {
        return Some("it writes to a device".to_owned());
    }
    if name == "rm" && has_recursive_flag(&arguments) && arguments.iter().any(|word| is_root_or_home(word)) {
        return Some("it removes the root or the home folder".to_owned());
    }
    None
}

fn is_write_to_device(word: &str) -> bool {
    let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr"];
    word.strip_prefix("of=").is_some_and(|target| target.starts_with("/dev/") && !harmless.contains(&target))
}

fn has_recursive_flag(arguments: &[&str]) -> bool {
    let has_flag = |word: &str| !word.starts_with("--") && word.starts_with('-') && word.contains(['r', 'R']);
    arguments.iter().any(|word| *word == "--recursive" || has_flag(word))
}

/// The root of the file system or of the user's home, in the spellings of an accident.
fn is_root_or_home(word: &str) -> bool {
    let word = word.trim_end_matches('*').trim_end_matches('.');
    let is_home = matches!(word.trim_end_matches('/'), "~" | "$HOME");
    is_home || (!word.is_empty() && word.chars().all(|letter| letter == '/'))
}

/// A function that starts itself twice, as in `:(){ :|:& };:`.
fn is_fork_bomb(command: &str) -> bool {
    let dense: String = command.chars().filter(|letter| !letter.is_whitespace()).collect();
    dense.match_indices("(){").any(|(place, opening)| {
        let before = &dense[..place];
        let start = before.rfind([';', '&', '|', '{', '(']).map_or(0, |separator| separator + 1);
        let name = before[start..].trim_start_matches("function");
        let body = &dense[place + opening.len()..];
        !name.is_empty() && body.starts_with(&format!("{name}|{name}&"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(command: &str) -> Option<String> {
        reason_to_deny_command(command, &["git push".to_owned(), "curl".to_owned()])
    }

    #[test]
    fn a_command_that_is_a_mistake_is_refused_with_its_reason() {
        for (reason_text, commands) in [
            ("it contains `git push`", &["git push", "ls; git push origin", "curl; git push"][..]),
            ("it contains `curl`", &["echo curl"]),
            (
                "it is a fork bomb",
                &[
                    ":(){ :|:& };:",
                    "bomb() {\n bomb | bomb &\n}",
                    "ls; b(){ b|b& };b",
                    "ls & b ( ) { b|b& }",
                    "ls | b(){ b|b&}",
                    "{ b(){ b|b&};}",
                    "(b(){ b|b&})",
                    "function b() { b | b & }",
                    "a() { ls; }; b() { b|b& }",
                ],
            ),
            (
                "it makes a file system",
                &[
                    "mkfs image",
                    "mkfs.ext4 image",
                    "/sbin/mkfs -t ext4 image",
                    "ls && sudo env A=b mkfs image",
                    "'mk'fs x",
                ],
            ),
            (
                "it writes to a device",
                &[
                    "dd if=a of=/dev/sda",
                    "ls | nohup dd of=/dev/sda",
                    "(exec dd of=/dev/mem bs=1)",
                    "A=b command dd of=/dev/sda",
                ],
            ),
            (
                "it removes the root or the home folder",
                &[
                    "rm -rf /",
                    "rm -R /",
                    "rm --recursive -f a //",
                    "rm -rf /*",
                    "rm -rf /.",
                    "rm -fr ~",
                    "rm -r ~/",
                    "rm -rf ~/*",
                    "rm -rf $HOME",
                    "rm -rf \"$HOME/\"",
                    "rm -rf ${HOME}",
                    "rm -rf \"${HOME}\"/*",
                    "ls `rm -r /`",
                    "{ rm / -r; }",
                ],
            ),
        ] {
            for command in commands {
                assert_eq!(reason(command).as_deref(), Some(reason_text), "{command}");
            }
        }
    }

    #[test]
    fn a_command_that_is_like_a_mistake_is_not_refused() {
        for command in [
            "",
            "git pull",
            "mkfsx image",
            "echo mkfs.ext4",
            "dd if=/dev/sda of=image",
            "dd of=/dev/null",
            "dd of=/dev/stdout if=a",
            "dd of=/dev/stderr",
            "dd of=dev/sda",
            "cat of=/dev/sda",
            "rm -f /",
            "rm --force /",
            "rm --interactive /",
            "rm r /",
            "rm -rf a/",
            "rm -rf .",
            "rm -rf *",
            "rm -rf /a",
            "rm -rf ~a",
            "rm -rf $HOMES",
            "ls -r /",
            "f() { f | g & }",
            "f() { g | g & }",
            "() { |& }",
            "f() { f | f; }",
            "f()",
        ] {
            assert_eq!(reason(command), None, "{command}");
        }
    }
}
