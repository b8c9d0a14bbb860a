//! The messages of a conversation that the model of an agent receives.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{Message, Role};

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
    /// The branches of the other agents whose messages are shown; `None` for all.
    branches: Option<BTreeSet<Arc<str>>>,
    max_age: Option<Duration>,
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

    /// Shows, of the messages of other agents, those of agents in these [branches](tool_runtime::RunContext::branch), or below them: the names of the
    /// agents from the root of the tree on, such as `court.council`. Messages of the user and of the agent itself are shown in any case. Default: all.
    pub fn only_branches(mut self, branches: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        self.branches = Some(branches.into_iter().map(Into::into).collect());
        self
    }

    /// Shows the messages from the first one on that is not older than `age` at the time of the request, by its [time](Message::time), with what precedes
    /// it up to the message of the user that it answers. The message of the user with which the run began, and what follows it, are shown in any case.
    /// Default: any age.
    pub fn only_newer_than(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
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
        self.agents.is_none() && self.branches.is_none() && self.max_age.is_none() && !self.is_of_run
    }

    /// Returns the messages that the model of `agent` receives.
    pub(crate) fn filtered_messages(&self, agent: &str, messages: &[Message]) -> Vec<Message> {
        // After a compaction, the message may be a part of a summary: then the summary is shown.
        let run_start = messages.iter().rposition(Message::is_input).unwrap_or(0);
        let start = match (self.is_of_run, self.max_age) {
            (true, _) => run_start,
            (false, Some(age)) => first_index_within_age(messages, age).min(run_start),
            (false, None) => 0,
        };
        let of_run = messages.get(start..).unwrap_or_default();
        of_run.iter().filter(|message| self.shows(agent, message)).cloned().collect()
    }

    fn shows(&self, agent: &str, message: &Message) -> bool {
        let Some(author) = message.agent() else { return true };
        let is_in_branch = |above: &Arc<str>| {
            let rest = message.branch().and_then(|branch| branch.strip_prefix(&**above));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        author == agent
            || self.agents.as_ref().is_none_or(|names| names.contains(author))
                && self.branches.as_ref().is_none_or(|branches| branches.iter().any(is_in_branch))
    }
}

/// Returns the position of the message of the user before the first answer that is not older than `age`, so that no call is without its results. A message
/// without a time is of any age.
fn first_index_within_age(messages: &[Message], age: Duration) -> usize {
    let Some(oldest) = SystemTime::now().checked_sub(age) else { return 0 };
    let is_new = |message: &Message| message.time().is_none_or(|time| time >= oldest);
    match messages.iter().position(is_new) {
        Some(first) => messages[..=first].iter().rposition(|it| it.role() == Role::User).unwrap_or(0),
        None => messages.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Part, message::MessageOrigin};

    fn question(text: &str) -> Message {
        Message::user(text)
    }

    fn input(text: &str) -> Message {
        Message::user(text).marked_as_input(true)
    }

    fn answer(text: &str) -> Message {
        Message::assistant([Part::Text(text.to_owned())])
    }

    /// Returns a message that was made an hour ago.
    fn old(message: Message) -> Message {
        let time = SystemTime::now().checked_sub(Duration::from_secs(3_600));
        message.with_origin(MessageOrigin { time, branch: None })
    }

    fn untimed(message: Message) -> Message {
        message.with_origin(MessageOrigin::default())
    }

    #[test]
    fn a_filter_begins_at_a_message_of_the_user() {
        let hour = Duration::from_secs(3_600);
        let shown = |filter: MessageFilter, messages: &[Message]| {
            filter.filtered_messages("a", messages).iter().map(Message::text).collect::<Vec<_>>().concat()
        };
        let of_run = || MessageFilter::all().only_this_run();
        let newer = |age: Duration| MessageFilter::all().only_newer_than(age);
        let talk =
            [old(question("1")), old(answer("2")), question("3"), answer("4"), input("5"), answer("6")];
        assert_eq!(shown(MessageFilter::all(), &talk), "123456");
        assert_eq!(shown(of_run(), &talk), "56");
        assert_eq!(shown(newer(hour / 2), &talk), "3456");
        assert_eq!(shown(newer(2 * hour), &talk), "123456");
        assert_eq!(shown(newer(Duration::MAX), &talk), "123456");
        // Both limits: the run.
        assert_eq!(shown(of_run().only_newer_than(2 * hour), &talk), "56");
        // Without a message that is new, the run is shown.
        let old_talk = talk.clone().map(old);
        assert_eq!(shown(newer(hour / 2), &old_talk), "56");
        // Without the message of the run, as after a compaction, all is shown.
        assert_eq!(shown(of_run(), &talk[..4]), "1234");
        assert_eq!(shown(newer(hour / 2), &old_talk[..4]), "1234");
        // An answer without a question before it is new itself, and a message without a time is.
        assert_eq!(shown(newer(hour / 2), &[answer("4"), input("5")]), "45");
        assert_eq!(shown(newer(hour / 2), &[old(question("1")), untimed(answer("2")), input("5")]), "125");
        assert_eq!(
            shown(
                newer(hour / 2),
                &[old(question("1")), old(answer("2")), untimed(question("3")), input("5")]
            ),
            "35"
        );
    }

    #[test]
    fn a_filter_that_limits_nothing_shows_all() {
        assert!(MessageFilter::all().is_all());
        let some = [
            MessageFilter::all().only_agents(["a"]),
            MessageFilter::all().only_branches(["a"]),
            MessageFilter::all().only_newer_than(Duration::ZERO),
            MessageFilter::all().only_this_run(),
        ];
        assert!(some.iter().all(|filter| !filter.is_all()));
    }
}
