//! The location of a walk, as a linked list on the stack.
//!
//! Pointers are formatted only for violations: a walk without any does not allocate.

use crate::pointer::push_step;

/// A location in a document, either an instance or a schema.
#[derive(Debug)]
pub(in crate::arguments) struct Location<'a> {
    parent: Option<&'a Location<'a>>,
    step: Step<'a>,
    /// The index among the children of the parent.
    position: usize,
    /// The number of steps from the start.
    depth: usize,
}

#[derive(Debug)]
enum Step<'a> {
    /// The start of the walk, as a JSON pointer.
    Start(&'a str),
    Name(&'a str),
    Index(usize),
}

impl<'a> Location<'a> {
    /// The whole document.
    pub(in crate::arguments) const ROOT: Location<'static> = Location::from_pointer("");

    /// Returns the location of a JSON pointer.
    pub(in crate::arguments) const fn from_pointer(pointer: &'a str) -> Self {
        Self { parent: None, step: Step::Start(pointer), position: 0, depth: 0 }
    }

    /// Returns the location of the property `name`, the `position`-th of this object.
    pub(in crate::arguments) const fn property(&'a self, name: &'a str, position: usize) -> Self {
        Self { parent: Some(self), step: Step::Name(name), position, depth: self.depth + 1 }
    }

    /// Returns the location of a missing property, sorted after the present ones.
    pub(in crate::arguments) const fn missing_property(&'a self, name: &'a str) -> Self {
        self.property(name, usize::MAX)
    }

    /// Returns the location of a keyword of this schema; the order of keywords is irrelevant.
    pub(in crate::arguments) const fn keyword(&'a self, name: &'a str) -> Self {
        self.property(name, 0)
    }

    /// Returns the location of the item at `index`.
    pub(in crate::arguments) const fn item(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index), position: index, depth: self.depth + 1 }
    }

    /// Returns the number of steps from the start of the walk.
    pub(in crate::arguments) const fn depth(&self) -> usize {
        self.depth
    }

    /// Returns `true` for an item of a list.
    pub(in crate::arguments) const fn is_item(&self) -> bool {
        matches!(self.step, Step::Index(_))
    }

    /// Formats the JSON pointer (RFC 6901).
    pub(in crate::arguments) fn pointer(&self) -> String {
        const USUAL_STEP_BYTES: usize = 16;
        let mut pointer = String::with_capacity(self.depth * USUAL_STEP_BYTES);
        self.write_pointer(&mut pointer);
        pointer
    }

    fn write_pointer(&self, pointer: &mut String) {
        if let Some(parent) = self.parent {
            parent.write_pointer(pointer);
        }
        match self.step {
            Step::Start(start) => pointer.push_str(start),
            Step::Name(name) => push_step(pointer, name),
            Step::Index(index) => push_step(pointer, &index.to_string()),
        }
    }

    /// Returns a sort key in document order; a container sorts before its content.
    pub(in crate::arguments) fn sort_key(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.depth);
        let mut location = self;
        while let Some(parent) = location.parent {
            order.push(location.position);
            location = parent;
        }
        order.reverse();
        order
    }
}
