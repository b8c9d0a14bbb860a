//! The path of a location in a provider's JSON.

use std::fmt;

/// The steps that are kept without memory of their own: each member that is read has a path, and almost none is shown.
const NEAR_STEPS: usize = 6;

/// The steps from the root to a location. Its text is a JSON pointer.
#[derive(Debug, Clone)]
pub(super) struct LocationPath<'v> {
    near: [Step<'v>; NEAR_STEPS],
    near_count: usize,
    far: Vec<Step<'v>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'v> {
    Name(&'v str),
    Index(usize),
}

impl<'v> LocationPath<'v> {
    pub(super) const ROOT: Self = Self { near: [Step::Index(0); NEAR_STEPS], near_count: 0, far: Vec::new() };

    /// Returns the path with another step.
    pub(super) fn with(&self, step: Step<'v>) -> Self {
        let mut path = self.clone();
        match path.near.get_mut(path.near_count) {
            Some(next) => {
                *next = step;
                path.near_count += 1;
            }
            None => path.far.push(step),
        }
        path
    }
}

impl fmt::Display for LocationPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.near.iter().take(self.near_count).chain(&self.far).try_for_each(|step| match step {
            Step::Name(name) => write!(f, "/{name}"),
            Step::Index(index) => write!(f, "/{index}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_length_is_a_pointer() {
        let mut path = LocationPath::ROOT;
        let mut expected = String::new();
        for at in 0..2 * NEAR_STEPS {
            assert_eq!(path.to_string(), expected);
            path = path.with(Step::Name("a")).with(Step::Index(at));
            expected += &format!("/a/{at}");
        }
        assert_eq!(path.to_string(), expected);
    }
}
