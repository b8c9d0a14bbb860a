//! Prompts run by agents.
//!
//! | type | purpose |
//! | --- | --- |
//! | [`AgentDelegate`] | the delegate of a [`Catalogue`](crate::catalogue::Catalogue) that runs each prompt by an agent of its own |
//! | [`Models`] | the models that prompts name |

mod delegate;
mod input;
mod messages;
mod models;
mod output;

pub use self::{delegate::AgentDelegate, models::Models};
