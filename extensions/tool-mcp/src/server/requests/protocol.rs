//! The params of the requests and notifications of the protocol.

/// A member of an object of the protocol.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) kind: MemberKind,
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
pub(super) enum MemberKind {
    Text,
    Flag,
    /// The id of a request: a text or an integer.
    Id,
    OneOf(&'static [&'static str]),
    ListOf(&'static MemberKind),
    Object(&'static [Member]),
    /// An object with these members, whose other values have this kind.
    MapOf(&'static [Member], &'static MemberKind),
    /// An object of settings by name. Those that are no object are left out.
    Settings,
    /// An object whose member `type` has one of these values, each with its other members.
    Tagged(&'static [(&'static str, &'static [Member])]),
}

const fn required(name: &'static str, kind: MemberKind) -> Member {
    Member { name, kind, need: Need::Required }
}

const fn optional(name: &'static str, kind: MemberKind) -> Member {
    Member { name, kind, need: Need::Optional }
}

const fn hint(name: &'static str, kind: MemberKind) -> Member {
    Member { name, kind, need: Need::Hint }
}

const ANY: MemberKind = MemberKind::Object(&[]);
const META: Member = optional("_meta", ANY);
const ICON: &[Member] = &[
    required("src", MemberKind::Text),
    optional("mimeType", MemberKind::Text),
    optional("sizes", MemberKind::ListOf(&MemberKind::Text)),
    optional("theme", MemberKind::OneOf(&["light", "dark"])),
];
const CLIENT: &[Member] = &[
    required("name", MemberKind::Text),
    required("version", MemberKind::Text),
    hint("title", MemberKind::Text),
    hint("description", MemberKind::Text),
    hint("websiteUrl", MemberKind::Text),
    hint("icons", MemberKind::ListOf(&MemberKind::Object(ICON))),
];
const FORM: &[Member] = &[hint("schemaValidation", MemberKind::Flag)];
const CAPABILITIES: &[Member] = &[
    optional("roots", MemberKind::Object(&[hint("listChanged", MemberKind::Flag)])),
    optional("sampling", MemberKind::Object(&[hint("tools", ANY), hint("context", ANY)])),
    optional("elicitation", MemberKind::Object(&[hint("form", MemberKind::Object(FORM)), hint("url", ANY)])),
    optional("experimental", MemberKind::Settings),
    optional("extensions", MemberKind::Settings),
];
const INITIALIZE: &[Member] = &[
    required("protocolVersion", MemberKind::Text),
    required("capabilities", MemberKind::MapOf(CAPABILITIES, &ANY)),
    required("clientInfo", MemberKind::Object(CLIENT)),
    META,
];
const CALL: &[Member] = &[
    required("name", MemberKind::Text),
    optional("arguments", ANY),
    optional("inputResponses", ANY),
    optional("requestState", MemberKind::Text),
    META,
];
const READ: &[Member] = &[
    required("uri", MemberKind::Text),
    optional("inputResponses", ANY),
    optional("requestState", MemberKind::Text),
    META,
];
const LIST: &[Member] = &[optional("cursor", MemberKind::Text), META];
const URI: &[Member] = &[required("uri", MemberKind::Text), META];
const TASK: &[Member] = &[required("taskId", MemberKind::Text), META];
const UPDATE_TASK: &[Member] = &[required("taskId", MemberKind::Text), required("inputResponses", ANY), META];
const REFERENCES: &[(&str, &[Member])] = &[
    ("ref/prompt", &[required("name", MemberKind::Text), hint("title", MemberKind::Text)]),
    ("ref/resource", &[required("uri", MemberKind::Text)]),
];
const COMPLETE: &[Member] = &[
    required("ref", MemberKind::Tagged(REFERENCES)),
    required(
        "argument",
        MemberKind::Object(&[required("name", MemberKind::Text), required("value", MemberKind::Text)]),
    ),
    optional(
        "context",
        MemberKind::Object(&[optional("arguments", MemberKind::MapOf(&[], &MemberKind::Text))]),
    ),
    META,
];
const LEVELS: &[&str] = &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const LEVEL: &[Member] = &[required("level", MemberKind::OneOf(LEVELS)), META];
const FILTER: &[Member] = &[
    optional("toolsListChanged", MemberKind::Flag),
    optional("promptsListChanged", MemberKind::Flag),
    optional("resourcesListChanged", MemberKind::Flag),
    optional("resourceSubscriptions", MemberKind::ListOf(&MemberKind::Text)),
];
const LISTEN: &[Member] = &[required("notifications", MemberKind::Object(FILTER)), META];

/// The methods that revision 2026-07-28 does not have.
const REMOVED: [&str; 5] =
    ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// Returns the members of the params of a method, if it is one of the protocol; `is_modern` from revision 2026-07-28 on.
pub(super) fn request_params(method: &str, is_modern: bool) -> Option<&'static [Member]> {
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
const ANY_PARAMS: Member = hint("params", MemberKind::Object(&[META_HINT]));
const CANCELLED: &[Member] =
    &[optional("requestId", MemberKind::Id), hint("reason", MemberKind::Text), META_HINT];

const CANCELLED_PARAMS: Member = optional("params", MemberKind::Object(CANCELLED));

/// Returns the params of a notification. Of one that is not named here, the server does not depend on them.
pub(super) fn notification_params(method: &str) -> &'static Member {
    match method {
        "notifications/cancelled" => &CANCELLED_PARAMS,
        _ => &ANY_PARAMS,
    }
}
