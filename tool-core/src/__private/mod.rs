//! The implementation details of the attributes' expansions. Not a public API; it may change at any time.
//!
//! An expansion consists of a table ([`Spec`]), one slot for each parameter, and a closure that calls the user's
//! function. Everything else is implemented here, once for all tools.

mod confirm_parameter;
mod constraint;
mod decode;
mod describe;
mod errors;
mod injected;
mod invocation;
mod item_slot;
mod items;
mod outcome;
mod request_additions;
mod slices;
mod slot;
mod spec;
mod text;
mod type_probe;

pub use inventory;
pub use schemars;
pub use serde;
pub use serde_json;
pub use std::{sync::Arc, vec::Vec};

pub use self::{
    confirm_parameter::ConfirmParameter,
    constraint::{Constraint, check},
    describe::{Generator, Returned},
    errors::{Fallible, retried, worth_retrying},
    injected::{
        ContextSlot, InjectedByValue, OptionalProvidedSlot, OwnedItems, RefusedSlot, SharedArgument,
        StateSlot,
    },
    invocation::{
        BoxInvocation, Call, Invocation, InvocationMode, Invoked, OwnedCall, RunInputs, Slots, allow, boxed,
        guarded, invocation, never,
    },
    item_slot::{InjectedSlot, VariableSlot, injected, variable},
    outcome::{Ending, Tag, conclude, conclude_sync, json},
    request_additions::{AsyncRequestAddition, RequestAddition},
    slot::{Argument, OwnedSlot, Provides, Slot, SlotList, Source, WholeSlot, default_from_text},
    spec::{Handle, Hints, IntoSchema, Parameter, Spec},
    type_probe::{Described, Items, Opaque, TypeProbe},
};
pub(crate) use self::{
    decode::Parameters,
    describe::{describe, describe_result},
    items::{Merged, Outputs, Part, Together, report_and_collect_items},
};
pub use crate::{
    Dependency, FunctionTool, Method, Permission, Registration, Retry, Run, SourceLocation, StaticToolSet,
    ToolContext, ToolError, merged, outcome, outcome_sync,
    registration::{DeclaredToolset, ItemRegistration},
    retried, site, takes_its_parameters_by_reference, to_json,
};

/// A JSON object.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// The traits used by expansions for method resolution; imported as a whole.
pub mod probe {
    pub use super::{
        confirm_parameter::traits::*, errors::traits::*, items::traits::*, outcome::traits::*,
        type_probe::traits::*,
    };
}
