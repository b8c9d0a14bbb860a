use serde_json::Value;

use super::{Flow, Sink, ValidationWalk};
use crate::arguments::plan::{
    equality::repeated_items,
    location::Location,
    messages::{counted, limit_message},
    node::{AdditionalRule, Contains, ListRules},
};

impl<'p> ValidationWalk<'p> {
    pub(super) fn check_list<S: Sink>(
        &mut self,
        rules: Option<&'p ListRules>,
        items: &[Value],
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        let Some(rules) = rules else { return Flow::Continue(()) };
        if items.len() < rules.length.least || items.len() > rules.length.most {
            sink.report_violation(at, Some(value), || {
                limit_message(rules.length, items.len(), "item", "items")
            })?;
        }
        for (index, item) in items.iter().enumerate() {
            let here = at.item(index);
            match (rules.prefix.get(index), rules.rest) {
                (Some(node), _) => self.check_node(*node, item, &here, sink)?,
                (None, AdditionalRule::Schema(node)) => self.check_node(node, item, &here, sink)?,
                (None, AdditionalRule::Nothing) => {
                    let expected =
                        || format!("no item here; at most {}", counted(rules.prefix.len(), "item", "items"));
                    sink.report_violation(&here, Some(item), expected)?;
                }
                (None, AdditionalRule::Anything) => {}
            }
        }
        if rules.unique {
            for (first, index) in repeated_items(items) {
                let expected = || format!("an item that differs from all others; item {first} is equal");
                sink.report_violation(&at.item(index), items.get(index), expected)?;
            }
        }
        match &rules.contains {
            Some(contains) => self.check_contains(contains, items, value, at, sink),
            None => Flow::Continue(()),
        }
    }

    fn check_contains<S: Sink>(
        &mut self,
        Contains { node, count }: &'p Contains,
        items: &[Value],
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        let fitting = items.iter().filter(|item| self.admits(*node, item)).count();
        if (count.least..=count.most).contains(&fitting) {
            return Flow::Continue(());
        }
        let plan = self.plan;
        sink.report_violation(at, Some(value), || {
            format!(
                "{} of this kind: {}",
                limit_message(*count, fitting, "item", "items"),
                plan.node_summary(*node)
            )
        })
    }
}
