//! Values above the limit of the broker: arguments and results of a call go through a store that both sides reach, sealed under the key of the pool.
//!
//! The store is hostile: it holds sealed bytes under random names, and the message that names a value, which is sealed too, has its size and hash.
//! A reader reads no more than that size. Bytes that are cut, altered, of another value or missing are an error of the one call that they belong to.
//!
//! The caller deletes: the arguments with the outcome of the call, a report once it was read. Values of a durable call are deleted by the process
//! that removes its record. What a process leaves that was killed expires by the rules of the store.

#[cfg(feature = "artifacts")]
mod artifacts;
mod sealed;
mod store;

#[cfg(feature = "artifacts")]
pub use self::artifacts::ArtifactValues;
pub(crate) use self::sealed::{LargeValues, ReadError, ValueDigest, ValueOwner, ValueReference};
pub use self::store::{MAX_VALUE_BYTES, ValueStore};
