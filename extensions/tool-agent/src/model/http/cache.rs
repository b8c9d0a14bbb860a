//! Points up to which a provider caches a request, unless it caches on its own.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};
use tool_runtime::dialect::Provider;

use super::HttpModelSettings;
use crate::model::{CachePoint, Request};

/// The points of a request.
#[derive(Default)]
pub(super) struct CachePoints {
    tools: bool,
    instruction: bool,
    /// The indices of messages, in order.
    messages: Vec<usize>,
}

impl CachePoints {
    /// Returns the points of `request`, and a sentence about those that exceed the provider's maximum.
    pub(super) fn of_request(settings: &HttpModelSettings, request: &Request) -> (Self, Option<String>) {
        let most = settings.provider.max_cache_points();
        if most == 0 || request.cache.is_empty() && !settings.cache {
            return (Self::default(), None);
        }
        if request.cache.is_empty() {
            return (Self { tools: true, instruction: true, messages: vec![usize::MAX] }, None);
        }
        let has = |point| request.cache.contains(&point);
        let (tools, instruction) = (has(CachePoint::Tools), has(CachePoint::Instruction));
        let last = request.messages.len().saturating_sub(1);
        let index = |point: &CachePoint| match point {
            CachePoint::Message(index) => Some((*index).min(last)),
            _ => None,
        };
        let mut messages: Vec<_> = request.cache.iter().filter_map(index).collect();
        messages.sort_unstable();
        messages.dedup();
        let left = most.saturating_sub(usize::from(tools) + usize::from(instruction));
        let beyond = messages.len().saturating_sub(left);
        // The last messages contain the others.
        messages.drain(..beyond);
        let remark = (beyond > 0).then(|| {
            format!("a request has at most {most} cache points: the first {beyond} of its messages have none")
        });
        (Self { tools, instruction, messages }, remark)
    }

    /// Marks messages; `message_ends` are the numbers of JSON messages up to the end of each message of the conversation.
    pub(super) fn mark_messages(
        &self,
        provider: &dyn Provider,
        message_ends: &[usize],
        messages: &mut [Arc<RawValue>],
    ) {
        for index in &self.messages {
            let end = message_ends.get(*index).or(message_ends.last()).copied().unwrap_or_default();
            let message = end.checked_sub(1).and_then(|at| messages.get_mut(at));
            if let Some(message) = message
                && let Some(marked) = provider.with_cache_point(message)
            {
                *message = marked.into();
            }
        }
    }

    /// Marks the instruction and the tools of a body.
    pub(super) fn mark_instruction_and_tools(&self, provider: &dyn Provider, fields: &mut Value) {
        if self.instruction {
            provider.add_cache_point_after_instruction(fields);
        }
        if self.tools {
            provider.add_cache_point_after_tools(fields);
        }
    }
}
