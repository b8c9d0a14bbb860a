//! The records of open calls.

use std::{fmt, sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};
use tool_core::{Arguments, Blob, CallAddress, ConfirmationAnswer, ContentHash, RunContext, ToolDefinition};

use super::{AuthenticatedText, ProgramKey, seal};
use crate::{ToolCall, millis, policy::ApprovalRequest};

/// The stored form of an open call.
///
/// A store writes the whole record, as JSON or in columns, and returns it unchanged. Only executors read its body, in
/// which the values of secret parameters are encrypted or absent. The [`tag`](Self::tag) authenticates all fields: an
/// altered record, or one that was copied to another user or session, is refused.
///
/// In JSON, a record with an app, a user or a session has version 2 (`v`), any other one version 1.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "Wire", into = "Wire")]
#[non_exhaustive]
pub struct OpenRecord {
    /// The address of the call, unique among records.
    pub address: CallAddress,
    /// The program of the call's run ([`RunContext::app`]), if it has one.
    pub app: Option<String>,
    /// The user of the call's run ([`RunContext::user`]), if it has one.
    pub user: Option<String>,
    /// The session of the call's run ([`RunContext::session`]), if it has one.
    pub session: Option<String>,
    /// The kind of answer that the call waits for.
    pub kind: OpenKind,
    /// The time at which the call was opened; in JSON, milliseconds since the Unix epoch.
    pub opened_at: SystemTime,
    /// The time from which answers are refused, if any; in JSON, milliseconds since the Unix epoch. A store may remove
    /// the record from then on.
    pub expires_at: Option<SystemTime>,
    /// The call, as JSON for executors only.
    pub body: String,
    /// The message authentication code of all other fields. It distinguishes this record from earlier records of its
    /// address.
    pub tag: ContentHash,
    /// Secret arguments, which do not leave the process.
    local: Option<Arc<str>>,
}

/// The kind of answer that an open call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OpenKind {
    /// The result, from the caller to which the call was left.
    External,
    /// The result of work that the tool started.
    LongRunning,
    /// A person's answer to a question about the call.
    Confirmation,
}

impl OpenKind {
    fn name(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::LongRunning => "longRunning",
            Self::Confirmation => "confirmation",
        }
    }
}

/// The newest version of a record that this program reads.
const RECORD_VERSION: u64 = 2;

/// A record as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default, rename = "v", skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    address: CallAddress,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    app: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    kind: OpenKind,
    #[serde(rename = "openedAtMs", with = "millis")]
    opened_at: SystemTime,
    #[serde(
        default,
        rename = "expiresAtMs",
        with = "millis::option",
        skip_serializing_if = "Option::is_none"
    )]
    expires_at: Option<SystemTime>,
    body: String,
    tag: ContentHash,
}

impl TryFrom<Wire> for OpenRecord {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        let Wire { version, address, app, user, session, kind, opened_at, expires_at, body, tag } = wire;
        if let Some(version) = version.filter(|version| !(1..=RECORD_VERSION).contains(version)) {
            return Err(format!(
                "the format version {version} is not known; read it with the version of the program that stored it"
            ));
        }
        Ok(Self { address, app, user, session, kind, opened_at, expires_at, body, tag, local: None })
    }
}

impl From<OpenRecord> for Wire {
    fn from(record: OpenRecord) -> Self {
        let version = record.has_owner().then_some(RECORD_VERSION);
        let OpenRecord { address, app, user, session, kind, opened_at, expires_at, body, tag, local: _ } =
            record;
        Self { version, address, app, user, session, kind, opened_at, expires_at, body, tag }
    }
}

/// The program, user and session that an open call belongs to.
#[derive(Clone, Default)]
pub(crate) struct CallOwner {
    app: Option<String>,
    user: Option<String>,
    session: Option<String>,
}

impl CallOwner {
    pub(crate) fn of_run(run: &RunContext) -> Self {
        let owned = |name: Option<&str>| name.map(str::to_owned);
        Self { app: owned(run.app()), user: owned(run.user()), session: owned(run.session()) }
    }

    pub(crate) fn of_record(record: &OpenRecord) -> Self {
        Self { app: record.app.clone(), user: record.user.clone(), session: record.session.clone() }
    }
}

impl OpenRecord {
    /// Returns `true` if the record has expired by `now`.
    #[must_use]
    pub fn is_expired(&self, now: SystemTime) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Creates the record of `body`, authenticated under `key`. Secret arguments that are not encrypted are kept
    /// outside of it.
    pub(crate) fn new(
        key: &ProgramKey,
        (address, owner, kind): (CallAddress, CallOwner, OpenKind),
        (opened_at, expires_at): (SystemTime, Option<SystemTime>),
        body: &Body,
        local: Option<Arc<str>>,
    ) -> Result<Self, String> {
        let body = serde_json::to_string(body).map_err(|error| error.to_string())?;
        // A body that nests too deeply could be written, but not read.
        serde_json::from_str::<Body>(&body).map_err(|error| error.to_string())?;
        let tag = ContentHash::from([0; 32]);
        let CallOwner { app, user, session } = owner;
        let mut record = Self { address, app, user, session, kind, opened_at, expires_at, body, tag, local };
        record.tag = key.sign(&record.authenticated_message());
        Ok(record)
    }

    /// Creates the record that replaces this one, with another body.
    pub(crate) fn with_body(&self, key: &ProgramKey, body: &Body) -> Result<Self, String> {
        let (owner, local) = (CallOwner::of_record(self), self.local.clone());
        let times = (self.opened_at, self.expires_at);
        Self::new(key, (self.address.clone(), owner, self.kind), times, body, local)
    }

    /// Returns the body; `None` if the record was altered.
    pub(crate) fn verified_body(&self, key: &ProgramKey) -> Option<Body> {
        key.authenticates(self.tag, &self.authenticated_message())
            .then(|| serde_json::from_str(&self.body).ok())?
    }

    /// Returns `true` if the record has an app, a user or a session: then it is of version 2.
    fn has_owner(&self) -> bool {
        self.app.is_some() || self.user.is_some() || self.session.is_some()
    }

    /// Returns all fields that are authenticated.
    fn authenticated_message(&self) -> AuthenticatedText {
        let Self { address, app, user, session, kind, opened_at, expires_at, body, tag: _, local: _ } = self;
        let time = |time: SystemTime| millis::epoch_millis(time).to_le_bytes();
        let message = match self.has_owner() {
            false => with_address_fields(AuthenticatedText::new("tool-runtime open-call record 1"), address),
            true => [app, user, session].into_iter().fold(
                with_address_fields(AuthenticatedText::new("tool-runtime open-call record 2"), address),
                |message, name| message.with_optional_field(name.as_deref().map(str::as_bytes)),
            ),
        };
        message
            .with_field(kind.name().as_bytes())
            .with_field(&time(*opened_at))
            .with_optional_field(expires_at.map(time).as_ref().map(<[u8; 8]>::as_slice))
            .with_field(body.as_bytes())
    }

    /// Returns the received arguments of the call; `None` if they contain secrets that cannot be read, since the tool
    /// was replaced or another process kept them.
    pub(crate) fn arguments(
        &self,
        key: &ProgramKey,
        body: &Body,
        definition: Option<&ToolDefinition>,
    ) -> Option<Arguments<'static>> {
        let Some(secret) = &body.secret else { return Some(body.call.arguments.clone()) };
        let definition = definition.map(ToolDefinition::content_hash);
        if definition != body.definition {
            return None;
        }
        match secret {
            Secret::Local => self.local.as_ref().map(|text| Arguments::from(text.to_string())),
            Secret::Sealed(sealed) => {
                seal::unseal(key, &sealed.0, associated_data(&self.address, definition)).map(Arguments::from)
            }
        }
    }
}

/// Omits the body, which contains texts of people and models.
impl fmt::Debug for OpenRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenRecord")
            .field("address", &self.address)
            .field("app", &self.app)
            .field("user", &self.user)
            .field("session", &self.session)
            .field("kind", &self.kind)
            .field("opened_at", &self.opened_at)
            .field("expires_at", &self.expires_at)
            .field("tag", &self.tag)
            .finish_non_exhaustive()
    }
}

/// An open call, as read by executors.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    /// The call; values of secret parameters are replaced.
    pub(crate) call: ToolCall,
    /// The hash of the tool's definition, if there is a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<ContentHash>,
    /// The place of the received arguments, if they contain secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<Secret>,
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<Box<ApprovalRequest>>,
    /// Earlier questions about the call, with their answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) given: Vec<(Box<ApprovalRequest>, ConfirmationAnswer)>,
    /// `true` if `Finished` was sent for the call; `None` if the call has no events, or waits for a person.
    #[serde(rename = "told", default, skip_serializing_if = "Option::is_none")]
    pub(crate) is_reported: Option<bool>,
    /// The operation that the output of a long-running call named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<String>,
}

/// The place of secret arguments.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Secret {
    /// Outside of the record, in this process.
    Local,
    /// In the record, encrypted.
    Sealed(Blob),
}

impl Secret {
    /// Encrypts `arguments` for the call at `address` of the tool with the hash `definition`.
    pub(crate) fn encrypted(
        key: &ProgramKey,
        address: &CallAddress,
        definition: Option<ContentHash>,
        arguments: &Arguments<'_>,
    ) -> Result<Self, String> {
        let sealed = seal::seal(key, arguments.as_str(), associated_data(address, definition))?;
        Ok(Self::Sealed(Blob(sealed)))
    }
}

/// Returns the associated data of the encryption: only the same call of the same tool can decrypt the arguments.
fn associated_data(address: &CallAddress, definition: Option<ContentHash>) -> Vec<u8> {
    let definition = definition.map(<[u8; 32]>::from);
    let message = with_address_fields(AuthenticatedText::new("tool-runtime open-call arguments 1"), address);
    message.with_optional_field(definition.as_ref().map(<[u8; 32]>::as_slice)).into_text()
}

/// Adds the fields of `address` to `message`.
pub(crate) fn with_address_fields(message: AuthenticatedText, address: &CallAddress) -> AuthenticatedText {
    let CallAddress { run, call_id, serial } = address;
    let (run, call_id) = (run.as_ref().map(ToString::to_string), call_id.to_string());
    let message = message.with_optional_field(run.as_deref().map(str::as_bytes));
    message.with_field(call_id.as_bytes()).with_field(&serial.to_le_bytes())
}
