//! The branches of `anyOf` and `oneOf`, and the property that discriminates them (the tag).
//!
//! If each branch requires `"kind": {"const": ..}`, the kind of a value selects the branch. This improves the error
//! messages, and avoids trying every branch of a nested expression on all its parts.

use serde_json::Value;

use super::{Plan, node::NodeId};

/// The branches of one `anyOf` or `oneOf`, in schema order.
#[derive(Debug)]
pub(super) struct Branches {
    pub(super) list: Box<[Branch]>,
    /// The property that discriminates the branches.
    pub(super) tag: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) struct Branch {
    pub(super) node: NodeId,
    /// The values of the tag in this branch; empty if the branch does not restrict it.
    pub(super) kinds: Box<[Box<str>]>,
}

impl Branches {
    pub(super) fn new(nodes: Vec<NodeId>) -> Self {
        let branch = |node| Branch { node, kinds: Box::default() };
        Self { list: nodes.into_iter().map(branch).collect(), tag: None }
    }

    /// Iterates over all branches.
    pub(super) fn node_ids(&self) -> impl Iterator<Item = NodeId> {
        self.list.iter().map(|it| it.node)
    }

    /// Returns the tag of `value` if it is an object that has it.
    pub(super) fn tag_value_of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_object()?.get(self.tag.as_deref()?)
    }

    /// Iterates over the branches that the tag of `value` permits.
    pub(super) fn candidates(&self, value: &Value) -> impl Iterator<Item = NodeId> {
        let kind = self.tag_value_of(value);
        let fits = move |it: &&Branch| match kind {
            Some(kind) if !it.kinds.is_empty() => it.kinds.iter().any(|name| Some(&**name) == kind.as_str()),
            _ => true,
        };
        self.list.iter().filter(fits).map(|it| it.node)
    }
}

/// A tag, and its values in each branch.
type Tag = (Box<str>, Vec<Box<[Box<str>]>>);

impl Plan {
    /// Finds the tags of all branches; requires that all nodes are complete.
    pub(super) fn find_branch_tags(&mut self) {
        for at in 0..self.nodes.len() {
            let Some(combined) = self.nodes.get(at).and_then(|node| node.combined.as_ref()) else { continue };
            let [any, one] = [&combined.any, &combined.one].map(|it| self.tag_of(it.as_ref()?));
            if let Some(combined) = self.nodes.get_mut(at).and_then(|node| node.combined.as_mut()) {
                set_tag(combined.any.as_mut(), any);
                set_tag(combined.one.as_mut(), one);
            }
        }
    }

    /// Returns the property that has disjoint constant values in at least two branches.
    fn tag_of(&self, branches: &Branches) -> Option<Tag> {
        // A tag is defined by (nearly) all branches, hence by one of the first two.
        let first = branches.list.iter().take(2).filter_map(|branch| self.node(branch.node).object.as_ref());
        let names = first.flat_map(|object| object.properties.declared_names());
        let tags = names.filter_map(|name| {
            let kinds: Vec<_> = branches.node_ids().map(|node| self.tag_values(node, name)).collect();
            let mut all: Vec<&str> = kinds.iter().flatten().map(|it| &**it).collect();
            all.sort_unstable();
            let is_tag =
                kinds.iter().filter(|it| !it.is_empty()).count() > 1 && all.windows(2).all(are_distinct);
            is_tag.then(|| (name.into(), kinds))
        });
        // Of several candidates, prefers the one in the most branches, then the first.
        let coverage = |tag: &Tag| tag.1.iter().filter(|it| !it.is_empty()).count();
        tags.reduce(|best, next| if coverage(&next) > coverage(&best) { next } else { best })
    }

    /// Returns the values of `name` that a branch permits; empty unless it is one of several strings.
    fn tag_values(&self, branch: NodeId, name: &str) -> Box<[Box<str>]> {
        let property = self.node(branch).object.as_ref().and_then(|it| it.properties.get(name)?.node);
        let values = property.and_then(|node| self.node(node).values.as_deref());
        let texts = values.and_then(|values| values.iter().map(|it| it.as_str().map(Box::from)).collect());
        texts.unwrap_or_default()
    }
}

fn are_distinct(pair: &[&str]) -> bool {
    pair.first() != pair.last()
}

fn set_tag(branches: Option<&mut Branches>, tag: Option<Tag>) {
    let (Some(branches), Some((name, kinds))) = (branches, tag) else { return };
    branches.tag = Some(name);
    for (branch, kinds) in branches.list.iter_mut().zip(kinds) {
        branch.kinds = kinds;
    }
}
