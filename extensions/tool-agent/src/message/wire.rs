//! The JSON of a message.

#[cfg(feature = "http")]
use std::sync::OnceLock;
use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Message, MessageData, MessageOrigin, Original, Part, Role};

impl Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let MessageData { role, parts, original, agent, metadata, .. } = &*self.0;
        let original = original.as_ref().map(Shared::Borrowed);
        let (parts, metadata, agent) = (parts.into(), Shared::Borrowed(metadata), agent.clone());
        Wire { role: *role, parts, original, agent, metadata }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Wire { role, parts, original, agent, metadata } = Wire::deserialize(deserializer)?;
        Ok(Self(Arc::new(MessageData {
            role,
            parts: parts.into_owned(),
            original: original.map(Shared::into_owned),
            agent,
            metadata: metadata.into_owned(),
            is_input: false,
            origin: MessageOrigin::default(),
            #[cfg(feature = "http")]
            rendered: OnceLock::new(),
        })))
    }
}

type Shared<'m, T> = Cow<'m, T>;

#[derive(Serialize, Deserialize)]
struct Wire<'m> {
    role: Role,
    parts: Shared<'m, [Part]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original: Option<Shared<'m, Original>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    metadata: Shared<'m, Map<String, Value>>,
}

fn is_empty(metadata: &Shared<'_, Map<String, Value>>) -> bool {
    metadata.is_empty()
}
