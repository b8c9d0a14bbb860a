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
    let is_home = matches!(word.trim_end_matches('/'), "~" | "$HOME" | "${HOME" | "$HOME/");
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
