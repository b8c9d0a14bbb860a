//! Connectors that come and go: the ones that the program connects itself, and the ones whose connections the run of the catalogue makes.
//!
//! Each connector has a slot, in the order of registration, which stays while its connection comes and goes. A run has one task for each source; it
//! alone connects, lists and takes out its connector, so that one that is broken, slow or hostile changes nothing for others.

mod attach;
mod connection_task;
mod register;
mod run;
mod schedule;
mod slots;
mod source;
mod state;
mod subscription;
mod table;
mod url;
mod visible;

pub use self::{
    source::{ConnectorFactory, ConnectorSource},
    state::{ConnectorInfo, ConnectorState},
};
pub(super) use self::{
    table::{AttachedConnector, ConnectorTable},
    visible::VisibleNamespaces,
};
