//! The operations of an OpenAPI document as tools of [`tool_runtime`]: any described HTTP API, with the validation, permissions,
//! retries and traces of any other tool.
//!
//! ```no_run
//! use tool_openapi::{Document, OpenApiToolSet};
//! use tool_runtime::{Executor, RunContext, ToolCall, Toolbox};
//!
//! # async fn example() -> anyhow::Result<()> {
//! let pets = OpenApiToolSet::import(Document::from_file("petstore.yaml")?)?;
//! let toolbox = Toolbox::new();
//! toolbox.add_toolset(pets)?;
//!
//! let run = RunContext::new();
//! let executor = Executor::new(toolbox.snapshot(&run).await?.into_tools());
//! let outcomes = executor.batch(vec![ToolCall::new("getPetById", r#"{"petId": 7}"#)]).with_run(run).run().await;
//! # let _ = outcomes;
//! # Ok(())
//! # }
//! ```
//!
//! # From an operation to a tool
//!
//! | of the operation | of the tool |
//! | --- | --- |
//! | `operationId`, or else method and path | name |
//! | `summary` | title |
//! | `description`, or else `summary`, or else method and path | description |
//! | parameters in path, query, header and cookie | properties of their names; names that clash get the location as a suffix: `id__path`, `id__query` |
//! | request body | property `body` |
//! | `2xx` responses of JSON | output schema; of its components, the closest 32 KiB |
//! | method | hints: GET and HEAD are read-only, PUT is idempotent, DELETE is destructive and idempotent |
//! | tags | tags |
//! | `webhooks` and `callbacks`, which the API requests of others | none |
//!
//! # Servers and credentials
//!
//! No argument of a call changes the server, and no value the structure of a request.
//!
//! - The server is [`base_url`](OpenApiToolSetBuilder::base_url), or else the first one of the operation, its path or the document.
//!   The servers of a document that was [fetched](Document::fetch) must be public, by their address and by the addresses of
//!   their name, unless [allowed](OpenApiToolSetBuilder::allow_private_servers).
//! - A [`Credential`] is sent to the origins for which the program gave it, for operations that require its security scheme.
//!   The authorization of a caller of the program is never forwarded; a [computed](Credential::computed) credential can do so.
//! - Redirects are followed for GET and HEAD, at most 5, within the origin of the operation and to the
//!   [origins](OpenApiToolSetBuilder::follow_redirects_to) that the program names, which receive no credentials.
//!
//! Diagnostics about credentials: `no_credential`, `foreign_origin`, `unknown_scheme`, `unsupported_scheme`,
//! `malformed_security`, `unused_credential`, `parameter_replaced`, `plain_http`.
//!
//! `hidden_text` is about characters that a model reads and a person does not see; `method_override` about a parameter that may
//! replace the method, so that the tool is neither read-only nor idempotent.

mod auth;
mod choosing;
mod client;
mod document;
mod error;
mod import;
mod info;
mod request;
mod response;
mod set;
mod settings;
mod tool;

#[cfg(feature = "cli")]
pub mod cli;

pub use self::{
    auth::{ClientCredentials, Credential, Secret},
    choosing::ToolText,
    document::{Document, Fetch},
    error::{OpenApiError, OpenApiErrorKind},
    import::SkippedOperation,
    info::OperationInfo,
    request::{FileContent, FileResolver},
    set::OpenApiToolSet,
    settings::OpenApiToolSetBuilder,
    tool::OperationTool,
};
