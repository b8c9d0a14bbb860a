//! Borrowed list parameters, which may have a default.

use serde::Deserialize;
use serde_json::Value;
use tool_schema::__private::{Checked, DecodeError, Plain};

use super::{
    Call, Slot, Source,
    slot::{Argument, ModelParameter, optional_schema, read_twice_error, schema},
};
use crate::ToolError;

/// A borrowed list.
pub struct SliceSlot<T> {
    list: Option<Vec<T>>,
}

impl<T> SliceSlot<T> {
    pub(super) fn new() -> Self {
        Self { list: None }
    }

    /// Takes the list for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        self.peek(call)
    }

    /// Borrows the list before the call.
    pub fn peek<'a>(&'a self, _: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        self.list.as_deref().ok_or_else(read_twice_error)
    }
}

impl<T: Argument> Slot for SliceSlot<T> {
    fn source(&self) -> Source {
        Source::Model(ModelParameter::required(schema::<Vec<T>>, Plain::of::<Vec<T>>()))
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, _: &'t str) -> Result<(), DecodeError> {
        self.list = Some(Vec::deserialize(source)?);
        Ok(())
    }

    fn leave_out(&mut self) -> bool {
        false
    }
}

/// An optional borrowed list.
pub struct OptionalSliceSlot<T>(pub(super) Option<Vec<T>>);

impl<T> OptionalSliceSlot<T> {
    /// Takes the list for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        self.peek(call)
    }

    /// Borrows the list before the call.
    pub fn peek<'a>(&'a self, _: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        Ok(self.0.as_deref())
    }
}

impl<T: Argument> Slot for OptionalSliceSlot<T> {
    fn source(&self) -> Source {
        let (schema, plain) = (optional_schema::<Option<Vec<T>>>, Plain::of::<Option<Vec<T>>>());
        Source::Model(ModelParameter { optional: true, ..ModelParameter::required(schema, plain) })
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, _: &'t str) -> Result<(), DecodeError> {
        self.0 = Option::deserialize(source)?;
        Ok(())
    }

    fn leave_out(&mut self) -> bool {
        self.0 = None;
        true
    }
}

/// A list, or the function that creates the default `V`.
pub struct DefaultSliceSlot<T, V> {
    list: OptionalSliceSlot<T>,
    make: fn() -> V,
    json: fn(&V) -> Option<Value>,
}

impl<T> SliceSlot<T> {
    /// Makes the parameter optional with the default `make`.
    #[must_use]
    pub fn or(
        self,
        make: fn() -> &'static [T],
        json: fn(&&'static [T]) -> Option<Value>,
    ) -> DefaultSliceSlot<T, &'static [T]>
    where
        T: 'static,
    {
        DefaultSliceSlot { list: OptionalSliceSlot(None), make, json }
    }
}

impl<T> OptionalSliceSlot<T> {
    /// Sets the default `make`.
    #[must_use]
    pub fn or(
        self,
        make: fn() -> Option<&'static [T]>,
        json: fn(&Option<&'static [T]>) -> Option<Value>,
    ) -> DefaultSliceSlot<T, Option<&'static [T]>>
    where
        T: 'static,
    {
        DefaultSliceSlot { list: self, make, json }
    }
}

impl<T> DefaultSliceSlot<T, &'static [T]> {
    /// Takes the list for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        self.peek(call)
    }

    /// Borrows the list before the call.
    pub fn peek<'a>(&'a self, call: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        Ok(self.list.peek(call)?.unwrap_or_else(self.make))
    }
}

impl<T> DefaultSliceSlot<T, Option<&'static [T]>> {
    /// Takes the list for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        self.peek(call)
    }

    /// Borrows the list before the call.
    pub fn peek<'a>(&'a self, call: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        Ok(self.list.peek(call)?.or_else(self.make))
    }
}

impl<T: Argument, V> Slot for DefaultSliceSlot<T, V> {
    fn source(&self) -> Source {
        let mut source = self.list.source();
        if let Source::Model(ModelParameter { default, .. }) = &mut source {
            *default = (self.json)(&(self.make)());
        }
        source
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, text: &'t str) -> Result<(), DecodeError> {
        self.list.decode(source, text)
    }

    fn leave_out(&mut self) -> bool {
        self.list.leave_out()
    }
}
