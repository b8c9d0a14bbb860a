//! Compilation of a schema into nodes.
//!
//! The walk follows keywords instead of nesting, since a property may be called `items`. It continues after an error,
//! so that all errors are reported at once. Patterns are compiled here instead of on first use, since some valid ones
//! are too large to run.

use crate::internal_keywords::{ALIASES, FILLS, IGNORES};
use serde_json::{Map, Value};

use super::{
    Plan, SchemaProblem,
    branches::Branches,
    draft::{Draft, differs_in_compatible_draft},
    location::Location,
    node::{AdditionalRule, Combined, Condition, Contains, CountRange, Node, NodeId, TypeSet, Unevaluated},
    pattern::Pattern,
    permitted_values::PermittedValues,
    property_table::{Property, PropertyTable},
    references::{Anchor, Reference, Resource},
};

/// The maximum distance of a subschema from the root in steps; `/properties/x` has two.
const MAX_SCHEMA_STEPS: usize = 256;

/// The schema of the node before the root, if there is one.
const ANY: &Value = &Value::Bool(true);

pub(super) fn compile(schema: &Value, origin: Origin) -> Result<Plan, Vec<SchemaProblem>> {
    let mut compiler = Compiler::of(schema, origin);
    compiler.compile_node(schema, &Location::ROOT);
    compiler.finish()
}

/// Compiles `schema` for objects, like [`compile`]. A separate node requires the object, so that references to the
/// root of the schema are unaffected.
pub(super) fn compile_objects(schema: &Value, origin: Origin) -> Result<Plan, Vec<SchemaProblem>> {
    let mut compiler = Compiler::of(schema, origin);
    compiler.nodes.push(Node { types: TypeSet::OBJECT, ..Node::ANYTHING });
    compiler.sources.push(ANY);
    let root = compiler.compile_node(schema, &Location::ROOT);
    if let Some(entry) = compiler.nodes.first_mut() {
        combined_mut(entry).all = [root].into();
    }
    compiler.finish()
}

/// The origin of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Derived from types in this process; it describes the properties that the decoder reads, ignores and fills in.
    Own,
    /// Received from elsewhere; it does not describe a decoder.
    Foreign,
}

impl<'s> Compiler<'s> {
    fn of(schema: &'s Value, origin: Origin) -> Self {
        Self {
            root: schema,
            origin,
            nodes: Vec::new(),
            sources: Vec::new(),
            resources: vec![Resource::root(schema)],
            resource: 0,
            anchors: Vec::new(),
            references: Vec::new(),
            evaluates: false,
            problems: Vec::new(),
        }
    }
}

/// A plan under construction.
pub(super) struct Compiler<'s> {
    pub(super) root: &'s Value,
    origin: Origin,
    pub(super) nodes: Vec<Node>,
    /// The schema of each node.
    pub(super) sources: Vec<&'s Value>,
    pub(super) resources: Vec<Resource<'s>>,
    /// The current resource.
    pub(super) resource: usize,
    pub(super) anchors: Vec<Anchor<'s>>,
    pub(super) references: Vec<Reference<'s>>,
    /// `true` if some schema depends on the properties or items evaluated by others.
    pub(super) evaluates: bool,
    pub(super) problems: Vec<SchemaProblem>,
}

impl<'s> Compiler<'s> {
    fn is_own_schema(&self) -> bool {
        self.origin == Origin::Own
    }

    pub(super) fn add_problem(&mut self, at: &Location<'_>, message: impl Into<String>) {
        let (pointer, message) = (at.pointer(), message.into());
        self.problems.push(SchemaProblem { pointer, keyword: None, message, uncovered: false });
    }

    /// Adds a problem of one keyword.
    pub(super) fn add_keyword_problem(
        &mut self,
        keyword: &str,
        at: &Location<'_>,
        message: impl Into<String>,
    ) {
        self.add_problem(at, message);
        if let Some(problem) = self.problems.last_mut() {
            problem.keyword = Some(keyword.into());
        }
    }

    /// Adds the node of `schema` and all nodes below it.
    pub(super) fn compile_node(&mut self, schema: &'s Value, at: &Location<'_>) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        // A placeholder reserves the number until the rules are known.
        self.nodes.push(Node::NOTHING);
        self.sources.push(schema);
        if at.depth() > MAX_SCHEMA_STEPS {
            self.add_problem(at, "the schema is nested too deeply");
            return id;
        }
        let node = match schema {
            Value::Bool(true) => Node::ANYTHING,
            Value::Bool(false) => Node::NOTHING,
            Value::Object(keywords) => {
                let outer = self.resource;
                self.read_identifiers(schema, keywords, at);
                let node = self.compile_rules(id, keywords, at);
                self.resource = outer;
                node
            }
            other => {
                self.add_problem(
                    at,
                    format!("a schema is an object or a boolean, not {}", super::messages::received(other)),
                );
                Node::NOTHING
            }
        };
        if let Some(slot) = self.nodes.get_mut(id.0 as usize) {
            *slot = node;
        }
        id
    }

    fn compile_rules(&mut self, id: NodeId, keywords: &'s Map<String, Value>, at: &Location<'_>) -> Node {
        let draft = self.draft();
        if draft == Draft::Unsupported {
            return Node::NOTHING;
        }
        let mut node = Node::ANYTHING;
        for (key, value) in keywords {
            let key = key.as_str();
            match key {
                _ if draft == Draft::Compatible && differs_in_compatible_draft(key, value, keywords) => {
                    self.add_unsupported(&format!("`{key}` of an earlier draft"), at);
                }
                "type" => node.types = self.parse_types(value, at),
                "enum" => node.values = self.parse_enum_values(value, keywords.get("const"), at),
                "const" if !keywords.contains_key("enum") => {
                    node.values = Some(PermittedValues::new(vec![value.clone()]));
                }
                "minimum" => node.number.get_or_insert_default().minimum = self.parse_bound(key, value, at),
                "maximum" => node.number.get_or_insert_default().maximum = self.parse_bound(key, value, at),
                "exclusiveMinimum" => {
                    node.number.get_or_insert_default().exclusive_minimum = self.parse_bound(key, value, at);
                }
                "exclusiveMaximum" => {
                    node.number.get_or_insert_default().exclusive_maximum = self.parse_bound(key, value, at);
                }
                "multipleOf" => {
                    node.number.get_or_insert_default().multiple_of = self.parse_divisor(value, at)
                }
                "minLength" => {
                    node.text.get_or_insert_default().length.least = self.parse_count(key, value, at)
                }
                "maxLength" => {
                    node.text.get_or_insert_default().length.most = self.parse_count(key, value, at)
                }
                "pattern" => node.text.get_or_insert_default().pattern = self.parse_pattern(key, value, at),
                "items" => node.list.get_or_insert_default().rest = self.compile_items(value, at),
                "prefixItems" => {
                    node.list.get_or_insert_default().prefix = self.compile_list(key, value, at).into()
                }
                "minItems" => {
                    node.list.get_or_insert_default().length.least = self.parse_count(key, value, at)
                }
                "maxItems" => {
                    node.list.get_or_insert_default().length.most = self.parse_count(key, value, at)
                }
                "uniqueItems" => {
                    node.list.get_or_insert_default().unique = self.parse_boolean(key, value, at)
                }
                "contains" => {
                    node.list.get_or_insert_default().contains =
                        Some(self.compile_contains(value, keywords, at))
                }
                "minProperties" => {
                    node.object.get_or_insert_default().count.least = self.parse_count(key, value, at)
                }
                "maxProperties" => {
                    node.object.get_or_insert_default().count.most = self.parse_count(key, value, at)
                }
                "properties" => {
                    node.object.get_or_insert_default().properties = self.compile_properties(keywords, at)
                }
                "required" if !keywords.contains_key("properties") => {
                    node.object.get_or_insert_default().properties = self.compile_properties(keywords, at);
                }
                "additionalProperties" => {
                    node.object.get_or_insert_default().rest = self.compile_additional(key, value, at)
                }
                IGNORES if self.is_own_schema() => node.object.get_or_insert_default().ignores = true,
                "patternProperties" => {
                    node.object.get_or_insert_default().patterns = self.compile_patterns(value, at)
                }
                "propertyNames" => {
                    node.object.get_or_insert_default().names = Some(self.compile_keyword(key, value, at))
                }
                "dependentRequired" => {
                    node.object.get_or_insert_default().required_beside =
                        self.parse_dependent_required(value, at);
                }
                "dependentSchemas" => {
                    let named = self.compile_map(key, value, at);
                    node.object.get_or_insert_default().schemas_beside =
                        named.into_iter().map(|(name, node)| (name.into(), node)).collect();
                }
                "allOf" => combined_mut(&mut node).all = self.compile_list(key, value, at).into(),
                "anyOf" => {
                    combined_mut(&mut node).any = Some(Branches::new(self.compile_list(key, value, at)))
                }
                "oneOf" => {
                    combined_mut(&mut node).one = Some(Branches::new(self.compile_list(key, value, at)))
                }
                "not" => combined_mut(&mut node).not = Some(self.compile_keyword(key, value, at)),
                "if" => combined_mut(&mut node).condition = Some(self.compile_condition(value, keywords, at)),
                "unevaluatedItems" => {
                    self.unevaluated_mut(id, &mut node).items = Some(self.compile_keyword(key, value, at));
                }
                "unevaluatedProperties" => {
                    self.unevaluated_mut(id, &mut node).properties =
                        Some(self.compile_keyword(key, value, at));
                }
                "$ref" | "$dynamicRef" => self.read_reference(id, key, value, at),
                // Definitions have their own nodes; unreferenced ones are validated too.
                "$defs" => drop(self.compile_map(key, value, at)),
                // Keywords of earlier drafts.
                "$recursiveRef" | "dependencies" => self.add_unsupported(&format!("`{key}`"), at),
                // Annotations; and `then`, `else`, `minContains` and `maxContains`, which were read with the keyword
                // that they belong to and have no effect without it.
                _ => {}
            }
        }
        node
    }

    /// Reports a keyword that the built-in validator does not support.
    pub(super) fn add_unsupported(&mut self, what: &str, at: &Location<'_>) {
        let (pointer, message) = (at.pointer(), unsupported_keyword_message(what));
        self.problems.push(SchemaProblem { pointer, keyword: None, message, uncovered: true });
    }

    fn unevaluated_mut<'n>(&mut self, of: NodeId, node: &'n mut Node) -> &'n mut Unevaluated {
        self.evaluates = true;
        combined_mut(node).unevaluated.get_or_insert(Unevaluated { of, items: None, properties: None })
    }

    /// Compiles the schema of a keyword.
    fn compile_keyword(&mut self, key: &str, value: &'s Value, at: &Location<'_>) -> NodeId {
        self.compile_node(value, &at.keyword(key))
    }

    /// Compiles the schemas of a keyword with a list of schemas.
    fn compile_list(&mut self, key: &str, value: &'s Value, at: &Location<'_>) -> Vec<NodeId> {
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
            self.add_malformed_problem(key, value, "a list of schemas that is not empty", at);
            return Vec::new();
        };
        let here = at.keyword(key);
        list.iter().enumerate().map(|(index, schema)| self.compile_node(schema, &here.item(index))).collect()
    }

    /// Compiles the schemas of a keyword with an object of schemas.
    fn compile_map(&mut self, key: &str, value: &'s Value, at: &Location<'_>) -> Vec<(&'s str, NodeId)> {
        let Some(map) = value.as_object() else {
            self.add_malformed_problem(key, value, "an object of schemas", at);
            return Vec::new();
        };
        let here = at.keyword(key);
        map.iter()
            .map(|(name, schema)| (name.as_str(), self.compile_node(schema, &here.keyword(name))))
            .collect()
    }

    fn compile_additional(&mut self, key: &str, value: &'s Value, at: &Location<'_>) -> AdditionalRule {
        match value {
            Value::Bool(true) => AdditionalRule::Anything,
            Value::Bool(false) => AdditionalRule::Nothing,
            schema => AdditionalRule::Schema(self.compile_keyword(key, schema, at)),
        }
    }

    fn compile_items(&mut self, value: &'s Value, at: &Location<'_>) -> AdditionalRule {
        if value.is_array() {
            self.add_keyword_problem(
                "items",
                at,
                "`items` is a list; since draft 2020-12 that is `prefixItems`",
            );
            return AdditionalRule::Nothing;
        }
        self.compile_additional("items", value, at)
    }

    fn compile_contains(
        &mut self,
        value: &'s Value,
        keywords: &Map<String, Value>,
        at: &Location<'_>,
    ) -> Contains {
        let mut count = CountRange { least: 1, ..CountRange::ANY };
        if let Some(value) = keywords.get("minContains") {
            count.least = self.parse_count("minContains", value, at);
        }
        if let Some(value) = keywords.get("maxContains") {
            count.most = self.parse_count("maxContains", value, at);
        }
        Contains { node: self.compile_keyword("contains", value, at), count }
    }

    fn compile_condition(
        &mut self,
        value: &'s Value,
        keywords: &'s Map<String, Value>,
        at: &Location<'_>,
    ) -> Condition {
        Condition {
            test: self.compile_keyword("if", value, at),
            then: keywords.get("then").map(|value| self.compile_keyword("then", value, at)),
            otherwise: keywords.get("else").map(|value| self.compile_keyword("else", value, at)),
        }
    }

    /// Compiles `properties` and `required` into one table.
    fn compile_properties(&mut self, keywords: &'s Map<String, Value>, at: &Location<'_>) -> PropertyTable {
        let required =
            keywords.get("required").map(|value| self.parse_names("required", value, at)).unwrap_or_default();
        let mut sorted = required.clone();
        sorted.sort_unstable();
        let named = keywords
            .get("properties")
            .map(|value| self.compile_map("properties", value, at))
            .unwrap_or_default();
        let mut table: Vec<_> = named
            .into_iter()
            .map(|(name, node)| {
                let required = sorted.binary_search(&name).is_ok();
                let schema = keywords.get("properties").and_then(|all| all.get(name));
                let fills = schema.is_some_and(|schema| schema.get(FILLS) == Some(&Value::Bool(true)));
                let fill = schema
                    .filter(|_| self.is_own_schema() && fills && !required)
                    .and_then(|schema| schema.get("default"));
                Property { fill: fill.cloned().map(Box::new), ..Property::new(name, Some(node), required) }
            })
            .collect();
        let properties = keywords.get("properties").and_then(Value::as_object);
        let is_named = |name: &str| properties.is_some_and(|map| map.contains_key(name));
        let unnamed = required.into_iter().filter(|name| !is_named(name));
        table.extend(unnamed.map(|name| Property::new(name, None, true)));
        PropertyTable::new(table)
            .with_aliases(properties.filter(|_| self.is_own_schema()).map(alias_pairs).unwrap_or_default())
    }

    fn compile_patterns(&mut self, value: &'s Value, at: &Location<'_>) -> Box<[(Pattern, NodeId)]> {
        let named = self.compile_map("patternProperties", value, at);
        let here = at.keyword("patternProperties");
        named
            .into_iter()
            .filter_map(|(source, node)| Some((self.compile_pattern(source, source, &here)?, node)))
            .collect()
    }
}

/// Returns the message for an unsupported keyword.
pub(super) fn unsupported_keyword_message(what: &str) -> String {
    format!("{what} is not covered by the built-in check")
}

pub(super) fn combined_mut(node: &mut Node) -> &mut Combined {
    node.combined.get_or_insert_default()
}

/// Returns the aliases of properties, each with its property.
fn alias_pairs(properties: &Map<String, Value>) -> Vec<(Box<str>, Box<str>)> {
    let listed =
        properties.iter().filter_map(|(name, schema)| Some((name, schema.get(ALIASES)?.as_array()?)));
    let pairs = listed.flat_map(|(name, aliases)| {
        aliases.iter().filter_map(move |alias| Some((alias.as_str()?.into(), name.as_str().into())))
    });
    pairs.collect()
}
