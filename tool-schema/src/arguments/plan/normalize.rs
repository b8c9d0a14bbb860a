//! Normalisation ("settling") of values that a schema treats as equal.
//!
//! A model writes `null` for an omitted property and `3.0` for 3; the decoded types accept neither. The normal form
//! has the same meaning, so it is not a correction. A valid value stays valid.
//!
//! With a [`Corrector`], the same walk also corrects almost valid values: a branch selected by its corrected value
//! has its `null`s normalised as well, which requires a single walk.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Correction, Plan,
    branches::Branches,
    check::Walk,
    coerce::Corrector,
    location::Location,
    node::{Combined, ListRules, Node, NodeId, ObjectRules, Rest, Types},
    number::integer_in,
    property_table::Property,
};

/// The step limit of a walk: a constant number of values, plus a factor times the size of the value. Trying branches
/// within branches takes exponential time.
///
/// A valid value that is validated as a whole has a limit of its own, as when it is decoded, so that checks and calls
/// have the same verdict; all such values of a document share the constant part, [`SPARE`].
const PATIENCE: usize = 64;

/// The constant part of a step limit.
pub(super) const SPARE: usize = 250_000;

fn patience(spare: usize, value: &Value) -> usize {
    spare.saturating_add(PATIENCE.saturating_mul(weight(value)))
}

/// The effects of a normalisation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settled {
    /// Anything changed.
    pub(super) changed: bool,
    /// The step limit was exceeded.
    pub(super) is_spent: bool,
    /// A value for which the step limit was exceeded may not be in its normal form.
    pub(super) is_unclear: bool,
}

/// Normalises `value`, to which `node` applies.
pub(super) fn settle(plan: &Plan, node: &Node, value: &mut Value) -> Settled {
    Settler::new(plan, value, None).settle(node, value)
}

/// Normalises one of the values of a document that are validated as a whole; `spare` is what the previous ones left of
/// [`SPARE`].
pub(super) fn settle_whole(plan: &Plan, node: &Node, value: &mut Value, spare: &mut usize) -> Settled {
    let mut settler = Settler { spare: *spare, ..Settler::new(plan, value, None) };
    let settled = settler.settle(node, value);
    *spare = settler.spare;
    settled
}

/// Normalises `value` like [`settle`], and records the removed properties.
pub(super) fn settle_recorded(plan: &Plan, value: &mut Value) -> (Settled, Removed) {
    let mut settler = Settler { removed: Some(Removed::default()), ..Settler::new(plan, value, None) };
    let settled = settler.settle(plan.root(), value);
    (settled, settler.removed.unwrap_or_default())
}

/// The properties that a normalisation removed, in this order: the location of the object and the position in it, both
/// at the time of the removal.
#[derive(Debug, Default)]
pub(super) struct Removed(Vec<(Vec<usize>, usize)>);

impl Removed {
    /// Converts a location in the normalised value to the location in the original one.
    pub(super) fn origin(&self, order: &mut [usize]) {
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
pub(super) fn canonical(plan: &Plan, value: &mut Value) -> Settled {
    let drops = plan.ignores_some();
    Settler { drops, fills: true, ..Settler::new(plan, value, None) }.settle(plan.root(), value)
}

/// Returns `true` if normalisation changes nothing in `value` except for aliases, regardless of the schema; this
/// holds for most values.
pub(super) fn is_settled(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => integer_in(number).is_none(),
        Value::Bool(_) | Value::String(_) => true,
        Value::Array(items) => items.iter().all(is_settled),
        Value::Object(map) => map.values().all(is_settled),
    }
}

/// Normalises and corrects `value` even if it stays invalid; returns `true` if anything changed, and the corrections.
pub(super) fn correct(plan: &Plan, value: &mut Value, corrector: Corrector<'_>) -> (bool, Vec<Correction>) {
    let mut settler = Settler::new(plan, value, Some(corrector));
    let changed = settler.settle(plan.root(), value).changed;
    (changed, settler.corrector.map(Corrector::into_corrections).unwrap_or_default())
}

struct Settler<'p> {
    plan: &'p Plan,
    patience: usize,
    /// The rest of [`SPARE`] for values that have a limit of their own.
    spare: usize,
    /// Inside a value that is validated as a whole.
    is_within: bool,
    is_spent: bool,
    is_unclear: bool,
    /// `None` if nothing is corrected.
    corrector: Option<Corrector<'p>>,
    /// `true` to remove properties that the decoder ignores.
    drops: bool,
    /// `true` to fill in the decoder's defaults of absent properties.
    fills: bool,
    /// `None` if removed properties are not recorded.
    removed: Option<Removed>,
}

/// The chain of nodes that apply to a value: a property required by any of them is required.
#[derive(Clone, Copy)]
struct Via<'a> {
    node: &'a Node,
    outer: Option<&'a Via<'a>>,
}

impl<'p> Settler<'p> {
    fn new(plan: &'p Plan, value: &Value, corrector: Option<Corrector<'p>>) -> Self {
        Self {
            plan,
            patience: patience(SPARE, value),
            spare: SPARE,
            is_within: false,
            is_spent: false,
            is_unclear: false,
            corrector,
            drops: false,
            fills: false,
            removed: None,
        }
    }

    /// Normalises `value`, to which only `node` applies.
    fn settle(&mut self, node: &'p Node, value: &mut Value) -> Settled {
        let changed = self.node(node, value, None, &Location::ROOT);
        Settled { changed, is_spent: self.is_spent, is_unclear: self.is_unclear }
    }

    /// Consumes steps for `values` values; returns `false` if the limit is exceeded.
    fn spend(&mut self, values: usize) -> bool {
        let left = self.patience.checked_sub(values);
        self.patience = left.unwrap_or_default();
        self.is_spent |= left.is_none();
        left.is_some()
    }

    /// Normalises `value`, to which `node` and the nodes of `outer` apply.
    fn node(
        &mut self,
        node: &'p Node,
        value: &mut Value,
        outer: Option<&Via<'_>>,
        at: &Location<'_>,
    ) -> bool {
        if self.is_within || !node.is_whole {
            return self.part_of_whole(node, value, outer, at);
        }
        // Few values are not settled; one that is valid is not changed by trials, which take exponential time.
        let is_own = !is_settled(value) && Walk::new(self.plan).fits(node, value);
        let left = self.patience;
        if is_own {
            self.patience = patience(self.spare, value);
        }
        let was_spent = std::mem::replace(&mut self.is_spent, false);
        self.is_within = true;
        let changed = self.part_of_whole(node, value, outer, at);
        self.is_within = false;
        self.is_unclear |= self.is_spent && !is_settled(value);
        self.is_spent |= was_spent;
        if is_own {
            self.spare = self.spare.min(self.patience);
            self.patience = left;
        }
        changed
    }

    fn part_of_whole(
        &mut self,
        node: &'p Node,
        value: &mut Value,
        outer: Option<&Via<'_>>,
        at: &Location<'_>,
    ) -> bool {
        if !self.spend(own_weight(value)) {
            return false;
        }
        let via = Via { node, outer };
        let mut changed = self.corrector.as_mut().is_some_and(|it| it.correct(self.plan, node, value, at));
        match value {
            Value::Number(number) if node.wants_integer() => {
                if let Some(integer) = integer_in(number) {
                    *number = integer;
                    changed = true;
                }
            }
            Value::Array(items) => {
                if let Some(rules) = node.list.as_deref() {
                    changed |= self.list(rules, items, at);
                }
            }
            Value::Object(map) => {
                if let Some(rules) = node.object.as_deref() {
                    changed |= self.object(rules, map, &via, at);
                }
            }
            _ => {}
        }
        if let Some(combined) = node.combined.as_deref() {
            changed |= self.combined(combined, value, &via, at);
        }
        changed
    }

    /// Normalises a part of a value to which only `id` applies.
    fn part(&mut self, id: NodeId, value: &mut Value, at: &Location<'_>) -> bool {
        self.node(self.plan.node(id), value, None, at)
    }

    fn list(&mut self, rules: &'p ListRules, items: &mut [Value], at: &Location<'_>) -> bool {
        let mut changed = false;
        for (index, item) in items.iter_mut().enumerate() {
            let here = at.item(index);
            changed |= match (rules.prefix.get(index), rules.rest) {
                (Some(node), _) => self.part(*node, item, &here),
                (None, Rest::Schema(node)) => self.part(node, item, &here),
                _ => false,
            };
        }
        changed
    }

    fn object(
        &mut self,
        rules: &'p ObjectRules,
        map: &mut Map<String, Value>,
        via: &Via<'_>,
        at: &Location<'_>,
    ) -> bool {
        let (mut position, mut removed) = (0, Vec::new());
        map.retain(|name, value| {
            let property = if value.is_null() { rules.properties.find_near(name, &mut 0) } else { None };
            let is_absent = |property: &Property| {
                let admits = |node| Walk::new(self.plan).admits(node, value);
                !self.is_required(via, &property.name) && property.node.is_some_and(|node| !admits(node))
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
            all.0.extend(removed.into_iter().map(|position| (at.order(), position)));
        }
        // A property that is absent under one name may be present under another.
        let mut changed = rules.properties.rename(map) || gone;
        if self.drops && rules.ignores {
            let before = map.len();
            let is_pattern = |name: &str| rules.patterns.iter().any(|(pattern, _)| pattern.is_match(name));
            map.retain(|name, _| rules.properties.get(name).is_some() || is_pattern(name));
            changed |= map.len() != before;
        }
        if self.fills {
            changed |= self.fill(rules, map);
        }
        let mut near = 0;
        for (position, (name, value)) in map.iter_mut().enumerate() {
            let here = at.property(name, position);
            let mut is_known = false;
            if let Some(node) = rules.properties.get_near(name, &mut near).and_then(|it| it.node) {
                is_known = true;
                changed |= self.part(node, value, &here);
            }
            // Keys of integer maps are described by patterns; their values are normalised like others.
            for (_, node) in rules.patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                is_known = true;
                changed |= self.part(*node, value, &here);
            }
            if let (false, Rest::Schema(node)) = (is_known, rules.rest) {
                changed |= self.part(node, value, &here);
            }
        }
        changed
    }

    /// Adds the decoder's defaults of absent properties.
    fn fill(&self, rules: &ObjectRules, map: &mut Map<String, Value>) -> bool {
        let before = map.len();
        for property in rules.properties.iter() {
            let admits =
                |value: &Value| property.node.is_none_or(|node| Walk::new(self.plan).admits(node, value));
            if let Some(default) = property.fill.as_deref().filter(|default| admits(default))
                && !map.contains_key(&*property.name)
            {
                map.insert(property.name.to_string(), default.clone());
            }
        }
        map.len() != before
    }

    fn combined(
        &mut self,
        combined: &'p Combined,
        value: &mut Value,
        via: &Via<'_>,
        at: &Location<'_>,
    ) -> bool {
        let mut changed = false;
        for node in &combined.all {
            changed |= self.node(self.plan.node(*node), value, Some(via), at);
        }
        if let Some(any) = &combined.any {
            changed |= self.branches(any, false, value, via, at);
        }
        if let Some(one) = &combined.one {
            changed |= self.branches(one, true, value, via, at);
        }
        changed
    }

    /// Normalises by the branch that admits `value` unchanged; otherwise by the first that admits its normal form;
    /// otherwise by the only one that admits its correction.
    fn branches(
        &mut self,
        branches: &'p Branches,
        exactly_one: bool,
        value: &mut Value,
        via: &Via<'_>,
        at: &Location<'_>,
    ) -> bool {
        let tried = weight(value).saturating_mul(branches.candidates(value).count());
        if !self.spend(tried.saturating_add(branches.list.len())) {
            return false;
        }
        let admitting = branches.candidates(value).find(|node| Walk::new(self.plan).admits(*node, value));
        if let Some(node) = admitting {
            // A property ignored by one branch may be read by the branch that the decoder selects.
            let admits = |node: &NodeId| Walk::new(self.plan).admits(*node, value);
            let drops = self.drops;
            self.drops = drops && branches.candidates(value).filter(admits).take(2).count() == 1;
            let changed = self.node(self.plan.node(node), value, Some(via), at);
            self.drops = drops;
            return changed;
        }
        let corrector = self.corrector.take();
        let is_settled = self.fitting(branches, exactly_one, value, via, at);
        self.corrector = corrector;
        is_settled || (self.corrector.is_some() && self.fitting(branches, exactly_one, value, via, at))
    }

    /// Tries the branches and returns the first match or, with corrections, the only match.
    fn fitting(
        &mut self,
        branches: &'p Branches,
        exactly_one: bool,
        value: &mut Value,
        via: &Via<'_>,
        at: &Location<'_>,
    ) -> bool {
        let plan = self.plan;
        let admits = |node: &NodeId, value: &Value| Walk::new(plan).admits(*node, value);
        let is_only = |value: &Value| {
            branches.candidates(value).filter(|node| admits(node, value)).take(2).count() == 1
        };
        // A branch for `null` is never a target of normalisation or correction.
        let candidates = branches.candidates(value).filter(|node| plan.node(*node).types != Types::NULL);
        let weight = weight(value);
        let mark = self.corrector.as_ref().map(Corrector::mark);
        let removed = self.removed.as_ref().map_or(0, |removed| removed.0.len());
        let mut found: Option<(Value, Vec<Correction>)> = None;
        for node in candidates.collect::<Vec<_>>() {
            // If a branch is not tried, uniqueness is unknown.
            if !self.spend(weight) {
                return false;
            }
            let mut trial = value.clone();
            if self.node(plan.node(node), &mut trial, Some(via), at)
                && admits(&node, &trial)
                && (!exactly_one || is_only(&trial))
            {
                match (&mut self.corrector, mark) {
                    (Some(corrector), Some(mark)) if found.is_none() => {
                        found = Some((trial, corrector.take_from(mark)));
                        continue;
                    }
                    (Some(corrector), Some(mark)) => {
                        corrector.back_to(mark);
                        return false;
                    }
                    _ => {
                        *value = trial;
                        return true;
                    }
                }
            }
            if let (Some(corrector), Some(mark)) = (&mut self.corrector, mark) {
                corrector.back_to(mark);
            }
            if let Some(all) = &mut self.removed {
                all.0.truncate(removed);
            }
        }
        let (Some((trial, corrections)), Some(corrector)) = (found, &mut self.corrector) else {
            return false;
        };
        corrector.add(corrections);
        *value = trial;
        true
    }

    fn is_required(&self, via: &Via<'_>, name: &str) -> bool {
        self.requires(via.node, name) || via.outer.is_some_and(|outer| self.is_required(outer, name))
    }

    /// Returns `true` if the node, or one that always applies with it, requires the property.
    fn requires(&self, node: &Node, name: &str) -> bool {
        let (mut open, mut seen) = (vec![node], HashSet::new());
        while let Some(node) = open.pop() {
            let property = node.object.as_deref().and_then(|it| it.properties.get(name));
            if property.is_some_and(|it| it.required) {
                return true;
            }
            let all = node.combined.as_deref().map_or(&[][..], |it| &it.all);
            let all = all.iter().map(|id| self.plan.resolve(*id));
            open.extend(all.filter(|(id, _)| seen.insert(*id)).map(|(_, node)| node));
        }
        false
    }
}

/// Returns the cost of visiting `value` and its parts.
fn weight(value: &Value) -> usize {
    let within = match value {
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map.values().map(weight).sum(),
        _ => 0,
    };
    own_weight(value) + within
}

/// Returns the cost of visiting `value` alone, which is higher for long strings.
fn own_weight(value: &Value) -> usize {
    1 + value.as_str().map_or(0, |text| text.len() / 64)
}
