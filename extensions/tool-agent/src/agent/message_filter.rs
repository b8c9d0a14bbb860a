//! The messages of a conversation that the model of an agent receives.

use std::{collections::BTreeSet, sync::Arc};

use crate::Message;

/// The messages of a conversation that the model of an agent receives. The conversation is stored whole, and other agents receive it all.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, MessageFilter, Runner, ScriptedModel, model::Reply};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let answers = |name: &str| ScriptedModel::new([Reply::text(format!("The answer of {name}."))]);
/// let model = answers("judge");
/// let judge = Agent::builder("judge", model.clone()).message_filter(MessageFilter::all().only_agents(["buyer"]));
/// let [lawyer, buyer] = ["lawyer", "buyer"].map(|name| Agent::builder(name, answers(name)).build());
/// let court = Agent::sequence("court", [lawyer?, buyer?, judge.build()?]).build()?;
/// Runner::new(court).run("Decide.").answer().await?;
/// let texts: Vec<_> = model.requests()[0].messages.iter().map(|message| message.text()).collect();
/// assert_eq!(texts, ["Decide.", "[buyer] said:\nThe answer of buyer."]);
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "a filter has an effect when an agent has it"]
pub struct MessageFilter {
    /// The other agents whose messages are shown; `None` for all.
    agents: Option<BTreeSet<Arc<str>>>,
    is_of_run: bool,
}

impl MessageFilter {
    /// Creates a filter that shows all messages.
    pub fn all() -> Self {
        Self::default()
    }

    /// Shows, of the messages of other agents, those of agents with these names. Messages of the user and of the agent itself are shown in any
    /// case. Default: all.
    pub fn only_agents(mut self, names: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        self.agents = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Shows the message of the user with which the run began, and what follows. A run that [continues](crate::Runner::resume) another one began with the
    /// message of that one. Default: also the messages of earlier runs of the session.
    pub fn only_this_run(mut self) -> Self {
        self.is_of_run = true;
        self
    }

    /// Returns `true` if the filter shows all messages.
    pub(crate) fn is_all(&self) -> bool {
        self.agents.is_none() && !self.is_of_run
    }

    /// Returns the messages that the model of `agent` receives.
    pub(crate) fn filtered_messages(&self, agent: &str, messages: &[Message]) -> Vec<Message> {
        // After a compaction, the message may be a part of a summary: then the summary is shown.
        let start = match self.is_of_run {
            true => messages.iter().rposition(Message::is_input).unwrap_or(0),
            false => 0,
        };
        let of_run = messages.get(start..).unwrap_or_default();
        of_run.iter().filter(|message| self.shows(agent, message)).cloned().collect()
    }

    fn shows(&self, agent: &str, message: &Message) -> bool {
        let Some(author) = message.agent() else { return true };
        author == agent || self.agents.as_ref().is_none_or(|names| names.contains(author))
    }
}
