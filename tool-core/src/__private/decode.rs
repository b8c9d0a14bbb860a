//! Filling slots from the text of a call's arguments.
//!
//! A text that fits is read once, each value straight into its slot ([`Parameters::decode`]). Only
//! when that fails is the text walked again, into one part for each property, to find all that is
//! wrong and not only the first of it ([`decode`]); that code exists once for all tools.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Parameter, Slot, Slots, Source, Spec, slot::SlotList};
use crate::{Arguments, ToolError, Violation, arguments::not_json};

/// The parameters of a list, by which the properties of an object are told apart.
#[derive(Clone, Copy)]
pub struct Parameters<'s> {
    spec: &'s Spec,
}

impl<'s> Parameters<'s> {
    /// The parameters of `spec`; `None` where one of them is an argument struct, which is the whole.
    pub(crate) fn of(spec: &'s Spec) -> Option<Self> {
        let is_list = spec.parameters.iter().all(|parameter| !parameter.whole);
        is_list.then_some(Self { spec })
    }

    /// Fills `slots` from `text` if nothing is wrong with it; else they are in disorder.
    pub(super) fn decode<S: Slots>(&self, slots: &mut S, text: &str) -> bool {
        let mut decoder = serde_json::Deserializer::from_str(text);
        let filling = Filling { spec: self.spec, text, slots };
        decoder.deserialize_map(filling).is_ok() && decoder.end().is_ok()
    }
}

struct Filling<'s, 't, S> {
    spec: &'s Spec,
    text: &'t str,
    slots: &'s mut S,
}

impl<'t, S: Slots> Visitor<'t> for Filling<'_, 't, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'t>>(self, mut map: M) -> Result<(), M::Error> {
        let Self { spec, text, slots } = self;
        let mut filled = 0_u32;
        while let Some(key) = map.next_key_seed(Key(spec.parameters))? {
            match key {
                Ok(at) if filled & (1 << at) == 0 => {
                    filled |= 1 << at;
                    slots.take(at, &mut map, text)?;
                }
                Err(_) if spec.ignore_unknown => drop(map.next_value::<IgnoredAny>()?),
                // Twice, or unknown: to be said in the report.
                _ => return Err(M::Error::custom("")),
            }
        }
        let mut complete = true;
        if filled.count_ones() as usize != spec.parameters.len() {
            slots.visit(&mut |slots| complete = absent(spec, filled, text, slots));
        }
        if complete { Ok(()) } else { Err(M::Error::custom("")) }
    }
}

/// Fills what did not come with its default; false where one has none.
fn absent(spec: &Spec, filled: u32, text: &str, slots: SlotList<'_, '_>) -> bool {
    slots.iter_mut().zip(spec.parameters).enumerate().all(|(at, (slot, parameter))| {
        filled & (1 << at) != 0 || (may_be_absent(&**slot, parameter) && slot.fill("", text).is_ok())
    })
}

fn may_be_absent(slot: &dyn Slot, parameter: &Parameter) -> bool {
    slot.is_optional() && !parameter.constraints.iter().any(|constraint| constraint.is_required())
}

/// Fills `slots`, which belong to the parameters of `spec`, in that order, or reports all that is
/// wrong.
pub(crate) fn decode(
    spec: &Spec,
    arguments: &Arguments<'_>,
    slots: SlotList<'_, '_>,
) -> Result<(), ToolError> {
    let text = arguments.as_str();
    let mut violations = Vec::new();
    let whole = spec.parameters.iter().position(|parameter| parameter.whole);
    if let Some(slot) = whole.and_then(|at| slots.get_mut(at)) {
        if let Err(error) = slot.fill(text, text) {
            let violation =
                if error.is_data() { undecodable("", &error, text) } else { return Err(not_json(&error)) };
            violations.push(violation);
        }
    } else {
        let mut decoder = serde_json::Deserializer::from_str(text);
        let properties = Properties { spec, text, slots, filled: 0, violations: &mut violations };
        decoder
            .deserialize_map(properties)
            .and_then(|()| decoder.end())
            .map_err(|error| refused(&error, text))?;
    }
    if violations.is_empty() { Ok(()) } else { Err(report(spec, violations, text)) }
}

/// The report of all that is wrong; what came is not repeated where a part of it is a secret.
fn report(spec: &Spec, mut violations: Vec<Violation>, text: &str) -> ToolError {
    if !spec.parameters.iter().any(|parameter| parameter.secret) {
        return ToolError::invalid_arguments(violations, text);
    }
    violations.iter_mut().for_each(Violation::hide);
    ToolError::invalid_arguments(violations, text).without_echo()
}

/// The error for a text that is no JSON, or no object.
fn refused(error: &serde_json::Error, text: &str) -> ToolError {
    // The decoder stops at the first character of what is no object; the rest may be anything.
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) => not_json(&error),
        Ok(_) if error.is_data() => {
            ToolError::invalid_arguments(vec![Violation::new("", "an object", shortened(text))], text)
        }
        Ok(_) => not_json(error),
    }
}

struct Properties<'s, 'd, 't> {
    spec: &'s Spec,
    text: &'t str,
    slots: SlotList<'s, 'd>,
    /// A bit for each parameter that came; there are at most 16.
    filled: u32,
    violations: &'s mut Vec<Violation>,
}

impl<'t> Visitor<'t> for Properties<'_, '_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'t>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key_seed(Key(self.spec.parameters))? {
            let raw = map.next_value::<&'t RawValue>()?.get();
            match key {
                Ok(at) => self.fill(at, raw),
                Err(name) => self.unknown(&name, raw),
            }
        }
        self.absent().map_err(M::Error::custom)
    }
}

impl Properties<'_, '_, '_> {
    fn fill(&mut self, at: usize, raw: &str) {
        let (Some(slot), Some(parameter)) = (self.slots.get_mut(at), self.spec.parameters.get(at)) else {
            return;
        };
        if !matches_model(&**slot) {
            return self.unknown(parameter.name, raw);
        }
        if self.filled & (1 << at) != 0 {
            return self.violations.push(at_property(parameter.name, "the property once", "it twice"));
        }
        self.filled |= 1 << at;
        if let Err(error) = slot.fill(raw, self.text) {
            self.violations.push(undecodable(parameter.name, &error, raw));
        }
    }

    fn unknown(&mut self, name: &str, raw: &str) {
        if !self.spec.ignore_unknown {
            let expected = "a property that the tool knows";
            self.violations.push(at_property(name, expected, &shortened(raw)));
        }
    }

    /// Fills what did not come with its default, or says that it is missing.
    fn absent(&mut self) -> Result<(), serde_json::Error> {
        for (at, (slot, parameter)) in self.slots.iter_mut().zip(self.spec.parameters).enumerate() {
            if self.filled & (1 << at) != 0 {
                continue;
            }
            if !may_be_absent(&**slot, parameter) {
                let expected = format!("the property `{}`, which is required", parameter.name);
                self.violations.push(at_property(parameter.name, &expected, "nothing"));
            } else {
                slot.fill("", self.text)?;
            }
        }
        Ok(())
    }
}

/// Whether the model fills the slot; a parameter of the program's has a name too, which is none of
/// the model's business. Asked for a name that came only, and such names are rare.
fn matches_model(slot: &dyn Slot) -> bool {
    !slot.is_optional() || matches!(slot.source(), Source::Model { .. })
}

/// Which parameter a key names: its place, or the key itself where it names none.
struct Key(&'static [Parameter]);

impl<'t> DeserializeSeed<'t> for Key {
    type Value = Result<usize, String>;

    fn deserialize<D: Deserializer<'t>>(self, decoder: D) -> Result<Self::Value, D::Error> {
        decoder.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Result<usize, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a property")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let at = self.0.iter().position(|parameter| parameter.is_called(key));
        Ok(at.ok_or_else(|| key.to_owned()))
    }
}

fn at_property(name: &str, expected: &str, received: &str) -> Violation {
    Violation::new(format!("/{}", escaped(name)), expected, received)
}

/// `name` as a part of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn undecodable(name: &str, error: &serde_json::Error, raw: &str) -> Violation {
    let pointer = if name.is_empty() { String::new() } else { format!("/{}", escaped(name)) };
    // The place in the text means nothing to a model, and less where the text is a part.
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    Violation::new(pointer, format!("something that can be read ({message})"), shortened(raw))
}

fn shortened(raw: &str) -> String {
    const LONGEST: usize = 80;
    match raw.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… ({} bytes)", raw.get(..end).unwrap_or(raw), raw.len()),
        None => raw.to_owned(),
    }
}
