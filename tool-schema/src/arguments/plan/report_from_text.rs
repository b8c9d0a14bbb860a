//! The violations of a text in one walk, without its value.
//!
//! The walk reads objects and lists with simple rules by itself. Any other part is skipped if its node admits it;
//! otherwise this part alone is read as a value and reported by [`check`](super::check), which words all violations.
//! The walk gives up if the report depends on more than one part, or if a correction is possible; the slower report
//! of the complete value decides then.

use std::{borrow::Cow, collections::HashSet};

use serde_json::Value;

use super::{
    Plan,
    check::{Report, Sink, ValidationWalk, report_part},
    decode::Source,
    location::Location,
    messages::unknown,
    node::{AdditionalRule, ListRules, Node, ObjectRules, TypeSet},
    normalize::normalize_value,
    property_table::Property,
};
use crate::{Violations, arguments::document::Document, json::MAX_DEPTH};

impl Plan {
    /// Returns the violations of `text`; `None` if this walk does not find all of them, or if there may be none.
    pub(super) fn report_from_text(&self, text: &str, is_lenient: bool) -> Option<Violations> {
        // Otherwise, a value may be too deep for the other walks.
        if self.deepest < MAX_DEPTH as usize {
            return None;
        }
        let source = Source::new(text, self);
        let (report, is_final) = (Report::default(), !is_lenient);
        let mut survey = TextReport { plan: self, text, source, report, is_final, parts: 0 };
        survey.report_value(self.root_node(), &Location::ROOT)?;
        survey.source.expect_end().ok()?;
        let TextReport { report, is_final, .. } = survey;
        (is_final && report.violation_count() > 0).then(|| report.into_violations())
    }
}

struct TextReport<'t, 'p> {
    plan: &'p Plan,
    text: &'t str,
    source: Source<'t, 'p>,
    report: Report,
    /// `true` if no correction makes the text valid.
    is_final: bool,
    /// The number of parts parsed into values; at most [`MAX_PARTS`].
    parts: usize,
}

/// The maximum number of parts that are read as values.
const MAX_PARTS: usize = 32;

/// A walk that gives up returns `None`.
impl<'t, 'p> TextReport<'t, 'p> {
    fn report_value(&mut self, node: &'p Node, at: &Location<'_>) -> Option<()> {
        match self.source.reader.peek()? {
            _ if node.is_whole => self.report_part(node, false, at),
            b'{' if node.types.contains(TypeSet::OBJECT) => match node.object.as_deref() {
                Some(rules) if rules.have_one_node_per_property() => self.report_object(rules, at),
                _ => self.report_part(node, false, at),
            },
            b'[' if node.types.contains(TypeSet::ARRAY) => match node.list.as_deref() {
                Some(rules) => self.report_list(rules, at),
                None => self.report_part(node, false, at),
            },
            b'"' if self.source.skip_text_if_valid(node) => Some(()),
            _ => self.report_part(node, true, at),
        }
    }

    /// Skips the next value if `node` admits it; otherwise reports it. Only the value itself can violate the node if
    /// `is_own`, and otherwise also its parts.
    fn report_part(&mut self, node: &'p Node, is_own: bool, at: &Location<'_>) -> Option<()> {
        if self.source.skip_value_if_valid(node) {
            return Some(());
        }
        let mut document = self.read_document(at)?;
        if document.has_repeated_names_or_huge_numbers() || !document.moved.is_empty() {
            return None;
        }
        normalize_value(self.plan, node, &mut document.value);
        let before = self.report.violation_count();
        report_part(self.plan, node, &document.value, at, &mut self.report);
        if self.report.violation_count() > before && is_own && !self.is_final {
            self.is_final = !self.plan.attempt_correction(node, &mut document, at);
        }
        self.give_up_if_report_is_full()
    }

    /// Reads the next value; gives up after [`MAX_PARTS`] values.
    fn read_document(&mut self, at: &Location<'_>) -> Option<Document<'t>> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return None;
        }
        Document::read_next_value(&mut self.source.reader, self.text, at).ok()
    }

    fn report_list(&mut self, rules: &'p ListRules, at: &Location<'_>) -> Option<()> {
        self.source.reader.open_container().ok()?;
        let mut count = 0;
        while self.source.reader.next_item(count == 0, b']').ok()? {
            let node = match (rules.prefix.get(count).copied(), rules.rest) {
                (Some(node), _) | (None, AdditionalRule::Schema(node)) => self.plan.node(node),
                (None, AdditionalRule::Anything) => &Node::ANYTHING,
                (None, AdditionalRule::Nothing) => return None,
            };
            self.report_value(node, &at.item(count))?;
            count += 1;
        }
        (rules.length.least..=rules.length.most).contains(&count).then_some(())
    }

    fn report_object(&mut self, rules: &'p ObjectRules, at: &Location<'_>) -> Option<()> {
        let mut names = SeenNames::default();
        self.source.reader.open_container().ok()?;
        let mut is_first = true;
        while self.source.reader.next_property(is_first).ok()? {
            is_first = false;
            let expected = rules.properties.unescaped_property_at(names.near);
            match expected.filter(|it| self.source.reader.consume_text_if_next(&it.json_key)) {
                Some(property) => {
                    names.near += 1;
                    self.report_property(rules, property, &mut names, at)?;
                }
                None => {
                    let name = self.source.reader.read_name().ok()?;
                    match rules.properties.get_near(&name, &mut names.near) {
                        Some(property) => self.report_property(rules, property, &mut names, at)?,
                        None => self.report_additional(rules, name, &mut names, at)?,
                    }
                }
            }
        }
        self.report_names(rules, names, at)
    }

    /// Reads the value of a property that the plan names.
    fn report_property(
        &mut self,
        rules: &'p ObjectRules,
        property: &'p Property,
        names: &mut SeenNames<'t>,
        at: &Location<'_>,
    ) -> Option<()> {
        let node = match (property.node, rules.rest) {
            (Some(node), _) => self.plan.node(node),
            (None, AdditionalRule::Anything) => &Node::ANYTHING,
            (None, _) => return None,
        };
        if names.known & property.bit != 0 {
            return None;
        }
        names.known |= property.bit;
        let is_null = !property.required && self.source.reader.peek() == Some(b'n');
        if is_null && !ValidationWalk::new(self.plan).node_admits(node, &Value::Null) {
            return self.source.reader.read_word("null").ok();
        }
        names.present |= property.bit;
        names.count += 1;
        self.report_value(node, &at.property(&property.name, names.count))
    }

    /// Reads the value of a property that the plan does not name.
    fn report_additional(
        &mut self,
        rules: &'p ObjectRules,
        name: Cow<'t, str>,
        names: &mut SeenNames<'t>,
        at: &Location<'_>,
    ) -> Option<()> {
        if !names.others.get_or_insert_default().insert(name.clone()) {
            return None;
        }
        names.count += 1;
        let here = at.property(&name, names.count);
        match rules.rest {
            AdditionalRule::Schema(node) => self.report_value(self.plan.node(node), &here),
            AdditionalRule::Anything => self.report_value(&Node::ANYTHING, &here),
            AdditionalRule::Nothing => {
                let document = self.read_document(&here)?;
                let is_odd = document.has_repeated_names_or_huge_numbers() || !document.moved.is_empty();
                names.unknown.push((name, names.count, document.value));
                (!is_odd && names.unknown.len() < Violations::LISTED).then_some(())
            }
        }
    }

    /// Reports missing and unknown names of a complete object.
    fn report_names(
        &mut self,
        rules: &'p ObjectRules,
        names: SeenNames<'t>,
        at: &Location<'_>,
    ) -> Option<()> {
        let SeenNames { present, unknown: unknown_names, count, .. } = names;
        let is_present = |property: &Property| present & property.bit != 0;
        let before = self.report.violation_count();
        for property in rules.properties.iter().filter(|it| it.required && !is_present(it)) {
            let expected = || self.plan.missing_message(&property.name, None, property.node);
            // A report never ends the walk.
            let _ = self.report.report_violation(&at.missing_property(&property.name), None, expected);
        }
        for (name, position, value) in &unknown_names {
            let known = || rules.properties.declared_names().collect::<Vec<_>>();
            let is_present = |name: &str| rules.properties.get(name).is_some_and(is_present);
            let expected = || unknown(&known(), is_present, name);
            let _ = self.report.report_violation(&at.property(name, *position), Some(value), expected);
        }
        self.is_final = self.is_final || self.report.violation_count() > before;
        (rules.count.least..=rules.count.most).contains(&count).then_some(())?;
        self.give_up_if_report_is_full()
    }

    /// Gives up when a report is full, since the number of all violations depends on their order.
    fn give_up_if_report_is_full(&self) -> Option<()> {
        (self.report.violation_count() < Violations::LISTED).then_some(())
    }
}

/// The names of an object.
#[derive(Default)]
struct SeenNames<'t> {
    /// The index of the expected next property.
    near: usize,
    /// The number of present properties.
    count: usize,
    /// The bits of the properties that were read, and of those that are present; `null` may mean absent.
    known: u64,
    present: u64,
    /// The names that the plan does not know, and those of them that it does not permit.
    others: Option<HashSet<Cow<'t, str>>>,
    unknown: Vec<(Cow<'t, str>, usize, Value)>,
}

impl ObjectRules {
    /// Returns `true` if each property is subject to one node, known by its name.
    fn have_one_node_per_property(&self) -> bool {
        let table = &self.properties;
        self.names.is_none()
            && self.patterns.is_empty()
            && table.alias_pairs().next().is_none()
            && table.iter().all(|property| property.bit != 0)
    }
}
