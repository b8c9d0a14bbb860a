//! References, and what has to be known of all nodes together.
//!
//! References are followed after everything else, so that a definition that refers to itself finds
//! its own node. A reference that leads back to itself before it has gone one level deeper into the
//! value would never end and is a mistake.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    DEEPEST, Plan, SchemaProblem,
    branches::Branches,
    compile::{Compiler, combined},
    node::{Node, NodeId},
    place::Place,
    words::quoted,
};
use crate::schema::local_pointer;

/// How many schemas may apply to a value one within the other, such as an `allOf` in an `anyOf`.
const LONGEST: usize = 64;

/// How many calls the walk may be deep; this is what the stack of a thread has room for.
const CALLS: usize = 2048;

/// A `$ref`, and what it refers to.
pub(super) struct Reference<'s> {
    from: NodeId,
    /// Where the `$ref` stands.
    place: String,
    target: &'s Value,
    /// Where the target stands.
    pointer: String,
}

impl Compiler<'_> {
    /// Reads a `$ref`.
    pub(super) fn reference(&mut self, from: NodeId, value: &Value, at: &Place<'_>) {
        let Some(reference) = value.as_str() else {
            return self.refuse("$ref", value, "a reference", at);
        };
        let shown = quoted(reference);
        let Some(pointer) = local_pointer(reference) else {
            return self.problem(at, format!("`$ref` to {shown} leaves the schema; nothing is fetched"));
        };
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return self.uncovered(&format!("`$ref` to the anchor {shown}"), at);
        }
        match self.root.pointer(&pointer) {
            Some(target) => self.references.push(Reference { from, place: at.pointer(), target, pointer }),
            None => self.problem(at, format!("`$ref` to {shown} leads nowhere")),
        }
    }

    /// Links what belongs together; the last step of compiling.
    pub(super) fn finish(mut self) -> Result<Plan, Vec<SchemaProblem>> {
        self.follow_references();
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let chain = self.longest_chain();
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        for node in &mut self.nodes {
            node.complete();
        }
        let mut plan = Plan { nodes: self.nodes.into(), deepest: DEEPEST.min(CALLS / chain) };
        plan.find_tags();
        Ok(plan)
    }

    fn follow_references(&mut self) {
        if self.references.is_empty() {
            return;
        }
        let mut known = HashMap::new();
        let mut next = 0;
        while let Some(Reference { from, target, pointer, .. }) = self.references.get(next) {
            let (from, target, pointer) = (*from, *target, pointer.clone());
            next += 1;
            // A target that is no keyword's schema has no node yet; it can bring new references.
            for at in known.len()..self.nodes.len() {
                self.index(at, &mut known);
            }
            let address = std::ptr::from_ref(target);
            let id = match known.get(&address) {
                Some(&id) => id,
                None => self.node(target, &Place::at(&pointer)),
            };
            if let Some(node) = self.nodes.get_mut(id.0 as usize) {
                node.shared = true;
            }
            if let Some(node) = self.nodes.get_mut(from.0 as usize) {
                if node.is_anything() {
                    node.alias = Some(id);
                } else {
                    let all = &mut combined(node).all;
                    *all = std::mem::take(all).into_iter().chain([id]).collect();
                }
            }
        }
    }

    fn index(&self, at: usize, known: &mut HashMap<*const Value, NodeId>) {
        if let (Some(source), Ok(id)) = (self.sources.get(at), u32::try_from(at)) {
            known.entry(std::ptr::from_ref(*source)).or_insert(NodeId(id));
        }
    }

    /// How many nodes apply to one value one within the other, at most.
    fn longest_chain(&mut self) -> usize {
        let mut lengths = vec![Length::Unknown; self.nodes.len()];
        let mut path = Vec::new();
        let mut longest = 1;
        for at in 0..self.nodes.len() {
            if let Ok(id) = u32::try_from(at) {
                longest = longest.max(self.chain(NodeId(id), &mut path, &mut lengths));
            }
        }
        if longest > LONGEST && self.problems.is_empty() {
            let message = format!("more than {LONGEST} schemas apply to the same value one within the other");
            self.problem(&Place::ROOT, message);
        }
        longest
    }

    fn chain(&mut self, id: NodeId, path: &mut Vec<NodeId>, lengths: &mut [Length]) -> usize {
        match lengths.get(id.0 as usize) {
            Some(Length::Known(length)) => return *length,
            Some(Length::Unknown) if path.len() <= LONGEST => {}
            Some(Length::Unknown) => return LONGEST + 1,
            Some(Length::Open) | None => {
                self.report_loop(id, path);
                return 0;
            }
        }
        set(lengths, id, Length::Open);
        path.push(id);
        let mut longest = 0;
        for next in self.nodes.get(id.0 as usize).map(Node::beside).unwrap_or_default() {
            longest = longest.max(self.chain(next, path, lengths));
        }
        path.pop();
        set(lengths, id, Length::Known(longest + 1));
        longest + 1
    }

    /// Writes down a loop once, at one of the references that make it.
    fn report_loop(&mut self, back_to: NodeId, path: &[NodeId]) {
        let on_loop = path.iter().skip_while(|id| **id != back_to);
        let reference = on_loop.filter_map(|id| self.references.iter().find(|it| it.from == *id)).last();
        let pointer = reference.map(|it| it.place.clone()).unwrap_or_default();
        let message = "`$ref` leads back to itself before it reaches a part of the value".to_owned();
        self.problems.push(SchemaProblem { pointer, message, uncovered: false });
    }
}

#[derive(Clone, Copy)]
enum Length {
    Unknown,
    Open,
    Known(usize),
}

fn set(lengths: &mut [Length], id: NodeId, length: Length) {
    if let Some(slot) = lengths.get_mut(id.0 as usize) {
        *slot = length;
    }
}

impl Node {
    /// The nodes that apply to the same value as this one.
    fn beside(&self) -> Vec<NodeId> {
        let mut found: Vec<_> = self.alias.into_iter().collect();
        if let Some(combined) = &self.combined {
            found.extend(&combined.all);
            found.extend(combined.any.iter().chain(&combined.one).flat_map(Branches::nodes));
            found.extend(combined.not);
            if let Some(condition) = &combined.condition {
                found.push(condition.test);
                found.extend(condition.then.into_iter().chain(condition.otherwise));
            }
        }
        if let Some(object) = &self.object {
            found.extend(object.schemas_beside.iter().map(|(_, node)| *node));
        }
        found
    }
}
