//! The key of a pool of workers: what one process of a program says to another one, and the proof that a peer said it.

use std::fmt;

use hmac_sha256::HKDF;
use serde::Serialize;
use serde_json::Value;
use tool_core::{
    ContentHash, ToolDefinition, ToolError,
    internals::{PeerDefinition, ToolSteps},
};

use super::{ProgramKey, seal};

/// The purpose for which keys of pools are derived.
const PURPOSE: &[u8] = b"tool-runtime pool 1";

/// The key of one pool of workers, derived from the [`ProgramKey`]. A worker receives this key alone: its holder has power over this pool,
/// and over no other one.
///
/// # Examples
///
/// ```
/// use tool_runtime::open_calls::ProgramKey;
///
/// let program = ProgramKey::new([7; 32]);
/// let (weather, mail) = (program.pool_key("weather"), program.pool_key("mail"));
/// let sealed = weather.seal("12 degrees", b"to a caller")?;
/// assert_eq!(weather.unseal(&sealed, b"to a caller").unwrap().as_str(), "12 degrees");
/// assert!(weather.unseal(&sealed, b"to another one").is_none());
/// assert!(mail.unseal(&sealed, b"to a caller").is_none());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone)]
pub struct PoolKey {
    pool: String,
    current: [u8; 32],
    previous: Vec<[u8; 32]>,
}

impl ProgramKey {
    /// Derives the key of the pool `pool` (HKDF with SHA-256); texts under [previous keys](Self::with_previous) of the program stay readable.
    #[must_use]
    pub fn pool_key(&self, pool: &str) -> PoolKey {
        let mut keys = self.all_keys().map(|key| derive_pool_key(key, pool));
        let current = keys.next().unwrap_or_default();
        PoolKey { pool: pool.to_owned(), current, previous: keys.collect() }
    }
}

fn derive_pool_key(key: &[u8; 32], pool: &str) -> [u8; 32] {
    let mut derived = [0; 32];
    HKDF::expand(&mut derived, HKDF::extract(PURPOSE, key), pool.as_bytes());
    derived
}

impl PoolKey {
    /// Creates the key of `pool` from its bytes, which a worker receives in place of the [`ProgramKey`].
    #[must_use]
    pub fn from_bytes(pool: impl Into<String>, key: [u8; 32]) -> Self {
        Self { pool: pool.into(), current: key, previous: Vec::new() }
    }

    /// Returns the bytes of the key, for the secret store of a worker.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        self.current
    }

    /// Returns the name of the pool.
    #[must_use]
    pub fn pool(&self) -> &str {
        &self.pool
    }

    /// Encrypts `text`; [`unseal`](Self::unseal) requires the same `context`.
    ///
    /// # Errors
    ///
    /// Returns the problem if no random numbers are available, or the text is too long.
    pub fn seal(&self, text: &str, context: &[u8]) -> Result<Vec<u8>, String> {
        seal::encrypt_under(self.current, text, context)
    }

    /// Decrypts the result of [`seal`](Self::seal); `None` if it was written under another key, for another context, or altered.
    #[must_use]
    pub fn unseal(&self, sealed: &[u8], context: &[u8]) -> Option<ProvenText> {
        let keys = std::iter::once(self.current).chain(self.previous.iter().copied());
        seal::decrypt_under(keys, sealed, context).map(ProvenText)
    }
}

/// Omits the key.
impl fmt::Debug for PoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolKey").field("pool", &self.pool).finish_non_exhaustive()
    }
}

/// A text that a holder of the key of a pool wrote. Only [`PoolKey::unseal`] makes one: it is the proof that definitions in it are those of
/// a peer, whose generated schemas are as good as those of this program.
pub struct ProvenText(String);

impl ProvenText {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the list of definitions at `pointer` (a JSON pointer), which the peer wrote by [`definition_for_peer`]. Each is returned with
    /// its hash, and with the steps of its tool. Aliases, defaults and ignored properties of generated schemas are known, as they are to the peer.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such list, or if a definition cannot be read in full: none is read in part.
    pub fn definitions_at(
        &self,
        pointer: &str,
    ) -> Result<Vec<(ContentHash, ToolDefinition, ToolSteps)>, ToolError> {
        let unreadable = |problem: String| {
            ToolError::failed(format!(
                "a definition of a peer cannot be read: {problem}; run the same version of the program on both sides"
            ))
        };
        let mut text: Value = serde_json::from_str(&self.0).map_err(|error| unreadable(error.to_string()))?;
        let Some(Value::Array(list)) = text.pointer_mut(pointer).map(Value::take) else {
            return Err(unreadable(format!("there is no list at `{pointer}`")));
        };
        list.into_iter()
            .map(|definition| {
                let peer: PeerDefinition =
                    serde_json::from_value(definition).map_err(|error| unreadable(error.to_string()))?;
                let (hash, steps) = (peer.content_hash(), peer.steps());
                let definition = peer.into_definition().map_err(|error| unreadable(error.to_string()))?;
                if PeerDefinition::new(&definition, steps).content_hash() != hash {
                    return Err(unreadable(format!("`{}` would be another one here", definition.name())));
                }
                Ok((hash, definition, steps))
            })
            .collect()
    }
}

/// Omits the text.
impl fmt::Debug for ProvenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProvenText({} bytes)", self.0.len())
    }
}

/// Returns `definition`, of a tool with `steps`, and its hash in the form that [`ProvenText::definitions_at`] reads.
#[must_use]
pub fn definition_for_peer(
    definition: &ToolDefinition,
    steps: ToolSteps,
) -> (ContentHash, impl Serialize + Clone + use<>) {
    let peer = PeerDefinition::new(definition, steps);
    (peer.content_hash(), peer)
}
