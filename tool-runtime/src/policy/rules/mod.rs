//! Permission rules as data.
//!
//! A rule has one verdict, and matchers that compare a call: text patterns, and for values other than plain text,
//! [paths](path), [URLs](url) and [numbers](number). A matcher answers yes, no or "unclear". The verdict decides the
//! effect of "unclear": `deny` and `ask` apply, and `allow` does not, so that unforeseen values have the stricter
//! result.

mod diagnostic;
mod matcher;
mod number_pattern;
mod path;
#[cfg(test)]
mod tests;
mod text;
mod url;
mod wire;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_core::{
    Arguments, Permission, ToolDefinition,
    internals::{ExactValue, ResolvedPointer, ValueTypes, pointer_steps},
};

pub use self::{
    diagnostic::RuleDiagnostic, matcher::Matcher, number_pattern::NumberPattern, path::PathPattern,
    url::UrlPattern,
};
use self::{matcher::SelectedValue, number_pattern::Rounding, text::CallPattern};

/// Permission rules over tool names and arguments, read from a configuration. They take precedence over hooks and
/// policies: no hook is called for a denied call.
///
/// A rule names a tool by the name that a model sees, including its prefix. A `deny` or `ask` also applies to every
/// tool with that [raw name](tool_core::ToolDefinition::raw_name), the name at its origin, such as an MCP server. An
/// `allow` does not, since a server chooses its raw names freely.
///
/// The last matching rule decides; a call that no rule matches is allowed. To allow only some calls, deny all of them
/// first. An `allow` overrides a `deny` or `ask` of an earlier rule, and nothing else: the [permission
/// policy](crate::policy::PermissionPolicy) and the tool's `confirm` still apply. A hook cannot override a denial:
/// rewritten arguments are evaluated again. Rules do not apply to calls that are [left to the
/// caller](crate::executor::ExecutorBuilder::external).
///
/// # Matchers
///
/// A rule can be narrowed to calls whose argument at a JSON pointer matches a [`Matcher`]: a text pattern (a plain
/// string), a [path](PathPattern), a [URL](UrlPattern) or a [number](NumberPattern). Do not use text patterns for
/// paths: `/etc/*` also matches `/etc/../home`, and does not match `//etc/shadow`. A text pattern that is a
/// number, such as `"2"`, compares numbers by their values; `"> 3"` matches no number: use `{ "number": "> 3" }`.
///
/// Matchers fail closed. A value that a matcher cannot compare, such as one of another type, or a number that the type
/// of the argument rounds to one with another result, matches every `deny` and `ask`, and no `allow`. For a list, `deny` and `ask` match if any item matches; `allow` requires at least one item,
/// and all items to match. A step of a pointer that is not an index selects every item of a list. An absent property
/// matches no `allow`; it matches a `deny` or `ask` only if the property, or an object that contains it, has a default
/// that is not included in the arguments, since the tool may use that: a `default` of the schema, or a `serde` default
/// that cannot be written as JSON.
///
/// A pointer may use an alias of a property. A pointer that selects no property of any tool that the rule matches is an
/// error, and prevents the executor from being built ([`diagnostics`](Self::diagnostics)); so is a pattern that no value of the
/// property can match, such as `"2.0"`, which is not the canonical spelling of a number, and a `deny` or `ask` for a misspelled tool of a built [`Registry`](crate::Registry). Until it is corrected, a `deny` or
/// `ask` for one tool by name applies to every call of that tool.
///
/// # Rules as data
///
/// Rules are a list, serialized by `serde`. A rule is a text (`"deny bash"`) or an object:
///
/// | member | value |
/// | --- | --- |
/// | `allow`, `ask` or `deny` | the pattern of the calls, as in [`Rule::allow`]; exactly one of the three |
/// | `where` | an object of JSON pointers and matchers, as in [`Rule::at`] |
/// | `reason` | the reason, as in [`Rule::reason`] |
///
/// A matcher is a text pattern (`"git *"`) or one of these objects; if a list of matchers is given, all of them must
/// match.
///
/// | matcher | meaning |
/// | --- | --- |
/// | `{ "path": "/etc/**" }`, with `base` and `ignoreCase` | [`PathPattern`], [`base`](PathPattern::base), [`ignore_case`](PathPattern::ignore_case) |
/// | `{ "url": ".." }` | [`UrlPattern`] |
/// | `{ "number": "> 100" }` or `{ "number": 100 }` | [`NumberPattern`] |
///
/// # Examples
///
/// ```
/// use tool_runtime::{definition::Permission, policy::Rules, prelude::*};
///
/// let rules: Rules = tool_runtime::serde_json::from_value(json!([
///     { "deny": "bash", "reason": "no shell here" },
///     { "allow": "bash:git *" },
///     { "ask": "delete_*" },
///     { "deny": "write", "where": { "/path": { "path": "/etc/**" } } },
///     { "ask": "pay", "where": { "/amount": { "number": "> 100" } } },
/// ]))?;
/// assert_eq!(rules.judge("bash", &json!({ "command": "rm -r /" })), Permission::deny("no shell here"));
/// assert_eq!(rules.judge("bash", &json!({ "command": "git log" })), Permission::Allow);
/// assert_eq!(rules.judge("delete_user", &json!({})), Permission::ask("a rule asks for it: delete_*"));
/// assert_eq!(rules.judge("write", &json!({ "path": "/tmp/a" })), Permission::Allow);
/// assert!(matches!(rules.judge("write", &json!({ "path": "/tmp/../etc/a" })), Permission::Deny { .. }));
/// assert_eq!(rules.judge("pay", &json!({ "amount": 100.0 })), Permission::Allow);
/// # Ok::<(), tool_runtime::serde_json::Error>(())
/// ```
///
/// Allow paths below one directory only:
///
/// ```
/// use tool_runtime::{definition::Permission, policy::{PathPattern, Rule, Rules}, prelude::*};
///
/// let rules = Rules::new([
///     Rule::deny("read").reason("outside of /srv/app"),
///     Rule::allow("read").at("/path", PathPattern::new("/srv/app/**")?.base("/srv/app")?),
/// ]);
/// let data = r#"[
///     { "deny": "read", "reason": "outside of /srv/app" },
///     { "allow": "read", "where": { "/path": { "path": "/srv/app/**", "base": "/srv/app" } } }
/// ]"#;
/// for rules in [rules, tool_runtime::serde_json::from_str(data)?] {
///     assert_eq!(rules.judge("read", &json!({ "path": "notes/a.txt" })), Permission::Allow);
///     for path in ["/etc/shadow", "../../etc/shadow", "~/a"] {
///         assert_eq!(rules.judge("read", &json!({ "path": path })), Permission::deny("outside of /srv/app"));
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules(Vec<Rule>);

/// A rule: a pattern of calls, and a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    verdict: Verdict,
    calls: CallPattern,
    /// Matchers by JSON pointer; all of them must match.
    arguments: BTreeMap<String, Vec<Matcher>>,
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// The answer of a matcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    No,
    /// Not comparable, or possibly equal.
    Unclear,
    Yes,
}

impl Match {
    fn of(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }
}

impl Verdict {
    /// Returns `true` if a rule with this verdict applies to a call with this fit.
    fn applies(self, fit: Match) -> bool {
        match self {
            Self::Allow => fit == Match::Yes,
            Self::Ask | Self::Deny => fit != Match::No,
        }
    }
}

impl Rules {
    /// Creates a list of rules. The last matching rule decides.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self(rules.into_iter().collect())
    }

    /// Returns the verdict on a call. Properties in `arguments` have their own names, not aliases.
    #[must_use]
    pub fn judge(&self, tool: &str, arguments: &Value) -> Permission {
        self.permission_for(&EvaluatedCall::new(tool, None, &arguments.to_string()))
    }

    /// Returns the verdict on a call whose arguments are valid for `definition`.
    pub(crate) fn judge_call(&self, definition: &ToolDefinition, arguments: &Arguments<'_>) -> Permission {
        self.permission_for(&EvaluatedCall::new(definition.name(), Some(definition), arguments.as_str()))
    }

    fn permission_for(&self, call: &EvaluatedCall<'_>) -> Permission {
        let rule = self.0.iter().rev().find(|rule| rule.fits(call));
        rule.map_or(Permission::Allow, Rule::permission)
    }

    /// Returns the denial that applies to every call of `tool`, regardless of arguments, if there is one; `raw` is its
    /// raw name.
    pub(crate) fn denial(&self, tool: &str, raw: &str) -> Option<Permission> {
        let mut deciding = None;
        for rule in self.0.iter().filter(|rule| rule.calls.matches_tool(tool, raw, rule.verdict)) {
            match (rule.verdict, rule.restricts_arguments()) {
                (Verdict::Deny, false) => deciding = Some(rule),
                // A later denial of some calls does not replace the denial of all calls.
                (Verdict::Deny, true) => {}
                _ => deciding = None,
            }
        }
        deciding.map(Rule::permission)
    }
}

impl Rule {
    /// Creates a rule that allows calls that match `pattern`: the name of a tool, or `name:arguments`, with `*` for any
    /// characters.
    ///
    /// With `name:arguments`, every text in the arguments must match; for [`ask`](Self::ask) and [`deny`](Self::deny),
    /// one matching text is enough. [`at`](Self::at) compares a single argument. Keys that a model chooses, such as
    /// those of a map, count as texts; names of properties in the schema do not. A pattern does not parse commands:
    /// `git *` also matches `git log; rm -r /`.
    #[must_use]
    pub fn allow(pattern: &str) -> Self {
        Self::new(Verdict::Allow, pattern)
    }

    /// Creates a rule that requires an approval of calls that match `pattern`: the name of a tool, or `name:arguments`,
    /// which matches if any text in the arguments, or any key that a model chose, matches.
    #[must_use]
    pub fn ask(pattern: &str) -> Self {
        Self::new(Verdict::Ask, pattern)
    }

    /// Creates a rule that denies calls that match `pattern`: the name of a tool, or `name:arguments`, which matches if
    /// any text in the arguments, or any key that a model chose, matches.
    #[must_use]
    pub fn deny(pattern: &str) -> Self {
        Self::new(Verdict::Deny, pattern)
    }

    /// Narrows the rule to calls whose argument at `pointer` (a JSON pointer) matches `matcher`: a string is a text
    /// pattern; others are [`PathPattern`], [`UrlPattern`] and [`NumberPattern`]. If `at` is called several times, all
    /// matchers must match. [`Rules`] describes the treatment of absent values, lists, and values of other types.
    /// Default: all calls.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::policy::{NumberPattern, PathPattern, Rule};
    ///
    /// let secrets = PathPattern::new("secrets/**")?.base("/srv/app")?;
    /// let rules = [
    ///     Rule::deny("read").at("/path", secrets),
    ///     Rule::ask("pay").at("/amount", NumberPattern::new("> 100")?),
    ///     Rule::deny("mail").at("/to", "*@example.com"),
    /// ];
    /// # Ok::<(), tool_runtime::policy::InvalidRule>(())
    /// ```
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>, matcher: impl Into<Matcher>) -> Self {
        self.arguments.entry(pointer.into()).or_default().push(matcher.into());
        self
    }

    /// Sets the reason, which the model or the person reads. Default: a generic text with the pattern of the rule.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    fn new(verdict: Verdict, pattern: &str) -> Self {
        Self { verdict, calls: CallPattern::new(pattern), arguments: BTreeMap::new(), reason: None }
    }

    fn restricts_arguments(&self) -> bool {
        self.calls.arguments.is_some() || !self.arguments.is_empty()
    }

    fn fits(&self, call: &EvaluatedCall<'_>) -> bool {
        if !self.calls.matches_tool(call.tool, call.raw(), self.verdict) {
            return false;
        }
        let Some(arguments) = &call.arguments else {
            return !self.restricts_arguments() || self.verdict.applies(Match::Unclear);
        };
        (self.calls.matches_raw_name(call.raw(), self.verdict)
            || self.calls.matches_arguments(arguments, call.definition, self.verdict))
            && self
                .arguments
                .iter()
                .all(|(pointer, matchers)| self.fits_at(pointer, matchers, call, arguments))
    }

    /// Returns `true` if the value at `pointer` matches all of `matchers`.
    fn fits_at(
        &self,
        pointer: &str,
        matchers: &[Matcher],
        call: &EvaluatedCall<'_>,
        arguments: &ExactValue<'_>,
    ) -> bool {
        let places = call.places(pointer);
        if places.is_empty() {
            // A rule for many tools does not concern tools without the property.
            return !self.calls.tool.has_star() && self.verdict.applies(Match::Unclear);
        }
        let found = places.iter().flat_map(|place| {
            let mut found = Vec::new();
            matcher::select_values(arguments, &place.steps, 0, &mut found);
            let is_absent = found.iter().all(|found| matches!(found, SelectedValue::Absent(_)));
            // If branches of the schema name a property differently, a call uses one of them.
            if is_absent && places.len() > 1 && !place.has_default(0) {
                found.clear();
            }
            found.into_iter().map(move |found| (found, place))
        });
        let found: Vec<_> = found.collect();
        let rounding = || Rounding::of(call.types(pointer));
        let fits = |matcher: &Matcher, (found, place): (SelectedValue<'_, '_>, &ResolvedPointer)| match found
        {
            SelectedValue::Absent(at) if place.has_default(at) => self.verdict.applies(Match::Unclear),
            found => matcher.applies_to_selected(found, self.verdict, &rounding),
        };
        matchers.iter().all(|matcher| match self.verdict {
            Verdict::Allow => !found.is_empty() && found.iter().all(|found| fits(matcher, *found)),
            Verdict::Ask | Verdict::Deny => found.iter().any(|found| fits(matcher, *found)),
        })
    }

    fn permission(&self) -> Permission {
        let reason = |word: &str| {
            let said = self.reason.clone();
            said.unwrap_or_else(|| format!("a rule {word} it: {}", self.calls))
        };
        match self.verdict {
            Verdict::Allow => Permission::Allow,
            Verdict::Ask => Permission::ask(reason("asks for")),
            Verdict::Deny => Permission::deny(reason("denies")),
        }
    }
}

/// A call to be evaluated.
struct EvaluatedCall<'a> {
    tool: &'a str,
    definition: Option<&'a ToolDefinition>,
    /// `None` if they cannot be read.
    arguments: Option<ExactValue<'a>>,
}

impl<'a> EvaluatedCall<'a> {
    /// Returns the raw name of the tool.
    fn raw(&self) -> &'a str {
        self.definition.map_or(self.tool, ToolDefinition::raw_name)
    }

    fn new(tool: &'a str, definition: Option<&'a ToolDefinition>, arguments: &'a str) -> Self {
        Self { tool, definition, arguments: ExactValue::read(arguments) }
    }

    /// Returns the types of the values that `pointer` selects.
    fn types(&self, pointer: &str) -> ValueTypes {
        let types = self.definition.and_then(|definition| definition.input_schema().value_types(pointer));
        types.unwrap_or_else(ValueTypes::any)
    }

    /// Returns the places that `pointer` selects, by the schema if it is known.
    fn places(&self, pointer: &str) -> Vec<ResolvedPointer> {
        match self.definition {
            Some(definition) => definition.input_schema().resolve_pointer(pointer),
            None => {
                let place = |steps| ResolvedPointer { steps, defaults: Vec::new() };
                pointer_steps(pointer).map(place).into_iter().collect()
            }
        }
    }
}

/// An invalid rule, or an invalid pattern of a matcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRule(String);

impl fmt::Display for InvalidRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidRule {}
