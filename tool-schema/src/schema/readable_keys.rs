//! Map keys of types that no property name can represent.
//!
//! The types are found by decoding: the decoder of a type gets a value with one entry in one map, and the
//! deserializer of its key records the type that refused it. A type that refuses one name may accept another; only a
//! type that accepts no string at all is reported.

use super::{InputSchema, MapPath, SchemaError};
use crate::{
    Plan,
    arguments::plan::{DecodeFn, RefusedKey, Source},
    guard::catch,
    pointer::push_step,
};

impl InputSchema {
    /// Rejects a schema with a map that can never have an entry, because its keys are of a type that cannot be read from
    /// a string. `take` decodes the arguments, and may be called several times.
    ///
    /// # Errors
    ///
    /// Returns an error that names the location of the map and the type of its keys.
    #[doc(hidden)]
    pub fn with_readable_keys(self, mut take: impl DecodeFn) -> Result<Self, SchemaError> {
        let unreadable = |map: &MapPath| {
            // A panic in a decoder is one of its calls, not of the program.
            let key = catch(|| unreadable_key_type(map, &mut take)).ok()??;
            Some(SchemaError::new(format!(
                "`{}` is a map with keys of type `{key}`, which the property names of a JSON object cannot \
                 represent; use a list of pairs, `Vec<({key}, ..)>`, or keys that are read from strings",
                map.pointer()
            )))
        };
        match self.maps_with_free_keys().iter().find_map(unreadable) {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}

/// Returns the type of the keys of `map` if it accepts no string.
fn unreadable_key_type(map: &MapPath, take: &mut dyn DecodeFn) -> Option<&'static str> {
    let mut refused = |key: &str| {
        let text = map.sample_value(key).to_string();
        let refusal = take(Source::new(&text, Plan::anything()).root_value(), &text).err()?;
        let mut here = map.pointer();
        push_step(&mut here, key);
        // The key of an outer map may be refused as well.
        refusal.refused_key().filter(|_| refusal.pointer() == here)
    };
    match refused(MapPath::ANY_KEY)? {
        RefusedKey::Type(key) => Some(key),
        RefusedKey::Variant { key, variants, .. } => {
            let is_content =
                |name: &&str| matches!(refused(name), Some(RefusedKey::Variant { needs_content: true, .. }));
            (!variants.is_empty() && variants.iter().all(is_content)).then_some(key)
        }
    }
}
