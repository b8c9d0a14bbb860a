//! Patterns of simple commands.

use std::fmt;

use super::{
    danger::{may_run_program_by_option, runs_or_redefines_commands, wrapped_command_positions},
    script::{ShellWord, SimpleCommand, base_name},
};

/// A rule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCommandRule(String);

impl fmt::Display for InvalidCommandRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidCommandRule {}

/// The words of a command, and what may follow them.
#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    source: String,
    /// At least one.
    words: Vec<WordPattern>,
    rest: RestPattern,
}

/// The arguments behind the words of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestPattern {
    None,
    /// `*`: any that are written out.
    Plain,
    /// `**`: any, also with expansions.
    Any,
}

/// The characters of a word; `None` is a `*`.
#[derive(Debug, Clone)]
struct WordPattern(Vec<Option<char>>);

/// The result of comparing a command with a rule that restricts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Restriction {
    None,
    /// The words stand in the command, with others between them, or may come out of an expansion.
    Possible,
    Certain,
}

impl CommandPattern {
    pub(super) fn new(source: &str) -> Result<Self, InvalidCommandRule> {
        let mut words = parse_word_patterns(source)?;
        let rest = match words.last().map(|word| word.0.as_slice()) {
            Some([None]) => RestPattern::Plain,
            Some([None, None]) => RestPattern::Any,
            _ => RestPattern::None,
        };
        if rest != RestPattern::None {
            words.pop();
        }
        if words.is_empty() {
            return Err(InvalidCommandRule(format!(
                "the rule `{source}` names no command; begin with the name of a program, such as `git status`"
            )));
        }
        Ok(Self { source: source.to_owned(), words, rest })
    }

    /// A pattern of commands that are allowed.
    pub(super) fn new_for_allowing(source: &str) -> Result<Self, InvalidCommandRule> {
        let pattern = Self::new(source)?;
        let Some(name) = pattern.words.first().and_then(WordPattern::literal_text) else {
            return Err(InvalidCommandRule(format!(
                "the rule `{source}` allows programs of several names; write one rule for each name"
            )));
        };
        let has_star = pattern.rest != RestPattern::None
            || pattern.words.iter().any(|word| word.literal_text().is_none());
        if has_star && runs_or_redefines_commands(base_name(&name)) {
            return Err(InvalidCommandRule(format!(
                "the rule `{source}` allows any command, because `{name}` runs others or changes how the shell finds \
                 them; write all words, without `*`"
            )));
        }
        Ok(pattern)
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Returns `true` if the rule admits the command.
    pub(super) fn allows(&self, command: &SimpleCommand) -> bool {
        let Some((fixed, rest)) = command.words.split_at_checked(self.words.len()) else { return false };
        let is_fixed = |(pattern, word): (&WordPattern, &ShellWord)| {
            word.has_no_expansion() && pattern.matches_exactly(&word.text)
        };
        self.words.iter().zip(fixed).all(is_fixed)
            && match self.rest {
                RestPattern::None => rest.is_empty(),
                RestPattern::Plain => rest.iter().all(ShellWord::has_no_expansion),
                RestPattern::Any => true,
            }
            && !may_run_program_by_option(command, self.literal_word_count())
    }

    /// The number of words at the begin that the rule spells out.
    fn literal_word_count(&self) -> usize {
        self.words.iter().take_while(|word| word.literal_text().is_some()).count()
    }

    /// Compares the command with a rule that denies, or asks for, commands. Case is ignored, and so is the folder of
    /// the program, since both may name the same one.
    pub(super) fn restriction_of(&self, command: &SimpleCommand) -> Restriction {
        let words = &command.words;
        if self.matches_at(words, 0) {
            return Restriction::Certain;
        }
        if wrapped_command_positions(command).into_iter().any(|start| self.matches_at(words, start)) {
            return Restriction::Certain;
        }
        let is_wrapped =
            runs_or_redefines_commands(command.program_name()) || may_run_program_by_option(command, 0);
        let is_possible = self.occurs_in_order(words, !is_wrapped);
        if is_possible { Restriction::Possible } else { Restriction::None }
    }

    /// Returns `true` if the command at `start` clearly has the words of the pattern.
    fn matches_at(&self, words: &[ShellWord], start: usize) -> bool {
        let Some(words) = words.get(start..) else { return false };
        let Some((fixed, rest)) = words.split_at_checked(self.words.len()) else { return false };
        self.words.iter().zip(fixed).enumerate().all(|(at, (pattern, word))| {
            let text = if at == 0 { base_name(&word.text) } else { &word.text };
            word.has_no_expansion()
                && (pattern.matches_ignoring_case(text) || pattern.matches_ignoring_case(&word.text))
        }) && (self.rest != RestPattern::None || rest.is_empty())
    }

    /// Returns `true` if the words of the pattern stand in `words` in their order, with others between them. A word with
    /// an expansion may be any number of words.
    fn occurs_in_order(&self, words: &[ShellWord], starts_with_first: bool) -> bool {
        let mut patterns = self.words.iter().enumerate().peekable();
        for (at, word) in words.iter().enumerate() {
            let Some((index, pattern)) = patterns.peek() else { break };
            if !word.has_no_expansion() {
                return true;
            }
            let text = if *index == 0 { base_name(&word.text) } else { &word.text };
            if pattern.matches_ignoring_case(text) || pattern.matches_ignoring_case(&word.text) {
                patterns.next();
            } else if at == 0 && starts_with_first {
                return false;
            }
        }
        patterns.peek().is_none()
    }
}

impl WordPattern {
    /// The word, if it has no `*`.
    fn literal_text(&self) -> Option<String> {
        self.0.iter().copied().collect()
    }

    fn matches_exactly(&self, text: &str) -> bool {
        self.matches_by(text, |pattern, c| pattern == c)
    }

    fn matches_ignoring_case(&self, text: &str) -> bool {
        self.matches_by(text, |pattern, c| pattern.eq_ignore_ascii_case(&c))
    }

    /// Compares from the left; only the last `*` is tried again, so that the time is at most the product of both lengths.
    fn matches_by(&self, text: &str, is_equal: impl Fn(char, char) -> bool) -> bool {
        let (mut pattern, mut rest) = (self.0.as_slice(), text.chars());
        let mut retry: Option<(&[Option<char>], std::str::Chars<'_>)> = None;
        loop {
            let mut after = rest.clone();
            match (pattern.split_first(), after.next()) {
                (Some((None, behind)), _) => {
                    retry = Some((behind, rest.clone()));
                    pattern = behind;
                    continue;
                }
                (Some((Some(expected), behind)), Some(c)) if is_equal(*expected, c) => {
                    (pattern, rest) = (behind, after);
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            let Some((behind, mut skipped)) = retry else { return false };
            if skipped.next().is_none() {
                return false;
            }
            retry = Some((behind, skipped.clone()));
            (pattern, rest) = (behind, skipped);
        }
    }
}

/// Splits a rule at blanks. Quotes keep blanks and `*` as they stand.
fn parse_word_patterns(source: &str) -> Result<Vec<WordPattern>, InvalidCommandRule> {
    let invalid = |problem: &str| {
        InvalidCommandRule(format!(
            "the rule `{source}` {problem}; write the words of one command, such as `git status`"
        ))
    };
    let mut words = Vec::new();
    let mut word: Option<Vec<Option<char>>> = None;
    let mut quote = None;
    for c in source.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(Some(c)),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take().map(WordPattern)),
            (None, '*') => word.get_or_insert_default().push(None),
            (None, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '$' | '`' | '\\' | '\n' | '\t') => {
                return Err(invalid("contains an operator of the shell"));
            }
            (None, c) => word.get_or_insert_default().push(Some(c)),
        }
    }
    words.extend(word.take().map(WordPattern));
    if quote.is_some() { Err(invalid("has a quote without an end")) } else { Ok(words) }
}
