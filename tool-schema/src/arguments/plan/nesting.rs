//! The number of schemas that apply to one value through each other.
//!
//! A reference that leads back to itself without descending into the value would never end, and is an error; so is an
//! excessively long chain.

use super::{
    SchemaProblem,
    branches::Branches,
    compile::Compiler,
    location::Location,
    node::{Node, NodeId},
};

/// The maximum number of schemas that apply to a value through each other, such as an `allOf` in an `anyOf`.
const MAX_CHAIN_NODES: usize = 64;

impl Compiler<'_> {
    /// Returns the maximum number of nodes that apply to one value through each other.
    pub(super) fn longest_chain(&mut self) -> usize {
        let mut lengths = vec![Length::Unknown; self.nodes.len()];
        let mut path = Vec::new();
        let mut longest = 1;
        for at in 0..self.nodes.len() {
            if let Ok(id) = u32::try_from(at) {
                longest = longest.max(self.chain_length(NodeId(id), &mut path, &mut lengths));
            }
        }
        if longest > MAX_CHAIN_NODES && !self.has_mistake() {
            let message =
                format!("more than {MAX_CHAIN_NODES} schemas apply to the same value one within the other");
            self.add_problem(&Location::ROOT, message);
        }
        longest
    }

    fn chain_length(&mut self, id: NodeId, path: &mut Vec<NodeId>, lengths: &mut [Length]) -> usize {
        match lengths.get(id.0 as usize) {
            Some(Length::Known(length)) => return *length,
            Some(Length::Unknown) if path.len() <= MAX_CHAIN_NODES => {}
            Some(Length::Unknown) => return MAX_CHAIN_NODES + 1,
            Some(Length::Open) | None => {
                self.report_loop(id, path);
                return 0;
            }
        }
        set_length(lengths, id, Length::Open);
        path.push(id);
        let mut longest = 0;
        for next in self.nodes.get(id.0 as usize).map(Node::same_value_nodes).unwrap_or_default() {
            longest = longest.max(self.chain_length(next, path, lengths));
        }
        path.pop();
        set_length(lengths, id, Length::Known(longest + 1));
        longest + 1
    }

    /// Reports a loop once, at one of its references.
    fn report_loop(&mut self, back_to: NodeId, path: &[NodeId]) {
        let on_loop = path.iter().skip_while(|id| **id != back_to);
        let reference = on_loop.filter_map(|id| self.references.iter().find(|it| it.from() == *id)).last();
        let pointer = reference.map(|it| it.pointer().to_owned()).unwrap_or_default();
        let message = "`$ref` leads back to itself before it reaches a part of the value".to_owned();
        let keyword = Some("$ref".into());
        self.problems.push(SchemaProblem { pointer, keyword, message, uncovered: false });
    }
}

#[derive(Clone, Copy)]
enum Length {
    Unknown,
    Open,
    Known(usize),
}

fn set_length(lengths: &mut [Length], id: NodeId, length: Length) {
    if let Some(slot) = lengths.get_mut(id.0 as usize) {
        *slot = length;
    }
}

impl Node {
    /// Returns the nodes that apply to the same value as this one.
    fn same_value_nodes(&self) -> Vec<NodeId> {
        let mut found: Vec<_> = self.alias.into_iter().collect();
        if let Some(combined) = &self.combined {
            found.extend(&combined.all);
            found.extend(combined.any.iter().chain(&combined.one).flat_map(Branches::node_ids));
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
