//! Storage of open calls: calls without a final result, kept until they are answered.
//!
//! A call is open while it is left to the caller, continues after its batch, or waits for a person's approval. The
//! executor writes a record of it to a store, and removes the record when the call is answered, at most once.
//!
//! - [`OpenCallStore`] is the trait of a store, and [`SharedOpenCallStore`] a handle to a store of any type, which several
//!   executors can share.
//! - [`MemoryOpenCalls`] keeps calls in memory, and is the default of an executor.
//! - [`OpenRecord`] is the stored form of a call, and [`OpenKind`] the kind of answer that it waits for; [`OpenFilter`]
//!   selects records by run, id, app, user and session, and [`OpenStoreError`] is the error of a store.
//! - [`ProgramKey`] is the secret key under which records are authenticated and secret arguments are encrypted; with the
//!   feature `sealed-calls`, it can be kept in a file, whose error is `KeyFileError`, as can a `PoolKey` that is derived from it.
//! - [`OpenCall`] is an open call as an executor lists it; [`CallRef`] refers to one by its address or id, and
//!   [`OpenCallError`] reports why an open call cannot be answered.
//!
//! Stores treat records as opaque: only executors read their bodies, and each record carries a message authentication
//! code under the key of the program. [`ExecutorBuilder::open_calls`](crate::executor::ExecutorBuilder::open_calls)
//! sets the store of an executor.

mod call_ref;
mod error;
mod key;
#[cfg(feature = "sealed-calls")]
mod key_file;
mod memory;
#[cfg(feature = "sealed-calls")]
mod pool_key;
mod record;
mod seal;
mod shared;

use std::{fmt, future::Future};

use tool_core::{CallAddress, CallId};

pub use self::{
    call_ref::{CallRef, OpenCall},
    error::OpenCallError,
    key::ProgramKey,
    memory::MemoryOpenCalls,
    record::{OpenKind, OpenRecord},
    shared::SharedOpenCallStore,
};
pub(crate) use self::{
    key::AuthenticatedText,
    record::{Body, CallOwner, Secret, with_address_fields},
    shared::serials,
};
#[cfg(feature = "sealed-calls")]
pub use self::{
    key_file::KeyFileError,
    pool_key::{PoolKey, ProvenText, definition_for_peer},
};

/// A store of open calls. Methods can be written as `async fn`.
///
/// A store keeps records unchanged and does not interpret them: executors verify each record that they read, and refuse
/// an altered one. The one guarantee that a store must provide is at-most-once consumption: of all calls of
/// [`consume`](Self::consume) with one record, in any process, at most one returns `true`. In SQL this is `DELETE ..
/// WHERE address = ? AND tag = ?` and a check of the number of affected rows; in a directory, a `rename` of the file,
/// followed by a comparison of its tag.
///
/// An address contains an id chosen by a model. Never use it as part of a path; use the
/// [hash](crate::definition::ContentHash::of) of the address as a file name.
///
/// A store that restores a consumed record, for example from a backup, allows the call to run again.
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
///         let records = table.values().map(|text| serde_json::from_str(text).map_err(failed));
///         let records = records.collect::<Result<Vec<OpenRecord>, _>>()?;
///         Ok(records.into_iter().filter(|record| filter.admits(record)).collect())
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
    /// Returns `true` if records persist after the process ends, or are read by other processes. Such a store requires
    /// a [program key](crate::executor::ExecutorBuilder::program_key). Default: `true`.
    fn outlives_process(&self) -> bool {
        true
    }

    /// Stores a record.
    ///
    /// # Errors
    ///
    /// Returns [`Exists`](OpenStoreError::Exists) if there is a record of its address, and
    /// [`Full`](OpenStoreError::Full) if there is no space for it. On any error, the call is answered with an error and
    /// is not open.
    fn put(&self, record: OpenRecord) -> impl Future<Output = Result<(), OpenStoreError>> + Send;

    /// Returns the record of `address`, unchanged; `None` if there is none. An [expired](OpenRecord::expires_at) record
    /// may be returned or omitted: the executor refuses an answer to it.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    fn get(
        &self,
        address: &CallAddress,
    ) -> impl Future<Output = Result<Option<OpenRecord>, OpenStoreError>> + Send;

    /// Returns all records that `filter` [admits](OpenFilter::admits), in any order.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    fn list(
        &self,
        filter: &OpenFilter,
    ) -> impl Future<Output = Result<Vec<OpenRecord>, OpenStoreError>> + Send;

    /// Removes the stored record of an address if its [`tag`](OpenRecord::tag) equals the tag of `record`; returns
    /// `true` if this call removed it. Of several concurrent calls, in any process, at most one returns `true`.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not known whether the record was removed; then the call is not run.
    fn consume(&self, record: &OpenRecord) -> impl Future<Output = Result<bool, OpenStoreError>> + Send;

    /// Replaces the stored record of an address by `replacement`, which has the same address, if the stored [`tag`](OpenRecord::tag) equals the tag of
    /// `record`; returns `true` if this call replaced it. The call stays open: a store that ends the work of a call whose record is consumed lets it go
    /// on here.
    ///
    /// Default: [`consume`](Self::consume), and then [`put`](Self::put). A process that ends between the two loses the open call, and an answer that comes between them is
    /// refused, so that a store should replace a record in one step where it can. If `put` fails, `record` is stored again.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not known whether the record was replaced. If the call ran, it is then answered with the error, and both records are
    /// consumed.
    fn replace(
        &self,
        record: &OpenRecord,
        replacement: OpenRecord,
    ) -> impl Future<Output = Result<bool, OpenStoreError>> + Send {
        async move {
            let is_consumed = self.consume(record).await?;
            if is_consumed && let Err(error) = self.put(replacement).await {
                if let Err(error) = self.put(record.clone()).await {
                    tracing::warn!(call = %record.address, %error, "an open call was not stored again, and is lost");
                }
                return Err(error);
            }
            Ok(is_consumed)
        }
    }
}

/// A filter of records. Default: all records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenFilter {
    /// Admits only records of this run. Default: all runs.
    pub run: Option<CallId>,
    /// Admits only records of this call id. Default: all ids.
    pub call_id: Option<CallId>,
    /// Admits only records of this program. Default: all programs, and calls without one.
    pub app: Option<String>,
    /// Admits only records of this user. Default: all users, and calls without one.
    pub user: Option<String>,
    /// Admits only records of this session. Default: all sessions, and calls without one.
    pub session: Option<String>,
}

impl OpenFilter {
    /// Returns `true` if the filter admits `record`.
    #[must_use]
    pub fn admits(&self, record: &OpenRecord) -> bool {
        let OpenRecord { address, app, user, session, .. } = record;
        let is_admitted = |wanted: &Option<String>, name| wanted.is_none() || wanted == name;
        self.run.as_ref().is_none_or(|run| address.run.as_ref() == Some(run))
            && self.call_id.as_ref().is_none_or(|id| address.call_id == *id)
            && is_admitted(&self.app, app)
            && is_admitted(&self.user, user)
            && is_admitted(&self.session, session)
    }
}

/// An error of an [`OpenCallStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// A record of this address exists already.
    Exists,
    /// The store holds its maximum number of records.
    Full {
        /// The maximum number of records.
        most: usize,
    },
    /// Any other failure, such as a lost connection.
    Failed(String),
}

impl fmt::Display for OpenStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("an open call with this address exists already"),
            Self::Full { most } => {
                write!(f, "the limit of {most} open calls is reached; answer or discard some of them")
            }
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for OpenStoreError {}
