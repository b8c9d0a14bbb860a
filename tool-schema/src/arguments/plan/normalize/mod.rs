//! Normalisation of values that a schema treats as equal.
//!
//! A model writes `null` for an omitted property and `3.0` for 3; the decoded types accept neither. The normal form
//! has the same meaning, so it is not a correction. A valid value stays valid.
//!
//! With a [`Corrector`], the same walk also corrects almost valid values: a branch selected by its corrected value
//! has its `null`s normalised as well, which requires a single walk.

mod branches;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Correction, Plan,
    check::ValidationWalk,
    coerce::Corrector,
    location::Location,
    node::{AdditionalRule, ListRules, Node, NodeId, ObjectRules},
    number::integer_equal_to,
    property_table::Property,
};

/// The step limit of a walk: a constant number of values, plus a factor times the size of the value. Trying branches
/// within branches takes exponential time.
///
/// Values that are validated as a whole use the decoder's step limit, so that checks and calls agree; all such values
/// of a document share the constant part, [`SHARED_BUDGET`].
const STEPS_PER_VALUE: usize = 64;

/// The constant part of a step limit.
pub(super) const SHARED_BUDGET: usize = 250_000;

fn step_limit(shared_budget: usize, value: &Value) -> usize {
    shared_budget.saturating_add(STEPS_PER_VALUE.saturating_mul(visit_cost(value)))
}

/// The effects of a normalisation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NormalizationEffects {
    /// Anything changed.
    pub(super) changed: bool,
    /// The step limit was exceeded.
    pub(super) is_exhausted: bool,
    /// A value for which the step limit was exceeded may not be in its normal form.
    pub(super) is_unclear: bool,
}

/// Normalises `value`, to which `node` applies.
pub(super) fn normalize_value(plan: &Plan, node: &Node, value: &mut Value) -> NormalizationEffects {
    Normalizer::new(plan, value, None).normalize_root(node, value)
}

/// Normalises one of the values of a document that are validated as a whole; `shared_budget` is what the previous ones left of
/// [`SHARED_BUDGET`].
pub(super) fn normalize_whole(
    plan: &Plan,
    node: &Node,
    value: &mut Value,
    shared_budget: &mut usize,
) -> NormalizationEffects {
    let mut normalizer = Normalizer { shared_budget: *shared_budget, ..Normalizer::new(plan, value, None) };
    let effects = normalizer.normalize_root(node, value);
    *shared_budget = normalizer.shared_budget;
    effects
}

/// Normalises `value` like [`normalize_value`], and records the removed properties.
pub(super) fn normalize_recording_removals(
    plan: &Plan,
    value: &mut Value,
) -> (NormalizationEffects, RemovedProperties) {
    let mut normalizer =
        Normalizer { removed: Some(RemovedProperties::default()), ..Normalizer::new(plan, value, None) };
    let effects = normalizer.normalize_root(plan.root_node(), value);
    (effects, normalizer.removed.unwrap_or_default())
}

/// The properties that a normalisation removed, in this order: the location of the object and the position in it, both
/// at the time of the removal.
#[derive(Debug, Default)]
pub(super) struct RemovedProperties(Vec<(Vec<usize>, usize)>);

impl RemovedProperties {
    /// Converts a location in the normalised value to the location in the original one.
    pub(super) fn restore_original_location(&self, order: &mut [usize]) {
        for (object, position) in self.0.iter().rev() {
            if order.starts_with(object)
                && let Some(step) = order.get_mut(object.len())
                && *step >= *position
            {
                // A missing property stays after the present ones.
                *step = step.saturating_add(1);
            }
        }
    }
}

/// Converts the valid `value` to the canonical form of a call: normalised, with defaults filled in, and without
/// properties that the decoder ignores.
pub(super) fn make_canonical(plan: &Plan, value: &mut Value) -> NormalizationEffects {
    let drops = plan.has_ignored_properties();
    Normalizer { drops, fills: true, ..Normalizer::new(plan, value, None) }
        .normalize_root(plan.root_node(), value)
}

/// Returns `true` if normalisation changes nothing in `value` except for aliases, regardless of the schema; this
/// holds for most values.
pub(super) fn needs_no_normalization(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => integer_equal_to(number).is_none(),
        Value::Bool(_) | Value::String(_) => true,
        Value::Array(items) => items.iter().all(needs_no_normalization),
        Value::Object(map) => map.values().all(needs_no_normalization),
    }
}

/// Normalises and corrects `value` even if it stays invalid; returns `true` if anything changed, and the corrections.
pub(super) fn correct_value(
    plan: &Plan,
    value: &mut Value,
    corrector: Corrector<'_>,
) -> (bool, Vec<Correction>) {
    let mut normalizer = Normalizer::new(plan, value, Some(corrector));
    let changed = normalizer.normalize_root(plan.root_node(), value).changed;
    (changed, normalizer.corrector.map(Corrector::into_corrections).unwrap_or_default())
}

struct Normalizer<'p> {
    plan: &'p Plan,
    steps_left: usize,
    /// The rest of [`SHARED_BUDGET`] for values that have a limit of their own.
    shared_budget: usize,
    /// Inside a value that is validated as a whole.
    is_within: bool,
    is_exhausted: bool,
    is_unclear: bool,
    /// `None` if nothing is corrected.
    corrector: Option<Corrector<'p>>,
    /// `true` to remove properties that the decoder ignores.
    drops: bool,
    /// `true` to fill in the decoder's defaults of absent properties.
    fills: bool,
    /// `None` if removed properties are not recorded.
    removed: Option<RemovedProperties>,
}

/// The chain of nodes that apply to a value: a property required by any of them is required.
#[derive(Clone, Copy)]
struct NodeChain<'a> {
    node: &'a Node,
    outer: Option<&'a NodeChain<'a>>,
}

impl<'p> Normalizer<'p> {
    fn new(plan: &'p Plan, value: &Value, corrector: Option<Corrector<'p>>) -> Self {
        Self {
            plan,
            steps_left: step_limit(SHARED_BUDGET, value),
            shared_budget: SHARED_BUDGET,
            is_within: false,
            is_exhausted: false,
            is_unclear: false,
            corrector,
            drops: false,
            fills: false,
            removed: None,
        }
    }

    /// Normalises `value`, to which only `node` applies.
    fn normalize_root(&mut self, node: &'p Node, value: &mut Value) -> NormalizationEffects {
        let changed = self.normalize_node(node, value, None, &Location::ROOT);
        NormalizationEffects { changed, is_exhausted: self.is_exhausted, is_unclear: self.is_unclear }
    }

    /// Consumes steps for `values` values; returns `false` if the limit is exceeded.
    fn take_steps_if_left(&mut self, values: usize) -> bool {
        let left = self.steps_left.checked_sub(values);
        self.steps_left = left.unwrap_or_default();
        self.is_exhausted |= left.is_none();
        left.is_some()
    }

    /// Normalises `value`, to which `node` and the nodes of `outer` apply.
    fn normalize_node(
        &mut self,
        node: &'p Node,
        value: &mut Value,
        outer: Option<&NodeChain<'_>>,
        at: &Location<'_>,
    ) -> bool {
        if self.is_within || !node.is_whole {
            return self.normalize_within_whole(node, value, outer, at);
        }
        // Few values are not settled; one that is valid is not changed by trials, which take exponential time.
        let is_own =
            !needs_no_normalization(value) && ValidationWalk::new(self.plan).node_admits(node, value);
        let left = self.steps_left;
        if is_own {
            self.steps_left = step_limit(self.shared_budget, value);
        }
        let was_spent = std::mem::replace(&mut self.is_exhausted, false);
        self.is_within = true;
        let changed = self.normalize_within_whole(node, value, outer, at);
        self.is_within = false;
        self.is_unclear |= self.is_exhausted && !needs_no_normalization(value);
        self.is_exhausted |= was_spent;
        if is_own {
            self.shared_budget = self.shared_budget.min(self.steps_left);
            self.steps_left = left;
        }
        changed
    }

    fn normalize_within_whole(
        &mut self,
        node: &'p Node,
        value: &mut Value,
        outer: Option<&NodeChain<'_>>,
        at: &Location<'_>,
    ) -> bool {
        if !self.take_steps_if_left(own_visit_cost(value)) {
            return false;
        }
        let chain = NodeChain { node, outer };
        let mut changed =
            self.corrector.as_mut().is_some_and(|it| it.correct_value(self.plan, node, value, at));
        match value {
            Value::Number(number) if node.permits_only_integers() => {
                if let Some(integer) = integer_equal_to(number) {
                    *number = integer;
                    changed = true;
                }
            }
            Value::Array(items) => {
                if let Some(rules) = node.list.as_deref() {
                    changed |= self.normalize_list(rules, items, at);
                }
            }
            Value::Object(map) => {
                if let Some(rules) = node.object.as_deref() {
                    changed |= self.normalize_object(rules, map, &chain, at);
                }
            }
            _ => {}
        }
        if let Some(combined) = node.combined.as_deref() {
            changed |= self.normalize_combined(combined, value, &chain, at);
        }
        changed
    }

    /// Normalises a part of a value to which only `id` applies.
    fn normalize_part(&mut self, id: NodeId, value: &mut Value, at: &Location<'_>) -> bool {
        self.normalize_node(self.plan.node(id), value, None, at)
    }

    fn normalize_list(&mut self, rules: &'p ListRules, items: &mut [Value], at: &Location<'_>) -> bool {
        let mut changed = false;
        for (index, item) in items.iter_mut().enumerate() {
            let here = at.item(index);
            changed |= match (rules.prefix.get(index), rules.rest) {
                (Some(node), _) => self.normalize_part(*node, item, &here),
                (None, AdditionalRule::Schema(node)) => self.normalize_part(node, item, &here),
                _ => false,
            };
        }
        changed
    }

    fn normalize_object(
        &mut self,
        rules: &'p ObjectRules,
        map: &mut Map<String, Value>,
        chain: &NodeChain<'_>,
        at: &Location<'_>,
    ) -> bool {
        let (mut position, mut removed) = (0, Vec::new());
        map.retain(|name, value| {
            let property =
                if value.is_null() { rules.properties.get_near_or_by_alias(name, &mut 0) } else { None };
            let is_absent = |property: &Property| {
                let admits = |node| ValidationWalk::new(self.plan).admits(node, value);
                !self.is_required(chain, &property.name) && property.node.is_some_and(|node| !admits(node))
            };
            let stays = !property.is_some_and(is_absent);
            if stays {
                position += 1;
            } else {
                removed.push(position);
            }
            stays
        });
        let gone = !removed.is_empty();
        if let Some(all) = &mut self.removed {
            all.0.extend(removed.into_iter().map(|position| (at.sort_key(), position)));
        }
        // A property that is absent under one name may be present under another.
        let mut changed = rules.properties.rename_aliases(map) || gone;
        if self.drops && rules.ignores {
            let before = map.len();
            let is_pattern = |name: &str| rules.patterns.iter().any(|(pattern, _)| pattern.is_match(name));
            map.retain(|name, _| rules.properties.get(name).is_some() || is_pattern(name));
            changed |= map.len() != before;
        }
        if self.fills {
            changed |= self.fill_defaults(rules, map);
        }
        let mut near = 0;
        for (position, (name, value)) in map.iter_mut().enumerate() {
            let here = at.property(name, position);
            let mut is_known = false;
            if let Some(node) = rules.properties.get_near(name, &mut near).and_then(|it| it.node) {
                is_known = true;
                changed |= self.normalize_part(node, value, &here);
            }
            // Keys of integer maps are described by patterns; their values are normalised like others.
            for (_, node) in rules.patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                is_known = true;
                changed |= self.normalize_part(*node, value, &here);
            }
            if let (false, AdditionalRule::Schema(node)) = (is_known, rules.rest) {
                changed |= self.normalize_part(node, value, &here);
            }
        }
        changed
    }

    /// Adds the decoder's defaults of absent properties.
    fn fill_defaults(&self, rules: &ObjectRules, map: &mut Map<String, Value>) -> bool {
        let before = map.len();
        for property in rules.properties.iter() {
            let admits = |value: &Value| {
                property.node.is_none_or(|node| ValidationWalk::new(self.plan).admits(node, value))
            };
            if let Some(default) = property.fill.as_deref().filter(|default| admits(default))
                && !map.contains_key(&*property.name)
            {
                map.insert(property.name.to_string(), default.clone());
            }
        }
        map.len() != before
    }

    fn is_required(&self, chain: &NodeChain<'_>, name: &str) -> bool {
        self.requires_property(chain.node, name)
            || chain.outer.is_some_and(|outer| self.is_required(outer, name))
    }

    /// Returns `true` if the node, or one that always applies with it, requires the property.
    fn requires_property(&self, node: &Node, name: &str) -> bool {
        let (mut open, mut seen) = (vec![node], HashSet::new());
        while let Some(node) = open.pop() {
            let property = node.object.as_deref().and_then(|it| it.properties.get(name));
            if property.is_some_and(|it| it.required) {
                return true;
            }
            let all = node.combined.as_deref().map_or(&[][..], |it| &it.all);
            let all = all.iter().map(|id| self.plan.resolve_node(*id));
            open.extend(all.filter(|(id, _)| seen.insert(*id)).map(|(_, node)| node));
        }
        false
    }
}

/// Returns the cost of visiting `value` and its parts.
fn visit_cost(value: &Value) -> usize {
    let within = match value {
        Value::Array(items) => items.iter().map(visit_cost).sum(),
        Value::Object(map) => map.values().map(visit_cost).sum(),
        _ => 0,
    };
    own_visit_cost(value) + within
}

/// Returns the cost of visiting `value` alone, which is higher for long strings.
fn own_visit_cost(value: &Value) -> usize {
    1 + value.as_str().map_or(0, |text| text.len() / 64)
}
