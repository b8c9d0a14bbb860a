//! The table of an object's properties.

use serde_json::{Map, Value};

use super::node::NodeId;

/// Up to this number of names, a linear search is fastest.
const MAX_SCANNED_NAMES: usize = 12;

/// The properties that a schema names, in order.
#[derive(Debug, Default)]
pub(super) struct PropertyTable {
    properties: Box<[Property]>,
    /// The positions sorted by name; empty for a short list.
    by_name: Box<[usize]>,
    required: usize,
    /// `true` if all names have no JSON escapes.
    plain: bool,
    /// The aliases, each with its property.
    aliases: Box<[(Box<str>, Box<str>)]>,
}

/// A property in `properties`, `required` or both.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: Box<str>,
    /// The name with quotes and colon, in its usual JSON form.
    pub(super) json_key: Box<str>,
    /// `None` if the property is required but has no schema.
    pub(super) node: Option<NodeId>,
    pub(super) required: bool,
    /// The decoder's default of the absent property, if it is known.
    pub(super) fill: Option<Box<Value>>,
    /// A unique bit, for the first 64 properties; otherwise 0.
    pub(super) bit: u64,
}

impl Property {
    pub(super) fn new(name: &str, node: Option<NodeId>, required: bool) -> Self {
        Self {
            name: name.into(),
            json_key: format!("\"{name}\":").into(),
            node,
            required,
            fill: None,
            bit: 0,
        }
    }

    /// Returns `true` if the name has no JSON escapes.
    fn has_unescaped_name(&self) -> bool {
        !self.name.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    }
}

impl PropertyTable {
    pub(super) fn new(mut properties: Vec<Property>) -> Self {
        for (at, property) in properties.iter_mut().take(64).enumerate() {
            property.bit = 1 << at;
        }
        let mut by_name = Vec::new();
        if properties.len() > MAX_SCANNED_NAMES {
            by_name.extend(0..properties.len());
            by_name.sort_by_key(|&at| properties.get(at).map(|it| &it.name));
        }
        let required = properties.iter().filter(|it| it.required).count();
        let plain = properties.iter().all(Property::has_unescaped_name);
        Self {
            properties: properties.into(),
            by_name: by_name.into(),
            required,
            plain,
            aliases: Box::default(),
        }
    }

    /// Sets the aliases, each with its property.
    pub(super) fn with_aliases(mut self, aliases: Vec<(Box<str>, Box<str>)>) -> Self {
        self.aliases = aliases.into();
        self
    }

    /// Renames aliases to their properties; if both are present, the alias stays and counts as unknown.
    pub(super) fn rename_aliases(&self, map: &mut Map<String, Value>) -> bool {
        let mut renamed: Vec<(&str, &str)> = Vec::new();
        for (alias, name) in self.alias_pairs() {
            let is_there = map.contains_key(name) || renamed.iter().any(|(_, other)| *other == name);
            if !is_there && map.contains_key(alias) {
                renamed.push((alias, name));
            }
        }
        if renamed.is_empty() {
            return false;
        }
        // Renamed in place, to keep the order of the model.
        let own = |name: String| match renamed.iter().find(|(alias, _)| *alias == name) {
            Some((_, own)) => (*own).to_owned(),
            None => name,
        };
        *map = std::mem::take(map).into_iter().map(|(name, value)| (own(name), value)).collect();
        true
    }

    /// Returns the aliases, each with its property.
    pub(super) fn alias_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|(alias, name)| (&**alias, &**name))
    }

    /// Returns the property of the alias `name`.
    pub(super) fn property_name_of_alias(&self, name: &str) -> Option<&str> {
        self.alias_pairs().find(|(alias, _)| *alias == name).map(|(_, name)| name)
    }

    /// Iterates over all properties.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Property> {
        self.properties.iter()
    }

    /// Returns the property at `near` if its name has no JSON escapes.
    #[inline]
    pub(super) fn unescaped_property_at(&self, near: usize) -> Option<&Property> {
        if self.plain { self.properties.get(near) } else { None }
    }

    /// Returns the number of required properties.
    pub(super) const fn required_count(&self) -> usize {
        self.required
    }

    /// Returns `true` if `map` has all required properties.
    pub(super) fn has_all_required_properties(&self, map: &Map<String, Value>) -> bool {
        // Counting the present ones compares names in order, which is cheaper than a look-up of each; names in a map
        // are unique.
        let mut near = 0;
        let is_required = |name: &&String| self.get_near(name, &mut near).is_some_and(|it| it.required);
        map.keys().filter(is_required).count() == self.required
    }

    /// Returns the names in `properties`.
    pub(super) fn declared_names(&self) -> impl Iterator<Item = &str> {
        self.iter().filter(|it| it.node.is_some()).map(|it| &*it.name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Property> {
        self.get_near(name, &mut 0)
    }

    /// Finds a property like [`get`](Self::get), starting at `near`: arguments are usually in schema order, so that
    /// each name is compared once.
    pub(super) fn get_near(&self, name: &str, near: &mut usize) -> Option<&Property> {
        self.properties.get(self.position(name, near)?)
    }

    /// Finds a property like [`get_near`](Self::get_near), also by alias.
    pub(super) fn get_near_or_by_alias(&self, name: &str, near: &mut usize) -> Option<&Property> {
        let at =
            self.position(name, near).or_else(|| self.position(self.property_name_of_alias(name)?, near))?;
        self.properties.get(at)
    }

    fn position(&self, name: &str, near: &mut usize) -> Option<usize> {
        let is_it = |property: &&Property| *property.name == *name;
        if self.properties.get(*near).is_some_and(|property| is_it(&property)) {
            *near += 1;
            return Some(*near - 1);
        }
        let at = if self.by_name.is_empty() {
            self.properties.iter().position(|property| is_it(&property))?
        } else {
            let name_at = |at: &usize| self.properties.get(*at).map(|it| &*it.name);
            *self.by_name.get(self.by_name.binary_search_by_key(&Some(name), name_at).ok()?)?
        };
        *near = at + 1;
        Some(at)
    }
}
