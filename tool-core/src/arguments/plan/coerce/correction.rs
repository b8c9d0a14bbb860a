use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    arguments::violation::{without_end, without_middle},
    stored::FormatVersion,
};

/// One thing that was almost right in a call's arguments, and what it was read as.
///
/// The list of them is in the order in which they were made: a later one speaks of what the earlier
/// ones left, as when a text was read as the object that it holds, and then a property of that.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{ToolDefinition, ToolName, schema::{Arguments, CorrectionRule, InputSchema}};
///
/// let schema = InputSchema::new(json!({ "properties": { "days": { "type": "integer" } } }))?;
/// let definition = ToolDefinition::new(ToolName::new("forecast")?, "Forecasts.", schema);
/// let arguments = definition.fit(Arguments::from(r#"{ "days": "3" }"#).lenient(true))?;
/// assert_eq!(arguments.as_str(), r#"{"days":3}"#);
/// assert_eq!(arguments.corrections()[0].to_string(), r#"/days: read "3" as 3"#);
/// assert_eq!(arguments.corrections()[0].rule, CorrectionRule::ToNumber);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Wire")]
#[non_exhaustive]
pub struct Correction {
    /// Where: a JSON pointer into the arguments ([RFC 6901]), `""` for all of them.
    ///
    /// [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901
    pub pointer: String,
    /// What came, as JSON, shortened; in words where there is a secret among the arguments.
    pub from: String,
    /// What it was read as, likewise.
    pub to: String,
    /// By which rule.
    pub rule: CorrectionRule,
}

#[derive(Deserialize)]
struct Wire {
    #[serde(default, rename = "v")]
    _version: FormatVersion,
    pointer: String,
    from: String,
    to: String,
    rule: CorrectionRule,
}

impl From<Wire> for Correction {
    fn from(Wire { pointer, from, to, rule, .. }: Wire) -> Self {
        Self { pointer, from, to, rule }
    }
}

/// How something that is almost right is read. These rules are all there are.
///
/// Only what the schema does not admit is read as anything else, and only as what the schema does
/// admit in the end; nothing is lost on the way. Where a value is of a type that `type` lists, or is
/// one of those that `enum` lists, no rule applies to it. `null` is never read as anything else.
///
/// What can be read in two ways is refused: where two rules apply to a value, and where two branches
/// of `anyOf` or `oneOf` would each admit the value after a correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CorrectionRule {
    /// A text that is exactly a JSON number, as that number without rounding (`"3"` and `"3.0"` as
    /// `3`); an integer has at most 64 bits. `true` as `1`, and `false` as `0`, where nothing but
    /// numbers is admitted.
    ToNumber,
    /// The texts `"true"` and `"false"` as a boolean; the numbers `1` and `0`, where nothing but
    /// booleans is admitted.
    ToBoolean,
    /// A number as its digits, as they were written (`1.10` as `"1.10"`), with an exponent written out
    /// (`1e3` as `"1000"`, of at most 1,000 digits); `true` as `"true"`, and `false` as `"false"`. Not
    /// where one call has two numbers that are equal to a computer and written differently.
    ToText,
    /// `""`, `0` and `false` as `null`, where nothing else is allowed.
    ToNull,
    /// A text that is the JSON of an object or a list, as that. Neither a text nor, where the schema
    /// wants no list, a list; no name comes twice in an object.
    FromJson,
    /// One value as the list of it (`"a"` as `["a"]`), where the schema says of what. Not `null`. A text
    /// only if it is one line, not blank, without comma, bullet or bracket, and not `null` or `none` in
    /// any case: any other may be a list; or if it is the JSON of an object, and the items are objects. No item of another list, which could itself be the list that
    /// was meant; no object where the items can be any object.
    ToList,
    /// A text that was not JSON, as the object that it was meant to be; only where a program asks
    /// for repairs.
    Repaired,
}

impl Correction {
    /// At `pointer`, `from` was read as `to` by `rule`; both as JSON. Each part is shortened to 200
    /// characters.
    pub fn new(
        pointer: impl Into<String>,
        from: impl Into<String>,
        to: impl Into<String>,
        rule: CorrectionRule,
    ) -> Self {
        Self {
            pointer: without_middle(pointer.into()),
            from: without_end(from.into()),
            to: without_end(to.into()),
            rule,
        }
    }

    /// Hides what came and what it was read as.
    pub(crate) fn hide(&mut self) {
        self.from = "a value that is hidden".to_owned();
        let to = match self.rule {
            CorrectionRule::ToNumber => "a number",
            CorrectionRule::ToBoolean => "a boolean",
            CorrectionRule::ToText => "a text",
            CorrectionRule::ToNull => "null",
            CorrectionRule::FromJson => "what the text stands for",
            CorrectionRule::ToList => "a list of it",
            CorrectionRule::Repaired => "JSON",
        };
        self.to = to.to_owned();
    }
}

impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, from, to, rule: _ } = self;
        let place = if pointer.is_empty() { "the arguments" } else { pointer };
        write!(f, "{place}: read {from} as {to}")
    }
}
