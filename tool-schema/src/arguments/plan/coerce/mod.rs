//! Correction of almost valid arguments.
//!
//! A model writes `"3"` for 3, an object as a string, or a single value for a list of one. If the schema determines
//! the intended value, and the correction loses nothing, it is applied; everything else is reported. A rule applies
//! only if the type of a value is not permitted, so that valid values are never changed: a string stays a string
//! wherever strings are permitted.
//!
//! This module corrects single values; [`normalize`](super::normalize) walks the arguments and selects branches. The result
//! is used only if it is valid as a whole.

mod correction;
mod number;

use std::mem;

use serde_json::{Value, json};

pub use self::correction::{Correction, CorrectionRule};
use self::number::{Literals, parse_unrounded_number};
use super::{
    Plan,
    check::ValidationWalk,
    equality::json_equal,
    is_nested_within,
    location::Location,
    messages::received,
    node::{AdditionalRule, Node, NodeId, TypeSet},
    normalize,
};
use crate::{
    arguments::document::{Document, Literal},
    json::MAX_DEPTH,
};

impl Plan {
    /// Corrects the invalid value of `document`; returns `true` if it was changed, and the corrections. If they do
    /// not make it valid, the value is left in an unspecified state.
    pub(super) fn correct_document(&self, document: &mut Document<'_>) -> (bool, Vec<Correction>) {
        // Duplicate names are not corrected.
        if document.has_repeated_names_or_huge_numbers() || !is_nested_within(&document.value, self.deepest) {
            return (false, Vec::new());
        }
        let corrector = Corrector::new(mem::take(&mut document.literals));
        normalize::correct_value(self, &mut document.value, corrector)
    }

    /// Returns `true` if the value of `document`, which violates the own rules of `node`, can be corrected.
    pub(super) fn attempt_correction(
        &self,
        node: &Node,
        document: &mut Document<'_>,
        at: &Location<'_>,
    ) -> bool {
        let mut corrector = Corrector::new(mem::take(&mut document.literals));
        corrector.correct_value(self, node, &mut document.value, at)
    }
}

/// Corrects single values and records the corrections.
pub(super) struct Corrector<'t> {
    corrections: Vec<Correction>,
    literals: Literals<'t>,
}

impl<'t> Corrector<'t> {
    fn new(literals: Vec<Literal<'t>>) -> Self {
        Self { corrections: Vec::new(), literals: Literals::new(literals) }
    }

    pub(super) fn into_corrections(self) -> Vec<Correction> {
        self.corrections
    }

    /// Returns the number of corrections so far, for [`discard_corrections_since`](Self::discard_corrections_since).
    pub(super) fn correction_count(&self) -> usize {
        self.corrections.len()
    }

    /// Removes and returns the corrections since `mark`.
    pub(super) fn take_corrections_since(&mut self, mark: usize) -> Vec<Correction> {
        self.corrections.split_off(mark.min(self.corrections.len()))
    }

    /// Adds corrections that were removed.
    pub(super) fn restore_corrections(&mut self, corrections: Vec<Correction>) {
        self.corrections.extend(corrections);
    }

    /// Discards the corrections of a failed attempt.
    pub(super) fn discard_corrections_since(&mut self, mark: usize) {
        self.corrections.truncate(mark);
    }

    /// Corrects `value` to a type that the node's own rules permit, unless its type is permitted. The walk corrects
    /// the parts of the value.
    pub(super) fn correct_value(
        &mut self,
        plan: &Plan,
        node: &Node,
        value: &mut Value,
        at: &Location<'_>,
    ) -> bool {
        if permits_type_of(node, value) {
            return false;
        }
        let mut readings: Vec<_> =
            self.scalar_candidates(plan, node, value, at).into_iter().flatten().collect();
        readings.extend(self.parse_container(node, value, at));
        readings.extend(wrap_in_list(plan, node, value, at));
        // Ambiguous corrections are not applied.
        let reading = readings.pop().filter(|_| readings.is_empty());
        // The result is nested in the arguments, and the whole must stay within the depth limits.
        let room = plan.deepest.min(MAX_DEPTH as usize).checked_sub(at.depth());
        let reading = reading.filter(|(_, to)| room.is_some_and(|room| is_nested_within(to, room)));
        let Some((rule, to)) = reading else { return false };
        self.corrections.push(Correction::new(at.pointer(), received(value), received(&to), rule));
        *value = to;
        true
    }

    /// Returns the possible corrections of a scalar to other scalars.
    fn scalar_candidates(
        &mut self,
        plan: &Plan,
        node: &Node,
        value: &Value,
        at: &Location<'_>,
    ) -> [Option<(CorrectionRule, Value)>; 3] {
        use CorrectionRule::{ToBoolean, ToNull, ToNumber, ToText};
        let null = (node.types == TypeSet::NULL).then_some((ToNull, Value::Null));
        // A property that may be `null` has the same corrections as one that may not.
        let types = TypeSet::NULL.union(node.types);
        let is_only = |kind: TypeSet| TypeSet::NULL.union(kind).contains(types);
        let readings = match value {
            Value::String(text) => [
                parse_unrounded_number(text, node.permits_only_integers())
                    .map(|number| (ToNumber, Value::Number(number))),
                boolean_from_text(text).map(|truth| (ToBoolean, Value::Bool(truth))),
                null.filter(|_| text.is_empty()),
            ],
            Value::Number(number) => {
                let truth =
                    [false, true].into_iter().find(|truth| json_equal(&json!(u8::from(*truth)), value));
                let boolean = truth.filter(|_| is_only(TypeSet::BOOLEAN));
                [
                    self.literals
                        .number_text_as_written(number, at)
                        .map(|text| (ToText, Value::String(text))),
                    boolean.map(|truth| (ToBoolean, Value::Bool(truth))),
                    null.filter(|_| truth == Some(false)),
                ]
            }
            Value::Bool(truth) => [
                Some((ToText, Value::String(truth.to_string()))),
                is_only(TypeSet::NUMBER).then(|| (ToNumber, json!(u8::from(*truth)))),
                null.filter(|_| !truth),
            ],
            Value::Null | Value::Array(_) | Value::Object(_) => [None, None, None],
        };
        readings.map(|reading| {
            reading.filter(|(_, reading)| ValidationWalk::new(plan).node_admits(node, reading))
        })
    }

    /// Parses a string that contains an object or a list.
    fn parse_container(
        &mut self,
        node: &Node,
        value: &Value,
        at: &Location<'_>,
    ) -> Option<(CorrectionRule, Value)> {
        let text = value.as_str()?;
        let kind = match first_nonblank_byte(text)? {
            b'{' => TypeSet::OBJECT,
            b'[' => TypeSet::ARRAY,
            _ => return None,
        };
        if node.types == TypeSet::ALL || !node.types.contains(kind) {
            return None;
        }
        let document =
            Document::read(text).ok().filter(|document| !document.has_repeated_names_or_huge_numbers())?;
        self.literals.add_literals_of_document(&document, at);
        Some((CorrectionRule::FromJson, document.value))
    }
}

/// Returns `true` if the type of a value is permitted, so that it is not corrected.
fn permits_type_of(node: &Node, value: &Value) -> bool {
    match &node.values {
        Some(values) if node.types == TypeSet::ALL => values.contain_value(value),
        _ => node.types.contains(TypeSet::of_value(value)),
    }
}

/// Wraps a value in a list.
fn wrap_in_list(
    plan: &Plan,
    node: &Node,
    value: &Value,
    at: &Location<'_>,
) -> Option<(CorrectionRule, Value)> {
    if node.types == TypeSet::ALL || !node.types.contains(TypeSet::ARRAY) || at.is_item() {
        return None;
    }
    let rules = node.list.as_deref().filter(|rules| rules.prefix.is_empty())?;
    let AdditionalRule::Schema(item) = rules.rest else { return None };
    let says_of_what = match value {
        Value::Null | Value::Array(_) => false,
        Value::String(text) => {
            (can_only_be_one_item(text) && has_item_rules(plan, item))
                || is_object_text_for_item(text, plan.node(item))
        }
        Value::Bool(_) | Value::Number(_) => has_item_rules(plan, item),
        // If the items may be any object, this object may represent the whole list.
        Value::Object(_) => !ValidationWalk::new(plan).admits(item, &json!({ "": null })),
    };
    says_of_what.then(|| (CorrectionRule::ToList, json!([value])))
}

/// Returns `true` if a string can only be a single item: one non-blank line without comma, bullet or bracket, and
/// neither null nor none. Any other string may be a malformed list.
pub(super) fn can_only_be_one_item(text: &str) -> bool {
    const COMMAS: [char; 7] = [',', '،', '、', '，', '﹐', '﹑', '､'];
    const BRACKETS: [char; 6] = ['[', ']', '{', '}', '(', ')'];
    const BULLETS: [char; 9] = ['•', '‣', '⁃', '◦', '∙', '▪', '●', '○', '·'];
    let is_line_break =
        |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let trimmed = text.trim();
    let is_nothing = ["", "null", "none"].iter().any(|it| trimmed.eq_ignore_ascii_case(it));
    let is_unclear = |c: char| COMMAS.contains(&c) || BRACKETS.contains(&c) || BULLETS.contains(&c);
    // Bullets: `- a`, `* a`, `1. a` and `1) a`; the last one contains a bracket.
    let (first, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
    let number = first.strip_suffix('.').unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let is_bullet = matches!(first, "-" | "*" | "+" | "–" | "—") || (is_number && !rest.is_empty());
    !(is_nothing || is_bullet || text.contains(|c| is_line_break(c) || is_unclear(c)))
}

/// Returns `true` if a string is the JSON of an object and `item` permits objects but not strings.
fn is_object_text_for_item(text: &str, item: &Node) -> bool {
    item.types.intersection(TypeSet::OBJECT.union(TypeSet::STRING)) == TypeSet::OBJECT
        && first_nonblank_byte(text) == Some(b'{')
        && Document::read(text).is_ok_and(|document| !document.has_repeated_names_or_huge_numbers())
}

fn has_item_rules(plan: &Plan, item: NodeId) -> bool {
    !plan.node(item).is_anything()
}

/// Returns the first byte that is not whitespace.
fn first_nonblank_byte(text: &str) -> Option<u8> {
    text.trim_start().bytes().next()
}

fn boolean_from_text(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
