//! A plan: a JSON Schema, compiled once for many validations.
//!
//! Compilation reports every mistake in a schema, so that validation cannot encounter one. Unsupported keywords are
//! errors and never ignored. `format` is an annotation, as in draft 2020-12. References never leave the schema.
//!
//! One walk over a value ([`check`]) has two sinks: one stops at the first violation, the other collects all of them.
//! Verdict and report therefore cannot disagree.
//!
//! Values come from a model: neither their depth nor the number of ways in which a recursive schema applies to them
//! may exhaust the stack or the time (`deepest`, [`memo`]).

mod always_compiles;
mod branches;
mod canonical_form;
mod check;
mod coerce;
mod compile;
mod decode;
mod draft;
mod equality;
mod keywords;
pub(in crate::arguments) mod location;
mod memo;
pub(crate) mod messages;
mod nesting;
mod node;
mod normalize;
mod number;
mod pattern;
mod permitted_values;
mod problem;
mod property_table;
mod read_arguments;
mod references;
mod report_from_text;
mod uri;

#[cfg(test)]
mod tests;

use std::{collections::HashSet, sync::LazyLock};

use crate::{Violation, Violations, arguments::violation::Findings};
use serde_json::Value;

pub(crate) use self::compile::Origin;
pub(crate) use self::decode::{RefusedKey, Source};
use self::{
    check::ValidationWalk,
    node::{Node, NodeId},
    normalize::{NormalizationEffects, RemovedProperties},
};
pub use self::{
    coerce::{Correction, CorrectionRule},
    problem::SchemaProblem,
};
pub use self::{
    decode::{Checked, DecodeError, ObjectDecoder},
    read_arguments::DecodeFn,
};

/// The maximum nesting of a value.
const MAX_VALUE_DEPTH: usize = 512;

/// A compiled schema.
#[derive(Debug)]
pub struct Plan {
    nodes: Box<[Node]>,
    /// The maximum nesting of a value, such that the walk stays within its stack.
    deepest: usize,
    /// Some property has an alias.
    has_aliases: bool,
    /// Only the root has properties that the decoder ignores or fills in.
    changes_root_alone: bool,
}

impl Plan {
    /// Compiles `schema`, of draft 2020-12 unless `$schema` names another one.
    ///
    /// # Errors
    ///
    /// Returns all mistakes: malformed keywords, references that are unresolved, leave the schema or lead back to
    /// themselves, patterns that the regex engine does not support, and unsupported keywords.
    pub fn compile(schema: &Value) -> Result<Self, Vec<SchemaProblem>> {
        compile::compile(schema, Origin::Foreign)
    }

    /// Compiles the schema of arguments, which are objects even if `schema` has no type.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`compile`](Self::compile).
    pub(crate) fn compile_arguments(schema: &Value, origin: Origin) -> Result<Self, Vec<SchemaProblem>> {
        let Some(root) = schema.as_object().filter(|root| !root.contains_key("type")) else {
            return compile::compile(schema, origin);
        };
        let is_referred_to = |plan: &Self| plan.nodes.first().is_some_and(|root| root.shared);
        if is_referred_to(&compile::compile(schema, origin)?) {
            return compile::compile_objects(schema, origin);
        }
        let mut root = root.clone();
        root.insert("type".to_owned(), Value::from("object"));
        compile::compile(&Value::Object(root), origin)
    }

    /// Returns `true` if compiling `schema` certainly succeeds, without compiling it.
    pub(crate) fn certainly_compiles(schema: &Value) -> bool {
        always_compiles::is_certain_to_compile(schema, always_compiles::LEVELS)
    }

    /// Returns the plan that admits every value.
    #[doc(hidden)]
    #[must_use]
    pub fn anything() -> &'static Self {
        static ANYTHING: LazyLock<Plan> = LazyLock::new(|| Plan {
            nodes: [Node::ANYTHING].into(),
            deepest: MAX_VALUE_DEPTH,
            has_aliases: false,
            changes_root_alone: true,
        });
        &ANYTHING
    }

    /// Returns `true` if `value` matches the schema. Stops at the first violation.
    pub fn admits(&self, value: &Value) -> bool {
        is_nested_within(value, self.deepest) && ValidationWalk::new(self).admits(NodeId::ROOT, value)
    }

    /// Returns the violations of `value` in document order; empty if and only if the value is valid.
    pub fn violations(&self, value: &Value) -> Violations {
        self.find_violations(value).into()
    }

    fn find_violations(&self, value: &Value) -> Findings {
        if is_nested_within(value, self.deepest) {
            return check::report_violations(self, value);
        }
        let expected = format!("a value that is nested at most {} levels deep", self.deepest);
        let mut findings = Findings::default();
        findings.add(Vec::new(), || Violation::new("", expected, "a value that is nested more deeply"));
        findings
    }

    /// Normalises values that the schema treats as equal.
    ///
    /// `null` for a non-required property means absent unless the property's schema admits `null`. A float without a
    /// fraction becomes an integer if an integer is expected.
    fn normalize_value(&self, value: &mut Value) -> NormalizationEffects {
        if is_nested_within(value, self.deepest) {
            normalize::normalize_value(self, self.root_node(), value)
        } else {
            NormalizationEffects::default()
        }
    }

    /// Normalises like [`normalize_value`](Self::normalize_value), and records the removed properties.
    fn normalize_value_recording_removals(
        &self,
        value: &mut Value,
    ) -> (NormalizationEffects, RemovedProperties) {
        if is_nested_within(value, self.deepest) {
            normalize::normalize_recording_removals(self, value)
        } else {
            Default::default()
        }
    }

    /// Returns the aliases of all properties, each with its property.
    fn alias_pairs(&self) -> Vec<(&str, &str)> {
        let objects = self.nodes.iter().filter_map(|node| node.object.as_deref());
        objects.flat_map(|object| object.properties.alias_pairs()).collect()
    }

    /// Returns `true` if `value` may contain an alias or an ignored property.
    fn may_have_alias_or_ignored_property(&self, value: &Value) -> bool {
        let names: HashSet<_> = self.alias_pairs().into_iter().map(|(alias, _)| alias).collect();
        self.has_ignored_properties() || (!names.is_empty() && has_property_with_name_among(value, &names))
    }

    /// Returns `true` if there are properties that a decoder ignores.
    fn has_ignored_properties(&self) -> bool {
        self.nodes.iter().any(|node| node.object.as_deref().is_some_and(|object| object.ignores))
    }

    fn root_node(&self) -> &Node {
        self.node(NodeId::ROOT)
    }

    /// Returns the node `id` after following all references.
    #[inline]
    fn resolve_node(&self, mut id: NodeId) -> (NodeId, &Node) {
        loop {
            let node = self.nodes.get(id.0 as usize).unwrap_or(&Node::NOTHING);
            match node.alias {
                // Terminates, since a loop of references does not compile.
                Some(target) => id = target,
                None => return (id, node),
            }
        }
    }

    #[inline]
    fn node(&self, id: NodeId) -> &Node {
        self.resolve_node(id).1
    }
}

/// Returns `true` if a property in `value` has one of the names.
fn has_property_with_name_among(value: &Value, names: &HashSet<&str>) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_property_with_name_among(item, names)),
        Value::Object(map) => map
            .iter()
            .any(|(name, value)| names.contains(name.as_str()) || has_property_with_name_among(value, names)),
        _ => false,
    }
}

/// Returns `true` if at most `levels` lists and objects are nested.
///
/// This is checked first, so that no walk needs to: inside `not`, a value that is too deep would count as admitted.
fn is_nested_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_nested_within(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|value| is_nested_within(value, levels - 1)),
        _ => true,
    }
}
