//! The params of the requests and notifications of the protocol.

/// A member of an object of the protocol.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
}

/// The consequence of a member that is absent, or of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    /// It may be absent.
    Optional,
    /// It is left out if it cannot be read, since nothing else depends on it.
    Hint,
}

/// The kind of a value.
pub(super) enum Kind {
    Text,
    Flag,
    /// The id of a request: a text or an integer.
    Id,
    OneOf(&'static [&'static str]),
    ListOf(&'static Kind),
    Object(&'static [Member]),
    /// An object with these members, whose other values have this kind.
    MapOf(&'static [Member], &'static Kind),
    /// An object of settings by name. Those that are no object are left out.
    Settings,
    /// An object whose member `type` has one of these values, each with its other members.
    Tagged(&'static [(&'static str, &'static [Member])]),
}

const fn required(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, need: Need::Required }
}

const fn optional(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, need: Need::Optional }
}

const fn hint(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, need: Need::Hint }
}

const ANY: Kind = Kind::Object(&[]);
const META: Member = optional("_meta", ANY);
const ICON: &[Member] = &[
    required("src", Kind::Text),
    optional("mimeType", Kind::Text),
    optional("sizes", Kind::ListOf(&Kind::Text)),
    optional("theme", Kind::OneOf(&["light", "dark"])),
];
const CLIENT: &[Member] = &[
    required("name", Kind::Text),
    required("version", Kind::Text),
    hint("title", Kind::Text),
    hint("description", Kind::Text),
    hint("websiteUrl", Kind::Text),
    hint("icons", Kind::ListOf(&Kind::Object(ICON))),
];
const FORM: &[Member] = &[hint("schemaValidation", Kind::Flag)];
const CAPABILITIES: &[Member] = &[
    optional("roots", Kind::Object(&[hint("listChanged", Kind::Flag)])),
    optional("sampling", Kind::Object(&[hint("tools", ANY), hint("context", ANY)])),
    optional("elicitation", Kind::Object(&[hint("form", Kind::Object(FORM)), hint("url", ANY)])),
    optional("experimental", Kind::Settings),
    optional("extensions", Kind::Settings),
];
const INITIALIZE: &[Member] = &[
    required("protocolVersion", Kind::Text),
    required("capabilities", Kind::MapOf(CAPABILITIES, &ANY)),
    required("clientInfo", Kind::Object(CLIENT)),
    META,
];
const CALL: &[Member] = &[
    required("name", Kind::Text),
    optional("arguments", ANY),
    optional("inputResponses", ANY),
    optional("requestState", Kind::Text),
    META,
];
const READ: &[Member] = &[
    required("uri", Kind::Text),
    optional("inputResponses", ANY),
    optional("requestState", Kind::Text),
    META,
];
const LIST: &[Member] = &[optional("cursor", Kind::Text), META];
const URI: &[Member] = &[required("uri", Kind::Text), META];
const TASK: &[Member] = &[required("taskId", Kind::Text), META];
const UPDATE_TASK: &[Member] = &[required("taskId", Kind::Text), required("inputResponses", ANY), META];
const REFERENCES: &[(&str, &[Member])] = &[
    ("ref/prompt", &[required("name", Kind::Text), hint("title", Kind::Text)]),
    ("ref/resource", &[required("uri", Kind::Text)]),
];
const COMPLETE: &[Member] = &[
    required("ref", Kind::Tagged(REFERENCES)),
    required("argument", Kind::Object(&[required("name", Kind::Text), required("value", Kind::Text)])),
    optional("context", Kind::Object(&[optional("arguments", Kind::MapOf(&[], &Kind::Text))])),
    META,
];
const LEVELS: &[&str] = &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const LEVEL: &[Member] = &[required("level", Kind::OneOf(LEVELS)), META];
const FILTER: &[Member] = &[
    optional("toolsListChanged", Kind::Flag),
    optional("promptsListChanged", Kind::Flag),
    optional("resourcesListChanged", Kind::Flag),
    optional("resourceSubscriptions", Kind::ListOf(&Kind::Text)),
];
const LISTEN: &[Member] = &[required("notifications", Kind::Object(FILTER)), META];

/// The methods that revision 2026-07-28 does not have.
const REMOVED: [&str; 5] =
    ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// Returns the members of the params of a method, if it is one of the protocol; `is_modern` from revision 2026-07-28 on.
pub(super) fn params_of(method: &str, is_modern: bool) -> Option<&'static [Member]> {
    Some(match method {
        _ if is_modern && REMOVED.contains(&method) => return None,
        "initialize" => INITIALIZE,
        "tools/call" | "prompts/get" => CALL,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => LIST,
        "resources/read" => READ,
        "resources/subscribe" | "resources/unsubscribe" => URI,
        "tasks/get" | "tasks/cancel" => TASK,
        "tasks/update" => UPDATE_TASK,
        "completion/complete" => COMPLETE,
        "logging/setLevel" => LEVEL,
        "subscriptions/listen" => LISTEN,
        "ping" | "server/discover" => &[META],
        _ => return None,
    })
}

const META_HINT: Member = hint("_meta", ANY);
const ANY_PARAMS: Member = hint("params", Kind::Object(&[META_HINT]));
const CANCELLED: &[Member] = &[optional("requestId", Kind::Id), hint("reason", Kind::Text), META_HINT];

const CANCELLED_PARAMS: Member = optional("params", Kind::Object(CANCELLED));

/// Returns the params of a notification. Of one that is not named here, the server does not depend on them.
pub(super) fn params_of_notification(method: &str) -> &'static Member {
    match method {
        "notifications/cancelled" => &CANCELLED_PARAMS,
        _ => &ANY_PARAMS,
    }
}
