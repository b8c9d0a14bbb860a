//! Pages of a listing: each item is read by itself, and one that cannot be read costs itself only.

use std::io;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, Prompt, Resource, ResourceTemplate, ServerResult, Tool as RawTool,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// The maximum number of parts of an item that are read by themselves; further ones are ignored.
const MAX_PARTS: usize = 200;
/// The maximum number of ignored parts that a problem names.
const MAX_NAMED_PARTS: usize = 10;

/// The maximum length of a text of a server within a problem.
const MAX_PROBLEM_CHARS: usize = 300;

/// An item of a listing.
pub(super) trait Item: DeserializeOwned + Serialize {
    /// The member of a page that has the items.
    const MEMBER: &'static str;
    /// The members without which an item is of no use.
    const REQUIRED: &'static [&'static str];
    /// The maximum number of items of one listing.
    const MAX_ITEMS: usize = 100_000;

    /// Returns the request for a page.
    fn request(params: PaginatedRequestParams) -> ClientRequest;

    /// Returns the items and the next cursor of a page; `None` if the result is no such page.
    fn of_page(result: ServerResult) -> Option<(Vec<Self>, Option<String>)>;

    /// Adds the defaults of members that a server left out.
    fn complete(_: &mut Map<String, Value>) {}
}

macro_rules! item {
    ($item:ty, $member:literal, [$($required:literal),*], $request:ident, $result:ident . $items:ident $($more:tt)*) => {
        impl Item for $item {
            const MEMBER: &'static str = $member;
            const REQUIRED: &'static [&'static str] = &[$($required),*];

            fn request(params: PaginatedRequestParams) -> ClientRequest {
                ClientRequest::$request($request::with_param(params))
            }

            fn of_page(result: ServerResult) -> Option<(Vec<Self>, Option<String>)> {
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

    fn complete(tool: &mut Map<String, Value>) {
        if tool.get("inputSchema").is_none_or(Value::is_null) {
            tool.insert("inputSchema".to_owned(), json!({ "type": "object", "properties": {} }));
        }
    }
}
item! { Prompt, "prompts", ["name"], ListPromptsRequest, ListPromptsResult.prompts }
item! { Resource, "resources", ["uri", "name"], ListResourcesRequest, ListResourcesResult.resources
    fn complete(resource: &mut Map<String, Value>) {
        name_by(resource, "uri");
    }
}
item! { ResourceTemplate, "resourceTemplates", ["uriTemplate", "name"],
    ListResourceTemplatesRequest, ListResourceTemplatesResult.resource_templates
    fn complete(template: &mut Map<String, Value>) {
        name_by(template, "uriTemplate");
    }
}

/// Gives an item without a name the value of another member as its name.
fn name_by(item: &mut Map<String, Value>, member: &str) {
    if !item.get("name").is_some_and(Value::is_string)
        && let Some(name) = item.get(member).cloned()
    {
        item.insert("name".to_owned(), name);
    }
}

/// A page as read.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
    /// The size of the page, in bytes of JSON.
    pub(super) bytes: usize,
    pub(super) problems: Vec<Problem>,
}

/// A part of a page that cannot be read.
pub(super) enum Problem {
    /// An item, by its name: it is left out.
    Item { name: String, reason: String },
    /// Members of an item, which are ignored.
    Members { name: String, members: Vec<String> },
    /// The cursor of the next page: the listing ends here.
    Cursor(String),
}

impl<T: Item> Page<T> {
    /// Reads a page; `None` if the answer is none.
    pub(super) fn read(answer: ServerResult) -> Option<Self> {
        if let ServerResult::CustomResult(value) = answer {
            return Self::read_parts(value.0);
        }
        let (items, next) = T::of_page(answer)?;
        let bytes = json_bytes(&items);
        Some(Self { items, next, bytes, problems: Vec::new() })
    }

    fn read_parts(mut value: Value) -> Option<Self> {
        let bytes = json_bytes(&value);
        let Some(Value::Array(received)) = value.get_mut(T::MEMBER).map(Value::take) else { return None };
        let mut page = Self { items: Vec::new(), next: None, bytes, problems: Vec::new() };
        match value.get("nextCursor") {
            None | Some(Value::Null) => {}
            Some(Value::String(cursor)) => page.next = Some(cursor.clone()),
            Some(other) => page.problems.push(Problem::Cursor(bounded(&other.to_string()))),
        }
        for item in received {
            // What goes beyond is not used: the listing ends.
            if page.items.len() + page.problems.len() > T::MAX_ITEMS {
                break;
            }
            page.add(item);
        }
        Some(page)
    }

    fn add(&mut self, mut item: Value) {
        if let Value::Object(members) = &mut item {
            T::complete(members);
        }
        let name = bounded(item.get("name").and_then(Value::as_str).unwrap_or("without a name"));
        let reason = match T::deserialize(&item) {
            Ok(item) => return self.items.push(item),
            Err(error) => bounded(&error.to_string()),
        };
        match reduced::<T>(item) {
            Some((item, members)) => {
                self.problems.push(Problem::Members { name, members });
                self.items.push(item);
            }
            None => self.problems.push(Problem::Item { name, reason }),
        }
    }
}

/// Reads an item without the members that cannot be read, and returns the names of these.
fn reduced<T: Item>(item: Value) -> Option<(T, Vec<String>)> {
    let Value::Object(members) = item else { return None };
    let (mut read, other): (Map<_, _>, Map<_, _>) =
        members.into_iter().partition(|(name, _)| T::REQUIRED.contains(&name.as_str()));
    let mut ignored = Vec::new();
    let mut number_of_parts = 0;
    for (name, value) in other {
        for (path, part) in parts_of(&name, value) {
            number_of_parts += 1;
            let is_readable = number_of_parts <= MAX_PARTS && is_readable::<T>(&name, part.clone());
            match is_readable {
                true => merge(&mut read, &name, part),
                false if ignored.len() < MAX_NAMED_PARTS => ignored.push(bounded(&path)),
                false => {}
            }
        }
    }
    Some((T::deserialize(Value::Object(read)).ok()?, ignored))
}

/// Returns `true` if an item with this part, and nothing else that can fail, is readable.
fn is_readable<T: Item>(name: &str, part: Value) -> bool {
    let placeholder = |required: &str| if required == "inputSchema" { json!({}) } else { json!("x") };
    let mut item: Map<_, _> =
        T::REQUIRED.iter().map(|required| ((*required).to_owned(), placeholder(required))).collect();
    item.insert(name.to_owned(), part);
    T::deserialize(Value::Object(item)).is_ok()
}

/// Returns the parts of a member that are read by themselves: the members of an object, the elements of an array.
fn parts_of(name: &str, value: Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let part = |(key, value): (String, Value)| (format!("{name}.{key}"), json!({ key: value }));
            members.into_iter().map(part).collect()
        }
        Value::Array(elements) if !elements.is_empty() => {
            let part = |(index, value)| (format!("{name}[{index}]"), json!([value]));
            elements.into_iter().enumerate().map(part).collect()
        }
        value => vec![(name.to_owned(), value)],
    }
}

/// Adds a part of a member to those that are there.
fn merge(item: &mut Map<String, Value>, name: &str, part: Value) {
    match (item.get_mut(name), part) {
        (Some(Value::Object(members)), Value::Object(more)) => members.extend(more),
        (Some(Value::Array(elements)), Value::Array(more)) => elements.extend(more),
        (_, part) => drop(item.insert(name.to_owned(), part)),
    }
}

/// Shortens a text of a server within a problem.
fn bounded(text: &str) -> String {
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
