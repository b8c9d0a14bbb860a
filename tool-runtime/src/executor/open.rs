//! Calls that are answered later.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tool_core::{CallId, ConfirmationAnswer};

use super::Executor;
use crate::{ToolCall, policy::ApprovalRequest};

/// A call that is not answered yet.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OpenCall {
    /// It is left to the caller.
    External(ToolCall),
    /// Its tool started something that goes on.
    LongRunning(ToolCall),
    /// It waits for a person.
    Confirmation(ToolCall, Box<ApprovalRequest>),
}

impl OpenCall {
    /// The call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        match self {
            Self::External(call) | Self::LongRunning(call) | Self::Confirmation(call, _) => call,
        }
    }
}

/// Why an answer was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// No call of that id is open: there was none, or it was answered before.
    NotOpen(CallId),
    /// It waits for a person; see [`Executor::resume`](crate::Executor::resume).
    WaitsForPerson(CallId),
    /// It does not wait for a person; see [`Executor::answer`](crate::Executor::answer).
    AsksNobody(CallId),
    /// The same call was answered twice at once.
    AnsweredTwice(CallId),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen(id) => {
                write!(f, "no call {id} is open: there was none of that id, or it was answered before")
            }
            Self::WaitsForPerson(id) => {
                write!(f, "the call {id} waits for a person, and is answered by `resume`")
            }
            Self::AsksNobody(id) => {
                write!(f, "the call {id} does not wait for a person, and is answered by `answer`")
            }
            Self::AnsweredTwice(id) => write!(f, "the call {id} was answered twice at once"),
        }
    }
}

impl std::error::Error for AnswerError {}

/// A call that a person has spoken about.
#[derive(Debug)]
pub(super) struct Confirmed {
    at: u64,
    pub(super) call: ToolCall,
    pub(super) request: Box<ApprovalRequest>,
    pub(super) answer: ConfirmationAnswer,
}

/// Calls that a person has spoken about, until they run. Those that never do are open again.
#[derive(Default)]
pub(super) struct Resumed {
    executor: Option<Executor>,
    confirmed: Vec<Confirmed>,
}

impl Resumed {
    pub(super) fn new(executor: Executor, confirmed: Vec<Confirmed>) -> Self {
        Self { executor: Some(executor), confirmed }
    }

    /// The calls, which run now.
    pub(super) fn take(mut self) -> Vec<Confirmed> {
        std::mem::take(&mut self.confirmed)
    }
}

impl Drop for Resumed {
    fn drop(&mut self) {
        if let Some(executor) = &self.executor {
            executor.inner.open.put_back(std::mem::take(&mut self.confirmed));
        }
    }
}

/// All open calls of an executor, in the order in which they came.
#[derive(Default)]
pub(super) struct OpenCalls(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    next: u64,
    calls: BTreeMap<u64, Entry>,
}

struct Entry {
    call: OpenCall,
    /// Whether it has had its `Finished`; `None` where it has no events.
    told: Option<bool>,
}

impl OpenCalls {
    // Every change is one insertion or removal, so that a panic elsewhere leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, call: OpenCall, told: Option<bool>) {
        let mut inner = self.lock();
        let at = inner.next;
        inner.next += 1;
        inner.calls.insert(at, Entry { call, told });
    }

    pub(super) fn all(&self) -> Vec<OpenCall> {
        self.lock().calls.values().map(|entry| entry.call.clone()).collect()
    }

    /// Takes a call, whatever it waits for.
    pub(super) fn take(&self, id: &CallId) -> Result<OpenCall, AnswerError> {
        let mut inner = self.lock();
        let at = inner.find(id)?;
        let entry = inner.calls.remove(&at);
        entry.map(|entry| entry.call).ok_or_else(|| AnswerError::NotOpen(id.clone()))
    }

    /// Takes a call that waits for no person, with whether it has had its `Finished`.
    pub(super) fn take_answerable(&self, id: &CallId) -> Result<(ToolCall, Option<bool>), AnswerError> {
        let mut inner = self.lock();
        let at = inner.find(id)?;
        match inner.calls.remove(&at) {
            Some(Entry { call: OpenCall::External(call) | OpenCall::LongRunning(call), told }) => {
                Ok((call, told))
            }
            Some(entry) => {
                inner.calls.insert(at, entry);
                Err(AnswerError::WaitsForPerson(id.clone()))
            }
            None => Err(AnswerError::NotOpen(id.clone())),
        }
    }

    /// Takes the calls that wait for a person and were answered: all of them, or none.
    pub(super) fn take_confirmed(
        &self,
        answers: Vec<(CallId, ConfirmationAnswer)>,
    ) -> Result<Vec<Confirmed>, AnswerError> {
        let mut inner = self.lock();
        let mut found = BTreeMap::new();
        for (id, answer) in answers {
            let at = inner.find(&id)?;
            if !matches!(inner.calls.get(&at), Some(Entry { call: OpenCall::Confirmation(..), .. })) {
                return Err(AnswerError::AsksNobody(id));
            }
            if found.insert(at, answer).is_some() {
                return Err(AnswerError::AnsweredTwice(id));
            }
        }
        let taken = found.into_iter().filter_map(|(at, answer)| match inner.calls.remove(&at)?.call {
            OpenCall::Confirmation(call, request) => Some(Confirmed { at, call, request, answer }),
            _ => None,
        });
        Ok(taken.collect())
    }

    /// Has calls wait again that were taken.
    fn put_back(&self, confirmed: Vec<Confirmed>) {
        let entry = |Confirmed { at, call, request, answer: _ }| {
            (at, Entry { call: OpenCall::Confirmation(call, request), told: Some(true) })
        };
        self.lock().calls.extend(confirmed.into_iter().map(entry));
    }
}

impl Inner {
    fn find(&self, id: &CallId) -> Result<u64, AnswerError> {
        let mut found = self.calls.iter().filter(|(_, entry)| entry.call.call().id == *id);
        // Of two calls of one id nobody can say which is meant.
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(*at),
            _ => Err(AnswerError::NotOpen(id.clone())),
        }
    }
}
