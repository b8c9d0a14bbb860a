//! Borrowed list parameters with a default.

use serde_json::Value;
use tool_schema::__private::{Checked, Refusal};

use super::{
    Call, Slot, Source,
    slot::Argued,
    slot::{Argument, OptionalSlice, Slice},
};
use crate::ToolError;

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
