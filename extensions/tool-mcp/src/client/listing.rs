//! Listings of a server: all pages, within limits.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use rmcp::model::PaginatedRequestParams;
use tokio::time::Instant;
use tool_runtime::{
    diagnostic::{Diagnostic, Severity},
    policy::Escape,
};

use super::{
    connection::Connection,
    definitions::{MAX_REASON_CHARS, malformed_tool_diagnostic, tool_diagnostic},
    error::{ClientError, ClientErrorCause},
    page::{ListedItem, Page, Problem},
    requests::RequestSender,
};

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

impl<T: ListedItem> Listing<T> {
    fn add_page(&mut self, page: Page<T>) {
        self.items.extend(page.items);
        self.diagnostics.extend(page.problems.iter().map(|problem| match problem {
            Problem::ListedItem { name, reason } => malformed_tool_diagnostic(name, reason),
            Problem::Members { name, members } => {
                let members = members.join("`, `");
                let problem = format!("its `{members}` cannot be read, and is ignored");
                tool_diagnostic(Severity::Warning, "unreadable_hint", name, &problem)
            }
            Problem::Form { name, members } => {
                let members = members.join("`, `");
                let problem = format!(
                    "its `{members}` is not in the form of the protocol, and is read as far as it can be"
                );
                tool_diagnostic(Severity::Warning, "unreadable_hint", name, &problem)
            }
            Problem::Cursor(cursor) => {
                cut_listing_diagnostic::<T>(&format!("its cursor is no text: {cursor}"))
            }
        }));
    }

    /// Adds the diagnostic of a listing of which a part is missing.
    fn with_cut_diagnostic(mut self, reason: &str) -> Self {
        self.diagnostics.push(cut_listing_diagnostic::<T>(reason));
        self
    }
}

/// The diagnostic of a listing of which a part may be missing.
fn cut_listing_diagnostic<T: ListedItem>(reason: &str) -> Diagnostic {
    let reason = Escape::LINE.at_most(MAX_REASON_CHARS).text(reason);
    let message = format!("the list of {} ends early, and some may be missing: {reason}", T::MEMBER);
    Diagnostic::new(Severity::Warning, "listing_cut", message)
}

impl RequestSender {
    /// Lists all pages; again from the first page if the connection was lost. The time of the listing goes on.
    pub(super) async fn list_all_pages<T: ListedItem>(&self) -> Result<Listing<T>, ClientError> {
        let started = OnceLock::new();
        self.connection.run_with_reconnects(|connection| self.list_pages(connection, &started)).await
    }

    /// Reads all pages within the limits of a listing. What goes beyond is left out, with a diagnostic.
    async fn list_pages<T: ListedItem>(
        &self,
        connection: Arc<Connection>,
        started: &OnceLock<Instant>,
    ) -> Result<Listing<T>, ClientError> {
        let mut listing = Listing::<T>::default();
        let mut cursors = HashSet::new();
        let (mut cursor, mut bytes) = (None, 0_usize);
        let limits = &self.config().limits;
        let started = started.get_or_init(Instant::now);
        for page_number in 0..MAX_PAGES {
            let request = T::page_request(PaginatedRequestParams::default().with_cursor(cursor));
            let time_left = limits.listing_timeout.saturating_sub(started.elapsed());
            let answer = match tokio::time::timeout(time_left, self.send(&connection, request)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) if page_number == 0 || error.is_connection_loss() => return Err(error),
                Ok(Err(error)) => return Ok(listing.with_cut_diagnostic(&error.to_string())),
                Err(_) if page_number == 0 => {
                    return Err(self
                        .connection
                        .connector
                        .error(ClientErrorCause::TimedOut(limits.listing_timeout)));
                }
                Err(_) => {
                    return Ok(listing
                        .with_cut_diagnostic(&format!("it takes longer than {:?}", limits.listing_timeout)));
                }
            };
            let page = match Page::<T>::from_answer(answer) {
                Some(page) => page,
                None if page_number == 0 => {
                    return Err(self.unusable_answer(format!("it is no list of {}", T::MEMBER)));
                }
                None => {
                    return Ok(listing.with_cut_diagnostic(&format!("a page is no list of {}", T::MEMBER)));
                }
            };
            bytes = bytes.saturating_add(page.bytes);
            if bytes > limits.max_listing_bytes {
                let reason =
                    format!("it is larger than {} bytes (`max_listing_bytes`)", limits.max_listing_bytes);
                if page_number == 0 {
                    return Err(self.unusable_answer(reason));
                }
                return Ok(listing.with_cut_diagnostic(&reason));
            }
            let next = page.next.clone();
            if !page.items.is_empty() && listing.items.ends_with(&page.items) {
                return Ok(listing.with_cut_diagnostic("its pages repeat: a page comes again"));
            }
            listing.add_page(page);
            if listing.items.len() + listing.diagnostics.len() > T::MAX_ITEMS {
                listing.items.truncate(T::MAX_ITEMS);
                return Ok(listing.with_cut_diagnostic(&format!("it has more than {} items", T::MAX_ITEMS)));
            }
            match next {
                None => return Ok(listing),
                Some(next) if !cursors.insert(next.clone()) => {
                    return Ok(listing.with_cut_diagnostic("its pages repeat: a cursor comes again"));
                }
                next => cursor = next,
            }
        }
        Ok(listing.with_cut_diagnostic(&format!("it has more than {MAX_PAGES} pages")))
    }
}
