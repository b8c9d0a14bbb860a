//! The additions of the tools of a pool to a request: one question for all of them, before the first one adds.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::future::join_all;
use tokio::{sync::OnceCell, time::Instant};
use tool_runtime::{
    RunContext, ToolError,
    definition::{ContentHash, RemoteSteps as _},
    request::ModelRequest,
};

use super::{
    request::{millis_until, run_parts},
    steps::{QuestionEnd, wrong_answer_error},
    tool::RemoteTool,
};
use crate::{
    message::Message,
    steps::{AdditionsRequest, ToolAdditions, ToolIdentity, UserMessage},
};

/// The bounds of what one tool adds, in bytes and in texts, messages and notices.
const MAX_TOOL_BYTES: usize = 16 * 1024;
const MAX_TOOL_ENTRIES: usize = 16;

/// The bound of what all tools of a pool add to a request, in bytes.
const MAX_POOL_BYTES: usize = 64 * 1024;

/// By the definitions of the tools that were asked; `None` for one without an answer.
type Answers = HashMap<ContentHash, Option<Result<ToolAdditions, ToolError>>>;

/// One request, with the tools of a pool that will add to it. They share it by the request.
#[derive(Default)]
pub(super) struct Round {
    announced: Mutex<Vec<AnnouncedTool>>,
    answers: OnceCell<Answers>,
    /// The bytes that tools of the pool have added.
    bytes: AtomicUsize,
}

struct AnnouncedTool {
    identity: ToolIdentity,
    registries: Vec<ContentHash>,
}

impl Round {
    fn lock_announced(&self) -> MutexGuard<'_, Vec<AnnouncedTool>> {
        self.announced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RemoteTool {
    /// Adds this tool to the round of `request`, which has its name.
    pub(super) fn announce_to_round(&self, request: &ModelRequest) -> Arc<Round> {
        let round = request.shared_value::<Round>(self.owner());
        let mut announced = round.lock_announced();
        if !announced.iter().any(|tool| tool.identity.definition == self.hash()) {
            announced.push(self.announced_as(request));
        }
        drop(announced);
        round
    }

    fn announced_as(&self, request: &ModelRequest) -> AnnouncedTool {
        let name = request.tool_name().unwrap_or(self.own_definition().name().as_str()).to_owned();
        let identity = ToolIdentity { definition: self.hash(), model_name: name };
        AnnouncedTool { identity, registries: self.live_registries(&[]) }
    }

    /// Adds what the tool adds at its worker.
    pub(super) async fn add_to_request(&self, request: ModelRequest) -> Result<(), ToolError> {
        if !self.tool_steps().adds_to_requests {
            return Ok(());
        }
        let round = self.announce_to_round(&request);
        let ask_all = || {
            let announced = std::mem::take(&mut *round.lock_announced());
            self.ask_for_additions(announced, &request)
        };
        let answers = round.answers.get_or_init(ask_all).await;
        let answer = match answers.get(&self.hash()) {
            Some(answer) => answer.clone(),
            // It was not announced before the others were asked.
            None => {
                let alone = vec![self.announced_as(&request)];
                self.ask_for_additions(alone, &request).await.remove(&self.hash()).flatten()
            }
        };
        match answer {
            Some(Ok(additions)) => self.apply_additions(additions, &round, &request),
            // A pool has no power over the requests of an agent.
            Some(Err(error)) => self.leave_out(&error.feedback(), &request),
            // A notice was given.
            None => {}
        }
        Ok(())
    }

    /// Adds nothing, with a notice.
    fn leave_out(&self, problem: &str, request: &ModelRequest) {
        let tool = self.own_definition().name();
        request
            .notify(format!("the tool `{tool}` of another process adds nothing to this request: {problem}"));
    }

    fn apply_additions(&self, additions: ToolAdditions, round: &Round, request: &ModelRequest) {
        let (bytes, entries) = additions.size();
        if bytes > MAX_TOOL_BYTES || entries > MAX_TOOL_ENTRIES {
            let problem = format!(
                "it has {entries} texts with {bytes} bytes, and at most {MAX_TOOL_ENTRIES} with {MAX_TOOL_BYTES} are added"
            );
            return self.leave_out(&problem, request);
        }
        let all_bytes = round.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if all_bytes > MAX_POOL_BYTES {
            let problem = format!("its pool adds more than {MAX_POOL_BYTES} bytes");
            return self.leave_out(&problem, request);
        }
        let ToolAdditions { instructions, messages, notices, left_out } = additions;
        instructions.into_iter().for_each(|text| request.instruct(text));
        for message in messages {
            match message {
                UserMessage::Text(text) => request.add_text(text),
                UserMessage::Content(content) => request.add_content(content),
            }
        }
        notices.into_iter().for_each(|notice| request.notify(notice));
        if !left_out.is_empty() {
            let (tool, left_out) = (self.own_definition().name(), left_out.join(", "));
            request.notify(format!(
                "the tool `{tool}` of another process cannot add {left_out}: only instructions and messages of the user"
            ));
        }
    }

    /// Asks one worker of each registry that is needed, all at once.
    async fn ask_for_additions(&self, announced: Vec<AnnouncedTool>, request: &ModelRequest) -> Answers {
        let mut answers: Answers = announced.iter().map(|tool| (tool.identity.definition, None)).collect();
        let groups = group_by_registry(announced);
        let questions = groups.into_iter().map(|(registry, tools)| self.ask_group(registry, tools, request));
        for group in join_all(questions).await {
            match group {
                Ok(added) => {
                    for (definition, additions) in added {
                        // A worker answers for the tools that it was asked about.
                        answers.entry(definition).and_modify(|answer| *answer = Some(additions));
                    }
                }
                Err(problem) => {
                    let pool = self.connection().channel.pool();
                    tracing::warn!(pool, problem, "tools of a pool add nothing to a request");
                    request
                        .notify(format!("tools of the pool `{pool}` add nothing to this request: {problem}"));
                }
            }
        }
        answers
    }

    async fn ask_group(
        &self,
        registry: Option<ContentHash>,
        tools: Vec<ToolIdentity>,
        request: &ModelRequest,
    ) -> Result<Vec<(ContentHash, Result<ToolAdditions, ToolError>)>, String> {
        let registry = registry.ok_or_else(|| "no worker has them".to_owned())?;
        let run: &RunContext = request.run();
        let time_left = millis_until(run.deadline());
        let run = run_parts(run, (*run.state()).clone()).map_err(|error| error.feedback())?;
        let limit = self.connection().settings.preparation;
        let (dialect, answer_within) = (request.dialect().to_owned(), self.answer_within());
        let question =
            Message::Additions(Box::new(AdditionsRequest { tools, dialect, time_left, answer_within, run }));
        match self.ask_registry(registry, question, Instant::now() + limit).await {
            QuestionEnd::Answer(Message::Added(additions)) => Ok(additions.tools),
            QuestionEnd::Answer(_) => Err(wrong_answer_error().feedback()),
            QuestionEnd::Failed(error) => Err(error.feedback()),
            QuestionEnd::NoReceiver => Err("their workers have left".to_owned()),
            QuestionEnd::Unanswered(problem) => Err(problem),
        }
    }
}

/// Groups tools by a registry that has them: as few groups as the first registry of each gives.
fn group_by_registry(mut left: Vec<AnnouncedTool>) -> Vec<(Option<ContentHash>, Vec<ToolIdentity>)> {
    let mut groups = Vec::new();
    while let Some(first) = left.first() {
        let registry = first.registries.first().copied();
        let is_in = |tool: &AnnouncedTool| match registry {
            Some(registry) => tool.registries.contains(&registry),
            None => tool.registries.is_empty(),
        };
        let (group, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_in);
        groups.push((registry, group.into_iter().map(|tool| tool.identity).collect()));
        left = others;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_asked_at_the_first_registry_of_each_that_was_not_asked() {
        let hash = |byte| ContentHash::from([byte; 32]);
        let tool = |byte, registries: &[u8]| AnnouncedTool {
            identity: ToolIdentity { definition: hash(byte), model_name: format!("tool_{byte}") },
            registries: registries.iter().map(|byte| hash(*byte)).collect(),
        };
        let tools = vec![
            tool(1, &[8, 9]),
            tool(2, &[9]),
            tool(3, &[]),
            tool(4, &[7, 8]),
            tool(5, &[9]),
            tool(6, &[]),
        ];
        let groups = group_by_registry(tools);
        let groups: Vec<_> = groups
            .into_iter()
            .map(|(registry, tools)| {
                (registry, tools.into_iter().map(|tool| tool.model_name).collect::<Vec<_>>())
            })
            .collect();
        let named = |bytes: &[u8]| bytes.iter().map(|byte| format!("tool_{byte}")).collect::<Vec<_>>();
        let expected =
            [(Some(hash(8)), named(&[1, 4])), (Some(hash(9)), named(&[2, 5])), (None, named(&[3, 6]))];
        assert_eq!(groups, expected);
        assert!(group_by_registry(Vec::new()).is_empty());
    }
}
