//! The nodes of a plan: a flat list, linked by index.
//!
//! Indices instead of boxes, because schemas are recursive. A node stores only the groups of rules that its schema
//! has; `{"type": "string"}` takes a few words.

use serde_json::Value;

use super::{
    branches::Branches,
    number::{Divisor, ExactNumber},
    pattern::Pattern,
    permitted_values::PermittedValues,
    property_table::{Property, PropertyTable},
};

/// The index of a node in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NodeId(pub(super) u32);

impl NodeId {
    /// The whole schema.
    pub(super) const ROOT: Self = Self(0);
}

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Node {
    /// The permitted types.
    pub(super) types: TypeSet,
    /// `enum` and `const`: the only permitted values.
    pub(super) values: Option<PermittedValues>,
    pub(super) number: Option<Box<NumberRules>>,
    pub(super) text: Option<Box<TextRules>>,
    pub(super) list: Option<Box<ListRules>>,
    pub(super) object: Option<Box<ObjectRules>>,
    pub(super) combined: Option<Box<Combined>>,
    /// The target of a `$ref` without other keywords; this node stands for it.
    pub(super) alias: Option<NodeId>,
    /// `true` if a `$ref` leads here, so that a walk may visit the node again with the same value.
    pub(super) shared: bool,
    /// `true` if the rules can only be decided on the complete value.
    pub(super) is_whole: bool,
    /// `true` if the value was validated as a part of another one.
    pub(super) is_trusted: bool,
}

impl Node {
    /// `true` and `{}`.
    pub(super) const ANYTHING: Self = Self {
        types: TypeSet::ALL,
        values: None,
        number: None,
        text: None,
        list: None,
        object: None,
        combined: None,
        alias: None,
        shared: false,
        is_whole: false,
        is_trusted: false,
    };

    /// The rules of a value that was validated before.
    pub(super) const TRUSTED: Self = Self { is_trusted: true, ..Self::ANYTHING };

    /// `false`: permits no type.
    pub(super) const NOTHING: Self = Self { types: TypeSet::NONE, ..Self::ANYTHING };

    /// Returns `true` if the schema has no rule, so that a `$ref` in it stands alone.
    pub(super) const fn is_anything(&self) -> bool {
        matches!(self.types, TypeSet::ALL)
            && self.values.is_none()
            && self.number.is_none()
            && self.text.is_none()
            && self.list.is_none()
            && self.object.is_none()
            && self.combined.is_none()
            && self.alias.is_none()
    }

    /// Computes the fields derived from all rules.
    pub(super) fn derive_fields(&mut self) {
        self.is_whole = self.needs_whole_value();
        if let Some(number) = &mut self.number {
            (number.integers, number.floats) = (number.integer_range(), number.float_range());
        }
    }

    /// Returns whether an integer with this sign and at most 18 digits is admitted; `None` if that depends on more
    /// rules.
    #[inline]
    pub(super) fn admits_integer(&self, negative: bool, magnitude: u64) -> Option<bool> {
        if self.values.is_some() || !self.types.contains(TypeSet::INTEGER) {
            return None;
        }
        let Some(number) = &self.number else { return Some(true) };
        let (least, most) = number.integers?;
        // 18 digits fit into an `i64`.
        let integer = magnitude.cast_signed();
        Some(if negative { least <= -integer } else { least <= integer && magnitude <= most })
    }

    /// Returns whether a number is admitted whose nearest float is `float`, which is an integer only if the number is;
    /// `None` if that depends on more rules.
    #[inline]
    pub(super) fn admits_float(&self, float: f64) -> Option<bool> {
        if self.values.is_some() || !self.types.contains(TypeSet::NUMBER) {
            return None;
        }
        let Some(number) = &self.number else { return Some(true) };
        let (least, most) = number.floats?;
        Some(least <= float && float <= most)
    }

    /// Returns `true` if a float without a fraction is read as an integer.
    pub(super) fn permits_only_integers(&self) -> bool {
        self.types.intersection(TypeSet::NUMBER) == TypeSet::INTEGER
    }

    /// Returns `true` if a rule needs the complete value: rules that combine others, compare parts of the value, or
    /// apply to one part together.
    fn needs_whole_value(&self) -> bool {
        // Objects are compared with the permitted values even if these are scalars.
        let compounds = self.types.intersection(TypeSet::ARRAY.union(TypeSet::OBJECT));
        let is_listed = self.values.is_some() && compounds != TypeSet::NONE;
        let compares = |list: &ListRules| list.unique || list.contains.is_some();
        let depends = |object: &ObjectRules| {
            let several = object.patterns.len() > 1
                || (!object.patterns.is_empty() && object.properties.iter().next().is_some());
            several || !object.required_beside.is_empty() || !object.schemas_beside.is_empty()
        };
        self.combined.is_some()
            || is_listed
            || self.list.as_deref().is_some_and(compares)
            || self.object.as_deref().is_some_and(depends)
    }
}

/// A set of the types in JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TypeSet(u8);

impl TypeSet {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(1 << 1);
    pub(super) const INTEGER: Self = Self(1 << 2);
    /// Numbers with a fraction.
    pub(super) const FRACTION: Self = Self(1 << 3);
    pub(super) const NUMBER: Self = Self(Self::INTEGER.0 | Self::FRACTION.0);
    pub(super) const STRING: Self = Self(1 << 4);
    pub(super) const ARRAY: Self = Self(1 << 5);
    pub(super) const OBJECT: Self = Self(1 << 6);
    pub(super) const ALL: Self = Self((1 << 7) - 1);

    /// Returns the types of the name `name`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }

    /// Returns the type of `value`.
    pub(super) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if ExactNumber::from(number).is_integer() => Self::INTEGER,
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns `true` if all types of `other` are included.
    pub(super) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Rules for numbers.
#[derive(Debug, Default)]
pub(super) struct NumberRules {
    pub(super) minimum: Option<ExactNumber>,
    pub(super) maximum: Option<ExactNumber>,
    pub(super) exclusive_minimum: Option<ExactNumber>,
    pub(super) exclusive_maximum: Option<ExactNumber>,
    pub(super) multiple_of: Option<Divisor>,
    /// The range of 64-bit integers that these rules admit, if it is that simple; set when all rules are known.
    pub(super) integers: Option<(i64, u64)>,
    /// The range of floats that these rules admit, if its limits are exact; set when all rules are known.
    pub(super) floats: Option<(f64, f64)>,
}

impl NumberRules {
    /// Returns the smallest and largest integer that these rules admit; `None` if there are other rules, or if the
    /// smallest exceeds 64 bits.
    fn integer_range(&self) -> Option<(i64, u64)> {
        let integer = |limit: Option<ExactNumber>, none: i128| match limit {
            None => Some(none),
            Some(ExactNumber::Integer(limit)) => Some(limit),
            Some(ExactNumber::Float(_)) => None,
        };
        let above = integer(self.exclusive_minimum, i128::MIN)?.saturating_add(1);
        let below = integer(self.exclusive_maximum, i128::MAX)?.saturating_sub(1);
        let least = integer(self.minimum, i128::MIN)?.max(above).max(i64::MIN.into());
        let most = integer(self.maximum, i128::MAX)?.min(below).min(u64::MAX.into());
        let range = (i64::try_from(least).ok()?, u64::try_from(most).ok()?);
        self.multiple_of.is_none().then_some(range)
    }

    /// Returns the smallest and largest float that these rules admit; `None` if there are other rules, or if a limit is
    /// not exactly a float.
    fn float_range(&self) -> Option<(f64, f64)> {
        let float = |limit: Option<ExactNumber>, none: f64| limit.map_or(Some(none), ExactNumber::as_float);
        let above = float(self.exclusive_minimum, f64::NEG_INFINITY)?.next_up();
        let below = float(self.exclusive_maximum, f64::INFINITY)?.next_down();
        let least = float(self.minimum, f64::NEG_INFINITY)?.max(above);
        let most = float(self.maximum, f64::INFINITY)?.min(below);
        self.multiple_of.is_none().then_some((least, most))
    }
}

/// Rules for strings.
#[derive(Debug, Default)]
pub(super) struct TextRules {
    pub(super) length: CountRange,
    pub(super) pattern: Option<Pattern>,
}

/// Rules for lists.
#[derive(Debug, Default)]
pub(super) struct ListRules {
    /// `prefixItems`: the schemas of the first items.
    pub(super) prefix: Box<[NodeId]>,
    /// `items`: the schema of all further items.
    pub(super) rest: AdditionalRule,
    pub(super) length: CountRange,
    pub(super) unique: bool,
    pub(super) contains: Option<Contains>,
}

/// The number of items that must match a schema.
#[derive(Debug)]
pub(super) struct Contains {
    pub(super) node: NodeId,
    pub(super) count: CountRange,
}

/// Rules for objects.
#[derive(Debug, Default)]
pub(super) struct ObjectRules {
    /// `properties` and `required`.
    pub(super) properties: PropertyTable,
    /// `patternProperties`.
    pub(super) patterns: Box<[(Pattern, NodeId)]>,
    /// `additionalProperties`.
    pub(super) rest: AdditionalRule,
    /// `true` if the decoder ignores properties that the schema does not name.
    pub(super) ignores: bool,
    /// `propertyNames`.
    pub(super) names: Option<NodeId>,
    pub(super) count: CountRange,
    /// `dependentRequired`.
    pub(super) required_beside: Box<[DependentProperties]>,
    /// `dependentSchemas`: a property, and the schema of the object if it is present.
    pub(super) schemas_beside: Box<[(Box<str>, NodeId)]>,
}

impl ObjectRules {
    /// Returns the property at `near` if its name can be recognised by its bytes.
    #[inline]
    pub(super) fn unescaped_property_at(&self, near: usize) -> Option<&Property> {
        if self.names.is_none() { self.properties.unescaped_property_at(near) } else { None }
    }
}

/// A property, and those that it requires.
#[derive(Debug)]
pub(super) struct DependentProperties {
    pub(super) name: Box<str>,
    pub(super) required: Box<[Box<str>]>,
}

/// The rule for properties or items without a rule of their own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum AdditionalRule {
    #[default]
    Anything,
    Nothing,
    Schema(NodeId),
}

/// Schemas that apply to the same value.
#[derive(Debug, Default)]
pub(super) struct Combined {
    /// `allOf`, and a `$ref` that has keywords beside it.
    pub(super) all: Box<[NodeId]>,
    pub(super) any: Option<Branches>,
    pub(super) one: Option<Branches>,
    pub(super) not: Option<NodeId>,
    pub(super) condition: Option<Condition>,
    pub(super) unevaluated: Option<Unevaluated>,
}

/// `unevaluatedItems` and `unevaluatedProperties`.
#[derive(Debug)]
pub(super) struct Unevaluated {
    /// The node with these keywords; its other rules determine the evaluated parts.
    pub(super) of: NodeId,
    pub(super) items: Option<NodeId>,
    pub(super) properties: Option<NodeId>,
}

/// `if`, `then` and `else`.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) test: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// A minimum and a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountRange {
    pub(super) least: usize,
    pub(super) most: usize,
}

impl CountRange {
    pub(super) const ANY: Self = Self { least: 0, most: usize::MAX };
}

impl Default for CountRange {
    fn default() -> Self {
        Self::ANY
    }
}
