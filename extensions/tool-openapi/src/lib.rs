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
//! | request body | property `body`; a parameter of that name becomes `body__query` |
//! | `discriminator` | conditions of the alternatives: the property has the mapped values, or else the name of the component |
//! | `2xx` responses of JSON | output schema; of its components, the closest 32 KiB |
//! | method | hints: GET and HEAD are read-only, PUT is idempotent, DELETE is destructive and idempotent |
//! | tags | tags |
//! | `webhooks` and `callbacks`, which the API requests of others | none |
//!
//! An operation without an `operationId` is a tool unless [`skip_unnamed`](OpenApiToolSetBuilder::skip_unnamed) is set. Cookie
//! parameters are sent like any other. A reference that leads nowhere costs its operation, not the document.
//! Any other part that cannot be read costs itself, with a diagnostic: a keyword of a schema, an entry of `servers` before another one, a
//! parameter.
//!
//! A path template may have more than a name within its braces. `{id:[0-9]+}`, `{ id }`, `{id?}` and `{name=*}` are one segment. `{?page}`
//! and `{&page}` are the parameters of the query that the document declares. `{+path}`,
//! `{path*}`, `{path:.*}` and `{name=projects/*/items/*}` keep each `/` of their value, which has no empty segment, no `.` and no `..`, and
//! the form of the template.
//!
//! # Sizes
//!
//! Operations that refer to the same large schema share it in memory; it is a definition (`$defs`) of their input schemas. The
//! definitions of all tools together have at most 64 MiB of JSON ([`definitions_limit`](OpenApiToolSetBuilder::definitions_limit)).
//!
//! # Servers and credentials
//!
//! No argument of a call changes the server, and no value the structure of a request.
//!
//! - The server is [`base_url`](OpenApiToolSetBuilder::base_url), or else the first one of the operation, its path or the document. A
//!   relative one belongs to the URL of the document, or else to the first absolute server of the document; `//host` without both is
//!   `https`.
//!   The servers of a document that was [fetched](Document::fetch) must be public, by their address and by the addresses of
//!   their name, unless [allowed](OpenApiToolSetBuilder::allow_private_servers).
//! - A [`Credential`] is sent to the origins for which the program gave it, for operations that require its security scheme.
//!   The authorization of a caller of the program is never forwarded; a [computed](Credential::computed) credential can do so.
//!   `***` is in place of a credential that a server repeats, in any letter case and under the escapes of JSON, HTML and URLs.
//! - Redirects are followed for GET and HEAD, at most 5, within the origin of the operation and to the
//!   [origins](OpenApiToolSetBuilder::follow_redirects_to) that the program names, which receive no credentials.
//!
//! # Tokens, pins and long answers
//!
//! ```no_run
//! use std::{env, fs, sync::Arc};
//!
//! use tool_openapi::{ClientCredentials, Credential, Document, OpenApiToolSet};
//! use tool_runtime::{Executor, Registry, Tool as _, pin::Pins, policy::ResultStore};
//!
//! # fn example() -> anyhow::Result<()> {
//! // OAuth2: a token is requested, kept, and replaced before it expires.
//! let client = ClientCredentials::new("client-id", env::var("CLIENT_SECRET")?);
//! let client = client.token_url("https://login.example/token").scopes(["read:pets"]);
//! // The tool `read_result` reads what a long answer leaves out.
//! let store = Arc::new(ResultStore::new(4 << 20));
//! let pets = OpenApiToolSet::builder(Document::from_file("petstore.yaml")?)
//!     .base_url("https://pets.example/v1")
//!     .credential("oauth", Credential::client_credentials(client))
//!     .readback(Arc::clone(&store))
//!     .build()?;
//! // A file in version control, which `pets.pins().to_json()` writes: a changed operation is not called unseen.
//! let pins = Pins::parse(&fs::read_to_string("pets.pins.json")?)?;
//! let changes = pins.check_definitions(pets.tools().iter().map(|tool| tool.definition()));
//! anyhow::ensure!(changes.is_empty(), "the document changed: {changes:?}");
//! let tools = pets.tools().iter().fold(Registry::builder(), |tools, tool| tools.add(Arc::clone(tool)));
//! let executor = Executor::new(tools.add(ResultStore::tool(&store)?).build()?);
//! # let _ = executor;
//! # Ok(())
//! # }
//! ```
//!
//! # What the import reports
//!
//! An operation that cannot be a tool is [skipped](OpenApiToolSet::skipped), with the reason. What is carried in another form, or
//! not at all, is a [diagnostic](OpenApiToolSet::diagnostics); its location has the tool and the JSON pointer into the document.
//!
//! | code | meaning | what to do |
//! | --- | --- | --- |
//! | `body_as_text` | a request body, such as XML, is a text without a described structure | describe it with [`describe`](OpenApiToolSetBuilder::describe) |
//! | `duplicate_id` | the `operationId` is not unique or reserved; the tool is named by method and path | mend the document |
//! | `dynamic_reference` | a `$dynamicRef` leads nowhere; every value is accepted there | mend the document |
//! | `encoding` | a style or a header of a part of a form is not sent | check the body |
//! | `foreign_origin` | the credential of the operation is given for other origins | give it for this one |
//! | `hidden_text` | a model reads characters that a person does not see | read the text before a model does |
//! | `ignored_header` | a header is set by the client and is no parameter | nothing |
//! | `malformed_keyword` | a keyword of a schema is ignored, or read in another way | mend the document |
//! | `malformed_security` | `security` is no list of objects; no credential is sent | mend the document |
//! | `media_type_chosen` | a body may have several media types; one is sent | [`prefer_media_type`](OpenApiToolSetBuilder::prefer_media_type) |
//! | `method_override` | a parameter may replace the method, so that the tool is neither read-only nor idempotent | deny the parameter |
//! | `no_credential` | the operation requires a credential, and none is given | [`credential`](OpenApiToolSetBuilder::credential) |
//! | `omitted` | the report has its maximum size, 64 MiB; the number of what it omits | do not trust the document |
//! | `output_schema` | the responses have no output schema | mend the document |
//! | `parameter_left_out` | a parameter cannot be carried or read, or is declared again | call the operation without it |
//! | `parameter_replaced` | the credential is sent in place of a parameter of its name | nothing |
//! | `paths` | `paths` is not an object | mend the document |
//! | `plain_http` | a credential is sent without encryption | a `base_url` with `https` |
//! | `server_left_out` | an entry of `servers` cannot be used | mend the document, or set a `base_url` |
//! | `server_query` | the query and the fragment of a server are not sent | nothing |
//! | `server_variable` | the default of a variable is not one of its values | [`server_variable`](OpenApiToolSetBuilder::server_variable) |
//! | `undeclared_parameter` | a parameter of the path is not declared, and taken for a text | nothing |
//! | `unknown_operation` | [`ids`](OpenApiToolSetBuilder::ids) names an id that no operation has | check the spelling |
//! | `unknown_scheme` | the operation names a security scheme that does not exist | mend the document |
//! | `unknown_view` | a [view](OpenApiToolSetBuilder::view) names an operation that is no tool | check the spelling |
//! | `unsupported_scheme` | no request can carry the credential | use another alternative |
//! | `unused_credential` | a credential is sent with no operation | check its scheme and origin |
//!
//! # Supported versions of Rust
//!
//! Rust 1.89 is the minimum, which the YAML library requires; the other crates of the workspace compile with 1.88.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

mod auth;
mod choice;
mod client;
mod connection;
mod document;
mod error;
mod import;
mod info;
mod media_type;
mod request;
mod response;
mod set;
mod settings;
mod tool;
mod view;

#[cfg(feature = "cli")]
pub mod cli;

pub use self::{
    auth::{ClientCredentials, Credential, Secret},
    choice::ToolText,
    document::{Document, Fetch},
    error::{OpenApiError, OpenApiErrorKind},
    import::SkippedOperation,
    info::OperationInfo,
    request::{FileContent, FileResolver},
    set::OpenApiToolSet,
    settings::OpenApiToolSetBuilder,
    tool::OperationTool,
};

/// The examples of the guide about HTTP APIs.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/openapi.md")]
struct Guide;
