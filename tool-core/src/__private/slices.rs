//! Borrowed list parameters, which may have a default.

use serde::Deserialize;
use serde_json::Value;
use tool_schema::__private::{Checked, Plain, Refusal};

use super::{
    Call, Slot, Source,
    slot::{Argued, Argument, optional_schema, schema, unfilled},
};
use crate::ToolError;

/// A borrowed list.
pub struct Slice<T> {
    list: Option<Vec<T>>,
}

impl<T> Slice<T> {
    pub(super) fn new() -> Self {
        Self { list: None }
    }

    /// Takes the list for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        self.peek(call)
    }

    /// Borrows the list before the call.
    pub fn peek<'a>(&'a self, _: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        self.list.as_deref().ok_or_else(unfilled)
    }
}

impl<T: Argument> Slot for Slice<T> {
    fn source(&self) -> Source {
        Source::Model(Argued::required(schema::<Vec<T>>, Plain::of::<Vec<T>>()))
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, _: &'t str) -> Result<(), Refusal> {
        self.list = Some(Vec::deserialize(source)?);
        Ok(())
    }

    fn leave_out(&mut self) -> bool {
        false
    }
}

/// An optional borrowed list.
pub struct OptionalSlice<T>(pub(super) Option<Vec<T>>);

impl<T> OptionalSlice<T> {
    /// Takes the list for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        self.peek(call)
    }

    /// Borrows the list before the call.
    pub fn peek<'a>(&'a self, _: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        Ok(self.0.as_deref())
    }
}

impl<T: Argument> Slot for OptionalSlice<T> {
    fn source(&self) -> Source {
        let (schema, plain) = (optional_schema::<Option<Vec<T>>>, Plain::of::<Option<Vec<T>>>());
        Source::Model(Argued { optional: true, ..Argued::required(schema, plain) })
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, _: &'t str) -> Result<(), Refusal> {
        self.0 = Option::deserialize(source)?;
        Ok(())
    }

    fn leave_out(&mut self) -> bool {
        self.0 = None;
        true
    }
}

/// A list, or the function that creates the default `V`.
pub struct ListOr<T, V> {
    list: OptionalSlice<T>,
    make: fn() -> V,
    json: fn(&V) -> Option<Value>,
}

impl<T> Slice<T> {
    /// Makes the parameter optional with the default `make`.
    #[must_use]
    pub fn or(
        self,
        make: fn() -> &'static [T],
        json: fn(&&'static [T]) -> Option<Value>,
    ) -> ListOr<T, &'static [T]>
    where
        T: 'static,
    {
        ListOr { list: OptionalSlice(None), make, json }
    }
}

impl<T> OptionalSlice<T> {
    /// Sets the default `make`.
    #[must_use]
    pub fn or(
        self,
        make: fn() -> Option<&'static [T]>,
        json: fn(&Option<&'static [T]>) -> Option<Value>,
    ) -> ListOr<T, Option<&'static [T]>>
    where
        T: 'static,
    {
        ListOr { list: self, make, json }
    }
}

impl<T> ListOr<T, &'static [T]> {
    /// Takes the list for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        self.peek(call)
    }

    /// Borrows the list before the call.
    pub fn peek<'a>(&'a self, call: &'a Call<'_>) -> Result<&'a [T], ToolError> {
        Ok(self.list.peek(call)?.unwrap_or_else(self.make))
    }
}

impl<T> ListOr<T, Option<&'static [T]>> {
    /// Takes the list for the call.
    pub fn get<'a>(&'a mut self, call: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        self.peek(call)
    }

    /// Borrows the list before the call.
    pub fn peek<'a>(&'a self, call: &'a Call<'_>) -> Result<Option<&'a [T]>, ToolError> {
        Ok(self.list.peek(call)?.or_else(self.make))
    }
}

impl<T: Argument, V> Slot for ListOr<T, V> {
    fn source(&self) -> Source {
        let mut source = self.list.source();
        if let Source::Model(Argued { default, .. }) = &mut source {
            *default = (self.json)(&(self.make)());
        }
        source
    }

    fn decode<'t>(&mut self, source: Checked<'_, 't, '_>, text: &'t str) -> Result<(), Refusal> {
        self.list.decode(source, text)
    }

    fn leave_out(&mut self) -> bool {
        self.list.leave_out()
    }
}
