//! Functions as items: [`#[prompt]`](macro@crate::prompt) and [`#[resource]`](macro@crate::resource).
//!
//! | type | made of |
//! | --- | --- |
//! | [`FunctionPrompt`] | a function with [`#[prompt]`](macro@crate::prompt) |
//! | [`FunctionResource`] | a function with [`#[resource]`](macro@crate::resource) |
//! | [`FunctionTemplate`] | a function with [`#[resource]`](macro@crate::resource) whose URI has variables |
//!
//! [`Catalogue::discover`](crate::catalogue::Catalogue::discover) finds all of them that are linked into the program. By hand, each is made by
//! its handle, a type of the name of the function. A parameter by reference is provided by the program: by the [registry] from which the item
//! is made, or by the run.
//!
//! [registry]: tool_runtime::registry::RegistryBuilder::provide

mod call;
mod error;
mod prompt;
mod resource;
mod template;

pub(crate) use self::call::discover_items;
pub use self::{
    error::DiscoveryError,
    prompt::{FunctionPrompt, PromptHandle, PromptSpec, prompt_output},
    resource::{FunctionResource, ResourceHandle, ResourceSpec, probe as resource_probe, resource_output},
    template::{FunctionTemplate, TemplateHandle, TemplateSpec},
};
