//! Merging the items of a stream into one value.
//!
//! The serialised form determines the merge: only structs are merged field by field, since only their fields have the
//! same meaning in each item.

mod shape;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use tool_schema::__private::push_step;

use crate::{ErrorKind, ToolError};

/// A custom merge of the items of a stream, for types that the rules of `#[tool(merge)]` do not suit.
///
/// # Examples
///
/// ```
/// use serde::Serialize;
/// use tool_runtime::{ToolError, definition::Merge};
///
/// /// The highest mark that was seen.
/// #[derive(Serialize)]
/// struct High(u32);
///
/// impl Merge for High {
///     fn merge(self, later: Self) -> Result<Self, ToolError> {
///         Ok(Self(self.0.max(later.0)))
///     }
/// }
///
/// assert_eq!(High(3).merge(High(2))?.0, 3);
/// # Ok::<(), ToolError>(())
/// ```
pub trait Merge: Sized + Send {
    /// Merges this item with the next one.
    ///
    /// # Errors
    ///
    /// Returns an error if the items cannot be merged.
    fn merge(self, later: Self) -> Result<Self, ToolError>;
}

/// `None` does not change another item.
impl<T: Merge> Merge for Option<T> {
    fn merge(self, later: Self) -> Result<Self, ToolError> {
        Ok(match (self, later) {
            (Some(earlier), Some(later)) => Some(earlier.merge(later)?),
            (earlier, later) => earlier.or(later),
        })
    }
}

/// A value under construction by merging.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MergeNode {
    Nothing,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Value>),
    Map(Map<String, Value>),
    /// A struct.
    Fields(Vec<(&'static str, MergeNode)>),
    /// The name of a unit variant of an enum.
    Name(Value),
    /// A variant of an enum that has data.
    Variant(Value),
}

impl MergeNode {
    /// Prepares `value` for merging.
    pub(crate) fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        shape::read_node(value).map_err(|reason| {
            let message = format!("the result cannot be written as JSON: {reason}");
            ToolError::new(ErrorKind::InvalidOutput, message)
        })
    }

    /// Merges this with `later`.
    pub(crate) fn merge_with(self, later: Self) -> Result<Self, ToolError> {
        self.merge_without_location(later).map_err(|clash| {
            let mut at = String::new();
            clash.at.iter().rev().for_each(|step| push_step(&mut at, step));
            let location = if at.is_empty() { at } else { format!(" at {at}") };
            let message = format!("the items of its stream cannot be merged{location}: {}", clash.what);
            ToolError::new(ErrorKind::InvalidOutput, message)
        })
    }

    fn merge_without_location(self, later: Self) -> Result<Self, MergeConflict> {
        Ok(match (self, later) {
            (Self::Nothing, other) | (other, Self::Nothing) => other,
            (Self::Flag(_), Self::Flag(last)) => Self::Flag(last),
            (Self::Name(_), Self::Name(last)) => Self::Name(last),
            (Self::Number(one), Self::Number(other)) => Self::Number(exact_sum(&one, &other)?),
            (Self::Text(mut text), Self::Text(more)) => {
                text.push_str(&more);
                Self::Text(text)
            }
            (Self::List(mut list), Self::List(more)) => {
                list.extend(more);
                Self::List(list)
            }
            (Self::Map(mut map), Self::Map(over)) => {
                map.extend(over);
                Self::Map(map)
            }
            (Self::Fields(fields), Self::Fields(more)) => Self::Fields(merge_fields(fields, more)?),
            (Self::Variant(one), Self::Variant(other)) if one == other => Self::Variant(one),
            (one, other) => {
                return Err(MergeConflict::new(format!("{} and {}", one.kind_name(), other.kind_name())));
            }
        })
    }

    fn kind_name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Flag(_) => "a truth value",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Fields(_) => "a struct",
            Self::Name(_) => "a name of an enum",
            Self::Variant(_) => "a variant of an enum",
        }
    }
}

impl From<Value> for MergeNode {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(flag) => Self::Flag(flag),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(text),
            Value::Array(list) => Self::List(list),
            Value::Object(map) => Self::Map(map),
        }
    }
}

impl From<MergeNode> for Value {
    fn from(node: MergeNode) -> Self {
        match node {
            MergeNode::Nothing => Self::Null,
            MergeNode::Flag(flag) => Self::Bool(flag),
            MergeNode::Number(number) => Self::Number(number),
            MergeNode::Text(text) => Self::String(text),
            MergeNode::List(list) => Self::Array(list),
            MergeNode::Map(map) => Self::Object(map),
            MergeNode::Fields(fields) => {
                fields.into_iter().map(|(name, node)| (name.to_owned(), Self::from(node))).collect()
            }
            MergeNode::Name(value) | MergeNode::Variant(value) => value,
        }
    }
}

/// The error of a merge, with the path from the inside out.
struct MergeConflict {
    at: Vec<&'static str>,
    what: String,
}

impl MergeConflict {
    fn new(what: String) -> Self {
        Self { at: Vec::new(), what }
    }
}

/// Merges two structs field by field; a field of only one of them is kept.
fn merge_fields(
    mut fields: Vec<(&'static str, MergeNode)>,
    more: Vec<(&'static str, MergeNode)>,
) -> Result<Vec<(&'static str, MergeNode)>, MergeConflict> {
    for (name, later) in more {
        let Some((_, node)) = fields.iter_mut().find(|(known, _)| *known == name) else {
            fields.push((name, later));
            continue;
        };
        let earlier = std::mem::replace(node, MergeNode::Nothing);
        *node = earlier.merge_without_location(later).map_err(|mut clash| {
            clash.at.push(name);
            clash
        })?;
    }
    Ok(fields)
}

/// Adds numbers, exactly if both are integers.
fn exact_sum(one: &Number, other: &Number) -> Result<Number, MergeConflict> {
    let sum = match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one.checked_add(other).and_then(|sum| {
            // Keeps 64 bits regardless of `serde_json`'s features, since not every reader supports more.
            let small = || i64::try_from(sum).ok().map(Number::from);
            u64::try_from(sum).ok().map(Number::from).or_else(small)
        }),
        _ => one.as_f64().zip(other.as_f64()).and_then(|(one, other)| Number::from_f64(one + other)),
    };
    sum.ok_or_else(|| MergeConflict::new(format!("the sum of {one} and {other} is too large")))
}
