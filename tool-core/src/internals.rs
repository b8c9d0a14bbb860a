//! Parts that `tool-runtime` shares with this crate. Not a public API; they may change at any time.
//!
//! Expansions use [`__private`](crate::__private) instead.

pub use tool_schema::__private::{
    ExactValue, FormatVersion, ResolvedPointer, ValueTypes, canonical_number, messages, pointer_steps,
    present,
};

pub use crate::{
    context::{Attributes, current_grace, within_call, within_grace},
    definition::PeerDefinition,
    name::rewritten,
    registration::DeclaredToolset,
    tool::{RemotePreparation, RemoteSteps, StepError, ToolSteps},
};
