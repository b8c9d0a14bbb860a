//! The schema of a result.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{AllItems, Described, ResultSchema, SingleItem, TypeProbe};
use crate::{
    __private::{Generator, items::Piece},
    ToolOutput,
};

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn list_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    tool_schema::__private::list_of(generator.subschema_for::<T>())
}

// The schema of the combined items, in the order in which `items` selects the combination.

pub trait OfSchema {
    fn schema(self, generator: &mut Generator) -> Described;
}

impl<T: JsonSchema + 'static> OfSchema for &&&&&TypeProbe<T> {
    fn schema(self, generator: &mut Generator) -> Described {
        self.describe_as(Some(ResultSchema::of::<T>(generator, schema::<T>)))
    }
}

pub trait OfPieces {
    fn schema(self, generator: &mut Generator) -> Described;
}

impl<T: Piece> OfPieces for &&&&TypeProbe<AllItems<T>> {
    fn schema(self, generator: &mut Generator) -> Described {
        self.describe_as(Some(ResultSchema::of::<String>(generator, schema::<String>)))
    }
}

impl<T: Piece> OfPieces for &&&&TypeProbe<SingleItem<T>> {
    fn schema(self, generator: &mut Generator) -> Described {
        self.describe_as(Some(ResultSchema::of::<String>(generator, schema::<String>)))
    }
}

pub trait OfOutputs {
    fn schema(self, generator: &mut Generator) -> Described;
}

impl<T: Into<ToolOutput>> OfOutputs for &&&TypeProbe<AllItems<T>> {
    fn schema(self, _: &mut Generator) -> Described {
        self.describe_as(None)
    }
}

impl<T: Into<ToolOutput>> OfOutputs for &&&TypeProbe<SingleItem<T>> {
    fn schema(self, _: &mut Generator) -> Described {
        self.describe_as(None)
    }
}

pub trait OfList {
    fn schema(self, generator: &mut Generator) -> Described;
}

impl<T: JsonSchema + 'static> OfList for &&TypeProbe<AllItems<T>> {
    fn schema(self, generator: &mut Generator) -> Described {
        self.describe_as(Some(ResultSchema::of::<Vec<T>>(generator, list_schema::<T>)))
    }
}

impl<T: JsonSchema + 'static> OfList for &&TypeProbe<SingleItem<T>> {
    fn schema(self, generator: &mut Generator) -> Described {
        self.describe_as(Some(ResultSchema::of::<T>(generator, schema::<T>)))
    }
}

pub trait Undescribed {
    fn schema(self, generator: &mut Generator) -> Described;
}

impl<T> Undescribed for &TypeProbe<T> {
    fn schema(self, _: &mut Generator) -> Described {
        self.describe_as(None)
    }
}
