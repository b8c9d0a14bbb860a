use serde::de::{DeserializeSeed, Error as _, SeqAccess};

use super::{Checked, DecodeError, Source, TypeSet};
use crate::arguments::plan::node::{AdditionalRule, ListRules, Node};

/// An open list.
#[derive(Debug)]
pub(super) struct ListDecoder<'c, 't, 'p> {
    source: &'c mut Source<'t, 'p>,
    node: &'p Node,
    list: Option<&'p ListRules>,
    /// The number of items read.
    count: usize,
    is_closed: bool,
}

impl<'c, 't, 'p> ListDecoder<'c, 't, 'p> {
    #[inline]
    pub(super) fn open(source: &'c mut Source<'t, 'p>, node: &'p Node) -> Result<Self, DecodeError> {
        node.check_type(TypeSet::ARRAY)?;
        source.reader.open_container()?;
        Ok(Self { source, node, list: node.list.as_deref(), count: 0, is_closed: false })
    }

    /// Advances to the next item and returns its node; `None` at the end.
    fn advance(&mut self) -> Result<Option<&'p Node>, DecodeError> {
        if self.is_closed {
            return Ok(None);
        }
        if !self.source.reader.next_item(self.count == 0, b']')? {
            self.is_closed = true;
            return match self.list {
                Some(list) if self.count < list.length.least => Err(DecodeError::refused()),
                _ => Ok(None),
            };
        }
        let node = match self.list {
            None if self.node.is_trusted => self.node,
            None => &Node::ANYTHING,
            Some(list) => match (list.prefix.get(self.count).copied(), list.rest) {
                _ if self.count >= list.length.most => return Err(DecodeError::refused()),
                (Some(node), _) | (None, AdditionalRule::Schema(node)) => self.source.plan.node(node),
                (None, AdditionalRule::Anything) => &Node::ANYTHING,
                (None, AdditionalRule::Nothing) => return Err(DecodeError::refused()),
            },
        };
        self.count += 1;
        Ok(Some(node))
    }

    /// Ends the list; further items are an error.
    #[inline]
    pub(super) fn expect_end(mut self) -> Result<(), DecodeError> {
        if self.is_closed {
            return Ok(());
        }
        match self.advance()? {
            None => Ok(()),
            Some(_) => {
                Err(DecodeError::custom(format_args!("a list of {} is all that is read", self.count - 1)))
            }
        }
    }
}

impl<'t> SeqAccess<'t> for &mut ListDecoder<'_, 't, '_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'t>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some(node) = self.advance()? else { return Ok(None) };
        match seed.deserialize(Checked { source: self.source, node }) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(error.with_location_step((self.count - 1).to_string())),
        }
    }
}
