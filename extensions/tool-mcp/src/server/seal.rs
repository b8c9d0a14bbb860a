//! The state of a call between its rounds: sealed, bound, short-lived, and used once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{
    ErrorData,
    model::{InputRequests, InputResponses, RequestStateCodec, SealOptions},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_runtime::call::CallId;

/// The most states that are remembered as used. Beyond it, states are refused until the oldest expire: none is used twice.
const USED: usize = 100_000;

/// The facts that a state is bound to: it opens for the same caller, tool and arguments only.
pub(super) struct Binding {
    pub(super) caller: String,
    pub(super) definition: String,
    /// The hash of their canonical form.
    pub(super) arguments: String,
}

impl Binding {
    /// The parts with their lengths, so that no two bindings have the same bytes.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in [&self.caller, &self.definition, &self.arguments] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes
    }
}

/// The content of a state.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sealed {
    /// Tells the state from all others, so that it is used once.
    id: String,
    /// The answers of the rounds so far.
    answers: BTreeMap<String, Value>,
    /// The names of the questions of the last round: no other answer counts.
    asked: Vec<String>,
}

impl Sealed {
    pub(super) fn new(answers: BTreeMap<String, Value>, asked: &InputRequests) -> Self {
        Self { id: CallId::generate().to_string(), answers, asked: asked.keys().cloned().collect() }
    }

    /// The answers so far, with those of `responses` that were asked for.
    pub(super) fn answers(self, responses: Option<InputResponses>) -> BTreeMap<String, Value> {
        let mut answers = self.answers;
        let asked = self.asked;
        answers.extend(responses.unwrap_or_default().into_iter().filter(|(name, _)| asked.contains(name)));
        answers
    }
}

/// The lifetime of a state whose own is beyond the clock: 30 years.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Seals states, and opens each once.
pub(super) struct Seals {
    codec: RequestStateCodec,
    ttl: Duration,
    used: Mutex<HashMap<String, Instant>>,
}

impl Seals {
    /// Seals with `key`, of 32 bytes; a state is valid for `ttl`.
    pub(super) fn new(key: &[u8; 32], ttl: Duration) -> Self {
        Self { codec: RequestStateCodec::new_unchecked(key.to_vec()), ttl, used: Mutex::default() }
    }

    pub(super) fn seal(&self, state: &Sealed, binding: &Binding) -> Result<String, ErrorData> {
        let bound = binding.bytes();
        let options = SealOptions::new().associated_data(&bound).ttl(self.ttl);
        self.codec.seal_json_with(state, &options).map_err(|error| {
            ErrorData::internal_error(format!("the state of the call cannot be written: {error}"), None)
        })
    }

    /// Returns a new id that only `caller` can use.
    #[cfg(feature = "http")]
    pub(super) fn sealed_id(&self, caller: &str) -> String {
        let bound = Self::id_of(caller);
        let options = SealOptions::new().associated_data(&bound);
        self.codec.seal_with(CallId::generate().to_string().as_bytes(), &options)
    }

    /// Returns `true` if `id` is one of `caller`'s.
    #[cfg(feature = "http")]
    pub(super) fn opens_id(&self, id: &str, caller: &str) -> bool {
        self.codec.open_with(id, &Self::id_of(caller)).is_ok()
    }

    /// Differs from the bytes of a [`Binding`], which begin with a length.
    /// Seals the id of an event: only its session can resume after it.
    #[cfg(feature = "http")]
    pub(super) fn sealed_event(&self, event: &str, session: &str) -> String {
        let bound = Self::event_of(session);
        self.codec.seal_with(event.as_bytes(), &SealOptions::new().associated_data(&bound))
    }

    /// Opens the id of an event of a session.
    #[cfg(feature = "http")]
    pub(super) fn opened_event(&self, sealed: &str, session: &str) -> Option<String> {
        let event = self.codec.open_with(sealed, &Self::event_of(session)).ok()?;
        String::from_utf8(event).ok()
    }

    #[cfg(feature = "http")]
    fn event_of(session: &str) -> Vec<u8> {
        format!("event of {session}").into_bytes()
    }

    #[cfg(feature = "http")]
    fn id_of(caller: &str) -> Vec<u8> {
        format!("session of {caller}").into_bytes()
    }

    pub(super) fn open(&self, text: &str, binding: &Binding) -> Result<Sealed, ErrorData> {
        let refused =
            |reason: &str| ErrorData::invalid_params(format!("`requestState` is refused: {reason}"), None);
        let state: Sealed = self.codec.open_json_with(text, &binding.bytes()).map_err(|_| {
            refused("it is expired, changed, or of another caller, tool or arguments; call without it")
        })?;
        let now = Instant::now();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= USED {
            used.retain(|_, until| *until > now);
        }
        if used.len() >= USED {
            return Err(refused("too many calls wait for answers; call without it later"));
        }
        match used.insert(state.id.clone(), now.checked_add(self.ttl).unwrap_or(now + LONGEST)) {
            None => Ok(state),
            Some(_) => Err(refused("it was used before; call without it")),
        }
    }
}
