//! The comparison of selectors with elements.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::Arc,
};

use super::{
    super::tree::{HtmlTree, NodeData, NodeId},
    selector::{AttributeTest, Combinator, Compound, Condition, Selector, SelectorGroup},
};

/// Comparisons of one page, each of some bytes.
const MAX_STEPS: u64 = 4_000_000;

/// Bytes of an attribute that are compared in one step.
const BYTES_PER_STEP: usize = 16;

/// Answers about rules around others that are kept for the rules inside of them.
const MAX_KEPT_ANSWERS: usize = 1 << 16;

/// Compares selectors with the elements of a page, as long as there are steps for it.
pub(super) struct SelectorMatcher<'t> {
    tree: &'t HtmlTree,
    steps_left: Cell<u64>,
    /// The answers about the selectors of a rule, by their address, and an element: each rule inside asks for them, at each of its levels.
    parent_answers: RefCell<HashMap<(usize, NodeId), bool>>,
}

impl<'t> SelectorMatcher<'t> {
    pub(super) fn new(tree: &'t HtmlTree) -> Self {
        Self { tree, steps_left: Cell::new(MAX_STEPS), parent_answers: RefCell::default() }
    }

    /// Returns `true` if no selector is compared any more.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left.get() == 0
    }

    #[cfg(test)]
    pub(super) fn used_steps(&self) -> u64 {
        MAX_STEPS - self.steps_left.get()
    }

    /// Takes one step of a comparison; `false` if there are none left.
    fn use_step(&self) -> bool {
        self.steps_left.set(self.steps_left.get().saturating_sub(1));
        !self.is_exhausted()
    }

    /// Takes the steps of bytes that are read; `false` if there are none left.
    fn use_steps_for_bytes(&self, bytes: usize) -> bool {
        let steps = (bytes / BYTES_PER_STEP) as u64;
        self.steps_left.set(self.steps_left.get().saturating_sub(steps));
        !self.is_exhausted()
    }

    pub(super) fn matches(&self, selector: &Selector, id: NodeId) -> bool {
        self.matches_first_compounds(selector, selector.compounds.len(), id)
    }

    /// Compares the first `count` compounds, of which the last one is about `id`.
    fn matches_first_compounds(&self, selector: &Selector, count: usize, id: NodeId) -> bool {
        let Some(index) = count.checked_sub(1) else { return true };
        let compound = selector.compounds.get(index);
        if !compound.is_some_and(|compound| self.matches_compound(compound, id)) {
            return false;
        }
        let Some(combinator) = index.checked_sub(1).and_then(|it| selector.combinators.get(it)) else {
            return true;
        };
        let next: fn(&Self, NodeId) -> Option<NodeId> = match combinator {
            Combinator::Descendant | Combinator::Child => Self::parent_element,
            Combinator::NextSibling | Combinator::LaterSibling => Self::previous_element,
        };
        let is_repeated = matches!(combinator, Combinator::Descendant | Combinator::LaterSibling);
        let mut other = next(self, id);
        while let Some(id) = other {
            if self.matches_first_compounds(selector, index, id) {
                return true;
            }
            if !is_repeated || self.is_exhausted() {
                return false;
            }
            other = next(self, id);
        }
        false
    }

    fn matches_compound(&self, compound: &Compound, id: NodeId) -> bool {
        compound.conditions.iter().all(|condition| self.matches_condition(condition, id))
    }

    fn matches_condition(&self, condition: &Condition, id: NodeId) -> bool {
        if !(self.use_step() && self.use_steps_for_bytes(condition.name_bytes())) {
            return false;
        }
        match condition {
            Condition::Tag(tag) => self.tree.tag(id) == tag,
            Condition::Id(name) => {
                self.attribute_within_steps(id, "id").is_some_and(|id| self.is_same_name(id, name))
            }
            Condition::Class(name) => self.attribute_within_steps(id, "class").is_some_and(|classes| {
                classes.split_ascii_whitespace().any(|it| self.is_same_name(it, name))
            }),
            Condition::Attribute { name, test, ignores_case } => {
                self.attribute_within_steps(id, name).is_some_and(|value| test.accepts(value, *ignores_case))
            }
            Condition::Root => self.tree.tag(id) == "html",
            Condition::Empty => self.tree.first_child(id).is_none(),
            Condition::Checked => match self.tree.tag(id) {
                "input" => self.attribute_within_steps(id, "checked").is_some() && self.is_checkable(id),
                "option" => self.attribute_within_steps(id, "selected").is_some(),
                _ => false,
            },
            Condition::Disabled => {
                let controls = ["button", "fieldset", "input", "optgroup", "option", "select", "textarea"];
                controls.contains(&self.tree.tag(id)) && self.attribute_within_steps(id, "disabled").is_some()
            }
            Condition::Nth { step, first, is_from_end, is_of_type } => {
                let position = self.sibling_position(id, *is_from_end, *is_of_type);
                position.is_some_and(|it| is_nth(it, *step, *first))
            }
            Condition::Only { is_of_type } => [false, true]
                .into_iter()
                .all(|is_from_end| self.sibling_position(id, is_from_end, *is_of_type) == Some(1)),
            // If there are no steps left, nothing matches.
            Condition::Not(group) => !self.matches_any(group, id) && !self.is_exhausted(),
            Condition::Any { selectors, .. } => self.matches_any(selectors, id),
            Condition::Parent(group) => self.matches_parent(group, id),
            Condition::Never => false,
        }
    }

    fn matches_any(&self, group: &SelectorGroup, id: NodeId) -> bool {
        group.selectors.iter().any(|selector| self.matches(selector, id))
    }

    /// Compares the selectors of a rule around others once with each element: the cost of levels adds up, but is not multiplied.
    fn matches_parent(&self, group: &SelectorGroup, id: NodeId) -> bool {
        let key = (Arc::as_ptr(&group.selectors).cast::<()>().addr(), id);
        if let Some(known) = self.parent_answers.borrow().get(&key) {
            return *known;
        }
        let is_match = self.matches_any(group, id);
        let mut answers = self.parent_answers.borrow_mut();
        if answers.len() >= MAX_KEPT_ANSWERS {
            answers.clear();
        }
        answers.insert(key, is_match);
        is_match
    }

    fn is_checkable(&self, id: NodeId) -> bool {
        let kind = self.attribute_within_steps(id, "type").unwrap_or_default();
        ["checkbox", "radio"].iter().any(|it| kind.eq_ignore_ascii_case(it))
    }

    /// Reads an attribute, at the cost of the names with which it is compared.
    fn attribute_within_steps(&self, id: NodeId, name: &str) -> Option<&'t str> {
        // Short names cost no more than their number.
        let bytes_per_name = if name.len() > BYTES_PER_STEP { name.len() } else { 1 };
        if !self.use_steps_for_bytes(self.tree.attribute_count(id).saturating_mul(bytes_per_name)) {
            return None;
        }
        let value = self.tree.attribute(id, name)?;
        self.use_steps_for_bytes(value.len()).then_some(value)
    }

    /// Compares names of classes and ids, which have no case in a page without a document type.
    fn is_same_name(&self, one: &str, other: &str) -> bool {
        match self.tree.is_quirky {
            true => one.eq_ignore_ascii_case(other),
            false => one == other,
        }
    }

    fn is_element(&self, id: NodeId) -> bool {
        matches!(self.tree.data(id), NodeData::Element { .. })
    }

    fn parent_element(&self, id: NodeId) -> Option<NodeId> {
        self.tree.parent(id).filter(|id| self.is_element(*id))
    }

    fn previous_element(&self, id: NodeId) -> Option<NodeId> {
        let mut before = std::iter::successors(self.tree.previous(id), |id| self.tree.previous(*id));
        before.find(|id| self.is_element(*id))
    }

    /// The number of an element among its siblings, from 1; `None` if there are too many to count.
    fn sibling_position(&self, id: NodeId, is_from_end: bool, is_of_type: bool) -> Option<i32> {
        let next = |id: NodeId| match is_from_end {
            true => self.tree.next(id),
            false => self.tree.previous(id),
        };
        let tag = self.tree.tag(id);
        let is_counted = |other: &NodeId| match is_of_type {
            true => self.tree.tag(*other) == tag,
            false => self.is_element(*other),
        };
        let bytes = if is_of_type { tag.len() } else { 0 };
        let others = std::iter::successors(next(id), |other| next(*other));
        let count = others
            .take_while(|_| self.use_step() && self.use_steps_for_bytes(bytes))
            .filter(is_counted)
            .count();
        let position = i32::try_from(count).unwrap_or(i32::MAX).saturating_add(1);
        Some(position).filter(|_| !self.is_exhausted())
    }
}

/// Returns `true` if `position` is `first` plus a multiple of `step`.
fn is_nth(position: i32, step: i32, first: i32) -> bool {
    let distance = i64::from(position) - i64::from(first);
    match i64::from(step) {
        0 => distance == 0,
        step => distance % step == 0 && distance / step >= 0,
    }
}

impl AttributeTest {
    /// Compares a value, in a time that grows with its length alone: a longer text in the selector is not read.
    fn accepts(&self, value: &str, ignores_case: bool) -> bool {
        let folded = ignores_case.then(|| value.to_ascii_lowercase());
        let value = folded.as_deref().unwrap_or(value);
        match self {
            Self::Exists => true,
            Self::Equals(wanted) => value == wanted,
            Self::Word(wanted) => value.split_ascii_whitespace().any(|it| it == wanted),
            Self::Dash(wanted) => {
                let rest = value.strip_prefix(wanted.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            }
            Self::Prefix(wanted) => !wanted.is_empty() && value.starts_with(wanted),
            Self::Suffix(wanted) => !wanted.is_empty() && value.ends_with(wanted),
            Self::Part(wanted) => !wanted.is_empty() && value.contains(wanted),
        }
    }
}
