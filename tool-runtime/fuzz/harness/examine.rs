//! The properties that must hold for every input; a violation panics.

use std::{cell::RefCell, sync::LazyLock};

use tool_runtime::{
    ErrorKind, Executor, ToolCall, ToolError, ToolOutput,
    hook::{Before, BeforeCall, Hook},
    schema::{Arguments, Violation, Violations},
    serde::de::IgnoredAny,
    serde_json::{self, Number, Value},
};

use super::{
    Input, now,
    tools::{Case, REGISTRY, REPAIRING, STRICT, runs},
    tree::{Tree, is_integer},
};

/// The stage that an input reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reached {
    /// The text is not JSON.
    Text,
    /// The text is JSON, but does not decode to typed values.
    Json,
    /// The text decoded to typed values, and the tool ran.
    Decoded,
}

/// Checks all properties for `input`.
pub(crate) fn examine(input: &Input<'_>) -> Reached {
    let Input { case, text } = input;
    let checked = REGISTRY.check(case.name, &**text);
    strictly(case, text, &checked);
    let (called, ran) = counted(|| input.call());
    if let Err(error) = &called {
        assert_eq!(ran, 0, "a refused call ran: {error:?}");
        assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{error:?}");
        assert!(error.feedback().ends_with("\nNothing was executed."), "{}", error.feedback());
        bounded(error);
    }
    let document = Document::of(case, text);
    if document.is_odd() {
        return if called.is_ok() { Reached::Decoded } else { Reached::Json };
    }
    repaired(case, text, &document, &checked);
    match (checked, called) {
        (Ok(fit), Ok(output)) => {
            assert_eq!(ran, 1, "the tool runs once");
            assert!(!document.repeats_a_name(), "a repeated name was lost: {text}");
            fits(&document, &fit, &output);
            if fit.corrections().is_empty()
                && document.has_plain_numbers()
                && let Ok(plain) = (case.again)(text)
                && !keeps_digits()
            {
                assert_eq!(plain, output.text(), "serde_json reads what was sent otherwise: {text}");
            }
            prepared(case, text, &output);
            judged(case, text, &output);
            return Reached::Decoded;
        }
        (Ok(fit), Err(error)) => {
            assert!(!case.reads_all, "the schema admits what the type does not read: {error}");
            assert!((case.again)(fit.as_str()).is_err(), "serde_json reads it: {error}");
            document.explains(&error);
        }
        (Err(refused), Err(error)) => {
            assert_eq!(refused.violations(), error.violations());
            assert_eq!(refused.feedback(), error.feedback(), "the check says what the call says");
            document.explains(&error);
        }
        (Err(refused), Ok(_)) => panic!("a call ran that the check refuses: {refused}"),
    }
    if document.is_json() { Reached::Json } else { Reached::Text }
}

/// Checks that a report does not exceed its limits.
fn bounded(error: &ToolError) {
    let report = error.report();
    assert!(report.len() <= Violations::LISTED, "{} are listed", report.len());
    assert!(report.len() == report.total() || report.len() == Violations::LISTED, "{report:?}");
    for Violation { pointer, expected, received, .. } in report.iter() {
        for part in [pointer, expected, received] {
            assert!(part.chars().count() <= 200, "a part has {} characters: {part}", part.chars().count());
        }
    }
    let feedback = error.feedback();
    assert!(feedback.len() <= 8 * 1024, "it is {} bytes long: {feedback}", feedback.len());
    let shown = feedback.lines().filter(|line| line.starts_with("- ") && !line.starts_with("- and ")).count();
    let rest = report.total() - shown.max(1).min(report.total());
    let is_counted = rest == 0 || feedback.contains(&format!("\n- and {} more", grouped(rest)));
    assert!(is_counted, "{rest} of {} are missing: {feedback}", report.total());
}

/// Formats a count like a report, with thousands separators.
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// Checks that a strict registry refuses exactly those calls that a lenient one corrects.
fn strictly(case: &Case, text: &str, lenient: &Result<Arguments<'_>, ToolError>) {
    match (STRICT.check(case.name, text), lenient) {
        (Ok(strict), Ok(lenient)) => {
            assert!(lenient.corrections().is_empty(), "what fits is not corrected: {lenient:?}");
            assert_eq!(strict.as_str(), lenient.as_str());
        }
        (Err(_), Ok(lenient)) => assert!(!lenient.corrections().is_empty(), "only corrections are refused"),
        (Err(strict), Err(lenient)) => assert_eq!(strict.feedback(), lenient.feedback()),
        (Ok(_), Err(lenient)) => panic!("it is too strict: {lenient}"),
    }
}

/// Checks that valid JSON is not repaired, and that repaired text is valid.
fn repaired(case: &Case, text: &str, document: &Document<'_>, checked: &Result<Arguments<'_>, ToolError>) {
    match (REPAIRING.check(case.name, text), checked) {
        (Ok(repaired), Ok(checked)) => assert_eq!(repaired, *checked),
        (Err(repaired), Err(checked)) if document.is_json() => {
            assert_eq!(repaired.feedback(), checked.feedback());
        }
        (Err(repaired), Err(_)) => assert_eq!(repaired.kind(), ErrorKind::InvalidArguments),
        (Ok(repaired), Err(checked)) => {
            assert!(!document.is_json(), "JSON was repaired: {checked}");
            assert!(!repaired.corrections().is_empty(), "it was repaired in silence: {repaired:?}");
            let again = STRICT.check(case.name, repaired.as_str());
            again.unwrap_or_else(|error| panic!("what was repaired does not fit: {error}"));
        }
        (Err(repaired), Ok(_)) => panic!("it was broken: {repaired}"),
    }
}

/// Checks the canonical text of a call that succeeded with `output`.
fn fits(document: &Document<'_>, fit: &Arguments<'_>, output: &ToolOutput) {
    let case = document.case;
    let text = fit.as_str();
    assert_eq!(fit.corrections(), output.corrections(), "both say what was corrected");
    if case.has_secret {
        assert!(fit.corrections().iter().all(|it| it.from == "a value that is hidden"), "{fit:?}");
    }
    let again = STRICT.check(case.name, text).unwrap_or_else(|error| panic!("it fits no more: {error}"));
    // A tool that rewrites its arguments does so each time.
    if REGISTRY.get(case.name).unwrap().prepare_arguments().is_none() {
        assert_eq!(again.as_str(), text, "what fits is left as it is");
    }
    let value = serde_json::from_str::<Value>(text);
    assert!(value.is_ok(), "what fits is JSON: {text}");
    let (called, ran) = counted(|| now(REGISTRY.call(case.name, text)));
    let called = called.unwrap_or_else(|error| panic!("what fits is refused: {error}"));
    assert_eq!(ran, 1, "what fits runs once");
    if !case.keeps_text || !document.has_wide_integers() {
        assert_eq!(called.text(), output.text(), "what fits means what was sent");
    }
    match (case.again)(text) {
        _ if keeps_digits() => {}
        Ok(plain) => assert_eq!(plain, called.text(), "serde_json reads it otherwise: {text}"),
        // A schema that is wider than the type keeps `1e2`, which `serde_json` does not read as an integer;
        // nor does it read a key with escapes as a number.
        Err(error) => {
            assert!(!case.reads_all || text.contains("\\u"), "serde_json does not read it: {error}")
        }
    }
}

/// Returns `true` if `serde_json` keeps the spelling of numbers, so that its numbers differ from those of tools.
fn keeps_digits() -> bool {
    serde_json::from_str::<Number>("1e400").is_ok()
}

/// Checks that preparing and running a call separately gives the same result as the whole call.
fn prepared(case: &Case, text: &str, output: &ToolOutput) {
    let tool = REGISTRY.get(case.name).unwrap();
    if !tool.holds_arguments() || tool.prepare_arguments().is_some() {
        return;
    }
    let cx = REGISTRY.context_for(case.name).unwrap();
    let prepared = tool
        .prepare(Arguments::from(text).lenient(true))
        .unwrap_or_else(|error| panic!("not prepared: {error}"));
    let (halves, ran) = counted(|| now(prepared.run(&cx)));
    assert_eq!((&halves.unwrap(), ran), (output, 1), "two halves are the whole");
}

/// Checks that hooks see the arguments of the tool: the text that a hook sees is its own canonical text, and
/// calling the tool with it gives the same result.
pub(crate) fn judged(case: &Case, text: &str, output: &ToolOutput) {
    let run = |text: &str| {
        let outcomes = now(JUDGED.run(vec![ToolCall::new(case.name, text.to_owned())]));
        let result = outcomes[0].result().unwrap_or_else(|| panic!("no result of {text}"));
        (result.text().into_owned(), SEEN.take())
    };
    let (given, seen) = run(text);
    let tree = Tree::read(&seen).unwrap_or_else(|| panic!("what was judged is not JSON: {seen}"));
    // Nested values of any type may have any names.
    let is_alias = |name: &str| case.other_names.iter().any(|(alias, _)| *alias == name);
    if let Tree::Object(properties) = &tree {
        let hides = properties.iter().any(|(name, _)| is_alias(&Tree::name(name)));
        assert!(!hides, "a name hides another one: {text}\n{seen}");
    }
    let plain = now(REGISTRY.call(case.name, seen.as_str()))
        .unwrap_or_else(|error| panic!("{text}\n{seen}\n{error}"));
    let is_rewriting = REGISTRY.get(case.name).unwrap().prepare_arguments().is_some();
    if !is_rewriting {
        assert_eq!(plain.text(), given, "what was judged is not what ran: {text}\n{seen}");
        assert_eq!(run(&seen), (given.clone(), seen.clone()), "{text}");
    }
    // Spellings of zero, and numbers of values that keep their spelling, may differ.
    let spelled = |text: &str| floats(text).replace(".0", "").replace("-0", "0");
    if !case.keeps_text {
        assert_eq!(spelled(&given), spelled(&output.text()), "it is another call: {text}\n{seen}");
    }
}

/// Writes the numbers of values as floats: a large one may be an integer or a float, depending on its spelling.
fn floats(text: &str) -> String {
    let mut parts = text.split("Number(");
    let mut floats = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(')').unwrap_or((part, ""));
        let number = number.parse().map_or_else(|_| number.to_owned(), |float: f64| format!("{float:?}"));
        floats.push_str(&format!("Number({number}){rest}"));
    }
    floats
}

thread_local! {
    /// The arguments that the hook saw last.
    static SEEN: RefCell<String> = const { RefCell::new(String::new()) };
}

/// An executor with a hook that records the arguments of all calls.
static JUDGED: LazyLock<Executor> =
    LazyLock::new(|| Executor::builder(REGISTRY.clone()).hook(Judge).build().unwrap());

struct Judge;

impl Hook for Judge {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        SEEN.set(call.arguments().as_str().to_owned());
        Ok(Before::Continue)
    }
}

fn counted<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let before = runs();
    let result = call();
    (result, runs() - before)
}

/// Parses the text to the tree that its reports refer to.
struct Document<'c> {
    case: &'c Case,
    tree: Option<Tree>,
}

impl<'c> Document<'c> {
    fn of(case: &'c Case, text: &str) -> Self {
        let arguments = Arguments::from(text);
        let is_json = serde_json::from_str::<IgnoredAny>(arguments.as_str()).is_ok();
        Self { case, tree: Tree::read(arguments.as_str()).filter(|_| is_json) }
    }

    fn is_json(&self) -> bool {
        self.tree.is_some()
    }

    /// Returns `true` if `serde_json` treats the text specially: it reads an object with one of certain
    /// names as a number or as raw JSON, and refuses 128 levels of nesting.
    fn is_odd(&self) -> bool {
        let is_private = |name: &str| name.starts_with("$serde_json::private");
        self.tree
            .as_ref()
            .map(Tree::unfolded)
            .is_some_and(|tree| tree.has_name(&is_private) || tree.depth() > 127)
    }

    /// Returns `true` if all numbers are plain digits: `serde_json` reads `3.0` and `-0`, which are
    /// integers by a schema, as floats.
    fn has_plain_numbers(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| {
            tree.all_leaves(&|leaf| {
                let is_number = leaf.starts_with(|first: char| first == '-' || first.is_ascii_digit());
                !is_number || is_integer(leaf) && leaf != "-0"
            })
        })
    }

    /// Returns `true` if there may be an integer in float notation that no float represents: if it is
    /// valid, it is rewritten as an integer.
    fn has_wide_integers(&self) -> bool {
        self.tree.as_ref().map(Tree::unfolded).is_some_and(|tree| {
            let is_wide = |float: f64| float.abs() >= 9_007_199_254_740_992.0;
            !tree.all_leaves(&|leaf| is_integer(leaf) || !leaf.parse().is_ok_and(is_wide))
        })
    }

    fn repeats_a_name(&self) -> bool {
        self.tree.as_ref().is_some_and(Tree::repeats_a_name)
    }

    /// Checks that a refusal lists violations at places that exist.
    fn explains(&self, error: &ToolError) {
        assert!(!error.violations().is_empty(), "nothing is wrong with it: {error:?}");
        for violation in error.violations() {
            assert!(!violation.expected.is_empty() && !violation.received.is_empty(), "{violation:?}");
            if self.case.has_secret {
                assert!(
                    ["nothing", "a value that is hidden"].contains(&violation.received.as_str()),
                    "{violation}"
                );
            }
            match &self.tree {
                None => assert_eq!(violation.pointer, "", "{violation}"),
                // The middle of a long pointer is left out.
                Some(_) if violation.pointer.contains('…') && violation.pointer.chars().count() >= 199 => {}
                Some(tree) => {
                    let steps = violation.pointer.split('/').skip(1);
                    let steps: Vec<_> = steps.map(|it| it.replace("~1", "/").replace("~0", "~")).collect();
                    let may_be_missing = self.case.has_secret || violation.received == "nothing";
                    let is_there = self.leads(tree, &steps, may_be_missing);
                    assert!(is_there, "it speaks of a place that is not there: {violation}");
                }
            }
        }
    }

    /// Returns `true` if `steps` lead from `tree` to a value, or to a missing property.
    fn leads(&self, tree: &Tree, steps: &[String], may_be_missing: bool) -> bool {
        let Some((step, below)) = steps.split_first() else { return true };
        // The rest of a pointer that may name a secret.
        if self.case.has_secret && step == "***" {
            return below.is_empty();
        }
        let is_missing = may_be_missing && below.is_empty();
        match tree {
            Tree::Leaf(_) => false,
            Tree::List(items) => {
                let item = step.parse().ok().and_then(|at: usize| items.get(at));
                item.is_some_and(|item| self.leads(item, below, may_be_missing))
            }
            Tree::Object(properties) => {
                let is_it = |name: &str| name == step || self.case.other_names.contains(&(name, step));
                let mut found = properties.iter().filter(|(name, _)| is_it(&Tree::name(name)));
                found.any(|(_, value)| self.leads(value, below, may_be_missing)) || is_missing
            }
        }
    }
}
