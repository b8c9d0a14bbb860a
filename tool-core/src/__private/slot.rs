//! One slot for each parameter of a function; it determines the source of the value and stores it until the call.
//!
//! The kind of slot is selected by traits of the parameter's type, never by its spelling (see [`TypeProbe`](super::TypeProbe)). A
//! slot is filled while the arguments are decoded, and emptied when the function is called.

use std::{any::TypeId, mem::discriminant};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _};
use serde_json::Value;
use tool_schema::__private::{Checked, DecodeError, Plain, without_null};

use super::{
    Call,
    text::{ArgumentText, TextSeed, TextView},
};
use crate::{Dependency, ErrorKind, ToolContext, ToolError};

/// The source of a parameter's value.
pub enum Source {
    /// The model: a property of the arguments, or the whole arguments.
    Model(ModelParameter),
    /// The program.
    Program(Dependency),
    /// The call itself.
    Call,
}

/// A parameter that the model fills.
pub struct ModelParameter {
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    /// The same schema, if it is constant.
    pub(super) plain: Option<&'static Plain>,
    /// `true` if the property may be absent.
    pub(super) optional: bool,
    /// The default as JSON.
    pub(super) default: Option<Value>,
    /// `true` if the JSON represents the default completely and is always the same; the default is then added to
    /// calls without the property. `None` if there is no default.
    pub(super) fills: Option<bool>,
}

impl ModelParameter {
    pub(super) fn required(
        schema: fn(&mut SchemaGenerator) -> Schema,
        plain: Option<&'static Plain>,
    ) -> Self {
        Self { schema, plain, optional: false, default: None, fills: None }
    }
}

/// The storage of one parameter's value before the call.
pub trait Slot: Send {
    fn source(&self) -> Source;

    /// Fills the slot with the value that `source` reads from `text`.
    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, text: &'t str) -> Result<(), DecodeError>;

    /// Fills the slot of an absent property; returns `false` if the property is required.
    fn leave_out(&mut self) -> bool;
}

/// The slots of a parameter list, in order.
pub type SlotList<'s, 'd> = &'s mut [&'d mut dyn Slot];

/// A type of arguments: decoded by `serde`, described by `schemars`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool argument",
    label = "needs `Deserialize` and `JsonSchema`",
    note = "for an argument from the model, put `#[tool_args]` on `{Self}` or derive both traits",
    note = "for a value that the program provides, take a reference: `&{Self}`, or `&dyn Trait` in place of a box"
)]
pub trait Argument: DeserializeOwned + JsonSchema + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Argument for T {}

/// A type whose default may be written as a string.
#[diagnostic::on_unimplemented(
    message = "a string cannot be the default of `{Self}`; write a value of type `{Self}`",
    label = "expected `{Self}`, found a string"
)]
pub trait DefaultFromText: Sized {
    fn default_from_text(text: &'static str) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<&'static str>> DefaultFromText for T {
    fn default_from_text(text: &'static str) -> Self {
        Self::from(text)
    }
}

/// Converts a default that is written as a string.
#[must_use]
pub fn default_from_text<T: DefaultFromText>(text: &'static str) -> T {
    T::default_from_text(text)
}

/// A type of values that a program can provide.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be provided to tools",
    label = "needs `Send + Sync + 'static`",
    note = "a reference among the parameters of a tool is a value that the program provides to all calls"
)]
pub trait Provides: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Send + Sync + 'static> Provides for T {}

/// An owned value.
pub struct OwnedSlot<T> {
    value: Option<T>,
    /// The function that returns the value of an absent property.
    absent: Option<fn() -> T>,
    default: Option<SlotDefault<T>>,
}

struct SlotDefault<T> {
    make: fn() -> T,
    json: fn(&T) -> Option<Value>,
}

impl<T> OwnedSlot<T> {
    pub(super) fn new(absent: Option<fn() -> T>) -> Self {
        Self { value: None, absent, default: None }
    }

    /// Makes the parameter optional with the default `make`.
    #[must_use]
    pub fn or(mut self, make: fn() -> T, json: fn(&T) -> Option<Value>) -> Self {
        self.default = Some(SlotDefault { make, json });
        self
    }

    /// Takes the value for the call.
    pub fn get(&mut self, _: &Call<'_>) -> Result<T, ToolError> {
        self.value.take().ok_or_else(read_twice_error)
    }

    /// Borrows the value before the call.
    pub fn peek(&self, _: &Call<'_>) -> Result<&T, ToolError> {
        self.value.as_ref().ok_or_else(read_twice_error)
    }

    /// Returns `true` if `value` is `None`, which equals an absent property.
    fn is_absence(&self, value: &T) -> bool {
        self.absent.is_some_and(|absent| discriminant(&absent()) == discriminant(value))
    }
}

/// The error of a slot that is read twice, which is a bug of the expansion: the decoder fills every slot or fails.
pub(super) fn read_twice_error() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "a parameter was read twice")
}

impl<T: Argument> Slot for OwnedSlot<T> {
    fn source(&self) -> Source {
        let evaluate = || self.default.as_ref().and_then(|default| (default.json)(&(default.make)()));
        let default = evaluate();
        let is_known = default.is_some() && survives_json_round_trip::<T>() && evaluate() == default;
        let fills = self.default.as_ref().filter(|it| !self.is_absence(&(it.make)())).map(|_| is_known);
        let schema = if self.absent.is_some() { optional_schema::<T> } else { schema::<T> };
        let is_optional = self.absent.is_some();
        let plain = Plain::of::<T>().filter(|it| it.is_option() == is_optional);
        let optional = is_optional || self.default.is_some();
        Source::Model(ModelParameter { schema, plain, optional, default, fills })
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, _: &'t str) -> Result<(), DecodeError> {
        self.value = Some(T::deserialize(source)?);
        Ok(())
    }

    fn leave_out(&mut self) -> bool {
        let make = self.default.as_ref().map(|default| default.make).or(self.absent);
        self.value = make.map(|make| make());
        self.value.is_some()
    }
}

/// Returns `true` if a `T` certainly survives a round trip through JSON: a number of up to 64 bits, a boolean, a
/// string, or a list or an option of them. Other types may lose information.
fn survives_json_round_trip<T: 'static>() -> bool {
    let id = TypeId::of::<T>();
    macro_rules! is_one {
        ($($known:ty)*) => {
            [$(TypeId::of::<$known>(), TypeId::of::<Option<$known>>(), TypeId::of::<Vec<$known>>()),*].contains(&id)
        };
    }
    is_one!(bool char String i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64)
}

pub(super) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Returns the schema of an `Option` whose `None` is an absent property.
pub(super) fn optional_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.subschema_for::<T>();
    without_null(&mut schema);
    schema
}

/// The whole arguments as one value.
pub struct WholeSlot<T>(pub(super) Option<T>);

impl<T> WholeSlot<T> {
    /// Takes the value for the call.
    pub fn get(&mut self, _: &Call<'_>) -> Result<T, ToolError> {
        self.0.take().ok_or_else(read_twice_error)
    }

    /// Borrows the value before the call.
    pub fn peek(&self, _: &Call<'_>) -> Result<&T, ToolError> {
        self.0.as_ref().ok_or_else(read_twice_error)
    }
}

impl<T: Argument> Slot for WholeSlot<T> {
    fn source(&self) -> Source {
        Source::Model(ModelParameter::required(schema::<T>, None))
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, _: &'t str) -> Result<(), DecodeError> {
        self.0 = Some(T::deserialize(source)?);
        Ok(())
    }

    fn leave_out(&mut self) -> bool {
        false
    }
}

/// A borrowed view of a string in the arguments.
pub struct TextSlot<V: TextView> {
    text: Option<ArgumentText>,
    default: Option<fn() -> V::View<'static>>,
}

impl<V: TextView> TextSlot<V> {
    pub(super) fn new() -> Self {
        Self { text: None, default: None }
    }

    /// Makes the parameter optional with the default `make`.
    #[must_use]
    pub fn or(mut self, make: fn() -> V::View<'static>, _: fn(&V::View<'static>) -> Option<Value>) -> Self {
        self.default = Some(make);
        self
    }

    fn default_text(&self) -> Option<ArgumentText> {
        let default = self.default.and_then(|make| V::text(make()));
        default.map(|text| ArgumentText::Decoded(text.into_owned()))
    }

    /// Returns the view for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<V::View<'a>, ToolError> {
        self.peek(call)
    }

    /// Returns the view before the call.
    pub fn peek<'a>(&'a self, call: &'a Call<'_>) -> Result<V::View<'a>, ToolError> {
        V::view(self.text.as_ref().map(|text| text.get(call.text()))).ok_or_else(read_twice_error)
    }
}

impl<V: TextView> Slot for TextSlot<V> {
    fn source(&self) -> Source {
        let evaluate =
            || self.default.and_then(|make| V::text(make())).map(|text| Value::from(text.as_ref()));
        let default = evaluate();
        let fills = default.is_some().then(|| evaluate() == default);
        let optional = V::OPTIONAL || self.default.is_some();
        let (schema, plain) = (schema::<String>, Plain::of::<String>());
        Source::Model(ModelParameter { schema, plain, optional, default, fills })
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, text: &'t str) -> Result<(), DecodeError> {
        self.text = Some(TextSeed { text }.deserialize(source)?);
        Ok(())
    }

    fn leave_out(&mut self) -> bool {
        self.text = self.default_text();
        V::OPTIONAL || self.text.is_some()
    }
}

/// A provided value.
///
/// It stores a function created under the bound, instead of repeating the bound, so that an unsupported type causes a
/// single error, at the place where the slot is created.
pub struct ProvidedSlot<T: ?Sized> {
    find: fn(&ToolContext) -> Result<&T, ToolError>,
    needed: fn() -> Dependency,
}

impl<T: ?Sized + Provides> ProvidedSlot<T> {
    pub(super) fn new() -> Self {
        Self { find: ToolContext::require::<T>, needed: Dependency::of::<T> }
    }
}

impl<T: ?Sized> ProvidedSlot<T> {
    /// Returns the value for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<&'a T, ToolError> {
        self.peek(call)
    }

    /// Returns the value before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<&'a T, ToolError> {
        (self.find)(call.context())
    }
}

impl<T: ?Sized> Slot for ProvidedSlot<T> {
    fn source(&self) -> Source {
        Source::Program((self.needed)())
    }

    fn decode<'t>(&mut self, _: Checked<'_, 't, '_>, _: &'t str) -> Result<(), DecodeError> {
        Err(DecodeError::custom("not the model's"))
    }

    fn leave_out(&mut self) -> bool {
        true
    }
}
