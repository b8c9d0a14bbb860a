use std::{borrow::Cow, collections::HashSet};

use serde::de::{DeserializeSeed, Error as _, MapAccess};
use serde_json::Value;

use super::{Checked, Refusal, Rules, Types, Why, key::Key};
use crate::arguments::{
    json::Reader,
    plan::{
        check::Walk,
        node::{Node, ObjectRules, Rest},
    },
};

/// An open object.
#[derive(Debug)]
pub(crate) struct Object<'c, 't, 'p> {
    reader: &'c mut Reader<'t>,
    rules: Rules<'p>,
    object: Option<&'p ObjectRules>,
    /// What the plan says of the next value.
    value: Rules<'p>,
    /// Where the name of the next value stands.
    name_at: usize,
    /// The property that probably comes next.
    near: usize,
    /// How many properties were read, and how many of those are required.
    count: usize,
    required: usize,
    /// Whether nothing was read at all.
    is_fresh: bool,
    is_closed: bool,
    seen: Seen<'t>,
}

/// Names that came already.
#[derive(Debug, Default)]
struct Seen<'t> {
    /// A bit for each of the first properties that the plan knows.
    known: u64,
    /// All other names; most objects have none.
    others: Option<HashSet<Cow<'t, str>>>,
}

impl<'c, 't, 'p> Object<'c, 't, 'p> {
    pub(super) fn open(reader: &'c mut Reader<'t>, rules: Rules<'p>) -> Result<Self, Refusal> {
        rules.allows(Types::OBJECT)?;
        reader.open()?;
        Ok(Self {
            reader,
            rules,
            object: rules.node.and_then(|node| node.object.as_deref()),
            value: rules,
            name_at: 0,
            near: 0,
            count: 0,
            required: 0,
            is_fresh: true,
            is_closed: false,
            seen: Seen::default(),
        })
    }

    /// Goes on to the next property that is not absent and gives its name; `None` at the end.
    pub(crate) fn advance(&mut self) -> Result<Option<Cow<'t, str>>, Refusal> {
        loop {
            if self.is_closed {
                return Ok(None);
            }
            if !self.reader.next_item(self.is_fresh, b'}')? {
                self.is_closed = true;
                return self.complete().map(|()| None);
            }
            self.is_fresh = false;
            if self.reader.peek() != Some(b'"') {
                return Err(Refusal::new(Why::Syntax));
            }
            self.name_at = self.reader.position();
            let name = self.reader.string()?;
            if !self.reader.take(b':') {
                return Err(Refusal::new(Why::Syntax));
            }
            if self.rules.node.is_none() || self.enter(&name)? {
                return Ok(Some(name));
            }
        }
    }

    /// Finds out what the plan says of the property `name`; false if it is as good as absent.
    #[expect(clippy::ptr_arg, reason = "a borrowed name is kept without a copy")]
    fn enter(&mut self, name: &Cow<'t, str>) -> Result<bool, Refusal> {
        let rules = self.rules;
        let Some(object) = self.object else {
            self.value = rules.with(&Node::ANYTHING);
            return self.seen.insert(name).map(|()| true);
        };
        if let Some(names) = object.names
            && !Walk::new(rules.plan).admits(names, &Value::from(name.as_ref()))
        {
            return Err(Refusal::refused());
        }
        let Some((at, property)) = object.properties.find_near(name, &mut self.near) else {
            self.seen.insert(name)?;
            self.value = self.other(object, name)?;
            self.count += 1;
            return Ok(true);
        };
        match u32::try_from(at).ok().and_then(|at| 1_u64.checked_shl(at)) {
            Some(bit) if self.seen.known & bit != 0 => return Err(Refusal::refused()),
            Some(bit) => self.seen.known |= bit,
            // By its own name, since it may come by another one again.
            None => self.seen.insert(&Cow::Owned(property.name.to_string()))?,
        }
        let node = match property.node {
            Some(node) => rules.plan.node(node),
            None => match self.other(object, name)?.node {
                Some(node) => node,
                None => &Node::ANYTHING,
            },
        };
        if property.required {
            self.required += 1;
        } else if property.node.is_some() && self.reader.peek() == Some(b'n') && !admits_null(rules, node) {
            // `null` instead of nothing.
            self.reader.word("null")?;
            return Ok(false);
        }
        self.value = rules.with(node);
        self.count += 1;
        Ok(true)
    }

    /// What the plan says of a property that it does not name.
    fn other(&self, object: &'p ObjectRules, name: &str) -> Result<Rules<'p>, Refusal> {
        let plan = self.rules.plan;
        let matching =
            object.patterns.iter().find(|(pattern, _)| pattern.is_match(name)).map(|(_, node)| *node);
        match (matching, object.rest) {
            (Some(node), _) | (None, Rest::Schema(node)) => Ok(self.rules.with(plan.node(node))),
            (None, Rest::Anything) => Ok(self.rules.with(&Node::ANYTHING)),
            (None, Rest::Nothing) => Err(Refusal::refused()),
        }
    }

    /// Checks what is only known at the end.
    fn complete(&self) -> Result<(), Refusal> {
        match self.object {
            Some(object)
                if self.required != object.properties.required()
                    || self.count < object.count.least
                    || self.count > object.count.most =>
            {
                Err(Refusal::refused())
            }
            _ => Ok(()),
        }
    }

    /// Says that no more properties are wanted.
    pub(super) fn end(mut self) -> Result<(), Refusal> {
        match self.advance()? {
            None => Ok(()),
            Some(name) => Err(Refusal::custom(format_args!("`{name}` is one property too many"))),
        }
    }

    /// What the plan says of the value whose name was read last.
    pub(crate) fn value(&mut self) -> Checked<'_, 't, 'p> {
        Checked { reader: self.reader, rules: self.value }
    }

    /// Says that `refusal` is about that value.
    #[cold]
    pub(crate) fn within(&self, refusal: Refusal) -> Refusal {
        let mut reader = self.reader.at(self.name_at);
        refusal.within(reader.string().map(Cow::into_owned).unwrap_or_default())
    }
}

/// Whether a property may be `null`, rather than be absent.
fn admits_null(rules: Rules<'_>, node: &Node) -> bool {
    node.types.contains(Types::NULL) && Walk::new(rules.plan).fits(node, &Value::Null)
}

impl<'t> Seen<'t> {
    #[expect(clippy::ptr_arg, reason = "a borrowed name is kept without a copy")]
    fn insert(&mut self, name: &Cow<'t, str>) -> Result<(), Refusal> {
        let is_new = self.others.get_or_insert_default().insert(name.clone());
        if is_new { Ok(()) } else { Err(Refusal::refused()) }
    }
}

impl<'t> MapAccess<'t> for &mut Object<'_, 't, '_> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, Refusal> {
        let Some(name) = self.advance()? else { return Ok(None) };
        match seed.deserialize(Key(name)) {
            Ok(key) => Ok(Some(key)),
            Err(refusal) => Err(self.within(refusal)),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'t>>(&mut self, seed: V) -> Result<V::Value, Refusal> {
        match seed.deserialize(self.value()) {
            Ok(value) => Ok(value),
            Err(refusal) => Err(self.within(refusal)),
        }
    }
}
