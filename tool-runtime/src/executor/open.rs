//! Calls that are answered later.
//!
//! A call is open under its address, by which it is answered. Its id is enough where no other open call has the
//! same one: models repeat ids, and an answer must not reach another call than was meant.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tool_core::{CallAddress, CallId, ConfirmationAnswer};

use super::{Executor, questions::Given};
use crate::{ToolCall, policy::ApprovalRequest};

/// A call that is not answered yet.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OpenCall {
    /// It is left to the caller.
    External(ToolCall, CallAddress),
    /// Its tool started something that goes on.
    LongRunning(ToolCall, CallAddress),
    /// It waits for a person.
    Confirmation(ToolCall, Box<ApprovalRequest>),
}

impl OpenCall {
    /// The call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        match self {
            Self::External(call, _) | Self::LongRunning(call, _) | Self::Confirmation(call, _) => call,
        }
    }

    /// The address by which the call is answered.
    #[must_use]
    pub fn address(&self) -> &CallAddress {
        match self {
            Self::External(_, address) | Self::LongRunning(_, address) => address,
            Self::Confirmation(_, request) => &request.address,
        }
    }
}

/// An open call, by its address or by its id.
///
/// Methods that take an open call take anything that converts into this: an id, as text or [`CallId`], or a
/// [`CallAddress`]. An id is refused where several open calls have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallRef {
    /// By its id.
    Id(CallId),
    /// By its address.
    Address(CallAddress),
}

impl fmt::Display for CallRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// A conversion for each type that stands for an open call.
macro_rules! converts {
    ($($given:ty => $variant:ident, $convert:expr;)*) => { $(
        impl From<$given> for CallRef {
            fn from(given: $given) -> Self {
                Self::$variant($convert(given))
            }
        }
    )* };
}

converts! {
    CallId => Id, std::convert::identity;
    &CallId => Id, CallId::clone;
    &str => Id, CallId::from;
    String => Id, CallId::from;
    CallAddress => Address, std::convert::identity;
    &CallAddress => Address, CallAddress::clone;
}

/// Why an answer was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// No such call is open: there was none, or it was answered before.
    NotOpen(CallRef),
    /// Several open calls have this id; each is answered by its address.
    Ambiguous {
        /// The id.
        id: CallId,
        /// The addresses of the calls, in the order in which they came.
        addresses: Vec<CallAddress>,
    },
    /// It waits for a person; see [`Executor::resume`](crate::Executor::resume).
    WaitsForPerson(CallRef),
    /// It does not wait for a person; see [`Executor::answer`](crate::Executor::answer).
    AsksNobody(CallRef),
    /// The same call was answered twice at once.
    AnsweredTwice(CallRef),
}

/// The number of addresses that a message shows.
const SHOWN: usize = 8;

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen(call) => {
                let of_that = if matches!(call, CallRef::Id(_)) { "of that id" } else { "at that address" };
                write!(f, "no call {call} is open: there was none {of_that}, or it was answered before")
            }
            Self::Ambiguous { id, addresses } => {
                write!(f, "{} open calls have the id {id}; answer each by its address: ", addresses.len())?;
                for (at, address) in addresses.iter().take(SHOWN).enumerate() {
                    write!(f, "{}{address}", if at == 0 { "" } else { ", " })?;
                }
                match addresses.len().saturating_sub(SHOWN) {
                    0 => Ok(()),
                    more => write!(f, ", and {more} more"),
                }
            }
            Self::WaitsForPerson(call) => {
                write!(f, "the call {call} waits for a person, and is answered by `resume`")
            }
            Self::AsksNobody(call) => {
                write!(f, "the call {call} does not wait for a person, and is answered by `answer`")
            }
            Self::AnsweredTwice(call) => write!(f, "the call {call} was answered twice at once"),
        }
    }
}

impl std::error::Error for AnswerError {}

/// A call to whose last question there is an answer now.
#[derive(Debug)]
pub(super) struct Confirmed {
    pub(super) call: ToolCall,
    /// The last answer is the new one, and its question has the address of the call.
    pub(super) given: Given,
    pub(super) address: CallAddress,
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
    /// By the serial of the call, which no other call of the executor has.
    calls: BTreeMap<u64, Entry>,
    /// The serials of the calls of each id.
    by_id: HashMap<CallId, BTreeSet<u64>>,
}

struct Entry {
    call: OpenCall,
    /// Whether it has had its `Finished`; `None` where it has no events, or waits for a person.
    told: Option<bool>,
    /// Answers to earlier questions of the same call.
    given: Given,
}

impl OpenCalls {
    // No user code runs under the lock, and every change is done in full before the next one.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, call: OpenCall, told: Option<bool>) {
        self.lock().insert(Entry { call, told, given: Given::default() });
    }

    /// Adds a call that waits for a person, with the answers to its earlier questions.
    pub(super) fn ask(&self, call: ToolCall, request: Box<ApprovalRequest>, given: Given) {
        self.lock().insert(Entry { call: OpenCall::Confirmation(call, request), told: None, given });
    }

    pub(super) fn all(&self) -> Vec<OpenCall> {
        self.lock().calls.values().map(|entry| entry.call.clone()).collect()
    }

    /// Takes a call, whatever it waits for.
    pub(super) fn take(&self, call: &CallRef) -> Result<OpenCall, AnswerError> {
        let mut inner = self.lock();
        let serial = inner.find(call)?;
        inner.remove(serial).map(|entry| entry.call).ok_or_else(|| AnswerError::NotOpen(call.clone()))
    }

    /// Takes a call that waits for no person, with its address and with whether it has had its `Finished`.
    pub(super) fn take_answerable(
        &self,
        call: &CallRef,
    ) -> Result<(ToolCall, CallAddress, Option<bool>), AnswerError> {
        let mut inner = self.lock();
        let serial = inner.find(call)?;
        if inner.asks(serial) {
            return Err(AnswerError::WaitsForPerson(call.clone()));
        }
        match inner.remove(serial) {
            Some(Entry {
                call: OpenCall::External(call, address) | OpenCall::LongRunning(call, address),
                told,
                ..
            }) => Ok((call, address, told)),
            _ => Err(AnswerError::NotOpen(call.clone())),
        }
    }

    /// Takes the calls that wait for a person and were answered: all of them, or none.
    pub(super) fn take_confirmed(
        &self,
        answers: Vec<(CallRef, ConfirmationAnswer)>,
    ) -> Result<Vec<Confirmed>, AnswerError> {
        let mut inner = self.lock();
        let mut found = BTreeMap::new();
        for (call, answer) in answers {
            let serial = inner.find(&call)?;
            if !inner.asks(serial) {
                return Err(AnswerError::AsksNobody(call));
            }
            if found.insert(serial, answer).is_some() {
                return Err(AnswerError::AnsweredTwice(call));
            }
        }
        let taken = found.into_iter().filter_map(|(serial, answer)| match inner.remove(serial)? {
            Entry { call: OpenCall::Confirmation(call, request), mut given, .. } => {
                let address = request.address.clone();
                given.add(request, answer);
                Some(Confirmed { call, given, address })
            }
            _ => None,
        });
        Ok(taken.collect())
    }

    /// Has calls wait again that were taken.
    fn put_back(&self, confirmed: Vec<Confirmed>) {
        let mut inner = self.lock();
        for Confirmed { call, mut given, .. } in confirmed {
            if let Some(request) = given.take_last() {
                let call = OpenCall::Confirmation(call, request);
                inner.insert(Entry { call, told: None, given });
            }
        }
    }
}

impl Inner {
    fn insert(&mut self, entry: Entry) {
        let address = entry.call.address();
        self.by_id.entry(address.call_id.clone()).or_default().insert(address.serial);
        self.calls.insert(address.serial, entry);
    }

    fn remove(&mut self, serial: u64) -> Option<Entry> {
        let entry = self.calls.remove(&serial)?;
        let id = &entry.call.address().call_id;
        if let Some(serials) = self.by_id.get_mut(id) {
            serials.remove(&serial);
            if serials.is_empty() {
                self.by_id.remove(id);
            }
        }
        Some(entry)
    }

    /// Whether the call waits for a person.
    fn asks(&self, serial: u64) -> bool {
        matches!(self.calls.get(&serial), Some(Entry { call: OpenCall::Confirmation(..), .. }))
    }

    /// The serial of the one open call that is meant.
    fn find(&self, call: &CallRef) -> Result<u64, AnswerError> {
        let not_open = || AnswerError::NotOpen(call.clone());
        let id = match call {
            CallRef::Address(address) => {
                let found = self.calls.get(&address.serial).filter(|entry| entry.call.address() == address);
                return found.map(|_| address.serial).ok_or_else(not_open);
            }
            CallRef::Id(id) => id,
        };
        let serials: Vec<_> = self.by_id.get(id).into_iter().flatten().collect();
        match serials[..] {
            [] => Err(not_open()),
            [serial] => Ok(*serial),
            _ => {
                let addresses = serials.into_iter().filter_map(|serial| self.calls.get(serial));
                let addresses = addresses.map(|entry| entry.call.address().clone()).collect();
                Err(AnswerError::Ambiguous { id: id.clone(), addresses })
            }
        }
    }
}
