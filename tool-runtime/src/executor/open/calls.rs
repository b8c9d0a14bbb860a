//! The open calls of an executor, in their store.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock, atomic::AtomicU64},
    time::SystemTime,
};

use tool_core::{Arguments, CallAddress, ConfirmationAnswer, ErrorKind, ToolDefinition, ToolError};

use super::OpenCallSettings;
use crate::{
    ToolCall,
    executor::redact::redacted_call,
    millis,
    open_calls::{
        Body, CallOwner, CallRef, OpenCall, OpenCallError, OpenFilter, OpenKind, OpenRecord, OpenStoreError,
        ProgramKey, Secret, SharedOpenCallStore, serials,
    },
    policy::ApprovalRequest,
};

/// The open calls of an executor.
pub(in crate::executor) struct OpenCalls {
    settings: OpenCallSettings,
    /// The executor's own store, created with its first open call.
    own: OnceLock<SharedOpenCallStore>,
}

/// A call to be opened.
pub(in crate::executor) struct Opening<'a> {
    pub(in crate::executor) kind: OpenKind,
    pub(in crate::executor) call: &'a ToolCall,
    pub(in crate::executor) address: &'a CallAddress,
    pub(in crate::executor) owner: CallOwner,
    pub(in crate::executor) definition: Option<&'a ToolDefinition>,
    /// The time at which it was first opened, if it was open before.
    pub(in crate::executor) opened_at: Option<SystemTime>,
    /// The question that waits for an answer, and earlier ones with their answers.
    pub(in crate::executor) request: Option<Box<ApprovalRequest>>,
    pub(in crate::executor) answers: Vec<(Box<ApprovalRequest>, ConfirmationAnswer)>,
    /// `true` if `Finished` was sent for the call; `None` if the call has no events, or waits for a person.
    pub(in crate::executor) is_reported: Option<bool>,
    /// The operation that the output of a long-running call named.
    pub(in crate::executor) operation: Option<String>,
}

/// A verified record, and its body.
pub(in crate::executor) struct Found {
    pub(super) record: OpenRecord,
    pub(super) body: Body,
}

impl OpenCalls {
    pub(in crate::executor) fn new(settings: OpenCallSettings) -> Self {
        Self { settings, own: OnceLock::new() }
    }

    /// Returns a store of its own in memory, under the same key, for calls that are never answered.
    pub(in crate::executor) fn unshared(&self) -> Self {
        let settings =
            OpenCallSettings { store: None, key: Some(self.key().clone()), ..self.settings.clone() };
        Self::new(settings)
    }

    fn store(&self) -> &SharedOpenCallStore {
        self.settings.store.as_ref().unwrap_or_else(|| self.own.get_or_init(SharedOpenCallStore::memory))
    }

    /// Returns the key of the program, or one that stays in this process.
    pub(in crate::executor) fn key(&self) -> &ProgramKey {
        self.settings.key.as_ref().unwrap_or_else(|| self.store().key())
    }

    /// Returns the counter of calls of the program's store, or a new one.
    pub(in crate::executor) fn serials(&self) -> Arc<AtomicU64> {
        self.settings.store.as_ref().map_or_else(serials, SharedOpenCallStore::serials)
    }

    /// Returns the time from which answers to a call that is opened now are refused.
    pub(in crate::executor) fn expires_at(&self) -> Option<SystemTime> {
        SystemTime::now().checked_add(self.settings.expiry?).map(millis::truncated_to_millis)
    }

    /// Stores a call until it is answered.
    ///
    /// # Errors
    ///
    /// Returns the answer to the call, with the reason, if it cannot be stored.
    pub(in crate::executor) async fn put(&self, record: OpenRecord) -> Result<(), ToolError> {
        self.store().put(record).await.map_err(|error| {
            let is_own_text = matches!(error, OpenStoreError::Full { .. } | OpenStoreError::Exists);
            let error = not_opened_error(&error.to_string());
            match is_own_text {
                true => error,
                // The message of a store, which may include its location, is for logs only.
                false => error.with_feedback("Tool unavailable: the call cannot be kept open for its answer"),
            }
        })
    }

    /// Returns the record of a call to be opened.
    ///
    /// # Errors
    ///
    /// Returns the answer to the call, with the reason, if it has no record.
    pub(in crate::executor) fn record_of(&self, opening: Opening<'_>) -> Result<OpenRecord, ToolError> {
        self.new_record(opening).map_err(|why| not_opened_error(&why))
    }

    fn new_record(&self, opening: Opening<'_>) -> Result<OpenRecord, String> {
        let Opening {
            kind,
            call,
            address,
            owner,
            definition,
            opened_at,
            request,
            answers,
            is_reported,
            operation,
        } = opening;
        let redacted = definition.map_or_else(|| call.clone(), |definition| redacted_call(call, definition));
        let hash = definition.map(ToolDefinition::content_hash);
        let (mut secret, mut local) = (None, None);
        if redacted.arguments.as_str() != call.arguments.as_str() {
            if self.store().outlives_process() {
                let sealed = Secret::encrypted(self.key(), address, hash, &call.arguments);
                secret = Some(sealed.map_err(|why| format!("it has secret arguments, and {why}"))?);
            } else {
                (secret, local) = (Some(Secret::Local), Some(call.arguments.as_str().into()));
            }
        }
        let expires_at = request.as_ref().map_or_else(|| self.expires_at(), |request| request.expires_at);
        let opened_at = opened_at.unwrap_or_else(|| millis::truncated_to_millis(SystemTime::now()));
        let given = answers;
        let body = Body { call: redacted, definition: hash, secret, request, given, is_reported, operation };
        OpenRecord::new(self.key(), (address.clone(), owner, kind), (opened_at, expires_at), &body, local)
    }

    /// Returns all calls that can be answered now, in the order in which they arrived.
    pub(in crate::executor) async fn answerable_calls(&self) -> Result<Vec<OpenCall>, OpenCallError> {
        let records = self.store().list(&OpenFilter::default()).await?;
        let now = SystemTime::now();
        let mut found: Vec<_> = records
            .into_iter()
            .filter(|record| !record.is_expired(now))
            .filter_map(|record| {
                let found = self.verified_call(record);
                if found.is_none() {
                    tracing::warn!("an open call was altered, or stored under another key");
                }
                found
            })
            .collect();
        found.sort_by_key(|found| found.record.address.serial);
        Ok(found.into_iter().map(Found::into_call).collect())
    }

    fn verified_call(&self, record: OpenRecord) -> Option<Found> {
        let body = record.verified_body(self.key())?;
        Some(Found { record, body })
    }

    /// Returns the call of a record.
    ///
    /// # Errors
    ///
    /// Returns an error if the record has expired, or was altered.
    pub(in crate::executor) fn read_record(&self, record: OpenRecord) -> Result<Found, OpenCallError> {
        let call = || CallRef::Address(record.address.clone());
        let now = SystemTime::now();
        if let Some(at) = record.expires_at.filter(|end| *end <= now) {
            return Err(OpenCallError::Expired { call: call(), at });
        }
        let altered = OpenCallError::Altered(call());
        self.verified_call(record).ok_or(altered)
    }

    /// Returns the matching records, unverified.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or if the store is the program's and `call` is an id, which does not
    /// identify a run.
    async fn matching_records(&self, call: &CallRef) -> Result<Vec<OpenRecord>, OpenCallError> {
        Ok(match call {
            CallRef::Address(address) | CallRef::Question(address, _) | CallRef::Request { address, .. } => {
                let record = self.store().get(address).await?;
                record.into_iter().filter(|record| record.address == *address).collect()
            }
            CallRef::Id(id) if self.settings.store.is_some() => {
                return Err(OpenCallError::NeedsAddress(id.clone()));
            }
            CallRef::Id(id) => {
                let filter = OpenFilter { call_id: Some(id.clone()), ..OpenFilter::default() };
                let mut records = self.store().list(&filter).await?;
                records.retain(|record| record.address.call_id == *id);
                records
            }
        })
    }

    /// Returns the one matching open call.
    pub(in crate::executor) async fn find_open_call(&self, call: &CallRef) -> Result<Found, OpenCallError> {
        let now = SystemTime::now();
        let (mut open, mut refused) = (Vec::new(), OpenCallError::NotOpen(call.clone()));
        for record in self.matching_records(call).await? {
            match (self.verified_call(record), &refused) {
                (None, OpenCallError::NotOpen(_)) => refused = OpenCallError::Altered(call.clone()),
                (None, _) => {}
                (Some(found), _) if found.record.is_expired(now) => {
                    let at = found.record.expires_at.unwrap_or(now);
                    refused = OpenCallError::Expired { call: call.clone(), at };
                }
                (Some(found), _) if found.asks_other_than(call) => {}
                (Some(found), _) if found.is_shown_differently(call) => {
                    refused = OpenCallError::RequestChanged(call.clone());
                }
                (Some(found), _) => open.push(found),
            }
        }
        if let (CallRef::Id(id), 2..) = (call, open.len()) {
            open.sort_by_key(|found| found.record.address.serial);
            let addresses = open.into_iter().map(|found| found.record.address).collect();
            return Err(OpenCallError::Ambiguous { id: id.clone(), addresses });
        }
        open.pop().ok_or(refused)
    }

    /// Removes an open call, so that it can no longer be answered.
    ///
    /// # Errors
    ///
    /// Returns an error if it has expired, or was removed elsewhere.
    pub(in crate::executor) async fn consume(&self, record: &OpenRecord) -> Result<(), OpenCallError> {
        check_expiry(record)?;
        check_consumed(record, self.store().consume(record).await?)
    }

    /// Replaces the record of a call that stays open.
    ///
    /// # Errors
    ///
    /// As [`consume`](Self::consume).
    pub(in crate::executor) async fn replace(
        &self,
        record: &OpenRecord,
        replacement: &OpenRecord,
    ) -> Result<(), OpenCallError> {
        check_expiry(record)?;
        check_consumed(record, self.store().replace(record, replacement.clone()).await?)
    }

    /// Replaces the record of a long-running call, or removes it without a `replacement`. If it was replaced since it was read, because its work goes on
    /// under another operation, the present one is meant.
    ///
    /// # Errors
    ///
    /// As [`consume`](Self::consume).
    pub(in crate::executor) async fn change_present_record(
        &self,
        record: &OpenRecord,
        replacement: Option<&OpenRecord>,
    ) -> Result<(), OpenCallError> {
        let mut present = Cow::Borrowed(record);
        for _ in 0..MAX_REPLACEMENTS {
            let changed = match replacement {
                Some(replacement) => self.replace(&present, replacement).await,
                None => self.consume(&present).await,
            };
            let Err(not_open @ OpenCallError::NotOpen(_)) = changed else { return changed };
            match self.store().get(&record.address).await? {
                Some(next) if next.tag != present.tag && self.is_later_record(&next, record) => {
                    present = Cow::Owned(next);
                }
                _ => return Err(not_open),
            }
        }
        check_consumed(record, false)
    }

    /// Returns `true` if `next` is a record of the same call and kind, and not altered.
    fn is_later_record(&self, next: &OpenRecord, record: &OpenRecord) -> bool {
        next.address == record.address && next.kind == record.kind && next.verified_body(self.key()).is_some()
    }

    /// Removes records of a call that the store failed to replace.
    pub(in crate::executor) async fn consume_if_possible(&self, records: &[&OpenRecord]) {
        for record in records {
            if let Err(error) = self.store().consume(record).await {
                tracing::warn!(call = %record.address, %error, "a call that was answered with an error may still be open");
                return;
            }
        }
    }

    /// Notes that the work of a long-running call goes on under another operation: replaces its record.
    ///
    /// # Errors
    ///
    /// Returns an error if the call was answered elsewhere, or the store fails.
    pub(in crate::executor) async fn replace_operation(
        &self,
        Found { record, body }: &Found,
        operation: &str,
    ) -> Result<(), OpenCallError> {
        if body.operation.as_deref() == Some(operation) {
            return Ok(());
        }
        let body = Body { operation: Some(operation.to_owned()), ..body.clone() };
        let replacement = record.with_body(self.key(), &body).map_err(OpenStoreError::Failed)?;
        self.replace(record, &replacement).await
    }

    /// Removes an open call of any kind, including expired and altered ones.
    pub(in crate::executor) async fn discard(&self, call: &CallRef) -> Result<(), OpenCallError> {
        let records = self.matching_records(call).await?;
        let record = match (call, &records[..]) {
            (_, [record]) => record,
            (_, []) => return Err(OpenCallError::NotOpen(call.clone())),
            (CallRef::Id(id), _) => {
                let mut addresses: Vec<_> = records.into_iter().map(|record| record.address).collect();
                addresses.sort_by_key(|address| address.serial);
                return Err(OpenCallError::Ambiguous { id: id.clone(), addresses });
            }
            (CallRef::Address(_) | CallRef::Question(..) | CallRef::Request { .. }, [record, ..]) => record,
        };
        match self.store().consume(record).await? {
            true => Ok(()),
            false => Err(OpenCallError::NotOpen(call.clone())),
        }
    }

    /// Returns the received arguments of a call.
    pub(in crate::executor) fn arguments(
        &self,
        found: &Found,
        definition: Option<&ToolDefinition>,
    ) -> Result<Arguments<'static>, OpenCallError> {
        let arguments = found.record.arguments(self.key(), &found.body, definition);
        let address = || found.record.address.clone();
        arguments.ok_or_else(|| OpenCallError::SecretsUnavailable(CallRef::Address(address())))
    }
}

fn check_expiry(record: &OpenRecord) -> Result<(), OpenCallError> {
    match record.expires_at.filter(|end| *end <= SystemTime::now()) {
        Some(at) => Err(OpenCallError::Expired { call: CallRef::Address(record.address.clone()), at }),
        None => Ok(()),
    }
}

/// The number of times that a call is changed again, because its record was replaced meanwhile.
pub(super) const MAX_REPLACEMENTS: usize = 16;

/// Returns the answer to a call that cannot be opened.
fn not_opened_error(why: &str) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, format!("the call cannot be kept open for its answer: {why}"))
}

fn check_consumed(record: &OpenRecord, is_consumed: bool) -> Result<(), OpenCallError> {
    match is_consumed {
        true => Ok(()),
        false => Err(OpenCallError::NotOpen(CallRef::Address(record.address.clone()))),
    }
}

impl Found {
    /// Returns `true` if `call` is a question other than the one that waits for an answer.
    fn asks_other_than(&self, call: &CallRef) -> bool {
        let (CallRef::Question(_, hash) | CallRef::Request { hash, .. }) = call else { return false };
        self.body.request.as_ref().is_none_or(|request| request.hash != *hash)
    }

    /// Returns `true` if `call` was made from a request that differs from the stored one.
    fn is_shown_differently(&self, call: &CallRef) -> bool {
        let CallRef::Request { shown, .. } = call else { return false };
        self.body.request.as_ref().is_none_or(|request| request.shown_hash() != **shown)
    }

    pub(super) fn into_call(self) -> OpenCall {
        let Self { record: OpenRecord { address, kind, .. }, body: Body { call, request, .. } } = self;
        match (kind, request) {
            (OpenKind::Confirmation, Some(request)) => OpenCall::Confirmation(call, request),
            (OpenKind::External, _) => OpenCall::External(call, address),
            (OpenKind::LongRunning | OpenKind::Confirmation, _) => OpenCall::LongRunning(call, address),
        }
    }
}
