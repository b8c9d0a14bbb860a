//! Enum variants: a name, or an object with one property.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, EnumAccess, Error as _, Unexpected, VariantAccess, Visitor},
};

use super::{
    DecodeError, ObjectDecoder,
    key::{Key, Name},
};

/// A variant given by its name only.
pub(super) struct UnitVariant<N>(pub(super) Key<N>);

impl<'t, N: Name<'t>> EnumAccess<'t> for UnitVariant<N> {
    type Error = DecodeError;
    type Variant = NoContent;

    fn variant_seed<V: DeserializeSeed<'t>>(self, seed: V) -> Result<(V::Value, NoContent), DecodeError> {
        Ok((seed.deserialize(self.0)?, NoContent))
    }
}

/// The content of a variant given by its name only.
pub(super) struct NoContent;

impl<'t> VariantAccess<'t> for NoContent {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'t>>(self, _: T) -> Result<T::Value, DecodeError> {
        Err(DecodeError::invalid_type(Unexpected::UnitVariant, &"newtype variant"))
    }

    fn tuple_variant<V: Visitor<'t>>(self, _: usize, _: V) -> Result<V::Value, DecodeError> {
        Err(DecodeError::invalid_type(Unexpected::UnitVariant, &"tuple variant"))
    }

    fn struct_variant<V: Visitor<'t>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, DecodeError> {
        Err(DecodeError::invalid_type(Unexpected::UnitVariant, &"struct variant"))
    }
}

/// Reads the name of the first property as the variant, and its value as the content.
impl<'t> EnumAccess<'t> for &mut ObjectDecoder<'_, 't, '_> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'t>>(self, seed: V) -> Result<(V::Value, Self), DecodeError> {
        if !self.advance()? {
            return Err(DecodeError::custom("expected an object with the name of a variant"));
        }
        Ok((self.decode_key(seed)?, self))
    }
}

impl<'t> VariantAccess<'t> for &mut ObjectDecoder<'_, 't, '_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        <()>::deserialize(self.value()).map_err(|error| self.within(error))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'t>>(self, seed: T) -> Result<T::Value, DecodeError> {
        seed.deserialize(self.value()).map_err(|error| self.within(error))
    }

    fn tuple_variant<V: Visitor<'t>>(self, length: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.value().deserialize_tuple(length, visitor).map_err(|error| self.within(error))
    }

    fn struct_variant<V: Visitor<'t>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.value().deserialize_struct("", fields, visitor).map_err(|error| self.within(error))
    }
}
