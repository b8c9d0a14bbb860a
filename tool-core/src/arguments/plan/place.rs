//! Where a walk is, as a list of steps that lives on the stack.
//!
//! A pointer is text only once something is wrong there: a walk that finds nothing allocates
//! nothing.

use crate::pointer::push_step;

/// A place in a document, which is an instance or a schema.
#[derive(Debug)]
pub(in crate::arguments) struct Location<'a> {
    parent: Option<&'a Location<'a>>,
    step: Step<'a>,
    /// The how-manieth child of its parent this is.
    position: usize,
    /// How many steps lead here.
    depth: usize,
}

#[derive(Debug)]
enum Step<'a> {
    /// Where the walk began, as a JSON pointer.
    Start(&'a str),
    Name(&'a str),
    Index(usize),
}

impl<'a> Location<'a> {
    /// The whole document.
    pub(in crate::arguments) const ROOT: Location<'static> = Location::at("");

    /// The place that a JSON pointer names.
    pub(in crate::arguments) const fn at(pointer: &'a str) -> Self {
        Self { parent: None, step: Step::Start(pointer), position: 0, depth: 0 }
    }

    /// The property `name`, the `position`-th of this object.
    pub(in crate::arguments) const fn property(&'a self, name: &'a str, position: usize) -> Self {
        Self { parent: Some(self), step: Step::Name(name), position, depth: self.depth + 1 }
    }

    /// A property that should be here; in the order of the document it comes after those that are.
    pub(in crate::arguments) const fn missing(&'a self, name: &'a str) -> Self {
        self.property(name, usize::MAX)
    }

    /// What stands under a keyword of this schema, the order of which is of no interest.
    pub(in crate::arguments) const fn keyword(&'a self, name: &'a str) -> Self {
        self.property(name, 0)
    }

    /// The item at `index` of this list.
    pub(in crate::arguments) const fn item(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index), position: index, depth: self.depth + 1 }
    }

    /// How many steps lead here from where the walk began.
    pub(in crate::arguments) const fn depth(&self) -> usize {
        self.depth
    }

    /// Whether this is an item of a list.
    pub(in crate::arguments) const fn is_item(&self) -> bool {
        matches!(self.step, Step::Index(_))
    }

    /// The JSON pointer (RFC 6901).
    pub(in crate::arguments) fn pointer(&self) -> String {
        let mut pointer = self.parent.map(Location::pointer).unwrap_or_default();
        match self.step {
            Step::Start(start) => pointer.push_str(start),
            Step::Name(name) => push_step(&mut pointer, name),
            Step::Index(index) => push_step(&mut pointer, &index.to_string()),
        }
        pointer
    }

    /// Sorts as the places stand in the document; a container comes before what it contains.
    pub(in crate::arguments) fn order(&self) -> Vec<usize> {
        let Some(parent) = self.parent else { return Vec::new() };
        let mut order = parent.order();
        order.push(self.position);
        order
    }
}
