use serde_json::{Map, Value};

use super::{Flow, Report, Sink, ValidationWalk};
use crate::Violations;
use crate::arguments::plan::{
    location::Location,
    messages::{limit_message, unknown},
    node::{AdditionalRule, NodeId, ObjectRules},
};

impl<'p> ValidationWalk<'p> {
    pub(super) fn check_object<S: Sink>(
        &mut self,
        rules: Option<&'p ObjectRules>,
        map: &Map<String, Value>,
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        let Some(rules) = rules else { return Flow::Continue(()) };
        if map.len() < rules.count.least || map.len() > rules.count.most {
            sink.report_violation(at, Some(value), || {
                limit_message(rules.count, map.len(), "property", "properties")
            })?;
        }
        // Checked before the values: a branch that is not intended usually fails here.
        self.check_required(rules, map, at, sink)?;
        if let Some(names) = rules.names {
            self.check_property_names(names, map, at, sink)?;
        }
        let mut near = 0;
        for (position, (name, value)) in map.iter().enumerate() {
            let here = at.property(name, position);
            let mut is_known = false;
            if let Some(node) = rules.properties.get_near(name, &mut near).and_then(|it| it.node) {
                is_known = true;
                self.check_node(node, value, &here, sink)?;
            }
            for (_, node) in rules.patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                is_known = true;
                self.check_node(*node, value, &here, sink)?;
            }
            if !is_known
                && let Some(own) =
                    rules.properties.property_name_of_alias(name).filter(|own| map.contains_key(*own))
            {
                let expected = || format!("the property `{own}` once; `{name}` is another name for it");
                sink.report_violation(&here, Some(value), expected)?;
                continue;
            }
            match rules.rest {
                AdditionalRule::Schema(node) if !is_known => self.check_node(node, value, &here, sink)?,
                AdditionalRule::Nothing if !is_known => {
                    let known = || rules.properties.declared_names().collect::<Vec<_>>();
                    sink.report_violation(&here, Some(value), || {
                        unknown(&known(), |it| map.contains_key(it), name)
                    })?;
                }
                _ => {}
            }
        }
        for (_, node) in rules.schemas_beside.iter().filter(|(name, _)| map.contains_key(&**name)) {
            self.check_node(*node, value, at, sink)?;
        }
        Flow::Continue(())
    }

    /// Checks for the required properties.
    fn check_required<S: Sink>(
        &mut self,
        rules: &'p ObjectRules,
        map: &Map<String, Value>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        let plan = self.plan;
        if rules.properties.required_count() > 0 && !rules.properties.has_all_required_properties(map) {
            for property in rules.properties.iter().filter(|it| it.required && !map.contains_key(&*it.name)) {
                let expected = || plan.missing_message(&property.name, None, property.node);
                sink.report_violation(&at.missing_property(&property.name), None, expected)?;
            }
        }
        for beside in rules.required_beside.iter().filter(|it| map.contains_key(&*it.name)) {
            for name in beside.required.iter().filter(|name| !map.contains_key(&***name)) {
                let node = rules.properties.get(name).and_then(|it| it.node);
                sink.report_violation(&at.missing_property(name), None, || {
                    plan.missing_message(name, Some(&beside.name), node)
                })?;
            }
        }
        Flow::Continue(())
    }

    /// Validates names as strings, for `propertyNames`.
    fn check_property_names<S: Sink>(
        &mut self,
        node: NodeId,
        map: &Map<String, Value>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        for (position, name) in map.keys().enumerate() {
            let value = Value::String(name.clone());
            // A separate walk, since the cached addresses of temporary values become invalid.
            let mut walk = ValidationWalk::new(self.plan);
            if walk.admits(node, &value) {
                continue;
            }
            let expected = || {
                let mut report = Report::default();
                let _ = walk.check_node(node, &value, &Location::ROOT, &mut report);
                let faults: Vec<_> =
                    Violations::from(report.0).into_iter().map(|violation| violation.expected).collect();
                format!("another name for this property: {}", faults.join(", "))
            };
            sink.report_violation(&at.property(name, position), Some(&value), expected)?;
        }
        Flow::Continue(())
    }
}
