//! Fills slots from the text of a call's arguments.

use serde::{
    Deserialize,
    de::{Error as _, IgnoredAny},
};
use serde_json::Value;
use tool_schema::__private::{Checked, DecodeError};

use super::{Parameter, Spec, describe::Description, slot::SlotList};

/// The parameters of a function that are filled from the arguments.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    list: &'static [Parameter],
    /// A bit for each parameter filled by the model; at most 16.
    filled_by_model: u32,
    /// The index of the parameter that takes the whole arguments, if there is one.
    whole: Option<usize>,
    /// The parameter of each property in the plan, in order.
    by_position: Vec<Option<usize>>,
}

impl Parameters {
    pub(crate) fn of(spec: &'static Spec, description: &Description) -> Self {
        let Description { input_schema, is_flat, filled_by_model, needs: _ } = description;
        let whole = spec.parameters.iter().position(|parameter| parameter.whole);
        let (list, by_position) = (spec.parameters, Vec::new());
        let mut parameters = Self { list, filled_by_model: *filled_by_model, whole, by_position };
        parameters.by_position = if *is_flat {
            (0..list.len()).filter(|at| filled_by_model & (1 << at) != 0).map(Some).collect()
        } else {
            // The order of a plan. A position without a parameter here is found by its name.
            let properties = input_schema.as_value().get("properties").and_then(Value::as_object);
            properties.into_iter().flatten().map(|(name, _)| parameters.parameter_index(name)).collect()
        };
        parameters
    }

    /// Fills `slots` from `text`, which `source` reads.
    #[inline]
    pub(crate) fn decode<'t>(
        &self,
        slots: SlotList<'_, '_>,
        source: Checked<'_, 't, '_>,
        text: &'t str,
    ) -> Result<(), DecodeError> {
        if let Some(slot) = self.whole.and_then(|at| slots.get_mut(at)) {
            return slot.decode(source, text);
        }
        let (mut object, mut filled) = (source.into_object()?, 0_u32);
        while object.advance()? {
            let at = match object.position().and_then(|position| self.by_position.get(position)) {
                Some(at) => *at,
                None => self.parameter_index(object.name()),
            };
            match at.and_then(|at| Some((at, slots.get_mut(at)?))) {
                Some((at, slot)) => {
                    filled |= 1 << at;
                    slot.decode(object.value(), text).map_err(|refusal| object.within(refusal))?;
                }
                None => drop(IgnoredAny::deserialize(object.value())?),
            }
        }
        self.fill_absent_slots(slots, self.filled_by_model & !filled)
    }

    /// Fills the slots of absent parameters.
    fn fill_absent_slots(&self, slots: SlotList<'_, '_>, mut empty: u32) -> Result<(), DecodeError> {
        while empty != 0 {
            let at = empty.trailing_zeros() as usize;
            if let (Some(slot), Some(parameter)) = (slots.get_mut(at), self.list.get(at))
                && !slot.leave_out()
            {
                return Err(DecodeError::missing_field(parameter.name));
            }
            empty &= empty - 1;
        }
        Ok(())
    }

    /// Returns the index of the parameter `name`.
    fn parameter_index(&self, name: &str) -> Option<usize> {
        let is_model = |at: &usize| self.filled_by_model & (1 << at) != 0;
        (0..self.list.len())
            .filter(is_model)
            .find(|at| self.list.get(*at).is_some_and(|it| it.has_name_or_alias(name)))
    }
}
