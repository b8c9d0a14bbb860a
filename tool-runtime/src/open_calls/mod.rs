//! Open calls: where calls without their final result are kept until they are answered.
//!
//! A call is open while it is left to the caller, goes on after its batch, or waits for a person. The executor writes a
//! record of it to an [`OpenCallStore`] and removes the record when the call is answered, at most once. A store sees
//! nothing but records: their bodies are texts that only executors read, and each carries a message authentication code
//! under the key of the program.

mod key;
mod memory;
mod record;
mod seal;
mod shared;

use std::{fmt, future::Future};

use tool_core::{CallAddress, CallId};

pub(crate) use self::{
    key::Message,
    record::{Body, Secret, addressed},
    shared::serials,
};
pub use self::{
    key::ProgramKey,
    memory::MemoryOpenCalls,
    record::{OpenKind, OpenRecord},
    shared::SharedOpenCalls,
};
pub use crate::executor::open::{CallRef, OpenCall, OpenCallError};

/// A store of open calls. Methods can be written as `async fn`.
///
/// A store keeps records as they are, and decides nothing about them: executors verify each one that they read, so that
/// a record that was altered is refused. What a store must guarantee is that of all calls of [`consume`](Self::consume)
/// with one record, in any process, at most one returns `true`. In SQL that is `DELETE .. WHERE address = ? AND tag = ?`
/// with a look at the number of rows; in a folder, a `rename` of the file, whose tag is compared afterwards.
///
/// An address contains an id that a model has chosen, so that it is never a part of a path; the
/// [hash](crate::definition::ContentHash::of) of an address is a name for a file.
///
/// A store that brings a consumed record back, such as one that is restored from a backup, lets the call run again.
///
/// # Examples
///
/// ```
/// use std::{collections::HashMap, sync::Mutex};
///
/// use tool_runtime::{
///     call::CallAddress,
///     open_calls::{OpenCallStore, OpenFilter, OpenRecord, OpenStoreError},
///     serde_json,
/// };
///
/// #[derive(Default)]
/// struct Table(Mutex<HashMap<CallAddress, String>>);
///
/// fn failed(error: impl ToString) -> OpenStoreError {
///     OpenStoreError::Failed(error.to_string())
/// }
///
/// impl OpenCallStore for Table {
///     fn outlives_process(&self) -> bool {
///         false
///     }
///
///     async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
///         let text = serde_json::to_string(&record).map_err(failed)?;
///         match self.0.lock().map_err(failed)?.insert(record.address.clone(), text) {
///             None => Ok(()),
///             Some(_) => Err(OpenStoreError::Exists),
///         }
///     }
///
///     async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
///         let table = self.0.lock().map_err(failed)?;
///         table.get(address).map(|text| serde_json::from_str(text).map_err(failed)).transpose()
///     }
///
///     async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
///         let table = self.0.lock().map_err(failed)?;
///         let found = table.iter().filter(|(address, _)| filter.admits(address));
///         found.map(|(_, text)| serde_json::from_str(text).map_err(failed)).collect()
///     }
///
///     async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
///         let mut table = self.0.lock().map_err(failed)?;
///         let kept = table.get(&record.address).map(|text| serde_json::from_str::<OpenRecord>(text));
///         let is_it = matches!(kept, Some(Ok(kept)) if kept.tag == record.tag);
///         Ok(is_it && table.remove(&record.address).is_some())
///     }
/// }
/// ```
pub trait OpenCallStore: Send + Sync {
    /// Returns `true` if records are there when the process has ended, or are read by another one. Such a store needs
    /// a [program key](crate::executor::ExecutorBuilder::program_key). Default: `true`.
    fn outlives_process(&self) -> bool {
        true
    }

    /// Stores a record.
    ///
    /// # Errors
    ///
    /// [`Exists`](OpenStoreError::Exists) if there is a record of its address; [`Full`](OpenStoreError::Full) if there
    /// is no room for it. Then the call is answered with an error, and is not open.
    fn put(&self, record: OpenRecord) -> impl Future<Output = Result<(), OpenStoreError>> + Send;

    /// Returns the record of `address`, as it was stored; `None` if there is none. A record that has
    /// [expired](OpenRecord::expires_at) may be returned or not: if it is, the answer is refused with the reason.
    ///
    /// # Errors
    ///
    /// If the store could not be read.
    fn get(
        &self,
        address: &CallAddress,
    ) -> impl Future<Output = Result<Option<OpenRecord>, OpenStoreError>> + Send;

    /// Returns all records that `filter` [admits](OpenFilter::admits), in any order.
    ///
    /// # Errors
    ///
    /// If the store could not be read.
    fn list(
        &self,
        filter: &OpenFilter,
    ) -> impl Future<Output = Result<Vec<OpenRecord>, OpenStoreError>> + Send;

    /// Removes the record of an address if it is `record`, which its [`tag`](OpenRecord::tag) says; returns `true` if
    /// this call removed it. Of several calls at once, in any process, at most one returns `true`.
    ///
    /// # Errors
    ///
    /// If it is not known whether the record was removed; the call is not run then.
    fn consume(&self, record: &OpenRecord) -> impl Future<Output = Result<bool, OpenStoreError>> + Send;
}

/// The records that a store is asked for. Default: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenFilter {
    /// Those of one run.
    pub run: Option<CallId>,
    /// Those of one call id.
    pub call_id: Option<CallId>,
}

impl OpenFilter {
    /// Returns `true` if the record of `address` is asked for.
    #[must_use]
    pub fn admits(&self, address: &CallAddress) -> bool {
        self.run.as_ref().is_none_or(|run| address.run.as_ref() == Some(run))
            && self.call_id.as_ref().is_none_or(|id| address.call_id == *id)
    }
}

/// A reason for which a store did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// There is a record of this address already.
    Exists,
    /// There are as many records as the store holds.
    Full {
        /// The number of records that the store holds.
        most: usize,
    },
    /// Anything else, such as a connection that was lost.
    Failed(String),
}

impl fmt::Display for OpenStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("there is an open call of this address already"),
            Self::Full { most } => {
                write!(f, "{most} calls are open, and no more are kept; answer or forget some of them")
            }
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for OpenStoreError {}
