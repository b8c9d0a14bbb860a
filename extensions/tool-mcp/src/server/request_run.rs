//! The run of a request, and its caller.

use std::pin::pin;
#[cfg(feature = "http")]
use std::sync::Arc;

use rmcp::{RoleServer, model::LoggingLevel, service::RequestContext};
use tool_runtime::{CancellationToken, RunContext, call::CallId};

use super::{call::is_2026_07_or_later, clients::ClientDescription, handler::RequestHandler};

impl RequestHandler {
    /// Creates the run of a request.
    pub(super) fn run_context(&self, context: &RequestContext<RoleServer>) -> RunContext {
        let run = RunContext::new()
            .with_meta(context.meta.0.0.clone())
            .with_client(self.client_description(context).client)
            .with_cancellation(departure_token(context).unwrap_or(&context.ct).clone());
        #[cfg(feature = "http")]
        if let (Some(parts), Some(facts)) = (http_parts(context), http_facts(context)) {
            let mut run = run.provide_shared(facts.request_headers(parts));
            // From 2026-07-28 on there is none, and the value of the header is not checked.
            if let Some(session) = facts.session.as_ref().filter(|_| !is_2026_07_or_later(context)) {
                run = run.with_session(session);
            }
            if let Some(identity) = &facts.identity {
                run = run.with_user(&*identity.subject).provide_shared(Arc::clone(identity));
            }
            return run;
        }
        run.with_session(self.id.get_or_init(|| CallId::generate().to_string()))
    }

    /// Returns the client of a request as it describes itself: of a session, as it did at its start.
    pub(super) fn client_description(&self, context: &RequestContext<RoleServer>) -> ClientDescription {
        match is_2026_07_or_later(context) {
            true => self.shared.clients.client_description(context),
            false => self.client.get_or_init(|| ClientDescription::decode(context)).clone(),
        }
    }

    /// Returns the identity of the caller; `None` without one, since the name that a client gives itself is none.
    pub(super) fn caller_subject<'a>(&self, context: &'a RequestContext<RoleServer>) -> Option<&'a str> {
        #[cfg(feature = "http")]
        let subject =
            http_facts(context).and_then(|facts| facts.identity.as_ref()).map(|identity| &*identity.subject);
        #[cfg(not(feature = "http"))]
        let subject = {
            let _ = context;
            None
        };
        subject
    }

    /// Returns the caller that a sealed state is valid for: its identity, or else its name, which is no secret. Then, the state alone
    /// tells it from others.
    pub(super) fn state_holder(&self, context: &RequestContext<RoleServer>) -> String {
        match self.caller_subject(context) {
            Some(subject) => format!("subject {subject}"),
            None => format!("client {}", context.client_info().map(|info| info.name).unwrap_or_default()),
        }
    }

    /// The least severity of the log lines that the client wants; `None` for none.
    pub(super) fn log_level(
        &self,
        context: &RequestContext<RoleServer>,
        is_modern: bool,
    ) -> Option<LoggingLevel> {
        match is_modern {
            true => context.meta.log_level(),
            false => Some(self.state.log_level()),
        }
    }
}

/// The HTTP request of a request, if there is one.
#[cfg(feature = "http")]
pub(super) fn http_facts(context: &RequestContext<RoleServer>) -> Option<&super::http::HttpRequestFacts> {
    http_parts(context)?.extensions.get::<Arc<super::http::HttpRequestFacts>>().map(AsRef::as_ref)
}

#[cfg(feature = "http")]
fn http_parts(context: &RequestContext<RoleServer>) -> Option<&http::request::Parts> {
    context.extensions.get()
}

/// Waits until the client of a request without a session is gone, of which the SDK does not tell if events are stored. One that comes back to the
/// stream reads its end.
pub(super) async fn wait_for_client_departure(context: &RequestContext<RoleServer>) {
    match departure_token(context) {
        Some(departure) => departure.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Returns the token that is cancelled when the client is gone, if the SDK does not tell.
fn departure_token(context: &RequestContext<RoleServer>) -> Option<&CancellationToken> {
    #[cfg(feature = "http")]
    let departure = http_facts(context).and_then(|facts| facts.departure.as_ref());
    #[cfg(not(feature = "http"))]
    let departure = {
        let _ = context;
        None
    };
    departure
}

/// A request whose client may leave without a word of the SDK: the token of its departure, which its run has, and the one of the SDK. After that is
/// cancelled, no answer is stored.
pub(super) struct UnwatchedRequest(Option<[CancellationToken; 2]>);

impl UnwatchedRequest {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self(departure_token(context).map(|departure| [departure.clone(), context.ct.clone()]))
    }

    /// Answers the request, whose run ends when its client is gone, or the SDK cancels it.
    pub(super) async fn run_passing_on_cancellation<T>(self, answering: impl Future<Output = T>) -> T {
        let Some([departure, request]) = self.0 else { return answering.await };
        let mut answering = pin!(answering);
        tokio::select! {
            biased;
            answer = &mut answering => answer,
            () = request.cancelled() => {
                departure.cancel();
                answering.await
            }
        }
    }
}
