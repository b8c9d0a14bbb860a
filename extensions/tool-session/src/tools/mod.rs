//! Tools for the memory and the artifacts of a user, and additions to requests.
//!
//! No tool is found by [`Registry::discover`](tool_runtime::Registry::discover): a program adds those that it wants, by their handles.
//! They work on what the program provides for the run, so that no argument names a user.
//!
//! | tool | purpose | needs |
//! | --- | --- | --- |
//! | [`load_memory`](fn@load_memory) | searches the notes of the user | [`SessionMemory`](crate::SessionMemory) |
//! | [`save_memory`](fn@save_memory) | adds a note; what a model writes there, it reads in later conversations | [`SessionMemory`](crate::SessionMemory) |
//! | `save_artifact` | saves a text as a new version | `SessionArtifacts` (feature `artifacts`) |
//! | `list_artifacts` | lists names, versions and sizes | `SessionArtifacts` |
//! | `load_artifacts` | returns contents, and names what it leaves out | `SessionArtifacts` |
//!
//! [`PreloadMemory`] adds notes to each request without a call, and `PreloadArtifacts` the texts of artifacts.
//!
//! # Examples
//!
//! ```
//! use tool_runtime::{Registry, RunContext, request::SharedRequestHook};
//! use tool_session::{InMemoryStore, SessionMemory, SharedMemory, tools::{PreloadMemory, load_memory, save_memory}};
//!
//! # fn main() -> anyhow::Result<()> {
//! let memory = SharedMemory::new(InMemoryStore::new());
//! let registry = Registry::builder()
//!     .tool::<load_memory>()
//!     .tool::<save_memory>()
//!     .request_hook(PreloadMemory::new(memory.clone()))
//!     .provide_per_run::<SessionMemory>()
//!     .build()?;
//!
//! let run = RunContext::new().with_app("shop").with_user("u-7");
//! let notes = memory.for_run(&run)?;
//! let run = run.provide(notes);
//! # drop((registry, run));
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "artifacts")]
mod artifacts;
mod memory;

use tool_runtime::{ErrorKind, ToolError};

#[cfg(feature = "artifacts")]
pub use self::artifacts::{PreloadArtifacts, list_artifacts, load_artifacts, save_artifact};
pub use self::memory::{PreloadMemory, load_memory, save_memory};
use crate::SessionError;

/// Returns the error of a call. A model reads what is wrong with its arguments, and of other failures only that there is one.
fn tool_error(resource: &'static str, error: SessionError) -> ToolError {
    match error {
        SessionError::Invalid(problem) => ToolError::failed(problem),
        error => {
            let is_transient = error.is_transient();
            ToolError::new(ErrorKind::Unavailable, format!("the {resource} failed: {error}"))
                .with_feedback(format!("The {resource} is not available at present."))
                .retryable(is_transient)
        }
    }
}
