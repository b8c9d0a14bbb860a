//! Rewriting what a schema reads as equal.
//!
//! A model writes `null` for "not given" and `3.0` for 3; the types that arguments are decoded into
//! know neither. What is rewritten here means the same to the schema's author, so that it counts as
//! no correction. A value that already fits is only ever rewritten to one that fits as well.
//!
//! The same walk corrects what is almost right, where a [`Corrector`] comes along: a branch that is
//! chosen by its corrected value has its `null`s settled too, so that both are one matter.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Correction, Plan,
    branches::Branches,
    check::Walk,
    coerce::Corrector,
    node::{Combined, ListRules, Node, NodeId, ObjectRules, Rest, Types},
    number::integer_in,
    place::Location,
    table::Property,
};

/// So many values are looked at, and so many times all of what is settled. Trying branches within
/// branches takes a time that grows with every level; a value that is not settled to its last corner
/// is refused by the check, not lost.
const PATIENCE: (usize, usize) = (250_000, 64);

/// Settles `value`, to which `node` applies; returns whether anything changed.
pub(super) fn settle(plan: &Plan, node: &Node, value: &mut Value) -> bool {
    Settler::new(plan, value, None).node(node, value, None, &Location::ROOT)
}

/// Brings `value`, which fits, to the form that all values of one call have: settled, and without the
/// properties that the decoder ignores. `None` if that would take too long.
pub(super) fn canonical(plan: &Plan, value: &mut Value) -> Option<()> {
    let drops = plan.ignores_some();
    let mut settler = Settler { drops, fills: true, ..Settler::new(plan, value, None) };
    settler.node(plan.root(), value, None, &Location::ROOT);
    (!settler.is_spent).then_some(())
}

/// Whether settling changes nothing in `value`, whatever the schema, but for the names of properties;
/// of most values that is so.
pub(super) fn is_settled(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => integer_in(number).is_none(),
        Value::Bool(_) | Value::String(_) => true,
        Value::Array(items) => items.iter().all(is_settled),
        Value::Object(map) => map.values().all(is_settled),
    }
}

/// Settles and corrects `value`, whether it fits in the end or not; returns whether anything changed,
/// and what was corrected.
pub(super) fn correct(plan: &Plan, value: &mut Value, corrector: Corrector<'_>) -> (bool, Vec<Correction>) {
    let mut settler = Settler::new(plan, value, Some(corrector));
    let changed = settler.node(plan.root(), value, None, &Location::ROOT);
    (changed, settler.corrector.map(Corrector::into_corrections).unwrap_or_default())
}

struct Settler<'p> {
    plan: &'p Plan,
    patience: usize,
    /// Whether something was not looked at any more.
    is_spent: bool,
    /// `None` where nothing is corrected.
    corrector: Option<Corrector<'p>>,
    /// Whether properties that the decoder ignores are left out.
    drops: bool,
    /// Whether what the decoder takes for absent properties is put in.
    fills: bool,
}

/// The nodes through which the walk came to a value: what any of them requires is required.
#[derive(Clone, Copy)]
struct Via<'a> {
    node: &'a Node,
    outer: Option<&'a Via<'a>>,
}

impl<'p> Settler<'p> {
    fn new(plan: &'p Plan, value: &Value, corrector: Option<Corrector<'p>>) -> Self {
        let (some, each) = PATIENCE;
        let patience = some.saturating_add(each.saturating_mul(weight(value)));
        Self { plan, patience, is_spent: false, corrector, drops: false, fills: false }
    }

    /// Whether there is patience for looking at so many values.
    fn spend(&mut self, values: usize) -> bool {
        let left = self.patience.checked_sub(values);
        self.patience = left.unwrap_or_default();
        self.is_spent |= left.is_none();
        left.is_some()
    }

    /// Settles `value`, to which `node` applies and, where `outer` is given, those nodes too.
    fn node(
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

    /// Settles a part of a value, to which `id` alone applies.
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
        let before = map.len();
        map.retain(|name, value| {
            let property = if value.is_null() { rules.properties.find_near(name, &mut 0) } else { None };
            let is_absent = |property: &Property| {
                let admits = |node| Walk::new(self.plan).admits(node, value);
                !self.is_required(via, &property.name) && property.node.is_some_and(|node| !admits(node))
            };
            !property.is_some_and(is_absent)
        });
        let gone = map.len() != before;
        // What is absent under one name may have come under another.
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
            // The keys of a map from numbers are a pattern; its values are settled as all others.
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

    /// Adds what the decoder takes for properties that are absent.
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

    /// Settles by the branch that admits `value` as it is, or else by the first that admits what it
    /// settles to, or else by the only one that admits what it is corrected to.
    fn branches(
        &mut self,
        branches: &'p Branches,
        exactly_one: bool,
        value: &mut Value,
        via: &Via<'_>,
        at: &Location<'_>,
    ) -> bool {
        if !self.spend(weight(value).saturating_mul(branches.list.len())) {
            return false;
        }
        let admitting = branches.candidates(value).find(|node| Walk::new(self.plan).admits(*node, value));
        if let Some(node) = admitting {
            // What one branch ignores, the one that the decoder takes may read.
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

    /// Reads `value` by a branch: the first, or, where values are corrected, the only one.
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
        // A branch for `null` is no choice: nothing settles to it, and nothing is corrected to it.
        let candidates = branches.candidates(value).filter(|node| plan.node(*node).types != Types::NULL);
        let weight = weight(value);
        let mark = self.corrector.as_ref().map(Corrector::mark);
        let mut found: Option<(Value, Vec<Correction>)> = None;
        for node in candidates.collect::<Vec<_>>() {
            // Without a look at all branches it is not known that there is only one.
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

    /// Whether a node, or one that applies wherever it does, requires the property.
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

/// What it costs to look at `value` and at all that is within it.
fn weight(value: &Value) -> usize {
    let within = match value {
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map.values().map(weight).sum(),
        _ => 0,
    };
    own_weight(value) + within
}

/// What it costs to look at `value` alone, which for a long text is more than for others.
fn own_weight(value: &Value) -> usize {
    1 + value.as_str().map_or(0, |text| text.len() / 64)
}
