//! The definitions of a worker, by their hashes and in pages.

use std::collections::HashMap;

use serde_json::Value;
use tool_runtime::{Registry, ToolDefinition, definition::ContentHash, open_calls::definition_for_peer};

use crate::message::Message;

/// The part of a message that is left to its envelope.
const ENVELOPE_BYTES: usize = 4096;

/// The bytes of a hash in JSON, with room for its separators.
const HASH_BYTES: usize = 80;

pub(super) struct DefinitionIndex {
    registry: ContentHash,
    order: Vec<ContentHash>,
    by_hash: HashMap<ContentHash, IndexedDefinition>,
}

struct IndexedDefinition {
    definition: ToolDefinition,
    json: Value,
    bytes: usize,
}

impl DefinitionIndex {
    pub(super) fn new(tools: &Registry) -> Self {
        let mut order = Vec::new();
        let mut by_hash = HashMap::new();
        for definition in tools.all_definitions() {
            let (hash, peer) = definition_for_peer(definition, tools.steps_of(definition.name()));
            let json = serde_json::to_value(&peer).unwrap_or_default();
            let bytes = json.to_string().len();
            order.push(hash);
            by_hash.insert(hash, IndexedDefinition { definition: definition.clone(), json, bytes });
        }
        Self { registry: ContentHash::combine(order.iter().copied()), order, by_hash }
    }

    /// Returns the hash over all definitions, in the form for peers.
    pub(super) fn registry(&self) -> ContentHash {
        self.registry
    }

    pub(super) fn hashes(&self) -> Vec<ContentHash> {
        self.order.clone()
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn definition(&self, hash: ContentHash) -> Option<&ToolDefinition> {
        self.by_hash.get(&hash).map(|indexed| &indexed.definition)
    }

    /// Returns `true` if a repeated call does no more than one.
    pub(super) fn is_harmless(&self, hash: ContentHash) -> bool {
        let metadata = self.definition(hash).map(ToolDefinition::metadata);
        metadata.is_some_and(|it| it.is_read_only() || it.is_idempotent())
    }

    /// Returns the hashes from `offset` on that fit into a message.
    pub(super) fn page(&self, offset: usize, max_bytes: usize) -> Message {
        let fit = (max_bytes.saturating_sub(ENVELOPE_BYTES) / HASH_BYTES).max(1);
        let hashes = self.order.iter().skip(offset).take(fit).copied().collect();
        Message::Index { total: self.order.len(), hashes }
    }

    /// Returns the first of the definitions: as many as fit into a message, and at least one, whose message fails if it alone is too large.
    pub(super) fn definitions(&self, hashes: &[ContentHash], max_bytes: usize) -> Message {
        let mut left = max_bytes.saturating_sub(ENVELOPE_BYTES);
        let mut definitions = Vec::new();
        for indexed in hashes.iter().filter_map(|hash| self.by_hash.get(hash)) {
            if !definitions.is_empty() && indexed.bytes > left {
                break;
            }
            left = left.saturating_sub(indexed.bytes + 1);
            definitions.push(indexed.json.clone());
        }
        Message::Definitions { definitions }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::prelude::*;

    use super::*;

    /// Reads.
    #[tool(read_only, register = false)]
    fn read() -> u8 {
        1
    }

    /// Sets.
    #[tool(idempotent, register = false)]
    fn set() -> u8 {
        2
    }

    /// Sends.
    #[tool(register = false)]
    fn send() -> u8 {
        3
    }

    fn index() -> DefinitionIndex {
        let tools = Registry::builder().tool::<read>().tool::<set>().tool::<send>();
        DefinitionIndex::new(&tools.build().unwrap())
    }

    /// Returns the hash of the definition of a tool.
    fn hash_of(index: &DefinitionIndex, name: &str) -> ContentHash {
        let is_named =
            |hash: &ContentHash| index.definition(*hash).is_some_and(|it| it.name().as_str() == name);
        index.hashes().into_iter().find(is_named).unwrap()
    }

    #[test]
    fn a_tool_that_reads_or_may_be_repeated_is_harmless() {
        let index = index();
        let harmless = ["read", "set", "send"].map(|name| index.is_harmless(hash_of(&index, name)));
        assert_eq!(harmless, [true, true, false]);
        assert!(!index.is_harmless(ContentHash::of("another definition")));
    }

    #[test]
    fn a_page_of_hashes_fits_into_a_message_and_has_one_at_least() {
        let (index, hashes) = (index(), index().hashes());
        assert_eq!((index.len(), hashes.len()), (3, 3));
        let page = |offset, max_bytes| match index.page(offset, max_bytes) {
            Message::Index { total: 3, hashes } => hashes,
            _ => Vec::new(),
        };
        assert_eq!(page(0, ENVELOPE_BYTES + 2 * HASH_BYTES), hashes[..2]);
        assert_eq!(page(0, ENVELOPE_BYTES + 2 * HASH_BYTES - 1), hashes[..1]);
        assert_eq!(page(1, 1 << 20), hashes[1..]);
        assert_eq!(page(0, 0), hashes[..1]);
        assert_eq!(page(3, 1 << 20), []);
    }

    #[test]
    fn definitions_fit_into_a_message_and_there_is_one_at_least() {
        let (index, hashes) = (index(), index().hashes());
        let json: Vec<_> = hashes.iter().map(|hash| index.by_hash[hash].json.clone()).collect();
        let read = |hashes: &[ContentHash], max_bytes| match index.definitions(hashes, max_bytes) {
            Message::Definitions { definitions } => definitions,
            _ => Vec::new(),
        };
        let bytes: Vec<_> = json.iter().map(|json| json.to_string().len()).collect();
        let both = ENVELOPE_BYTES + bytes[0] + 1 + bytes[1];
        assert_eq!(read(&hashes, both), json[..2]);
        assert_eq!(read(&hashes, both - 1), json[..1]);
        assert_eq!(read(&hashes, 0), json[..1]);
        assert_eq!(read(&hashes, 1 << 20), json);
        assert_eq!(read(&[ContentHash::of("another definition"), hashes[2]], 1 << 20), json[2..]);
    }
}
