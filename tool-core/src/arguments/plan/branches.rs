//! The branches of `anyOf` and `oneOf`, and the property that tells them apart.
//!
//! Where each branch says `"kind": {"const": ..}`, the kind of a value decides which branch can
//! admit it. That is what a reader wants to be told of when it fails, and it spares the check to
//! try every branch of a nested expression on all that is below.

use serde_json::Value;

use super::{Plan, node::NodeId};

/// The branches of one `anyOf` or `oneOf`, in the order of the schema.
#[derive(Debug)]
pub(super) struct Branches {
    pub(super) list: Box<[Branch]>,
    /// The property that tells branches apart.
    pub(super) tag: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) struct Branch {
    pub(super) node: NodeId,
    /// What the tag of an object must be for this branch; empty where the branch does not say.
    pub(super) kinds: Box<[Box<str>]>,
}

impl Branches {
    pub(super) fn new(nodes: Vec<NodeId>) -> Self {
        let branch = |node| Branch { node, kinds: Box::default() };
        Self { list: nodes.into_iter().map(branch).collect(), tag: None }
    }

    /// All branches.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.list.iter().map(|it| it.node)
    }

    /// What `value` says about its kind, if it is an object that says so.
    pub(super) fn kind_of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_object()?.get(self.tag.as_deref()?)
    }

    /// The branches that are not ruled out by the kind of `value`.
    pub(super) fn candidates(&self, value: &Value) -> impl Iterator<Item = NodeId> {
        let kind = self.kind_of(value);
        let fits = move |it: &&Branch| match kind {
            Some(kind) if !it.kinds.is_empty() => it.kinds.iter().any(|name| Some(&**name) == kind.as_str()),
            _ => true,
        };
        self.list.iter().filter(fits).map(|it| it.node)
    }
}

/// A tag, and the kinds of each branch.
type Tag = (Box<str>, Vec<Box<[Box<str>]>>);

impl Plan {
    /// Finds the tags of all branches; needs all nodes in their places.
    pub(super) fn find_tags(&mut self) {
        for at in 0..self.nodes.len() {
            let Some(combined) = self.nodes.get(at).and_then(|node| node.combined.as_ref()) else { continue };
            let [any, one] = [&combined.any, &combined.one].map(|it| self.tag_of(it.as_ref()?));
            if let Some(combined) = self.nodes.get_mut(at).and_then(|node| node.combined.as_mut()) {
                set(combined.any.as_mut(), any);
                set(combined.one.as_mut(), one);
            }
        }
    }

    /// The property by which at least two branches differ, and no kind belongs to two of them.
    fn tag_of(&self, branches: &Branches) -> Option<Tag> {
        // A tag tells all branches apart, or nearly all: it shows in one of the first two.
        let first = branches.list.iter().take(2).filter_map(|branch| self.node(branch.node).object.as_ref());
        let names = first.flat_map(|object| object.properties.known());
        let tags = names.filter_map(|name| {
            let kinds: Vec<_> = branches.nodes().map(|node| self.kinds(node, name)).collect();
            let mut all: Vec<&str> = kinds.iter().flatten().map(|it| &**it).collect();
            all.sort_unstable();
            let is_tag = kinds.iter().filter(|it| !it.is_empty()).count() > 1 && all.windows(2).all(differ);
            is_tag.then(|| (name.into(), kinds))
        });
        // Of several that would do, the one that more branches have; the first of equals.
        let coverage = |tag: &Tag| tag.1.iter().filter(|it| !it.is_empty()).count();
        tags.reduce(|best, next| if coverage(&next) > coverage(&best) { next } else { best })
    }

    /// What `name` can be in an object that a branch admits; empty unless it is one of some texts.
    fn kinds(&self, branch: NodeId, name: &str) -> Box<[Box<str>]> {
        let property = self.node(branch).object.as_ref().and_then(|it| it.properties.get(name)?.node);
        let values = property.and_then(|node| self.node(node).values.as_deref());
        let texts = values.and_then(|values| values.iter().map(|it| it.as_str().map(Box::from)).collect());
        texts.unwrap_or_default()
    }
}

fn differ(pair: &[&str]) -> bool {
    pair.first() != pair.last()
}

fn set(branches: Option<&mut Branches>, tag: Option<Tag>) {
    let (Some(branches), Some((name, kinds))) = (branches, tag) else { return };
    branches.tag = Some(name);
    for (branch, kinds) in branches.list.iter_mut().zip(kinds) {
        branch.kinds = kinds;
    }
}
