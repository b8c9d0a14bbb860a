use std::{borrow::Cow, collections::HashSet};

use serde::de::{DeserializeSeed, Error as _, MapAccess};
use serde_json::Value;

use super::{Checked, DecodeError, Source, TypeSet, key::Key};
use crate::arguments::plan::{
    check::ValidationWalk,
    node::{AdditionalRule, Node, ObjectRules},
    property_table::Property,
};

/// An open object.
#[derive(Debug)]
pub struct ObjectDecoder<'c, 't, 'p> {
    source: &'c mut Source<'t, 'p>,
    node: &'p Node,
    object: Option<&'p ObjectRules>,
    /// The node of the next value.
    value: &'p Node,
    /// The current property, if the plan names it.
    property: Option<&'p Property>,
    /// The name of the property, unless it is the expected one.
    name: Cow<'t, str>,
    is_read: bool,
    /// The position of the name.
    name_at: usize,
    /// The index of the expected next property, one after the last.
    near: usize,
    /// The number of properties read; `required` counts those that are required.
    count: usize,
    required: usize,
    /// `true` if nothing has been read.
    is_fresh: bool,
    is_closed: bool,
    /// A bit for each present property, for the first 64 in the plan.
    known: u64,
    /// The other names; usually none.
    #[expect(clippy::box_collection, reason = "an open object is moved, and most have no such names")]
    others: Option<Box<HashSet<Cow<'t, str>>>>,
}

impl<'c, 't, 'p> ObjectDecoder<'c, 't, 'p> {
    #[inline]
    pub(super) fn open(source: &'c mut Source<'t, 'p>, node: &'p Node) -> Result<Self, DecodeError> {
        node.check_type(TypeSet::OBJECT)?;
        source.reader.open_container()?;
        Ok(Self {
            source,
            node,
            object: node.object.as_deref(),
            value: node,
            property: None,
            name: Cow::Borrowed(""),
            is_read: false,
            name_at: 0,
            near: 0,
            count: 0,
            required: 0,
            is_fresh: true,
            is_closed: false,
            known: 0,
            others: None,
        })
    }

    /// Advances to the next present property; returns `false` at the end.
    pub fn advance(&mut self) -> Result<bool, DecodeError> {
        while !self.is_closed {
            if !self.source.reader.next_property(self.is_fresh)? {
                self.is_closed = true;
                return self.check_complete_object().map(|()| false);
            }
            self.is_fresh = false;
            self.name_at = self.source.reader.position();
            let object = self.object;
            let is_present = match object {
                Some(object) if self.consume_name_if_expected(object) => self.enter_property(object)?,
                _ => self.enter_any_property()?,
            };
            if is_present {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Consumes the expected next name with its colon, if it follows.
    #[inline]
    fn consume_name_if_expected(&mut self, object: &'p ObjectRules) -> bool {
        self.property = object
            .unescaped_property_at(self.near)
            .filter(|it| self.source.reader.consume_text_if_next(&it.json_key));
        self.near += usize::from(self.property.is_some());
        self.is_read = false;
        self.property.is_some()
    }

    /// Looks up the node of a named property; returns `false` if it counts as absent.
    #[inline(always)]
    fn enter_property(&mut self, object: &'p ObjectRules) -> Result<bool, DecodeError> {
        let Some(property) = self.property else { return Ok(false) };
        if self.known & property.bit != 0 {
            return Err(DecodeError::refused());
        }
        self.known |= property.bit;
        if property.bit == 0 {
            // Recorded under the property name, since an alias of it may follow.
            self.record_additional_name(Cow::Owned(property.name.to_string()))?;
        }
        self.value = match property.node {
            Some(node) => self.source.plan.node(node),
            None => self.additional_node(object)?,
        };
        self.required += usize::from(property.required);
        if !property.required
            && self.source.reader.peek() == Some(b'n')
            && self.consume_null_if_absent(property)?
        {
            return Ok(false);
        }
        self.count += 1;
        Ok(true)
    }

    /// Consumes a `null` that means absence of a non-required property.
    #[cold]
    fn consume_null_if_absent(&mut self, property: &Property) -> Result<bool, DecodeError> {
        let may_be_null = self.value.types.contains(TypeSet::NULL)
            && ValidationWalk::new(self.source.plan).node_admits(self.value, &Value::Null);
        if property.node.is_none() || may_be_null {
            return Ok(false);
        }
        self.source.reader.read_word("null")?;
        Ok(true)
    }

    /// Consumes any name with its colon; returns `false` if the property counts as absent.
    #[inline(never)]
    fn enter_any_property(&mut self) -> Result<bool, DecodeError> {
        self.name = self.source.reader.read_name()?;
        self.is_read = true;
        let Some(object) = self.object else {
            self.value = if self.node.is_trusted { self.node } else { &Node::ANYTHING };
            return self.enter_additional_property();
        };
        if let Some(names) = object.names
            && !ValidationWalk::new(self.source.plan).admits(names, &Value::from(&*self.name))
        {
            return Err(DecodeError::refused());
        }
        self.property = object.properties.get_near_or_by_alias(&self.name, &mut self.near);
        if self.property.is_some() {
            return self.enter_property(object);
        }
        self.value = self.additional_node(object)?;
        self.enter_additional_property()
    }

    /// Enters a property that the plan does not name.
    fn enter_additional_property(&mut self) -> Result<bool, DecodeError> {
        if !self.node.is_trusted {
            self.record_additional_name(self.name.clone())?;
        }
        self.count += 1;
        Ok(true)
    }

    /// Records a name without a bit.
    fn record_additional_name(&mut self, name: Cow<'t, str>) -> Result<(), DecodeError> {
        if self.others.get_or_insert_default().insert(name) { Ok(()) } else { Err(DecodeError::refused()) }
    }

    /// Returns the node of a property that the plan does not name.
    fn additional_node(&self, object: &'p ObjectRules) -> Result<&'p Node, DecodeError> {
        let name = self.name();
        let matching = object.patterns.iter().find(|(pattern, _)| pattern.is_match(name));
        match (matching.map(|(_, node)| *node), object.rest) {
            (Some(node), _) | (None, AdditionalRule::Schema(node)) => Ok(self.source.plan.node(node)),
            (None, AdditionalRule::Anything) => Ok(&Node::ANYTHING),
            (None, AdditionalRule::Nothing) => Err(DecodeError::refused()),
        }
    }

    /// Applies the rules that need the complete object.
    fn check_complete_object(&self) -> Result<(), DecodeError> {
        let is_complete = self.object.is_none_or(|object| {
            self.required == object.properties.required_count()
                && (object.count.least..=object.count.most).contains(&self.count)
        });
        if is_complete { Ok(()) } else { Err(DecodeError::refused()) }
    }

    /// Ends the object; further properties are an error.
    #[inline]
    pub(super) fn expect_end(mut self) -> Result<(), DecodeError> {
        if self.is_closed || !self.advance()? {
            return Ok(());
        }
        Err(DecodeError::custom(format_args!("`{}` is one property too many", self.name())))
    }

    /// Returns the index of the current property in the plan.
    #[inline]
    pub fn position(&self) -> Option<usize> {
        self.property.and_then(|_| self.near.checked_sub(1))
    }

    /// Returns the name of the current property, with aliases replaced.
    pub fn name(&self) -> &str {
        self.property.map_or(&self.name, |property| &property.name)
    }

    /// Decodes the current name as written; called once.
    #[inline]
    pub(super) fn decode_key<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<K::Value, DecodeError> {
        match self.property {
            Some(property) if !self.is_read => seed.deserialize(Key(&*property.name)),
            _ => seed.deserialize(Key(std::mem::take(&mut self.name))),
        }
    }

    /// Returns the value of the current property.
    #[inline]
    pub fn value(&mut self) -> Checked<'_, 't, 'p> {
        Checked { source: self.source, node: self.value }
    }

    /// Adds the current property to the path of `refusal`.
    #[cold]
    pub fn within(&self, error: DecodeError) -> DecodeError {
        let mut reader = self.source.reader.reader_at(self.name_at);
        error.with_location_step(reader.read_string().map(Cow::into_owned).unwrap_or_default())
    }
}

impl<'t> MapAccess<'t> for &mut ObjectDecoder<'_, 't, '_> {
    type Error = DecodeError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        if !self.advance()? {
            return Ok(None);
        }
        match self.decode_key(seed) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(self.within(error)),
        }
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'t>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        match seed.deserialize(self.value()) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.within(error)),
        }
    }
}
