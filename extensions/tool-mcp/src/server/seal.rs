//! The state of a call between its rounds: sealed, bound, short-lived, and used once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use rmcp::{
    ErrorData,
    model::{InputRequests, InputResponses, RequestStateCodec, SealOptions},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_runtime::{BoxFuture, ErrorKind, ToolError, call::CallId, guard::catch_async};

use super::question_round::UNAVAILABLE;

/// The most states that are remembered as used. Beyond it, states are refused until the oldest expire: none is used twice.
const MAX_USED_STATES: usize = 100_000;

/// The used states of calls, for a server of several processes, so that each state is accepted once by all of them together.
///
/// A database does this by a table with a unique key: the insertion that fails is the second use.
///
/// # Examples
///
/// ```
/// use std::{fs, io, path::PathBuf, time::SystemTime};
///
/// use tool_mcp::server::UsedStates;
/// use tool_runtime::{BoxFuture, ToolError};
///
/// /// A directory with one file for each state, which all processes share.
/// struct Directory(PathBuf);
///
/// impl UsedStates for Directory {
///     fn mark<'a>(&'a self, id: &'a str, _: SystemTime) -> BoxFuture<'a, Result<bool, ToolError>> {
///         Box::pin(async move {
///             match fs::File::create_new(self.0.join(id)) {
///                 Ok(_) => Ok(true),
///                 Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
///                 Err(error) => Err(ToolError::from_source(error)),
///             }
///         })
///     }
/// }
/// ```
pub trait UsedStates: Send + Sync + 'static {
    /// Marks the state `id` as used, at once for all processes, and returns `false` if it was marked before. The mark may be
    /// removed after `until`, when the state is expired.
    ///
    /// # Errors
    ///
    /// If the state cannot be marked; it is then refused.
    fn mark<'a>(&'a self, id: &'a str, until: SystemTime) -> BoxFuture<'a, Result<bool, ToolError>>;
}

/// The used states of one process.
#[derive(Default)]
struct InMemoryUsedStates(Mutex<HashMap<String, SystemTime>>);

impl UsedStates for InMemoryUsedStates {
    fn mark<'a>(&'a self, id: &'a str, until: SystemTime) -> BoxFuture<'a, Result<bool, ToolError>> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= MAX_USED_STATES {
            let now = SystemTime::now();
            used.retain(|_, until| *until > now);
        }
        let marked = match used.len() >= MAX_USED_STATES {
            true => Err(ToolError::new(ErrorKind::Unavailable, "too many calls wait for answers")),
            false => Ok(used.insert(id.to_owned(), until).is_none()),
        };
        Box::pin(std::future::ready(marked))
    }
}

/// The facts that a state is bound to: it opens for the same caller, tool and arguments only.
pub(super) struct StateBinding {
    pub(super) caller: String,
    pub(super) definition: String,
    /// The hash of their canonical form.
    pub(super) arguments: String,
}

impl StateBinding {
    /// The parts with their lengths, so that no two bindings have the same bytes.
    fn to_bytes(&self) -> Vec<u8> {
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
pub(super) struct SealedState {
    /// Tells the state from all others, so that it is used once.
    id: String,
    /// The answers of the rounds so far.
    answers: BTreeMap<String, Value>,
    /// The names of the questions of the last round: no other answer counts.
    asked: Vec<String>,
}

impl SealedState {
    pub(super) fn new(answers: BTreeMap<String, Value>, asked: &InputRequests) -> Self {
        Self { id: CallId::generate().to_string(), answers, asked: asked.keys().cloned().collect() }
    }

    /// The answers so far, with those of `responses` that were asked for.
    pub(super) fn merged_answers(self, responses: Option<InputResponses>) -> BTreeMap<String, Value> {
        let mut answers = self.answers;
        let asked = self.asked;
        answers.extend(responses.unwrap_or_default().into_iter().filter(|(name, _)| asked.contains(name)));
        answers
    }
}

/// The lifetime of a state whose own is beyond the clock: 30 years.
const MAX_STATE_LIFETIME: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Seals states, and opens each once.
pub(super) struct Seals {
    codec: RequestStateCodec,
    ttl: Duration,
    used: Arc<dyn UsedStates>,
}

impl Seals {
    /// Seals with `key`, of 32 bytes; a state is valid for `ttl`, and `used` remembers that it was used.
    pub(super) fn new(key: &[u8; 32], ttl: Duration, used: Option<Arc<dyn UsedStates>>) -> Self {
        let used = used.unwrap_or_else(|| Arc::new(InMemoryUsedStates::default()));
        Self { codec: RequestStateCodec::new_unchecked(key.to_vec()), ttl, used }
    }

    pub(super) fn seal_state(
        &self,
        state: &SealedState,
        binding: &StateBinding,
    ) -> Result<String, ErrorData> {
        let bound = binding.to_bytes();
        let options = SealOptions::new().associated_data(&bound).ttl(self.ttl);
        self.codec.seal_json_with(state, &options).map_err(|error| {
            ErrorData::internal_error(format!("the state of the call cannot be written: {error}"), None)
        })
    }

    /// Returns a new id that only `caller` can use.
    #[cfg(feature = "http")]
    pub(super) fn new_sealed_id(&self, caller: &str) -> String {
        let bound = Self::session_id_binding(caller);
        let options = SealOptions::new().associated_data(&bound);
        self.codec.seal_with(CallId::generate().to_string().as_bytes(), &options)
    }

    /// Returns `true` if `id` is one of `caller`'s.
    #[cfg(feature = "http")]
    pub(super) fn is_id_of_caller(&self, id: &str, caller: &str) -> bool {
        self.codec.open_with(id, &Self::session_id_binding(caller)).is_ok()
    }

    /// Seals the id of an event: only its session can resume after it.
    #[cfg(feature = "http")]
    pub(super) fn sealed_event_id(&self, event: &str, session: &str) -> String {
        let bound = Self::event_binding(session);
        self.codec.seal_with(event.as_bytes(), &SealOptions::new().associated_data(&bound))
    }

    /// Opens the id of an event of a session.
    #[cfg(feature = "http")]
    pub(super) fn opened_event_id(&self, sealed: &str, session: &str) -> Option<String> {
        let event = self.codec.open_with(sealed, &Self::event_binding(session)).ok()?;
        String::from_utf8(event).ok()
    }

    /// Differs from the bytes of a [`StateBinding`], which begin with a length.
    #[cfg(feature = "http")]
    fn event_binding(session: &str) -> Vec<u8> {
        format!("event of {session}").into_bytes()
    }

    #[cfg(feature = "http")]
    fn session_id_binding(caller: &str) -> Vec<u8> {
        format!("session of {caller}").into_bytes()
    }

    /// Opens a state, and marks it as used.
    pub(super) async fn open_state_once(
        &self,
        text: &str,
        binding: &StateBinding,
    ) -> Result<SealedState, ErrorData> {
        let refused =
            |reason: &str| ErrorData::invalid_params(format!("`requestState` is refused: {reason}"), None);
        let state: SealedState = self.codec.open_json_with(text, &binding.to_bytes()).map_err(|_| {
            refused("it is expired, changed, or of another caller, tool or arguments; call without it")
        })?;
        // It was sealed before now.
        let now = SystemTime::now();
        let until = now.checked_add(self.ttl).unwrap_or(now + MAX_STATE_LIFETIME);
        let marked = catch_async(|| self.used.mark(&state.id, until)).await;
        match marked.unwrap_or_else(|panic| Err(panic.into())) {
            Ok(true) => Ok(state),
            Ok(false) => Err(refused("it was used before; call without it")),
            Err(error) => {
                tracing::error!(%error, "a state cannot be marked as used");
                let message = "`requestState` cannot be used now; try again later";
                Err(ErrorData::new(UNAVAILABLE, message, None))
            }
        }
    }
}

/// Returns a random key.
pub(super) fn random_key() -> Result<[u8; 32], getrandom::Error> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    Ok(key)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn used_states_are_remembered_until_they_expire() {
        let now = SystemTime::now();
        for (until, is_accepted) in [(now, true), (now + MAX_STATE_LIFETIME, false)] {
            let used = InMemoryUsedStates::default();
            for number in 0..MAX_USED_STATES {
                assert!(used.mark(&number.to_string(), until).await.unwrap());
            }
            assert_eq!(used.mark("one more", now + MAX_STATE_LIFETIME).await.is_ok(), is_accepted);
        }
    }

    #[tokio::test]
    async fn a_state_is_marked_once() {
        let used = InMemoryUsedStates::default();
        let until = SystemTime::now() + MAX_STATE_LIFETIME;
        assert!(used.mark("a", until).await.unwrap() && used.mark("b", until).await.unwrap());
        assert!(!used.mark("a", until).await.unwrap());
    }

    fn binding(parts: [&str; 3]) -> StateBinding {
        let [caller, definition, arguments] = parts.map(str::to_owned);
        StateBinding { caller, definition, arguments }
    }

    #[tokio::test]
    async fn a_state_has_the_answers_that_were_asked_for() {
        let seals = Seals::new(&[1; 32], Duration::MAX, None);
        let answers = |names: &[&str]| {
            names.iter().map(|name| ((*name).to_owned(), Value::from(*name))).collect::<BTreeMap<_, _>>()
        };
        let roots = || rmcp::model::InputRequest::ListRoots(rmcp::model::ListRootsRequest::default());
        let asked = ["b", "c"].map(|name| (name.to_owned(), roots())).into_iter().collect();
        let bound = binding(["caller", "tool", "hash"]);
        let seal = || seals.seal_state(&SealedState::new(answers(&["a"]), &asked), &bound).unwrap();
        let state = seals.open_state_once(&seal(), &bound).await.unwrap();
        let responses = ["b", "x"].map(|name| (name.to_owned(), Value::from(name))).into_iter().collect();
        assert_eq!(state.merged_answers(Some(responses)), answers(&["a", "b"]));
        let text = seal();
        let state = seals.open_state_once(&text, &bound).await.unwrap();
        assert_eq!(state.merged_answers(None), answers(&["a"]));
        let refused =
            async |text: &str, bound| seals.open_state_once(text, &bound).await.unwrap_err().message;
        let bound = || binding(["caller", "tool", "hash"]);
        assert!(refused(&text, bound()).await.contains("it was used before"));
        for other in [["other", "tool", "hash"], ["caller", "other", "hash"], ["caller", "tool", "other"]] {
            assert!(refused(&seal(), binding(other)).await.contains("of another caller, tool or arguments"));
        }
        assert!(refused("none", bound()).await.contains("it is expired, changed"));
    }

    #[test]
    fn no_two_bindings_have_the_same_bytes() {
        let all = [["a", "b", "c"], ["ab", "", "c"], ["", "ab", "c"], ["a", "bc", ""], ["a", "", "bc"]];
        let bytes: std::collections::BTreeSet<_> = all.iter().map(|it| binding(*it).to_bytes()).collect();
        assert_eq!(bytes.len(), all.len());
        assert_eq!(binding(["a", "b", "c"]).to_bytes().len(), 3 * (8 + 1));
    }

    #[cfg(feature = "http")]
    #[test]
    fn an_id_is_of_its_caller_and_an_event_of_its_session() {
        let seals = Seals::new(&[1; 32], Duration::MAX, None);
        let id = seals.new_sealed_id("ada");
        assert_ne!(id, seals.new_sealed_id("ada"));
        assert!(
            seals.is_id_of_caller(&id, "ada")
                && !seals.is_id_of_caller(&id, "bob")
                && !seals.is_id_of_caller("", "ada")
        );
        let event = seals.sealed_event_id("7/1", "session");
        assert_eq!(seals.opened_event_id(&event, "session").as_deref(), Some("7/1"));
        assert_eq!(seals.opened_event_id(&event, "other"), None);
        assert!(!seals.is_id_of_caller(&event, "session"), "an event is no session");
    }

    #[test]
    fn a_random_key_is_of_one_server() {
        let [one, other] = [random_key().unwrap(), random_key().unwrap()];
        assert!(one != other && one != [0; 32] && other != [0; 32]);
    }
}
