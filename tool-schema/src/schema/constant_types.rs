//! Types whose schemas are constant: booleans, numbers and strings, and options and lists of them.
//!
//! Their schemas are serialised from this table, without schemars, so that a program with many tools starts fast. The
//! tests compare each with the canonical form of the schema that schemars makes.

use std::{any::TypeId, cmp::Ordering, sync::OnceLock};

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Number, Value};

use super::integers;

/// A type with a constant schema.
#[derive(Debug)]
pub struct Plain {
    scalar: ScalarType,
    is_list: bool,
    is_option: bool,
    /// The schema of a result of this type, once it is needed.
    result: OnceLock<Value>,
}

/// A scalar type, and its limits.
#[derive(Debug, Clone, Copy)]
struct ScalarType {
    /// The name, and the names of the option.
    name: &'static str,
    option: &'static [&'static str],
    least: Option<i64>,
    most: Option<u64>,
    /// `true` for a 32-bit float.
    is_single: bool,
}

/// A list, whose items are scalars.
const LIST: ScalarType =
    ScalarType { name: "array", option: &["array", "null"], least: None, most: None, is_single: false };

/// The limits of a parameter: of a number, or of the length of a string or list.
#[derive(Debug, Default)]
pub struct Limits {
    /// The minimum.
    pub least: Option<Number>,
    /// The maximum.
    pub most: Option<Number>,
}

impl Plain {
    /// Returns the constant schema of `T`, if it has one.
    pub fn of<T: 'static>() -> Option<&'static Self> {
        Self::of_type_id(TypeId::of::<T>())
    }

    const fn new(scalar: ScalarType, is_list: bool, is_option: bool) -> Self {
        Self { scalar, is_list, is_option, result: OnceLock::new() }
    }

    /// Returns `true` for an option.
    pub fn is_option(&self) -> bool {
        self.is_option
    }

    /// Returns `true` if a range limits the type.
    pub fn is_number(&self) -> bool {
        !self.is_list && matches!(self.scalar.name, "integer" | "number")
    }

    /// Returns `true` for a 32-bit float, and for a list of them.
    pub fn is_single(&self) -> bool {
        self.scalar.is_single
    }

    /// Returns `true` if a length limits the type.
    pub fn has_length(&self) -> bool {
        self.is_list || (self.scalar.name == "string" && self.scalar.most.is_none())
    }

    /// Returns `true` if no value of the type is within `limits`.
    pub fn admits_none(&self, limits: &Limits) -> bool {
        // Each type has values of its own.
        if matches!(limits, Limits { least: None, most: None }) {
            return false;
        }
        let [least, most] = self
            .outer_scalar()
            .narrower_limits(limits)
            .map(|it| it.and_then(|(_, bound)| bound.bound_number()));
        let is_integer = self.outer_scalar().name == "integer";
        matches!((least, most), (Some(least), Some(most)) if integers::is_empty_range(&least, &most, is_integer))
    }

    /// Returns the schema of a result of this type.
    pub fn result(&self) -> &Value {
        self.result.get_or_init(|| serde_json::to_value(self).unwrap_or_default())
    }

    /// Serialises the schema of a parameter of this type. An option is one that may be absent, and not `null`.
    pub fn serialize_parameter<S: Serializer>(
        &self,
        description: &str,
        limits: &Limits,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let [least, most] = self.outer_scalar().narrower_limits(limits);
        let description = Some(description).filter(|it| !it.is_empty()).map(Keyword::Text);
        let name = Some(("type", Keyword::Text(self.outer_scalar().name)));
        serialize_keywords(
            [name, description.map(|it| ("description", it)), self.items_keyword(), least, most],
            serializer,
        )
    }

    /// Returns the schema of the type itself, without items.
    fn outer_scalar(&self) -> ScalarType {
        if self.is_list { LIST } else { self.scalar }
    }

    fn items_keyword(&self) -> Option<(&'static str, Keyword<'static>)> {
        self.is_list.then_some(("items", Keyword::ScalarType(self.scalar)))
    }
}

/// The schema of a result.
impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own = self.outer_scalar();
        let types = if self.is_option { Keyword::Texts(own.option) } else { Keyword::Text(own.name) };
        let [least, most] = own.narrower_limits(&Limits { least: None, most: None });
        serialize_keywords([Some(("type", types)), self.items_keyword(), least, most], serializer)
    }
}

impl Serialize for ScalarType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [least, most] = self.narrower_limits(&Limits { least: None, most: None });
        serialize_keywords([Some(("type", Keyword::Text(self.name))), least, most], serializer)
    }
}

/// The value of a keyword.
#[derive(Serialize)]
#[serde(untagged)]
enum Keyword<'p> {
    Text(&'p str),
    Texts(&'static [&'static str]),
    ScalarType(ScalarType),
    Least(i64),
    Most(u64),
    Limit(Number),
}

impl Keyword<'_> {
    /// Returns the number of a bound.
    fn bound_number(self) -> Option<Number> {
        match self {
            Self::Least(least) => Some(least.into()),
            Self::Most(most) => Some(most.into()),
            Self::Limit(limit) => Some(limit),
            Self::Text(_) | Self::Texts(_) | Self::ScalarType(_) => None,
        }
    }
}

/// Serialises the keywords that are present.
fn serialize_keywords<S: Serializer, const N: usize>(
    keywords: [Option<(&'static str, Keyword<'_>)>; N],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(keywords.iter().flatten().count()))?;
    for (key, value) in keywords.iter().flatten() {
        object.serialize_entry(key, value)?;
    }
    object.end()
}

impl ScalarType {
    /// Returns the narrower of its own and the given limits.
    fn narrower_limits(self, given: &Limits) -> [Option<(&'static str, Keyword<'static>)>; 2] {
        let [least, most] = match self.name {
            "string" => ["minLength", "maxLength"],
            "array" => ["minItems", "maxItems"],
            _ => ["minimum", "maximum"],
        };
        let narrower = |given: &Option<Number>, own: Option<i128>, wider: Ordering| {
            let given = given.as_ref()?;
            let is_narrower = own.is_none_or(|own| integers::compare_exactly(given, own) != wider);
            is_narrower.then(|| Keyword::Limit(given.clone()))
        };
        let at_least = narrower(&given.least, self.least.map(i128::from), Ordering::Less);
        let at_most = narrower(&given.most, self.most.map(i128::from), Ordering::Greater);
        [
            at_least.or(self.least.map(Keyword::Least)).map(|it| (least, it)),
            at_most.or(self.most.map(Keyword::Most)).map(|it| (most, it)),
        ]
    }
}

/// Returns `true` for the type name `f32`.
const fn is_f32_name(name: &str) -> bool {
    matches!(name.as_bytes(), b"f32")
}

macro_rules! plain {
    ($($of:ty: $name:literal $least:expr, $most:expr;)*) => {
        impl Plain {
            // Not generic, so that it is compiled once.
            fn of_type_id(id: TypeId) -> Option<&'static Self> {
                $({
                    const SCALAR: ScalarType = ScalarType {
                        name: $name,
                        option: &[$name, "null"],
                        least: $least,
                        most: $most,
                        is_single: is_f32_name(stringify!($of)),
                    };
                    static FORMS: [Plain; 4] = [
                        Plain::new(SCALAR, false, false),
                        Plain::new(SCALAR, false, true),
                        Plain::new(SCALAR, true, false),
                        Plain::new(SCALAR, true, true),
                    ];
                    let ids = [
                        TypeId::of::<$of>(),
                        TypeId::of::<Option<$of>>(),
                        TypeId::of::<Vec<$of>>(),
                        TypeId::of::<Option<Vec<$of>>>(),
                    ];
                    if let Some(at) = ids.iter().position(|it| *it == id) {
                        return FORMS.get(at);
                    }
                })*
                None
            }
        }
    };
}

// The most frequent types first.
plain! {
    String: "string" None, None;
    bool: "boolean" None, None;
    i64: "integer" Some(i64::MIN), Some(i64::MAX as u64);
    f64: "number" None, None;
    u64: "integer" Some(0), Some(u64::MAX);
    usize: "integer" Some(0), Some(u64::MAX);
    u32: "integer" Some(0), Some(u32::MAX as u64);
    i32: "integer" Some(i32::MIN as i64), Some(i32::MAX as u64);
    u8: "integer" Some(0), Some(u8::MAX as u64);
    f32: "number" None, None;
    i8: "integer" Some(i8::MIN as i64), Some(i8::MAX as u64);
    i16: "integer" Some(i16::MIN as i64), Some(i16::MAX as u64);
    u16: "integer" Some(0), Some(u16::MAX as u64);
    isize: "integer" Some(i64::MIN), Some(i64::MAX as u64);
    i128: "integer" None, None;
    u128: "integer" Some(0), None;
    char: "string" Some(1), Some(1);
}
