//! Pages of a listing: each item is read by itself, and one that cannot be read costs itself only.

use std::io;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, Prompt, Resource, ResourceTemplate, ServerResult, Tool as RawTool,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// The members with the schema of a tool in other protocols.
const FOREIGN_SCHEMA_MEMBERS: [&str; 2] = ["input_schema", "parameters"];
/// The members without which a part of an item is of no use.
const REQUIRED_OF_PARTS: [&str; 2] = ["name", "src"];
/// The maximum number of parts of an item that are read by themselves; further ones are ignored.
const MAX_PARTS: usize = 200;
/// The maximum number of ignored parts that a problem names.
const MAX_NAMED_PARTS: usize = 10;

/// The maximum length of a text of a server within a problem.
const MAX_PROBLEM_CHARS: usize = 300;

/// An item of a listing.
pub(super) trait ListedItem: DeserializeOwned + Serialize + PartialEq {
    /// The member of a page that has the items.
    const MEMBER: &'static str;
    /// The members without which an item is of no use.
    const REQUIRED: &'static [&'static str];
    /// The maximum number of items of one listing.
    const MAX_ITEMS: usize = 100_000;

    /// Returns the request for a page.
    fn page_request(params: PaginatedRequestParams) -> ClientRequest;

    /// Returns the items and the next cursor of a page; `None` if the result is no such page.
    fn items_and_next_cursor(result: ServerResult) -> Option<(Vec<Self>, Option<String>)>;

    /// Adds the defaults of members that a server left out. Returns the names of the members that it read although they
    /// are not in the form of the protocol.
    fn complete_missing_members(_: &mut Map<String, Value>) -> Vec<String> {
        Vec::new()
    }
}

macro_rules! item {
    ($item:ty, $member:literal, [$($required:literal),*], $request:ident, $result:ident . $items:ident $($more:tt)*) => {
        impl ListedItem for $item {
            const MEMBER: &'static str = $member;
            const REQUIRED: &'static [&'static str] = &[$($required),*];

            fn page_request(params: PaginatedRequestParams) -> ClientRequest {
                ClientRequest::$request($request::with_param(params))
            }

            fn items_and_next_cursor(result: ServerResult) -> Option<(Vec<Self>, Option<String>)> {
                match result {
                    ServerResult::$result(page) => Some((page.$items, page.next_cursor)),
                    _ => None,
                }
            }

            $($more)*
        }
    };
}

item! { RawTool, "tools", ["name", "inputSchema"], ListToolsRequest, ListToolsResult.tools
    const MAX_ITEMS: usize = 10_000;

    fn complete_missing_members(tool: &mut Map<String, Value>) -> Vec<String> {
        let (schema, member) = take_input_schema(tool);
        tool.insert("inputSchema".to_owned(), schema);
        member.into_iter().map(str::to_owned).collect()
    }
}
item! { Prompt, "prompts", ["name"], ListPromptsRequest, ListPromptsResult.prompts }
item! { Resource, "resources", ["uri", "name"], ListResourcesRequest, ListResourcesResult.resources
    fn complete_missing_members(resource: &mut Map<String, Value>) -> Vec<String> {
        fill_missing_name(resource, "uri")
    }
}
item! { ResourceTemplate, "resourceTemplates", ["uriTemplate", "name"],
    ListResourceTemplatesRequest, ListResourceTemplatesResult.resource_templates
    fn complete_missing_members(template: &mut Map<String, Value>) -> Vec<String> {
        fill_missing_name(template, "uriTemplate")
    }
}

/// Returns the schema of a tool, and the member that has it if it is not in the form of the protocol.
fn take_input_schema(tool: &mut Map<String, Value>) -> (Value, Option<&'static str>) {
    const MEMBER: &str = "inputSchema";
    let empty = json!({ "type": "object", "properties": {} });
    match tool.remove(MEMBER) {
        None | Some(Value::Null) => {
            let foreign =
                FOREIGN_SCHEMA_MEMBERS.into_iter().find(|it| tool.get(*it).is_some_and(Value::is_object));
            let schema = foreign.and_then(|member| tool.remove(member));
            (schema.unwrap_or(empty), foreign)
        }
        // An empty object, as serializers of languages without a type for it write it.
        Some(Value::Array(items)) if items.is_empty() => (empty, Some(MEMBER)),
        Some(Value::Bool(true)) => (empty, Some(MEMBER)),
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(schema @ Value::Object(_)) => (schema, Some(MEMBER)),
            _ => (Value::String(text), None),
        },
        Some(schema) => (schema, None),
    }
}

/// Gives an item without a name the value of another member as its name. Returns the name of a name that cannot be read.
fn fill_missing_name(item: &mut Map<String, Value>, member: &str) -> Vec<String> {
    let name = item.get("name");
    if name.is_some_and(Value::is_string) {
        return Vec::new();
    }
    let is_malformed = name.is_some_and(|name| !name.is_null());
    if let Some(name) = item.get(member).cloned() {
        item.insert("name".to_owned(), name);
    }
    if is_malformed { vec!["name".to_owned()] } else { Vec::new() }
}

/// A page as read.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
    /// The size of the page with its cursor, in bytes of JSON.
    pub(super) bytes: usize,
    pub(super) problems: Vec<Problem>,
}

/// A part of a page that cannot be read.
pub(super) enum Problem {
    /// An item, by its name: it is left out.
    ListedItem { name: String, reason: String },
    /// Members of an item, which are ignored.
    Members { name: String, members: Vec<String> },
    /// Members of an item that are not in the form of the protocol, but were read.
    Form { name: String, members: Vec<String> },
    /// The cursor of the next page: the listing ends here.
    Cursor(String),
}

impl<T: ListedItem> Page<T> {
    /// Reads a page; `None` if the answer is none.
    pub(super) fn from_answer(answer: ServerResult) -> Option<Self> {
        if let ServerResult::CustomResult(value) = answer {
            return Self::from_json(value.0);
        }
        let (items, next) = T::items_and_next_cursor(answer)?;
        let bytes = json_bytes(&items).saturating_add(next.as_deref().map(str::len).unwrap_or_default());
        Some(Self { items, next, bytes, problems: Vec::new() })
    }

    fn from_json(mut value: Value) -> Option<Self> {
        let bytes = json_bytes(&value);
        let Some(Value::Array(received)) = value.get_mut(T::MEMBER).map(Value::take) else { return None };
        let mut page = Self { items: Vec::new(), next: None, bytes, problems: Vec::new() };
        match value.get("nextCursor") {
            None | Some(Value::Null) => {}
            Some(Value::String(cursor)) => page.next = Some(cursor.clone()),
            Some(other) => page.problems.push(Problem::Cursor(bounded_text(&other.to_string()))),
        }
        for item in received {
            // What goes beyond is not used: the listing ends.
            if page.items.len() + page.problems.len() > T::MAX_ITEMS {
                break;
            }
            page.add_item(item);
        }
        Some(page)
    }

    fn add_item(&mut self, mut item: Value) {
        let other_form = match &mut item {
            Value::Object(members) => T::complete_missing_members(members),
            _ => Vec::new(),
        };
        let name = bounded_text(item.get("name").and_then(Value::as_str).unwrap_or("without a name"));
        if !other_form.is_empty() {
            self.problems.push(Problem::Form { name: name.clone(), members: other_form });
        }
        let reason = match T::deserialize(&item) {
            Ok(item) => return self.items.push(item),
            Err(error) => bounded_text(&error.to_string()),
        };
        match read_without_unreadable_parts::<T>(item) {
            Some((item, members)) => {
                self.problems.push(Problem::Members { name, members });
                self.items.push(item);
            }
            None => self.problems.push(Problem::ListedItem { name, reason }),
        }
    }
}

/// Reads an item without the parts that cannot be read, and returns the paths of these.
fn read_without_unreadable_parts<T: ListedItem>(item: Value) -> Option<(T, Vec<String>)> {
    let Value::Object(members) = item else { return None };
    let (mut read, other): (Map<_, _>, Map<_, _>) =
        members.into_iter().partition(|(name, _)| T::REQUIRED.contains(&name.as_str()));
    let mut parts = PartReader { ignored: Vec::new(), parts_left: MAX_PARTS };
    for (name, value) in other {
        let is_readable = |part: &Value| is_readable_member::<T>(&name, part.clone());
        if let Some(part) = parts.readable_part(&name, value, &is_readable) {
            read.insert(name, part);
        }
    }
    Some((T::deserialize(Value::Object(read)).ok()?, parts.ignored))
}

/// Returns `true` if an item with this member, and nothing else that can fail, is readable.
fn is_readable_member<T: ListedItem>(name: &str, value: Value) -> bool {
    let placeholder = |required: &str| if required == "inputSchema" { json!({}) } else { json!("x") };
    let mut item: Map<_, _> =
        T::REQUIRED.iter().map(|required| ((*required).to_owned(), placeholder(required))).collect();
    item.insert(name.to_owned(), value);
    T::deserialize(Value::Object(item)).is_ok()
}

/// A reader of values of which only some parts are readable.
struct PartReader {
    /// The paths of the parts that are ignored.
    ignored: Vec<String>,
    parts_left: usize,
}

impl PartReader {
    /// Returns what is readable of a value; `path` is its place, and `is_readable` tries a value in its place.
    fn readable_part(
        &mut self,
        path: &str,
        value: Value,
        is_readable: &dyn Fn(&Value) -> bool,
    ) -> Option<Value> {
        let Some(parts_left) = self.parts_left.checked_sub(1) else {
            self.note_ignored_part(path);
            return None;
        };
        self.parts_left = parts_left;
        if is_readable(&value) {
            return Some(value);
        }
        match value {
            Value::Object(members) => self.readable_object(path, members, is_readable),
            Value::Array(elements) if is_readable(&json!([])) => {
                let mut read = Vec::new();
                for (index, element) in elements.into_iter().enumerate() {
                    let is_readable = |element: &Value| is_readable(&json!([element]));
                    read.extend(self.readable_part(&format!("{path}[{index}]"), element, &is_readable));
                }
                Some(read.into())
            }
            _ => {
                self.note_ignored_part(path);
                None
            }
        }
    }

    fn readable_object(
        &mut self,
        path: &str,
        members: Map<String, Value>,
        is_readable: &dyn Fn(&Value) -> bool,
    ) -> Option<Value> {
        let (required, other): (Map<_, _>, Map<_, _>) =
            members.into_iter().partition(|(name, _)| REQUIRED_OF_PARTS.contains(&name.as_str()));
        let mut read = match [required, Map::new()].into_iter().find(|it| is_readable(&it.clone().into())) {
            Some(required) => required,
            None => {
                self.note_ignored_part(path);
                return None;
            }
        };
        let base = read.clone();
        for (name, value) in other {
            let is_readable = |value: &Value| {
                let mut members = base.clone();
                members.insert(name.clone(), value.clone());
                is_readable(&members.into())
            };
            if let Some(value) = self.readable_part(&format!("{path}.{name}"), value, &is_readable) {
                read.insert(name.clone(), value);
            }
        }
        Some(read.into())
    }

    fn note_ignored_part(&mut self, path: &str) {
        if self.ignored.len() < MAX_NAMED_PARTS {
            self.ignored.push(bounded_text(path));
        }
    }
}

/// Shortens a text of a server within a problem.
fn bounded_text(text: &str) -> String {
    text.chars().take(MAX_PROBLEM_CHARS).collect()
}

/// Returns the size of a value as JSON.
fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests;
