//! A plan: a JSON Schema, compiled once and checked many times.
//!
//! Compiling finds every mistake of a schema, so that checking has none to meet; what a plan does
//! not cover is an error and never a check left out. `format` is an annotation, as in draft
//! 2020-12. No reference leaves the schema.
//!
//! There is one walk over a value ([`check`]), with two listeners: one that stops at the first
//! violation and one that writes all of them down. Verdict and report therefore cannot disagree.
//!
//! A model sends the values: neither their depth nor the number of ways in which a recursive schema
//! can be applied to them may exhaust the stack or the time (`deepest`, [`memo`]).

mod branches;
mod chain;
mod check;
mod coerce;
mod compile;
mod decode;
mod dialect;
mod equality;
mod keywords;
mod memo;
mod node;
mod number;
mod pattern;
pub(in crate::arguments) mod place;
mod problem;
mod read;
mod references;
mod settle;
mod table;
mod uri;
mod values;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use std::{collections::HashSet, sync::LazyLock};

use crate::{Violation, Violations, arguments::violation::Findings};
use serde_json::Value;

use self::{
    check::Walk,
    node::{Node, NodeId},
};
pub use self::{
    coerce::{Correction, CorrectionRule},
    problem::SchemaProblem,
};
pub(crate) use self::{
    compile::Origin,
    decode::{Checked, Refusal},
    read::Take,
};

/// How deep a value may be nested, at most.
const DEEPEST: usize = 512;

/// A compiled schema.
#[derive(Debug)]
pub struct Plan {
    nodes: Box<[Node]>,
    /// How deep a value may be nested, so that the walk over it stays within its stack.
    deepest: usize,
}

impl Plan {
    /// Compiles `schema`, which is of draft 2020-12 unless it says otherwise by `$schema`.
    ///
    /// # Errors
    ///
    /// All mistakes of the schema: malformed keywords, references that lead nowhere, out of the
    /// schema or back to themselves, patterns that the engine cannot express, keywords that are
    /// not covered.
    pub fn compile(schema: &Value) -> Result<Self, Vec<SchemaProblem>> {
        compile::compile(schema, Origin::Foreign)
    }

    /// Compiles the schema of arguments, which are objects, also where `schema` names no type.
    ///
    /// # Errors
    ///
    /// As [`compile`](Self::compile).
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

    /// The plan that admits everything.
    pub(crate) fn anything() -> &'static Self {
        static ANYTHING: LazyLock<Plan> =
            LazyLock::new(|| Plan { nodes: [Node::ANYTHING].into(), deepest: DEEPEST });
        &ANYTHING
    }

    /// Whether `value` fits the schema. Stops at the first violation.
    pub fn admits(&self, value: &Value) -> bool {
        is_nested_within(value, self.deepest) && Walk::new(self).admits(NodeId::ROOT, value)
    }

    /// The violations of `value`, in its order; there are none if and only if it is admitted.
    pub fn violations(&self, value: &Value) -> Violations {
        self.findings(value).into()
    }

    fn findings(&self, value: &Value) -> Findings {
        if is_nested_within(value, self.deepest) {
            return check::report(self, value);
        }
        let expected = format!("a value that is nested at most {} levels deep", self.deepest);
        let mut findings = Findings::default();
        findings.add(Vec::new(), || Violation::new("", expected, "a value that is nested more deeply"));
        findings
    }

    /// Rewrites what the schema reads as equal; returns whether anything changed.
    ///
    /// A `null` in a property that is not required is absent, unless the property's own schema
    /// admits it. A float without a fraction becomes an integer where an integer is wanted.
    pub(crate) fn settle(&self, value: &mut Value) -> bool {
        is_nested_within(value, self.deepest) && settle::settle(self, self.root(), value)
    }

    /// The properties of the root, in the order of their positions.
    pub(crate) fn names(&self) -> Vec<&str> {
        let object = self.root().object.as_deref();
        object.map(|object| object.properties.iter().map(|it| &*it.name).collect()).unwrap_or_default()
    }

    /// The other names of all properties, each with the one that it stands for.
    fn aliases(&self) -> Vec<(&str, &str)> {
        let objects = self.nodes.iter().filter_map(|node| node.object.as_deref());
        objects.flat_map(|object| object.properties.aliases()).collect()
    }

    /// Whether `value` may have something in it that goes by another name, or that is ignored.
    fn may_hide(&self, value: &Value) -> bool {
        let names: HashSet<_> = self.aliases().into_iter().map(|(alias, _)| alias).collect();
        self.ignores_some() || (!names.is_empty() && has_one_of(value, &names))
    }

    /// Whether there are properties that a decoder ignores.
    fn ignores_some(&self) -> bool {
        self.nodes.iter().any(|node| node.object.as_deref().is_some_and(|object| object.ignores))
    }

    fn root(&self) -> &Node {
        self.node(NodeId::ROOT)
    }

    /// The node that `id` stands for, behind all references.
    #[inline]
    fn resolve(&self, mut id: NodeId) -> (NodeId, &Node) {
        loop {
            let node = self.nodes.get(id.0 as usize).unwrap_or(&Node::NOTHING);
            match node.alias {
                // This ends: a loop of references does not compile.
                Some(target) => id = target,
                None => return (id, node),
            }
        }
    }

    #[inline]
    fn node(&self, id: NodeId) -> &Node {
        self.resolve(id).1
    }
}

/// Whether a property in `value` has one of the names.
fn has_one_of(value: &Value, names: &HashSet<&str>) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_one_of(item, names)),
        Value::Object(map) => {
            map.iter().any(|(name, value)| names.contains(name.as_str()) || has_one_of(value, names))
        }
        _ => false,
    }
}

/// Whether no more than `levels` lists and objects are nested.
///
/// This is asked before anything else, so that no walk has to ask: within a `not` a value that is
/// too deep would come out as admitted.
fn is_nested_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_nested_within(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|value| is_nested_within(value, levels - 1)),
        _ => true,
    }
}
