use serde::de::{DeserializeSeed, Error as _, SeqAccess};

use super::{Checked, Refusal, Rules, Types};
use crate::arguments::{
    json::Reader,
    plan::node::{ListRules, Node, Rest},
};

/// An open list.
#[derive(Debug)]
pub(super) struct List<'c, 't, 'p> {
    reader: &'c mut Reader<'t>,
    rules: Rules<'p>,
    list: Option<&'p ListRules>,
    /// How many items were read.
    count: usize,
    is_closed: bool,
}

impl<'c, 't, 'p> List<'c, 't, 'p> {
    pub(super) fn open(reader: &'c mut Reader<'t>, rules: Rules<'p>) -> Result<Self, Refusal> {
        rules.allows(Types::ARRAY)?;
        reader.open()?;
        let list = rules.node.and_then(|node| node.list.as_deref());
        Ok(Self { reader, rules, list, count: 0, is_closed: false })
    }

    /// Goes on to the next item and gives what the plan says of it; `None` at the end.
    fn advance(&mut self) -> Result<Option<Rules<'p>>, Refusal> {
        if self.is_closed {
            return Ok(None);
        }
        if !self.reader.next_item(self.count == 0, b']')? {
            self.is_closed = true;
            return match self.list {
                Some(list) if self.count < list.length.least => Err(Refusal::refused()),
                _ => Ok(None),
            };
        }
        let rules = match self.list {
            None if self.rules.node.is_none() => self.rules,
            None => self.rules.with(&Node::ANYTHING),
            Some(list) => match (list.prefix.get(self.count).copied(), list.rest) {
                _ if self.count >= list.length.most => return Err(Refusal::refused()),
                (Some(node), _) | (None, Rest::Schema(node)) => self.rules.with(self.rules.plan.node(node)),
                (None, Rest::Anything) => self.rules.with(&Node::ANYTHING),
                (None, Rest::Nothing) => return Err(Refusal::refused()),
            },
        };
        self.count += 1;
        Ok(Some(rules))
    }

    /// Says that no more items are wanted.
    pub(super) fn end(mut self) -> Result<(), Refusal> {
        match self.advance()? {
            None => Ok(()),
            Some(_) => Err(Refusal::custom(format_args!("a list of {} is all that is read", self.count - 1))),
        }
    }
}

impl<'t> SeqAccess<'t> for &mut List<'_, 't, '_> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'t>>(&mut self, seed: T) -> Result<Option<T::Value>, Refusal> {
        let Some(rules) = self.advance()? else { return Ok(None) };
        match seed.deserialize(Checked { reader: self.reader, rules }) {
            Ok(value) => Ok(Some(value)),
            Err(refusal) => Err(refusal.within((self.count - 1).to_string())),
        }
    }
}
