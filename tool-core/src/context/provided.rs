use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    fmt,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use crate::{ErrorKind, ToolError, ToolName};

/// The values that a program provides to its tools, at most one for each type.
///
/// Values are stored as [`Arc`], so that a trait object can be provided like a struct. A set may be layered over
/// another one, which is searched for missing types.
#[derive(Default, Clone)]
pub struct ProvidedValues {
    /// Each entry holds an `Arc<T>` under the id of `T`.
    values: HashMap<TypeId, Entry, BuildHasherDefault<TypeIdHasher>>,
    below: Option<Arc<ProvidedValues>>,
    /// The reasons for which values of some types are absent.
    absences: Vec<(TypeId, Arc<str>)>,
}

#[derive(Clone)]
struct Entry {
    type_name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl ProvidedValues {
    /// Creates an empty set over `below`.
    #[must_use]
    pub fn over(below: Arc<Self>) -> Self {
        Self { below: Some(below), ..Self::default() }
    }

    /// Returns a copy with `below` as the lower set.
    #[must_use]
    pub fn on(&self, below: Arc<Self>) -> Self {
        Self { below: Some(below), ..self.clone() }
    }

    /// Returns `true` if this set itself has no value, and no reason for the absence of one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.absences.is_empty()
    }

    /// Removes the value of type `T` of this set, and sets the reason for which there is none, for the error of a tool that
    /// needs one.
    pub fn explain_absence<T: ?Sized + 'static>(&mut self, reason: impl Into<Arc<str>>) {
        self.values.remove(&TypeId::of::<T>());
        self.absences.push((TypeId::of::<T>(), reason.into()));
    }

    /// Returns the reason for which there is no value of type `T`.
    fn absence_reason<T: ?Sized + 'static>(&self) -> Option<&str> {
        let own = self.absences.iter().rfind(|(id, _)| *id == TypeId::of::<T>());
        match own {
            Some((_, reason)) => Some(reason),
            None => self.below.as_ref()?.absence_reason::<T>(),
        }
    }

    /// Inserts `value`; returns `true` if it replaced a value of the same type in this set.
    pub fn insert<T: ?Sized + Send + Sync + 'static>(&mut self, value: Arc<T>) -> bool {
        let entry = Entry { type_name: type_name::<T>(), value: Arc::new(value) };
        self.values.insert(TypeId::of::<T>(), entry).is_some()
    }

    /// Returns the value of type `T`.
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<&T> {
        match self.values.get(&TypeId::of::<T>()) {
            Some(entry) => entry.value.downcast_ref::<Arc<T>>().map(AsRef::as_ref),
            None => self.below.as_ref()?.get(),
        }
    }

    /// Returns `true` if there is a value for the dependency.
    #[must_use]
    pub fn contains(&self, needed: &Dependency) -> bool {
        self.values.contains_key(&needed.type_id)
            || self.below.as_ref().is_some_and(|below| below.contains(needed))
    }

    /// Returns `true` if an `Arc` of `needed` was provided as a value of its own: by `insert(Arc::new(arc))` in
    /// place of `insert(arc)`.
    #[doc(hidden)]
    #[must_use]
    pub fn contains_in_arc(&self, needed: &Dependency) -> bool {
        self.values.contains_key(&needed.in_arc)
            || self.below.as_ref().is_some_and(|below| below.contains_in_arc(needed))
    }
}

impl ProvidedValues {
    /// Returns the error of a value of type `T`, which the tool `tool` needs and which is not in this set. The model
    /// reads neither the fix nor the other types.
    #[cold]
    pub(super) fn missing_value_error<T: ?Sized + 'static>(&self, tool: &ToolName) -> ToolError {
        if let Some(reason) = self.absence_reason::<T>() {
            return ToolError::new(ErrorKind::Unavailable, reason.to_owned())
                .with_feedback(format!("Tool unavailable: {reason}"))
                .of_tool(tool.to_string());
        }
        let problem = format!("no value of type `{}` was provided", type_name::<T>());
        let fix = match self.contains_in_arc(&Dependency::of::<T>()) {
            true => "an `Arc` of it is: provide that by `.provide_shared(arc)` or `.with_shared(arc)`",
            false => "add `.provide(..)` to the registry or the run, or `.with(..)` to the context",
        };
        let others = match &*self.type_names() {
            [] => "nothing is provided".to_owned(),
            names => format!("provided: `{}`", names.join("`, `")),
        };
        ToolError::new(ErrorKind::Unavailable, format!("{problem}; {fix} ({others})"))
            .with_feedback(format!("Tool unavailable: {problem}"))
            .of_tool(tool.to_string())
    }

    /// Returns the names of the types of all values, sorted, without those of the runtime itself.
    #[doc(hidden)]
    #[must_use]
    pub fn type_names(&self) -> Vec<&'static str> {
        let layers = std::iter::successors(Some(self), |layer| layer.below.as_deref());
        let mut names: Vec<_> = layers.flat_map(Self::type_names_of_layer).collect();
        names.retain(|name| !name.contains("tool_runtime::"));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn type_names_of_layer(&self) -> impl Iterator<Item = &'static str> {
        self.values.values().map(|entry| entry.type_name)
    }
}

impl fmt::Debug for ProvidedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.type_names_of_layer().collect();
        names.sort_unstable();
        f.debug_set().entries(names).finish()
    }
}

/// A type whose value a tool needs from the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dependency {
    type_id: TypeId,
    type_name: &'static str,
    /// The id of `Arc<T>`.
    in_arc: TypeId,
}

impl Dependency {
    /// Creates the dependency on type `T`, which may be a trait object.
    #[must_use]
    pub fn of<T: ?Sized + 'static>() -> Self {
        Self { type_id: TypeId::of::<T>(), type_name: type_name::<T>(), in_arc: TypeId::of::<Arc<T>>() }
    }

    /// Returns the name of the type, for people.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }
}

/// Uses a `TypeId` as its own hash; hashing it again would dominate the cost of a look-up.
#[derive(Default)]
struct TypeIdHasher(u64);

impl Hasher for TypeIdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        any::TypeId,
        hash::{BuildHasher, BuildHasherDefault, Hasher},
    };

    use super::TypeIdHasher;

    #[test]
    fn types_are_distinguished_by_their_hashes() {
        let hash = |of: TypeId| BuildHasherDefault::<TypeIdHasher>::default().hash_one(of);
        assert_ne!(hash(TypeId::of::<u8>()), hash(TypeId::of::<u16>()));
    }

    #[test]
    fn a_number_is_its_own_hash_also_byte_by_byte() {
        let number = 0x0123_4567_89ab_cdef_u64;
        let (mut whole, mut bytes) = (TypeIdHasher::default(), TypeIdHasher::default());
        whole.write_u64(number);
        bytes.write(&number.to_be_bytes());
        assert_eq!((whole.finish(), bytes.finish()), (number, number));
    }
}
