//! Commands and their verdicts, by the policy of this test program.

mod bypasses;
mod denied;
mod indirect;
mod ordinary;

pub(crate) use self::{
    bypasses::GRAMMAR_BYPASSES, denied::DENIED, indirect::COMMAND_BYPASSES, ordinary::ORDINARY,
};

/// All attempts; none of them is allowed.
pub(crate) fn bypasses() -> impl Iterator<Item = &'static str> {
    GRAMMAR_BYPASSES.iter().chain(COMMAND_BYPASSES).copied()
}
