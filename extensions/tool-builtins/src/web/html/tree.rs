//! The tree of a page, by the parser of a browser, within limits.
//!
//! Each step of the tree builder costs as much as its elements are nested, and each node is stored once, with links to its
//! neighbours, so that text before a table is moved in constant time. Nothing here calls itself.

use std::{
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering},
};

use html5ever::{
    ParseOpts, QualName, ns, parse_document,
    tendril::{StrTendril, TendrilSink as _},
    tree_builder::TreeBuilderOpts,
};

use super::{
    css::{HiddenText, hide_nodes},
    tree_builder::TreeBuilder,
};

/// Levels of elements; browsers have the same limit.
pub(crate) const MAX_DEPTH: u32 = 512;

/// Bytes that are parsed between two looks at the limits. An element may have as many attributes as a page has room for, and each new one
/// is compared with them.
const CHUNK_BYTES: usize = 4 * 1024;

/// The reason why a page has no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeLimit {
    Depth,
    Nodes,
    /// The caller does not wait any more.
    Stopped,
}

/// Index of a node; the document is 0.
pub(crate) type NodeId = usize;

pub(crate) const DOCUMENT: NodeId = 0;

#[derive(Debug)]
pub(crate) enum NodeData {
    Document,
    Element { name: Rc<QualName>, attributes: Vec<(QualName, String)> },
    Text(String),
}

#[derive(Debug)]
pub(crate) struct Node {
    parent: Option<NodeId>,
    pub(super) previous: Option<NodeId>,
    pub(super) next: Option<NodeId>,
    pub(super) first_child: Option<NodeId>,
    pub(super) last_child: Option<NodeId>,
    depth: u32,
    /// A style hides it, with all in it.
    is_hidden: bool,
    pub(super) data: NodeData,
}

/// The nodes of a page.
#[derive(Debug)]
pub(crate) struct HtmlTree {
    pub(super) nodes: Vec<Node>,
    /// The page has no document type: names of classes and ids have no case.
    pub(super) is_quirky: bool,
    /// The text that its style sheets hide.
    pub(super) hidden: HiddenText,
}

/// A step of a walk through a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    Enter(NodeId),
    Leave(NodeId),
}

impl HtmlTree {
    /// Parses `html` until a limit is reached, or `stop` is set.
    pub(crate) fn parse(html: &str, stop: &AtomicBool) -> Result<Self, TreeLimit> {
        let options = ParseOpts {
            tree_builder: TreeBuilderOpts { scripting_enabled: true, ..TreeBuilderOpts::default() },
            ..ParseOpts::default()
        };
        let mut parser = parse_document(TreeBuilder::new(), options);
        let mut rest = html;
        while !rest.is_empty() {
            let mut end = CHUNK_BYTES.min(rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let (chunk, remaining) = rest.split_at(end);
            parser.process(StrTendril::from_slice(chunk));
            rest = remaining;
            if let Some(limit) = parser.tokenizer.sink.sink.limit.get() {
                return Err(limit);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(TreeLimit::Stopped);
            }
        }
        let mut tree = parser.finish()?;
        tree.hidden = hide_nodes(&mut tree, true, stop)?;
        Ok(tree)
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(crate) fn data(&self, id: NodeId) -> &NodeData {
        self.node(id).map_or(&NodeData::Document, |node| &node.data)
    }

    /// Returns the name of an HTML element; empty for text, and for elements of SVG and MathML.
    pub(crate) fn tag(&self, id: NodeId) -> &str {
        match self.data(id) {
            NodeData::Element { name, .. } if name.ns == ns!(html) => &name.local,
            _ => "",
        }
    }

    pub(crate) fn is_foreign(&self, id: NodeId) -> bool {
        matches!(self.data(id), NodeData::Element { name, .. } if name.ns != ns!(html))
    }

    pub(crate) fn attribute(&self, id: NodeId, name: &str) -> Option<&str> {
        let NodeData::Element { attributes, .. } = self.data(id) else { return None };
        attributes.iter().find(|(known, _)| &*known.local == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn attribute_count(&self, id: NodeId) -> usize {
        match self.data(id) {
            NodeData::Element { attributes, .. } => attributes.len(),
            _ => 0,
        }
    }

    /// Returns `true` for an element with a style sheet, also of a graphic, whose rules hold for the page.
    pub(super) fn is_style(&self, id: NodeId) -> bool {
        let NodeData::Element { name, .. } = self.data(id) else { return false };
        &*name.local == "style" && (name.ns == ns!(html) || name.ns == ns!(svg))
    }

    pub(super) fn is_hidden(&self, id: NodeId) -> bool {
        self.node(id).is_some_and(|node| node.is_hidden)
    }

    /// Hides these nodes, and no others.
    pub(super) fn set_hidden(&mut self, hidden: &[NodeId]) {
        for node in &mut self.nodes {
            node.is_hidden = false;
        }
        for id in hidden {
            self.update_node(Some(*id), |node| node.is_hidden = true);
        }
    }

    pub(crate) fn has_class(&self, id: NodeId, class: &str) -> bool {
        self.attribute(id, "class").is_some_and(|it| it.split_ascii_whitespace().any(|it| it == class))
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.parent
    }

    pub(super) fn first_child(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.first_child
    }

    pub(super) fn previous(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.previous
    }

    pub(super) fn next(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.next
    }

    /// Returns the step after `visit` in the walk of `root`.
    pub(crate) fn next_visit(&self, root: NodeId, visit: Visit) -> Option<Visit> {
        match visit {
            Visit::Enter(id) => Some(self.first_child(id).map_or(Visit::Leave(id), Visit::Enter)),
            Visit::Leave(id) if id == root => None,
            Visit::Leave(id) => {
                let node = self.node(id)?;
                node.next.map(Visit::Enter).or(node.parent.map(Visit::Leave))
            }
        }
    }

    /// Returns the nodes of the part below `root`, without those below a node that `is_dropped`.
    pub(crate) fn descendants<'t>(
        &'t self,
        root: NodeId,
        is_dropped: impl Fn(NodeId) -> bool + 't,
    ) -> impl Iterator<Item = NodeId> + 't {
        let mut upcoming = Some(Visit::Enter(root));
        std::iter::from_fn(move || {
            loop {
                match upcoming? {
                    Visit::Enter(id) if !is_dropped(id) => {
                        upcoming = self.next_visit(root, Visit::Enter(id));
                        return Some(id);
                    }
                    Visit::Enter(id) | Visit::Leave(id) => {
                        upcoming = self.next_visit(root, Visit::Leave(id));
                    }
                }
            }
        })
    }

    /// Returns at most `max_chars` of the text below `root`, on one line.
    pub(crate) fn text_line(
        &self,
        root: NodeId,
        max_chars: usize,
        is_dropped: impl Fn(NodeId) -> bool,
    ) -> String {
        let texts = self.descendants(root, is_dropped).filter_map(|id| match self.data(id) {
            NodeData::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let (mut line, mut chars) = (String::new(), 0);
        let mut has_space = false;
        for character in texts.flat_map(str::chars) {
            if character.is_whitespace() {
                has_space = !line.is_empty();
                continue;
            }
            if chars >= max_chars {
                line.push('…');
                break;
            }
            if std::mem::take(&mut has_space) {
                line.push(' ');
            }
            line.push(character);
            chars += 1;
        }
        line
    }

    pub(super) fn push_detached(&mut self, data: NodeData) -> NodeId {
        let (parent, previous, next, first_child, last_child) = (None, None, None, None, None);
        self.nodes.push(Node {
            parent,
            previous,
            next,
            first_child,
            last_child,
            depth: 0,
            is_hidden: false,
            data,
        });
        self.nodes.len() - 1
    }

    pub(super) fn update_node(&mut self, id: Option<NodeId>, change: impl FnOnce(&mut Node)) {
        if let Some(node) = id.and_then(|id| self.nodes.get_mut(id)) {
            change(node);
        }
    }

    pub(super) fn detach(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get_mut(id) else { return };
        let (parent, previous, next) = (node.parent.take(), node.previous.take(), node.next.take());
        match previous {
            Some(_) => self.update_node(previous, |it| it.next = next),
            None => self.update_node(parent, |it| it.first_child = next),
        }
        match next {
            Some(_) => self.update_node(next, |it| it.previous = previous),
            None => self.update_node(parent, |it| it.last_child = previous),
        }
    }

    /// Inserts `id` before the child `next` of `parent`, or as its last one; returns its depth.
    pub(super) fn move_before_or_last(&mut self, parent: NodeId, next: Option<NodeId>, id: NodeId) -> u32 {
        self.detach(id);
        let depth = self.node(parent).map_or(0, |it| it.depth) + 1;
        let previous = match next {
            Some(next) => self.node(next).and_then(|it| it.previous),
            None => self.node(parent).and_then(|it| it.last_child),
        };
        self.update_node(Some(id), |it| {
            (it.parent, it.previous, it.next, it.depth) = (Some(parent), previous, next, depth);
        });
        match previous {
            Some(_) => self.update_node(previous, |it| it.next = Some(id)),
            None => self.update_node(Some(parent), |it| it.first_child = Some(id)),
        }
        match next {
            Some(_) => self.update_node(next, |it| it.previous = Some(id)),
            None => self.update_node(Some(parent), |it| it.last_child = Some(id)),
        }
        depth
    }
}
