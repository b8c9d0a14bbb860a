//! The tree of the steps that the parser takes.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    rc::Rc,
};

use html5ever::{
    Attribute, ExpandedName, QualName,
    interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink},
    local_name, ns,
    tendril::StrTendril,
};

use super::{
    css::HiddenText,
    tree::{DOCUMENT, HtmlTree, MAX_DEPTH, NodeData, NodeId, TreeLimit},
};

/// Elements and texts of one page.
const MAX_NODES: usize = 400_000;

/// A node as the parser knows it.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    /// `None` for comments and other nodes that are not kept.
    id: Option<NodeId>,
    name: Rc<QualName>,
}

/// The receiver of the steps of the parser.
pub(super) struct TreeBuilder {
    tree: RefCell<HtmlTree>,
    pub(super) limit: Cell<Option<TreeLimit>>,
    /// The name of nodes that are not elements.
    nameless: Rc<QualName>,
    /// The names of the attributes of elements to which later tags, such as a second `<html>`, add some.
    merged_names: RefCell<HashMap<NodeId, HashSet<QualName>>>,
}

impl TreeBuilder {
    pub(super) fn new() -> Self {
        let mut tree = HtmlTree { nodes: Vec::new(), is_quirky: false, hidden: HiddenText::default() };
        tree.push_detached(NodeData::Document);
        let nameless = Rc::new(QualName::new(None, ns!(), local_name!("")));
        Self { tree: RefCell::new(tree), limit: Cell::new(None), nameless, merged_names: RefCell::default() }
    }

    fn handle_of_ignored_node(&self) -> Handle {
        Handle { id: None, name: Rc::clone(&self.nameless) }
    }

    fn push_within_limit(&self, data: NodeData) -> NodeId {
        let mut tree = self.tree.borrow_mut();
        if tree.nodes.len() >= MAX_NODES {
            self.limit.set(Some(TreeLimit::Nodes));
        }
        tree.push_detached(data)
    }

    fn insert_or_merge_text(&self, parent: NodeId, next: Option<NodeId>, child: NodeOrText<Handle>) {
        let id = match child {
            NodeOrText::AppendNode(Handle { id: Some(id), .. }) => id,
            NodeOrText::AppendNode(_) => return,
            NodeOrText::AppendText(text) => {
                let mut tree = self.tree.borrow_mut();
                let before = match next {
                    Some(next) => tree.node(next).and_then(|it| it.previous),
                    None => tree.node(parent).and_then(|it| it.last_child),
                };
                if let Some(NodeData::Text(known)) =
                    before.and_then(|id| tree.nodes.get_mut(id)).map(|it| &mut it.data)
                {
                    known.push_str(&text);
                    return;
                }
                drop(tree);
                self.push_within_limit(NodeData::Text(text.to_string()))
            }
        };
        if self.tree.borrow_mut().move_before_or_last(parent, next, id) > MAX_DEPTH {
            self.limit.set(Some(TreeLimit::Depth));
        }
    }
}

/// All of them, in any number and length: a selector of a style sheet may ask for each, and what hides an element may be the last.
fn named_values(attributes: Vec<Attribute>) -> impl Iterator<Item = (QualName, String)> {
    attributes.into_iter().map(|it| (it.name, it.value.to_string()))
}

impl TreeSink for TreeBuilder {
    type Handle = Handle;
    type Output = Result<HtmlTree, TreeLimit>;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self::Output {
        match self.limit.get() {
            Some(limit) => Err(limit),
            None => Ok(self.tree.into_inner()),
        }
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { id: Some(DOCUMENT), name: Rc::clone(&self.nameless) }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Handle {
        let name = Rc::new(name);
        let attributes = named_values(attributes).collect();
        Handle {
            id: Some(self.push_within_limit(NodeData::Element { name: Rc::clone(&name), attributes })),
            name,
        }
    }

    fn create_comment(&self, _: StrTendril) -> Handle {
        self.handle_of_ignored_node()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle {
        self.handle_of_ignored_node()
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        if let Some(parent) = parent.id {
            self.insert_or_merge_text(parent, None, child);
        }
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        let has_parent = element.id.and_then(|id| self.tree.borrow().parent(id)).is_some();
        match has_parent {
            true => self.append_before_sibling(element, child),
            false => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// A template is never shown: its content is a child of it, and dropped with it.
    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.id == other.id
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.tree.borrow_mut().is_quirky = mode == QuirksMode::Quirks;
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = sibling.id.and_then(|id| self.tree.borrow().parent(id));
        if let Some(parent) = parent {
            self.insert_or_merge_text(parent, sibling.id, child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, added: Vec<Attribute>) {
        let Some(id) = target.id else { return };
        let mut merged = self.merged_names.borrow_mut();
        self.tree.borrow_mut().update_node(Some(id), |node| {
            if let NodeData::Element { attributes, .. } = &mut node.data {
                let names = merged
                    .entry(id)
                    .or_insert_with(|| attributes.iter().map(|(name, _)| name.clone()).collect());
                attributes.extend(named_values(added).filter(|(name, _)| names.insert(name.clone())));
            }
        });
    }

    fn remove_from_parent(&self, target: &Handle) {
        if let Some(id) = target.id {
            self.tree.borrow_mut().detach(id);
        }
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let (Some(node), Some(new_parent)) = (node.id, new_parent.id) else { return };
        let mut tree = self.tree.borrow_mut();
        while let Some(child) = tree.node(node).and_then(|it| it.first_child) {
            tree.move_before_or_last(new_parent, None, child);
        }
    }
}
