//! The comparison of selectors with elements.

use std::cell::Cell;

use super::{
    super::tree::{NodeData, NodeId, Tree},
    selector::{AttributeTest, Combinator, Compound, Condition, Selector},
};

/// Comparisons of one page, each of some bytes.
const MAX_STEPS: u64 = 4_000_000;

/// Bytes of an attribute that are compared in one step.
const BYTES_PER_STEP: usize = 16;

/// Compares selectors with the elements of a page, as long as there are steps for it.
pub(super) struct Matcher<'t> {
    tree: &'t Tree,
    steps_left: Cell<u64>,
}

impl<'t> Matcher<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self { tree, steps_left: Cell::new(MAX_STEPS) }
    }

    /// Returns `true` if no selector is compared any more.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left.get() == 0
    }

    /// Takes the steps of a comparison; `false` if there are none left.
    fn take_steps(&self, bytes: usize) -> bool {
        let steps = 1 + (bytes / BYTES_PER_STEP) as u64;
        self.steps_left.set(self.steps_left.get().saturating_sub(steps));
        !self.is_exhausted()
    }

    pub(super) fn matches(&self, selector: &Selector, id: NodeId) -> bool {
        self.matches_from(selector, selector.compounds.len(), id)
    }

    /// Compares the first `count` compounds, of which the last one is about `id`.
    fn matches_from(&self, selector: &Selector, count: usize, id: NodeId) -> bool {
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
            if self.matches_from(selector, index, id) {
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
        self.take_steps(0)
            && compound.conditions.iter().all(|condition| self.matches_condition(condition, id))
    }

    fn matches_condition(&self, condition: &Condition, id: NodeId) -> bool {
        let is_any = |selectors: &[Selector]| selectors.iter().any(|selector| self.matches(selector, id));
        match condition {
            Condition::Tag(tag) => self.tree.tag(id) == tag,
            Condition::Id(name) => self.attribute(id, "id").is_some_and(|id| self.is_same_name(id, name)),
            Condition::Class(name) => self.attribute(id, "class").is_some_and(|classes| {
                classes.split_ascii_whitespace().any(|it| self.is_same_name(it, name))
            }),
            Condition::Attribute { name, test, ignores_case } => {
                self.attribute(id, name).is_some_and(|value| test.accepts(value, *ignores_case))
            }
            Condition::Root => self.tree.tag(id) == "html",
            Condition::Empty => self.tree.first_child(id).is_none(),
            Condition::Nth { step, first, is_from_end, is_of_type } => {
                is_nth(self.position(id, *is_from_end, *is_of_type), *step, *first)
            }
            // If there are no steps left, nothing matches.
            Condition::Not(selectors) => !is_any(selectors) && !self.is_exhausted(),
            Condition::Any { selectors, .. } => is_any(selectors),
            Condition::Never => false,
        }
    }

    fn attribute(&self, id: NodeId, name: &str) -> Option<&'t str> {
        let value = self.tree.attribute(id, name)?;
        self.take_steps(value.len() + self.tree.attribute_count(id)).then_some(value)
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

    /// The number of an element among its siblings, from 1.
    fn position(&self, id: NodeId, is_from_end: bool, is_of_type: bool) -> i32 {
        let next = |id: NodeId| match is_from_end {
            true => self.tree.next(id),
            false => self.tree.previous(id),
        };
        let is_counted = |other: &NodeId| match is_of_type {
            true => self.tree.tag(*other) == self.tree.tag(id),
            false => self.is_element(*other),
        };
        let others = std::iter::successors(next(id), |other| next(*other));
        let count = others.take_while(|_| self.take_steps(0)).filter(is_counted).count();
        i32::try_from(count).unwrap_or(i32::MAX).saturating_add(1)
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
    fn accepts(&self, value: &str, ignores_case: bool) -> bool {
        let fold = |text: &str| if ignores_case { text.to_ascii_lowercase() } else { text.to_owned() };
        let value = fold(value);
        match self {
            Self::Exists => true,
            Self::Equals(wanted) => value == fold(wanted),
            Self::Word(wanted) => value.split_ascii_whitespace().any(|it| it == fold(wanted)),
            Self::Dash(wanted) => {
                let rest = value.strip_prefix(&fold(wanted)).map(str::to_owned);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            }
            Self::Prefix(wanted) => !wanted.is_empty() && value.starts_with(&fold(wanted)),
            Self::Suffix(wanted) => !wanted.is_empty() && value.ends_with(&fold(wanted)),
            Self::Part(wanted) => !wanted.is_empty() && value.contains(&fold(wanted)),
        }
    }
}
