//! The schema of a result.

use schemars::{JsonSchema, SchemaGenerator};

use super::{All, Described, Of, One};
use crate::{__private::items::Piece, ToolOutput};

// The schema of the combined items, in the order in which `items` selects the combination.

pub trait OfSchema {
    fn schema(self, generator: &mut SchemaGenerator) -> Described;
}

impl<T: JsonSchema> OfSchema for &&&&&Of<T> {
    fn schema(self, generator: &mut SchemaGenerator) -> Described {
        self.described(Some(generator.subschema_for::<T>()))
    }
}

pub trait OfPieces {
    fn schema(self, generator: &mut SchemaGenerator) -> Described;
}

impl<T: Piece> OfPieces for &&&&Of<All<T>> {
    fn schema(self, generator: &mut SchemaGenerator) -> Described {
        self.described(Some(generator.subschema_for::<str>()))
    }
}

impl<T: Piece> OfPieces for &&&&Of<One<T>> {
    fn schema(self, generator: &mut SchemaGenerator) -> Described {
        self.described(Some(generator.subschema_for::<str>()))
    }
}

pub trait OfOutputs {
    fn schema(self, generator: &mut SchemaGenerator) -> Described;
}

impl<T: Into<ToolOutput>> OfOutputs for &&&Of<All<T>> {
    fn schema(self, _: &mut SchemaGenerator) -> Described {
        self.described(None)
    }
}

impl<T: Into<ToolOutput>> OfOutputs for &&&Of<One<T>> {
    fn schema(self, _: &mut SchemaGenerator) -> Described {
        self.described(None)
    }
}

pub trait OfList {
    fn schema(self, generator: &mut SchemaGenerator) -> Described;
}

impl<T: JsonSchema> OfList for &&Of<All<T>> {
    fn schema(self, generator: &mut SchemaGenerator) -> Described {
        self.described(Some(crate::schema::list_of(generator.subschema_for::<T>())))
    }
}

impl<T: JsonSchema> OfList for &&Of<One<T>> {
    fn schema(self, generator: &mut SchemaGenerator) -> Described {
        self.described(Some(generator.subschema_for::<T>()))
    }
}

pub trait Undescribed {
    fn schema(self, generator: &mut SchemaGenerator) -> Described;
}

impl<T> Undescribed for &Of<T> {
    fn schema(self, _: &mut SchemaGenerator) -> Described {
        self.described(None)
    }
}
