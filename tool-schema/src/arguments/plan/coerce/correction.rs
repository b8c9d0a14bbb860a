use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    arguments::violation::{shorten_at_end, shorten_in_middle},
    stored_format::FormatVersion,
};

/// A correction of an almost valid argument: the received value and the value that replaced it.
///
/// Corrections are listed in the order in which they were made, and later ones apply to the result of earlier ones,
/// for example when a string is parsed as an object and then a property of the object is corrected.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_schema::{Arguments, CorrectionRule, Plan};
///
/// let plan = Plan::compile(&json!({ "properties": { "days": { "type": "integer" } } })).unwrap();
/// let arguments = plan.fit(Arguments::from(r#"{ "days": "3" }"#).lenient(true))?;
/// assert_eq!(arguments.as_str(), r#"{"days":3}"#);
/// assert_eq!(arguments.corrections()[0].to_string(), r#"/days: read "3" as 3"#);
/// assert_eq!(arguments.corrections()[0].rule, CorrectionRule::ToNumber);
/// # Ok::<(), tool_schema::ArgumentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Wire")]
#[non_exhaustive]
pub struct Correction {
    /// The location: a JSON pointer into the arguments ([RFC 6901]), `""` for the whole arguments.
    ///
    /// [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901
    pub pointer: String,
    /// The received value as truncated JSON; a description if one of the arguments is a secret.
    pub from: String,
    /// The corrected value, likewise.
    pub to: String,
    /// The rule that was applied.
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

/// A rule for the correction of almost valid arguments. There are no other rules.
///
/// A correction applies only to a value that the schema rejects, results in a value that the schema admits, and loses
/// no information. No rule applies to a value whose type `type` lists, or that `enum` lists. `null` is never
/// corrected.
///
/// Ambiguous values are rejected: if two rules apply to a value, or if two branches of `anyOf` or `oneOf` would each
/// admit the value after a correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CorrectionRule {
    /// Parses a string that is exactly a JSON number, without rounding (`"3"` and `"3.0"` become `3`); an integer has
    /// at most 64 bits. `true` becomes `1` and `false` becomes `0` if only numbers are permitted.
    ToNumber,
    /// The strings `"true"` and `"false"` become booleans; the numbers `1` and `0` do if only booleans are permitted.
    ToBoolean,
    /// A number becomes its digits as written (`1.10` becomes `"1.10"`), with an exponent expanded (`1e3` becomes
    /// `"1000"`, up to 1,000 digits); `true` becomes `"true"` and `false` becomes `"false"`. Does not apply if a call
    /// contains two equal numbers with different spelling whose locations do not distinguish them.
    ToText,
    /// `""`, `0` and `false` become `null` if only `null` is permitted.
    ToNull,
    /// Parses a string that is the JSON of an object or a list. The result is not a string, is a list only if the
    /// schema permits lists, and has no duplicate names.
    FromJson,
    /// Wraps a value in a list (`"a"` becomes `["a"]`) if the schema describes the items. Does not apply to `null`,
    /// to items of another list, which could itself be the intended list, or to objects if the items may be any
    /// object. A string is wrapped only if it is a single non-blank line without comma, bullet or bracket and is not
    /// `null` or `none` in any case, since any other string may itself be a list; or if it is the JSON of an object
    /// and the items are objects.
    ToList,
    /// Repairs arguments that are not valid JSON to the intended object; only if the program enables repairs.
    Repaired,
}

impl Correction {
    /// Creates the correction of `from` to `to` at `pointer` by `rule`. The values are formatted as JSON; each part
    /// is truncated to 200 characters.
    pub fn new(
        pointer: impl Into<String>,
        from: impl Into<String>,
        to: impl Into<String>,
        rule: CorrectionRule,
    ) -> Self {
        Self {
            pointer: shorten_in_middle(pointer.into()),
            from: shorten_at_end(from.into()),
            to: shorten_at_end(to.into()),
            rule,
        }
    }

    /// Redacts both values.
    pub(crate) fn redact_values(&mut self) {
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
        let location = if pointer.is_empty() { "the arguments" } else { pointer };
        write!(f, "{location}: read {from} as {to}")
    }
}
