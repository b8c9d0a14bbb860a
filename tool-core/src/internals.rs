//! Parts that `tool-runtime` shares with this crate. Not a public API; they may change at any time.
//!
//! What expansions use is in [`__private`](crate::__private).

pub use tool_schema::__private::{FormatVersion, present};

pub use crate::{
    context::{Attributes, current_grace, within_call, within_grace},
    name::rewritten,
    registration::DeclaredToolset,
    state::patch::apply as apply_patch,
};
