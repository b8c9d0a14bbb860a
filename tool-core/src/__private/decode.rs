//! Filling slots from the text of a call's arguments.

use serde::{
    Deserialize,
    de::{Error as _, IgnoredAny},
};

use super::{Parameter, Slot, Source, Spec, slot::SlotList};
use crate::arguments::plan::{Checked, Refusal};

/// The parameters of a function that a model fills, by which properties are told apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameters {
    list: &'static [Parameter],
    /// A bit for each parameter that a model fills; there are at most 16.
    filled_by_model: u32,
    /// Which parameter is the whole of the arguments, if one is.
    whole: Option<usize>,
}

impl Parameters {
    pub(crate) fn of(spec: &'static Spec, slots: SlotList<'_, '_>) -> Self {
        let is_model = |slot: &dyn Slot| matches!(slot.source(), Source::Model { .. });
        let bits = slots.iter().enumerate().filter(|(_, slot)| is_model(&***slot)).map(|(at, _)| 1 << at);
        let whole = spec.parameters.iter().position(|parameter| parameter.whole);
        Self { list: spec.parameters, filled_by_model: bits.sum(), whole }
    }

    /// Fills `slots` from `text`, which `source` reads.
    pub(crate) fn decode<'t>(
        self,
        slots: SlotList<'_, '_>,
        source: Checked<'_, 't, '_>,
        text: &'t str,
    ) -> Result<(), Refusal> {
        if let Some(slot) = self.whole.and_then(|at| slots.get_mut(at)) {
            return slot.decode(source, text);
        }
        let (mut object, mut near, mut filled) = (source.into_object()?, 0, 0_u32);
        while let Some(name) = object.advance()? {
            match self.find(&name, &mut near).and_then(|at| Some((at, slots.get_mut(at)?))) {
                // By two of its names.
                Some((at, _)) if filled & (1 << at) != 0 => {
                    return Err(Refusal::duplicate_field("of that name"));
                }
                Some((at, slot)) => {
                    filled |= 1 << at;
                    slot.decode(object.value(), text).map_err(|refusal| object.within(refusal))?;
                }
                None => drop(IgnoredAny::deserialize(object.value())?),
            }
        }
        let mut empty = self.filled_by_model & !filled;
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

    /// The place of the parameter that goes by `name`; it is looked for at `near` first.
    fn find(self, name: &str, near: &mut usize) -> Option<usize> {
        let is_it = |at: &usize| {
            self.filled_by_model & (1 << at) != 0 && self.list.get(*at).is_some_and(|it| it.is_called(name))
        };
        let at = Some(*near).filter(is_it).or_else(|| (0..self.list.len()).find(is_it))?;
        *near = at + 1;
        Some(at)
    }
}
