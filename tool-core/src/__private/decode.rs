//! Fills slots from the text of a call's arguments.

use serde::{
    Deserialize,
    de::{Error as _, IgnoredAny},
};

use super::{Parameter, Slot, Source, Spec, slot::SlotList};
use crate::{
    InputSchema, Plan,
    arguments::plan::{Checked, Refusal},
};

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
    pub(crate) fn of(spec: &'static Spec, slots: SlotList<'_, '_>, schema: &InputSchema) -> Self {
        let is_model = |slot: &dyn Slot| matches!(slot.source(), Source::Model { .. });
        let bits = slots.iter().enumerate().filter(|(_, slot)| is_model(&***slot)).map(|(at, _)| 1 << at);
        let whole = spec.parameters.iter().position(|parameter| parameter.whole);
        let mut parameters =
            Self { list: spec.parameters, filled_by_model: bits.sum(), whole, by_position: Vec::new() };
        // Errors in the schema are reported when the tool is added.
        let names = schema.plan().map(Plan::names).unwrap_or_default();
        parameters.by_position = names.into_iter().map(|name| parameters.find(name)).collect();
        parameters
    }

    /// Fills `slots` from `text`, which `source` reads.
    #[inline]
    pub(crate) fn decode<'t>(
        &self,
        slots: SlotList<'_, '_>,
        source: Checked<'_, 't, '_>,
        text: &'t str,
    ) -> Result<(), Refusal> {
        if let Some(slot) = self.whole.and_then(|at| slots.get_mut(at)) {
            return slot.decode(source, text);
        }
        let (mut object, mut filled) = (source.into_object()?, 0_u32);
        while object.advance()? {
            let at = match object.position().and_then(|position| self.by_position.get(position)) {
                Some(at) => *at,
                None => self.find(object.name()),
            };
            match at.and_then(|at| Some((at, slots.get_mut(at)?))) {
                Some((at, slot)) => {
                    filled |= 1 << at;
                    slot.decode(object.value(), text).map_err(|refusal| object.within(refusal))?;
                }
                None => drop(IgnoredAny::deserialize(object.value())?),
            }
        }
        self.leave_out(slots, self.filled_by_model & !filled)
    }

    /// Fills the slots of absent parameters.
    fn leave_out(&self, slots: SlotList<'_, '_>, mut empty: u32) -> Result<(), Refusal> {
        while empty != 0 {
            let at = empty.trailing_zeros() as usize;
            if let (Some(slot), Some(parameter)) = (slots.get_mut(at), self.list.get(at))
                && !slot.leave_out()
            {
                return Err(Refusal::missing_field(parameter.name));
            }
            empty &= empty - 1;
        }
        Ok(())
    }

    /// Returns the index of the parameter `name`.
    fn find(&self, name: &str) -> Option<usize> {
        let is_model = |at: &usize| self.filled_by_model & (1 << at) != 0;
        (0..self.list.len())
            .filter(is_model)
            .find(|at| self.list.get(*at).is_some_and(|it| it.is_called(name)))
    }
}
