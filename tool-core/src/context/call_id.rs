use std::{
    fmt,
    hash::{BuildHasher, Hash, Hasher, RandomState},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id of one call: opaque text, unique in its run.
///
/// Models give ids; a call without one gets its own, unique in this process and, but for chance
/// (one in 2⁶⁴), among processes.
#[derive(Clone)]
pub struct CallId(Id);

#[derive(Clone)]
enum Id {
    Given(Arc<str>),
    /// Kept as a number: most callers never look at it.
    Generated(u64),
}

impl CallId {
    /// An id that no other call has.
    #[must_use]
    #[inline]
    pub fn generate() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(Id::Generated(NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Whether the id was made here, so that nobody else knows of it.
    #[must_use]
    pub fn is_generated(&self) -> bool {
        matches!(self.0, Id::Generated(_))
    }
}

/// What tells this process from another: the seed of its hashers.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Id::Given(id) => f.write_str(id),
            Id::Generated(number) => write!(f, "call_{:016x}_{number}", *PROCESS),
        }
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// By the text, so that an id that was written down and read again is the same.
impl PartialEq for CallId {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Id::Given(one), Id::Given(other)) => one == other,
            (Id::Generated(one), Id::Generated(other)) => one == other,
            _ => self.to_string() == other.to_string(),
        }
    }
}

impl Eq for CallId {}

impl Hash for CallId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Id::Given(id) => id.hash(state),
            Id::Generated(_) => self.to_string().hash(state),
        }
    }
}

/// As its text.
impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(Id::Given(id.into()))
    }
}

impl From<String> for CallId {
    fn from(id: String) -> Self {
        Self(Id::Given(id.into()))
    }
}
