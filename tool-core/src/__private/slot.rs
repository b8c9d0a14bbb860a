//! One slot for each parameter of a function: where its value comes from, and where it waits.
//!
//! Which kind of slot a parameter has follows from traits at its type, never from how the type is
//! spelled (see [`Of`](super::Of)). A slot is filled while the arguments are decoded and emptied
//! when the function is called.

use std::any::TypeId;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize,
    de::{DeserializeOwned, Error as _, MapAccess},
};
use serde_json::{Value, value::RawValue};

use super::{
    Call,
    text::{Borrowed, Reading, TextView},
};
use crate::{ErrorKind, Needed, ToolContext, ToolError};

/// Where the value of a parameter comes from.
pub enum Source {
    /// The model: a property of the arguments, or all of them.
    Model {
        schema: fn(&mut SchemaGenerator) -> Schema,
        /// Whether it may be absent.
        optional: bool,
        /// What it is then, as JSON.
        default: Option<Value>,
        /// Whether decoding refuses all that the schema refuses, which is known of plain types.
        exact: bool,
    },
    /// The program.
    Program(Needed),
    /// The call itself.
    Call,
}

/// Where one parameter waits for the call.
pub trait Slot: Send {
    fn source(&self) -> Source;

    /// Whether it may be absent from the arguments.
    fn is_optional(&self) -> bool;

    /// Fills the slot with the next value of `map`, which is read from `text`.
    fn take<'t, M: MapAccess<'t>>(&mut self, map: &mut M, text: &'t str) -> Result<(), M::Error>
    where
        Self: Sized;

    /// Fills the slot from `raw`, a JSON value that is a part of `text`; empty where there is none.
    fn fill(&mut self, raw: &str, text: &str) -> Result<(), serde_json::Error>;
}

/// The slots of a parameter list, in its order.
pub(crate) type SlotList<'s, 'd> = &'s mut [&'d mut dyn Slot];

/// What a model can choose: decoded by `serde`, described by `schemars`.
#[diagnostic::on_unimplemented(
    message = "a model cannot choose a value of type `{Self}`",
    label = "needs `Deserialize` and `JsonSchema`",
    note = "put `#[tool_args]` on `{Self}`, or derive both",
    note = "a value that the program provides stands behind a reference: `&{Self}`"
)]
pub trait Argument: DeserializeOwned + JsonSchema + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Argument for T {}

/// What a program can provide.
#[diagnostic::on_unimplemented(
    message = "a program cannot provide a value of type `{Self}`",
    label = "needs `Send + Sync + 'static`",
    note = "a reference in a tool's parameter list is a value that the program provides to every call"
)]
pub trait Provides: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Send + Sync + 'static> Provides for T {}

/// A value of its own.
pub struct Owned<T> {
    value: Option<T>,
    optional: bool,
    default: Option<Otherwise<T>>,
}

struct Otherwise<T> {
    make: fn() -> T,
    json: fn(&T) -> Option<Value>,
}

impl<T> Owned<T> {
    pub(super) fn new(optional: bool) -> Self {
        Self { value: None, optional, default: None }
    }

    /// Makes the parameter optional: `make` gives its value where the model gave none.
    #[must_use]
    pub fn or(mut self, make: fn() -> T, json: fn(&T) -> Option<Value>) -> Self {
        self.default = Some(Otherwise { make, json });
        self
    }

    /// Takes the value, for the call.
    pub fn get(&mut self, _: &Call<'_>) -> Result<T, ToolError> {
        self.value.take().ok_or_else(unfilled)
    }

    /// Looks at the value, before the call.
    pub fn peek(&self, _: &Call<'_>) -> Result<&T, ToolError> {
        self.value.as_ref().ok_or_else(unfilled)
    }
}

/// The decoder fills every slot or fails; a slot that is asked twice is a bug of the expansion.
fn unfilled() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "a parameter was asked for twice")
}

impl<T: Argument> Slot for Owned<T> {
    fn source(&self) -> Source {
        let default = self.default.as_ref().and_then(|default| (default.json)(&(default.make)()));
        let schema = if self.optional { optional_schema::<T> } else { schema::<T> };
        Source::Model { schema, optional: Slot::is_optional(self), default, exact: is_plain::<T>() }
    }

    fn is_optional(&self) -> bool {
        self.optional || self.default.is_some()
    }

    fn take<'t, M: MapAccess<'t>>(&mut self, map: &mut M, text: &'t str) -> Result<(), M::Error> {
        if self.default.is_none() {
            self.value = Some(map.next_value()?);
            return Ok(());
        }
        // What `null` is depends on the type; that is decided in one place.
        let raw: &RawValue = map.next_value()?;
        self.fill(raw.get(), text).map_err(M::Error::custom)
    }

    fn fill(&mut self, raw: &str, _: &str) -> Result<(), serde_json::Error> {
        let absent = raw.is_empty();
        self.value = match &self.default {
            Some(default) if absent => Some((default.make)()),
            // `null` is the same as absent, unless it is a value of the type.
            Some(default) if raw == "null" => {
                Some(serde_json::from_str(raw).unwrap_or_else(|_| (default.make)()))
            }
            _ => Some(serde_json::from_str(if absent { "null" } else { raw })?),
        };
        Ok(())
    }
}

/// Whether `serde` and `schemars` are known to agree on `T` to the last value.
fn is_plain<T: 'static>() -> bool {
    macro_rules! any_of {
        ($($plain:ty)*) => {
            [$(TypeId::of::<$plain>(), TypeId::of::<Option<$plain>>()),*].contains(&TypeId::of::<T>())
        };
    }
    any_of!(String bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64)
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schema of an `Option`, for a place where absence is said by being absent.
fn optional_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.subschema_for::<T>();
    crate::schema::without_null(&mut schema);
    schema
}

/// All of the arguments, as one value.
pub struct Whole<T>(pub(super) Option<T>);

impl<T> Whole<T> {
    /// Takes the value, for the call.
    pub fn get(&mut self, _: &Call<'_>) -> Result<T, ToolError> {
        self.0.take().ok_or_else(unfilled)
    }

    /// Looks at the value, before the call.
    pub fn peek(&self, _: &Call<'_>) -> Result<&T, ToolError> {
        self.0.as_ref().ok_or_else(unfilled)
    }
}

impl<T: Argument> Slot for Whole<T> {
    fn source(&self) -> Source {
        Source::Model { schema: schema::<T>, optional: false, default: None, exact: false }
    }

    fn is_optional(&self) -> bool {
        false
    }

    fn take<'t, M: MapAccess<'t>>(&mut self, map: &mut M, _: &'t str) -> Result<(), M::Error> {
        self.0 = Some(map.next_value()?);
        Ok(())
    }

    fn fill(&mut self, raw: &str, _: &str) -> Result<(), serde_json::Error> {
        self.0 = Some(serde_json::from_str(raw)?);
        Ok(())
    }
}

/// A view of a text in the arguments.
pub struct TextSlot<V: TextView> {
    text: Option<Borrowed>,
    default: Option<fn() -> V::View<'static>>,
}

impl<V: TextView> TextSlot<V> {
    pub(super) fn new() -> Self {
        Self { text: None, default: None }
    }

    /// Makes the parameter optional: `make` gives its value where the model gave none.
    #[must_use]
    pub fn or(mut self, make: fn() -> V::View<'static>, _: fn(&V::View<'static>) -> Option<Value>) -> Self {
        self.default = Some(make);
        self
    }

    fn otherwise(&self) -> Option<Borrowed> {
        let default = self.default.and_then(|make| V::text(make()));
        default.map(|text| Borrowed::Decoded(text.into_owned()))
    }

    /// The text, for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<V::View<'a>, ToolError> {
        self.peek(call)
    }

    /// The text, before the call.
    pub fn peek<'a>(&'a self, call: &'a Call<'_>) -> Result<V::View<'a>, ToolError> {
        V::view(self.text.as_ref().map(|text| text.get(call.text()))).ok_or_else(unfilled)
    }
}

impl<V: TextView> Slot for TextSlot<V> {
    fn source(&self) -> Source {
        let default = self.default.and_then(|make| V::text(make())).map(|text| Value::from(text.as_ref()));
        Source::Model { schema: schema::<String>, optional: Slot::is_optional(self), default, exact: true }
    }

    fn is_optional(&self) -> bool {
        V::OPTIONAL || self.default.is_some()
    }

    fn take<'t, M: MapAccess<'t>>(&mut self, map: &mut M, text: &'t str) -> Result<(), M::Error> {
        let read = map.next_value_seed(Reading { text, optional: Slot::is_optional(self) })?;
        self.text = read.or_else(|| self.otherwise());
        Ok(())
    }

    fn fill(&mut self, raw: &str, text: &str) -> Result<(), serde_json::Error> {
        let absent = raw.is_empty() || (raw == "null" && Slot::is_optional(self));
        self.text = if absent { self.otherwise() } else { Some(Borrowed::read(raw, text)?) };
        Ok(())
    }
}

/// A list that the function borrows.
pub struct Slice<T> {
    list: Option<Vec<T>>,
}

impl<T> Slice<T> {
    pub(super) fn new() -> Self {
        Self { list: None }
    }

    /// The list, for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        self.peek(call)
    }

    /// The list, before the call.
    pub fn peek<'a>(&'a self, _: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        self.list.as_deref().ok_or_else(unfilled)
    }
}

impl<T: Argument> Slot for Slice<T> {
    fn source(&self) -> Source {
        Source::Model { schema: schema::<Vec<T>>, optional: false, default: None, exact: false }
    }

    fn is_optional(&self) -> bool {
        false
    }

    fn take<'t, M: MapAccess<'t>>(&mut self, map: &mut M, _: &'t str) -> Result<(), M::Error> {
        self.list = Some(map.next_value()?);
        Ok(())
    }

    fn fill(&mut self, raw: &str, _: &str) -> Result<(), serde_json::Error> {
        self.list = Some(Vec::deserialize(&mut serde_json::Deserializer::from_str(raw))?);
        Ok(())
    }
}

/// A list that the function borrows, where there is one.
pub struct OptionalSlice<T>(pub(super) Option<Vec<T>>);

impl<T> OptionalSlice<T> {
    /// The list, for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        self.peek(call)
    }

    /// The list, before the call.
    pub fn peek<'a>(&'a self, _: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        Ok(self.0.as_deref())
    }
}

impl<T: Argument> Slot for OptionalSlice<T> {
    fn source(&self) -> Source {
        Source::Model {
            schema: optional_schema::<Option<Vec<T>>>,
            optional: true,
            default: None,
            exact: false,
        }
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn take<'t, M: MapAccess<'t>>(&mut self, map: &mut M, _: &'t str) -> Result<(), M::Error> {
        self.0 = map.next_value()?;
        Ok(())
    }

    fn fill(&mut self, raw: &str, _: &str) -> Result<(), serde_json::Error> {
        self.0 = serde_json::from_str(if raw.is_empty() { "null" } else { raw })?;
        Ok(())
    }
}

/// A value of the program's.
///
/// It keeps what the bound on its making gave, instead of asking for the bound again: a type that no
/// program can provide is one message, at the place where the slot is made.
pub struct TheProvided<T: ?Sized> {
    find: fn(&ToolContext) -> Result<&T, ToolError>,
    needed: fn() -> Needed,
}

impl<T: ?Sized + Provides> TheProvided<T> {
    pub(super) fn new() -> Self {
        Self { find: ToolContext::require::<T>, needed: Needed::of::<T> }
    }
}

impl<T: ?Sized> TheProvided<T> {
    /// The value, for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<&'a T, ToolError> {
        self.peek(call)
    }

    /// The value, before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<&'a T, ToolError> {
        (self.find)(call.context())
    }
}

impl<T: ?Sized> Slot for TheProvided<T> {
    fn source(&self) -> Source {
        Source::Program((self.needed)())
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn take<'t, M: MapAccess<'t>>(&mut self, _: &mut M, _: &'t str) -> Result<(), M::Error> {
        Err(M::Error::custom("not the model's"))
    }

    fn fill(&mut self, _: &str, _: &str) -> Result<(), serde_json::Error> {
        Ok(())
    }
}

/// The context of the call.
pub struct TheContext;

impl TheContext {
    /// The context, for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<&'a ToolContext, ToolError> {
        self.peek(call)
    }

    /// The context, before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<&'a ToolContext, ToolError> {
        Ok(call.context())
    }
}

impl Slot for TheContext {
    fn source(&self) -> Source {
        Source::Call
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn take<'t, M: MapAccess<'t>>(&mut self, _: &mut M, _: &'t str) -> Result<(), M::Error> {
        Err(M::Error::custom("not the model's"))
    }

    fn fill(&mut self, _: &str, _: &str) -> Result<(), serde_json::Error> {
        Ok(())
    }
}
