//! The tools of a server: listing them, and their definitions.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::{Arc, OnceLock},
};

use rmcp::model::{ClientRequest, PaginatedRequestParams, ServerResult, Tool as RawTool};
use serde_json::Value;
use tokio::time::Instant;
use tool_runtime::{
    Tool, ToolDefinition, ToolName,
    definition::Metadata,
    diagnostic::{Diagnostic, Severity},
    policy::Escape,
    schema::{InputSchema, OutputSchema, SchemaProblem},
};

use super::{
    connection::{Connection, Parts},
    error::{Cause, ClientError},
    link::Link,
    page::{Item, Page, Problem},
    tool::RemoteTool,
    transport::Slot,
};
use crate::content;

/// The maximum length of the reason of a diagnostic.
const MAX_REASON_CHARS: usize = 300;
/// The maximum number of pages of one listing.
const MAX_PAGES: usize = 1_000;

/// A listing: the items as received, and the diagnostics of those parts that cannot be used.
pub(super) struct Listing<T> {
    pub(super) items: Vec<T>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { items: Vec::new(), diagnostics: Vec::new() }
    }
}

impl<T: Item> Listing<T> {
    fn add(&mut self, page: Page<T>) {
        self.items.extend(page.items);
        self.diagnostics.extend(page.problems.iter().map(|problem| match problem {
            Problem::Item { name, reason } => malformed(name, reason),
            Problem::Members { name, members } => {
                let members = members.join("`, `");
                let problem = format!("its `{members}` cannot be read, and is ignored");
                about(Severity::Warning, "unreadable_hint", name, &problem)
            }
            Problem::Form { name, members } => {
                let members = members.join("`, `");
                let problem = format!(
                    "its `{members}` is not in the form of the protocol, and is read as far as it can be"
                );
                about(Severity::Warning, "unreadable_hint", name, &problem)
            }
            Problem::Cursor(cursor) => cut::<T>(&format!("its cursor is no text: {cursor}")),
        }));
    }

    /// Adds the diagnostic of a listing of which a part is missing.
    fn cut(mut self, reason: &str) -> Self {
        self.diagnostics.push(cut::<T>(reason));
        self
    }
}

/// The diagnostic of a listing of which a part may be missing.
fn cut<T: Item>(reason: &str) -> Diagnostic {
    let reason = Escape::LINE.at_most(MAX_REASON_CHARS).text(reason);
    let message = format!("the list of {} ends early, and some may be missing: {reason}", T::MEMBER);
    Diagnostic::new(Severity::Warning, "listing_cut", message)
}

impl Link {
    /// Lists the tools of the server, all pages; again from the first page if the connection was lost.
    pub(super) async fn list(&self) -> Result<Listing<RawTool>, ClientError> {
        self.list_all().await
    }

    /// Lists all pages; again from the first page if the connection was lost. The time of the listing goes on.
    pub(super) async fn list_all<T: Item>(&self) -> Result<Listing<T>, ClientError> {
        let started = OnceLock::new();
        self.again(|connection| self.pages(connection, &started)).await
    }

    /// Does an operation that may be repeated, over new connections as far as they are allowed.
    pub(super) async fn again<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        operation: impl Fn(Arc<Connection>) -> F,
    ) -> Result<T, ClientError> {
        let mut connection = self.connection().await?;
        let mut left = self.config.reconnect;
        loop {
            match operation(Arc::clone(&connection)).await {
                Err(error) if error.is_loss() && left > 0 => {
                    left -= 1;
                    connection = self.instead_of(&connection).await?;
                }
                Err(error) => {
                    if error.is_loss() && self.config.reconnect > 0 {
                        self.forget(&connection);
                    }
                    return Err(error);
                }
                Ok(done) => return Ok(done),
            }
        }
    }

    /// Reads all pages within the limits of a listing. What goes beyond is left out, with a diagnostic.
    async fn pages<T: Item>(
        &self,
        connection: Arc<Connection>,
        started: &OnceLock<Instant>,
    ) -> Result<Listing<T>, ClientError> {
        let mut listing = Listing::<T>::default();
        let mut cursors = HashSet::new();
        let (mut cursor, mut bytes) = (None, 0_usize);
        let limits = &self.config.limits;
        let started = started.get_or_init(Instant::now);
        for page_number in 0..MAX_PAGES {
            let request = T::request(PaginatedRequestParams::default().with_cursor(cursor));
            let time_left = limits.listing_timeout.saturating_sub(started.elapsed());
            let answer = match tokio::time::timeout(time_left, self.ask(&connection, request)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) if page_number == 0 || error.is_loss() => return Err(error),
                Ok(Err(error)) => return Ok(listing.cut(&error.to_string())),
                Err(_) if page_number == 0 => {
                    return Err(self.error(Cause::TimedOut(limits.listing_timeout)));
                }
                Err(_) => {
                    return Ok(listing.cut(&format!("it takes longer than {:?}", limits.listing_timeout)));
                }
            };
            let page = match Page::<T>::read(answer) {
                Some(page) => page,
                None if page_number == 0 => {
                    return Err(ClientError::unusable(&self.name, format!("it is no list of {}", T::MEMBER)));
                }
                None => return Ok(listing.cut(&format!("a page is no list of {}", T::MEMBER))),
            };
            bytes = bytes.saturating_add(page.bytes);
            if bytes > limits.max_listing_bytes {
                let reason =
                    format!("it is larger than {} bytes (`max_listing_bytes`)", limits.max_listing_bytes);
                if page_number == 0 {
                    return Err(ClientError::unusable(&self.name, reason));
                }
                return Ok(listing.cut(&reason));
            }
            let next = page.next.clone();
            if !page.items.is_empty() && listing.items.ends_with(&page.items) {
                return Ok(listing.cut("its pages repeat: a page comes again"));
            }
            listing.add(page);
            if listing.items.len() + listing.diagnostics.len() > T::MAX_ITEMS {
                listing.items.truncate(T::MAX_ITEMS);
                return Ok(listing.cut(&format!("it has more than {} items", T::MAX_ITEMS)));
            }
            match next {
                None => return Ok(listing),
                Some(next) if !cursors.insert(next.clone()) => {
                    return Ok(listing.cut("its pages repeat: a cursor comes again"));
                }
                next => cursor = next,
            }
        }
        Ok(listing.cut(&format!("it has more than {MAX_PAGES} pages")))
    }

    /// Sends a request outside of calls.
    pub(super) async fn ask(
        &self,
        connection: &Connection,
        request: ClientRequest,
    ) -> Result<ServerResult, ClientError> {
        self.ask_with(connection, request, None).await
    }

    /// Sends a request outside of calls; `slot` allows the server to ask questions.
    pub(super) async fn ask_with(
        &self,
        connection: &Connection,
        request: ClientRequest,
        slot: Option<Slot>,
    ) -> Result<ServerResult, ClientError> {
        #[cfg_attr(not(feature = "http"), expect(unused_mut, reason = "headers are of HTTP"))]
        let mut parts = Parts { timeouts: Some(self.config.timeouts()), slot, ..Parts::default() };
        #[cfg(feature = "http")]
        {
            parts.headers = self.request_headers(None).await?;
        }
        connection.request(request, parts).await
    }
}

/// A tool whose definition cannot be used.
fn malformed(tool: &str, reason: &str) -> Diagnostic {
    let reason = Escape::LINE.at_most(MAX_REASON_CHARS).text(reason);
    about(
        Severity::Error,
        "malformed",
        tool,
        &format!("its definition is malformed, and it is left out: {reason}"),
    )
}

fn about(severity: Severity, code: &'static str, tool: &str, problem: &str) -> Diagnostic {
    let tool = Escape::LINE.at_most(100).text(tool);
    Diagnostic::new(severity, code, format!("the tool `{tool}`: {problem}")).of_tool(tool)
}

/// Returns the diagnostic of the keywords of a tool's schemas that cannot be read.
fn unreadable_schema(tool: &RawTool, problems: &[SchemaProblem]) -> Option<Diagnostic> {
    /// The maximum number of problems in a diagnostic.
    const MAX_PROBLEMS: usize = 5;
    let texts: Vec<_> = problems.iter().take(MAX_PROBLEMS).map(ToString::to_string).collect();
    let more = match problems.len().checked_sub(MAX_PROBLEMS) {
        Some(more @ 1..) => format!(", and {more} more"),
        _ => String::new(),
    };
    let texts = format!("{}{more}", texts.join("; "));
    let problem = format!("its schema has mistakes: {}", Escape::LINE.at_most(MAX_REASON_CHARS).text(&texts));
    (!problems.is_empty()).then(|| about(Severity::Warning, "unreadable_schema", &tool.name, &problem))
}

/// Returns the diagnostics of a tool that is used.
fn peculiarities(tool: &RawTool, definition: &ToolDefinition) -> impl Iterator<Item = Diagnostic> {
    let renamed = (definition.name().as_str() != tool.name).then(|| {
        about(Severity::Note, "renamed", &tool.name, &format!("it is named `{}` here", definition.name()))
    });
    let description = tool.description.as_deref().unwrap_or_default();
    let hides = |text: &str| Escape::LINES.text(text) != text.replace("\r\n", "\n").replace('\t', "        ");
    let hidden = (hides(&tool.name) || hides(definition.title()) || hides(description)).then(|| {
        let problem = "its name, title or description has characters that a person does not see";
        about(Severity::Warning, "hidden_text", &tool.name, problem)
    });
    renamed.into_iter().chain(hidden)
}

/// The rules for reading definitions.
#[derive(Clone, Default)]
pub(super) struct Reading {
    pub(super) include: Option<HashSet<String>>,
    pub(super) exclude: HashSet<String>,
    pub(super) conservative: bool,
}

impl Reading {
    pub(super) fn keeps(&self, raw: &str) -> bool {
        self.include.as_ref().is_none_or(|names| names.contains(raw)) && !self.exclude.contains(raw)
    }

    /// Makes tools of a listing. Unchanged tools stay those of `before`.
    pub(super) fn tools(
        &self,
        raw: &mut Listing<RawTool>,
        before: &[Arc<RemoteTool>],
        link: &Arc<Link>,
    ) -> Vec<Arc<RemoteTool>> {
        let known: HashMap<&str, &Arc<RemoteTool>> =
            before.iter().map(|tool| (tool.raw().name.as_ref(), tool)).collect();
        let mut names = HashMap::new();
        let mut tools = Vec::new();
        for tool in raw.items.iter().filter(|tool| self.keeps(&tool.name)) {
            let made = match known.get(tool.name.as_ref()) {
                Some(before) if before.raw() == tool => Ok(Arc::clone(before)),
                _ => self.definition(tool, &link.name).map(|(definition, problems)| {
                    Arc::new(RemoteTool::new(tool.clone(), definition, problems, Arc::clone(link)))
                }),
            };
            let made = match made {
                Ok(made) => made,
                Err(reason) => {
                    raw.diagnostics.push(malformed(&tool.name, &reason));
                    continue;
                }
            };
            let name = made.definition().name().clone();
            match names.entry(name) {
                Entry::Occupied(taken) => {
                    let problem =
                        format!("another tool is named `{}`, and this one is left out", taken.key());
                    raw.diagnostics.push(about(Severity::Error, "duplicate", &tool.name, &problem));
                }
                Entry::Vacant(free) => {
                    free.insert(());
                    raw.diagnostics.extend(unreadable_schema(tool, made.schema_problems()));
                    raw.diagnostics.extend(peculiarities(tool, made.definition()));
                    tools.push(made);
                }
            }
        }
        tools
    }

    /// Makes a definition of a tool, and the problems of its schemas. Schemas stay as they are, but for keywords that cannot
    /// be read.
    pub(super) fn definition(
        &self,
        tool: &RawTool,
        server: &str,
    ) -> Result<(ToolDefinition, Vec<SchemaProblem>), String> {
        let name = ToolName::from_foreign(&tool.name);
        let schema = InputSchema::from_foreign(Value::Object((*tool.input_schema).clone()));
        let (schema, mut problems) = schema.map_err(|error| error.to_string())?;
        let description = match tool.description.as_deref().map(str::trim) {
            None | Some("") => format!("The tool `{}` of the server `{server}`.", tool.name),
            Some(_) => tool.description.as_deref().unwrap_or_default().to_owned(),
        };
        let mut definition =
            ToolDefinition::new(name, description, schema).with_metadata(self.metadata(tool));
        let title =
            tool.title.as_ref().or_else(|| tool.annotations.as_ref().and_then(|hints| hints.title.as_ref()));
        if let Some(title) = title {
            definition = definition.with_title(title.clone());
        }
        if let Some(schema) = &tool.output_schema {
            let schema = OutputSchema::from_foreign(Value::Object((**schema).clone()));
            let (schema, of_output) = schema.map_err(|error| error.to_string())?;
            problems.extend(of_output);
            definition = definition.with_output_schema(schema);
        }
        Ok((definition, problems))
    }

    fn metadata(&self, tool: &RawTool) -> Metadata {
        let metadata = content::from_annotations(tool.annotations.as_ref());
        if self.conservative { metadata.conservative() } else { metadata }
    }
}
