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

const fn required_member(name: &'static str, kind: MemberKind) -> Member {
    Member { name, kind, need: Need::Required }
}

const fn optional_member(name: &'static str, kind: MemberKind) -> Member {
    Member { name, kind, need: Need::Optional }
}

const fn hint_member(name: &'static str, kind: MemberKind) -> Member {
    Member { name, kind, need: Need::Hint }
}

const ANY: MemberKind = MemberKind::Object(&[]);
const META: Member = optional_member("_meta", ANY);
const ICON: &[Member] = &[
    required_member("src", MemberKind::Text),
    optional_member("mimeType", MemberKind::Text),
    optional_member("sizes", MemberKind::ListOf(&MemberKind::Text)),
    optional_member("theme", MemberKind::OneOf(&["light", "dark"])),
];
const CLIENT: &[Member] = &[
    required_member("name", MemberKind::Text),
    required_member("version", MemberKind::Text),
    hint_member("title", MemberKind::Text),
    hint_member("description", MemberKind::Text),
    hint_member("websiteUrl", MemberKind::Text),
    hint_member("icons", MemberKind::ListOf(&MemberKind::Object(ICON))),
];
const FORM: &[Member] = &[hint_member("schemaValidation", MemberKind::Flag)];
const CAPABILITIES: &[Member] = &[
    optional_member("roots", MemberKind::Object(&[hint_member("listChanged", MemberKind::Flag)])),
    optional_member(
        "sampling",
        MemberKind::Object(&[hint_member("tools", ANY), hint_member("context", ANY)]),
    ),
    optional_member(
        "elicitation",
        MemberKind::Object(&[hint_member("form", MemberKind::Object(FORM)), hint_member("url", ANY)]),
    ),
    optional_member("experimental", MemberKind::Settings),
    optional_member("extensions", MemberKind::Settings),
];
const INITIALIZE: &[Member] = &[
    required_member("protocolVersion", MemberKind::Text),
    required_member("capabilities", MemberKind::MapOf(CAPABILITIES, &ANY)),
    required_member("clientInfo", MemberKind::Object(CLIENT)),
    META,
];
const CALL: &[Member] = &[
    required_member("name", MemberKind::Text),
    optional_member("arguments", ANY),
    optional_member("inputResponses", ANY),
    optional_member("requestState", MemberKind::Text),
    META,
];
const READ: &[Member] = &[
    required_member("uri", MemberKind::Text),
    optional_member("inputResponses", ANY),
    optional_member("requestState", MemberKind::Text),
    META,
];
const LIST: &[Member] = &[optional_member("cursor", MemberKind::Text), META];
const URI: &[Member] = &[required_member("uri", MemberKind::Text), META];
const TASK: &[Member] = &[required_member("taskId", MemberKind::Text), META];
const UPDATE_TASK: &[Member] =
    &[required_member("taskId", MemberKind::Text), required_member("inputResponses", ANY), META];
const REFERENCES: &[(&str, &[Member])] = &[
    ("ref/prompt", &[required_member("name", MemberKind::Text), hint_member("title", MemberKind::Text)]),
    ("ref/resource", &[required_member("uri", MemberKind::Text)]),
];
const COMPLETE: &[Member] = &[
    required_member("ref", MemberKind::Tagged(REFERENCES)),
    required_member(
        "argument",
        MemberKind::Object(&[
            required_member("name", MemberKind::Text),
            required_member("value", MemberKind::Text),
        ]),
    ),
    optional_member(
        "context",
        MemberKind::Object(&[optional_member("arguments", MemberKind::MapOf(&[], &MemberKind::Text))]),
    ),
    META,
];
const LEVELS: &[&str] = &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const LEVEL: &[Member] = &[required_member("level", MemberKind::OneOf(LEVELS)), META];
const FILTER: &[Member] = &[
    optional_member("toolsListChanged", MemberKind::Flag),
    optional_member("promptsListChanged", MemberKind::Flag),
    optional_member("resourcesListChanged", MemberKind::Flag),
    optional_member("resourceSubscriptions", MemberKind::ListOf(&MemberKind::Text)),
];
const LISTEN: &[Member] = &[required_member("notifications", MemberKind::Object(FILTER)), META];

/// The methods that revision 2026-07-28 does not have.
const REMOVED: [&str; 5] =
    ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// Returns the members of the params of a method, if it is one of the protocol; `is_modern` from revision 2026-07-28 on.
pub(super) fn request_param_members(method: &str, is_modern: bool) -> Option<&'static [Member]> {
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

const META_HINT: Member = hint_member("_meta", ANY);
const ANY_PARAMS: Member = hint_member("params", MemberKind::Object(&[META_HINT]));
const CANCELLED: &[Member] =
    &[optional_member("requestId", MemberKind::Id), hint_member("reason", MemberKind::Text), META_HINT];

const CANCELLED_PARAMS: Member = optional_member("params", MemberKind::Object(CANCELLED));

/// Returns the params of a notification. Of one that is not named here, the server does not depend on them.
pub(super) fn notification_param_member(method: &str) -> &'static Member {
    match method {
        "notifications/cancelled" => &CANCELLED_PARAMS,
        _ => &ANY_PARAMS,
    }
}
