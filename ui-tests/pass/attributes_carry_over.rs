//! `#[cfg]`, other attributes and visibility carry over (B11).

#![deny(warnings)]

use tool_runtime::{tool, toolset};

mod inner {
    use super::tool;

    /// Seen by the parent only.
    #[tool]
    pub(super) fn seen(a: u8) -> u8 {
        a
    }
}

/// Old.
#[tool]
#[deprecated]
fn old() {}

/// Not here.
#[cfg(any())]
#[tool]
fn gone(this: DoesNotExist) {}

/// Not here either.
#[tool]
#[cfg(any())]
struct Gone {
    this: DoesNotExist,
}

/// Of two, one is here.
#[tool(name = "one_of_two")]
#[cfg(any())]
fn first() {}

/// Of two, one is here.
#[tool(name = "one_of_two")]
#[cfg(all())]
#[inline]
const fn second() {}

/// Parameters keep what is not ours.
#[tool]
fn unused(
    /// Documented.
    #[allow(unused_variables)]
    a: u8,
    mut b: u8,
) -> u8 {
    b += 1;
    b
}

struct Set;

#[toolset]
#[cfg(all())]
impl Set {
    const NAME: &'static str = "set";

    /// Not here.
    #[tool]
    #[cfg(any())]
    fn gone(&self, this: DoesNotExist) {}

    #[tool(description = Self::NAME)]
    #[cfg(all())]
    fn here(&self) {}

    fn no_tool(&self) {}
}

fn main() {
    let _ = tool_runtime::Registry::builder().tool::<inner::seen>();
    let _ = (inner::seen(1), second(), unused(1, 2), Set.here(), Set.no_tool());
}
