use std::{error::Error, fmt};

use tool_cli::{
    Approvals, Command, Exit, Failure, Program, Provides,
    clap::{self, Arg, ArgMatches},
};

#[cfg(feature = "chat-store")]
use super::store;
use super::{conversation::ChatConversation, session::ChatSession, source::ModelSource};
use crate::{Agent, AgentBuilder, Runner};

/// The command `chat`: a conversation with a model that calls the tools of the program.
///
/// # Examples
///
/// ```
/// use tool_agent::cli::Chat;
/// use tool_cli::Cli;
///
/// let chat = Chat::new()
///     .model("anthropic:claude-sonnet-4-5")
///     .configure(|agent| agent.instruction("You answer questions about orders."));
/// let cli = Cli::new().command(chat);
/// ```
#[must_use = "a command does nothing until it is added to a command line"]
pub struct Chat {
    model: Option<String>,
    configure: Configure,
}

/// A closure that configures the agent.
type Configure = Box<dyn Fn(AgentBuilder) -> Result<AgentBuilder, Box<dyn Error>>>;

impl Provides<Self> for AgentBuilder {
    fn provided(self) -> Result<Self, Box<dyn Error>> {
        Ok(self)
    }
}

impl Chat {
    /// Creates the command. The agent has the name and the tools of the program.
    pub fn new() -> Self {
        Self { model: None, configure: Box::new(Ok) }
    }

    /// Sets the model without `--model`, such as `anthropic:claude-sonnet-4-5`. Default: `--model` is required.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Configures the agent: its instruction, parts, hooks, limits and output; the closure returns the builder, or a `Result` of it. The
    /// tools and the approvals are those of the program ([`Cli::executor`](tool_cli::Cli::executor)), with the tools of
    /// [parts](AgentBuilder::with), and options of the command line override the rest.
    ///
    /// An agent below this one has the model that the command line names: [`AgentBuilder::model`].
    pub fn configure<P: Provides<AgentBuilder>>(
        mut self,
        configure: impl Fn(AgentBuilder) -> P + 'static,
    ) -> Self {
        self.configure = Box::new(move |agent| configure(agent).provided());
        self
    }
}

impl Default for Chat {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat").field("model", &self.model).finish_non_exhaustive()
    }
}

const EXAMPLES: &str = "\
Examples:
  chat --model anthropic:claude-sonnet-4-5
  chat --model openai:qwen3 --base-url http://127.0.0.1:11434/v1
  chat --model gemini:gemini-2.5-flash --prompt \"2 + 3?\" --record talk.jsonl
  chat --script talk.jsonl --prompt \"2 + 3?\"";

impl Command for Chat {
    fn grammar(&self) -> clap::Command {
        self.grammar_in("NAME")
    }

    #[cfg(feature = "chat-store")]
    fn grammar_in(&self, name: &str) -> clap::Command {
        store::add_session_options(self.grammar_without_store(), name)
    }

    #[cfg(not(feature = "chat-store"))]
    fn grammar_in(&self, _: &str) -> clap::Command {
        self.grammar_without_store()
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let text = |id: &str| matches.get_one::<String>(id).map(String::as_str);
        // Before the values of the tools are provided.
        let source = ModelSource::from_options(self.model.as_deref(), text)?;
        let prompt = match text("prompt") {
            Some("-") => Some(program.read("-")?),
            given => given.map(str::to_owned),
        };
        if prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
            return Err(Failure::usage("the message of `--prompt` is empty"));
        }
        let approvals = Approvals::new(program, matches)?;
        // The tools and the approvals are those of the program, whatever the configuration sets.
        let agent = (self.configure)(Agent::builder(program.name(), source.model.clone()));
        let mut agent = agent
            .map_err(|error| {
                Failure::new(Exit::Unusable, format!("the agent cannot be configured: {error}"))
            })?
            .tools(approvals.executor().clone())
            .approvals_by_handle(false)
            .wait_for_answers(false);
        if let Some(instruction) = text("instruction") {
            agent = agent.instruction(instruction);
        }
        let agent = agent.build().map_err(|error| Failure::new(Exit::Unusable, error.to_string()))?;
        let runner = Runner::new(agent).with_app(program.name());
        let converse = |runner: Runner, session: ChatSession| {
            let json = text("events") == Some("json");
            program.block_on(async {
                let mut conversation = ChatConversation::new(program, runner, &approvals, session, json);
                match prompt {
                    Some(prompt) => conversation.answer_message(prompt).await,
                    None => conversation.answer_lines(&source.label).await,
                }
            })?
        };
        #[cfg(feature = "chat-store")]
        let exit = store::run_with_store(program, matches, runner, converse)?;
        #[cfg(not(feature = "chat-store"))]
        let exit = converse(runner, ChatSession::in_memory())?;
        approvals.remark(program);
        // The reason was written when it occurred.
        let broke_off = source.recording.is_some_and(|recording| recording.failure().is_some());
        Ok(if exit == Exit::Done && broke_off { Exit::Failed } else { exit })
    }
}

impl Chat {
    /// Returns the grammar without the options of a store.
    fn grammar_without_store(&self) -> clap::Command {
        let option = |id: &'static str, value: &'static str, help: String| {
            Arg::new(id).long(id).value_name(value).help(help)
        };
        let default = self.model.as_ref().map(|model| format!(" [default: {model}]")).unwrap_or_default();
        let model = "The model, by provider (openai, openai-responses, anthropic, gemini) and name; the key is read from \
                     OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY";
        clap::Command::new("chat")
            .about("Talk to a model that calls the tools")
            .long_about(
                "Talk to a model that calls the tools.\n\n\
                 Each line of the standard input is a message, until /exit or the end of the input; /help lists the \
                 commands. Ctrl-C ends the turn, and at the prompt the program.",
            )
            .after_help(EXAMPLES)
            .arg(option("model", "PROVIDER:NAME", format!("{model}{default}")))
            .arg(option("base-url", "URL", "Another server with the API of the provider".to_owned()))
            .arg(option("instruction", "TEXT", "The instruction for the model (system prompt)".to_owned()))
            .arg(option("prompt", "TEXT", "Answer this message and exit; - is the standard input".to_owned()))
            .arg(option("record", "FILE", "Record the exchanges with the model in a new file".to_owned()))
            .arg(
                option("script", "FILE", "Answer from a recorded file, without a network".to_owned())
                    .conflicts_with_all(["model", "base-url"]),
            )
            .arg(
                option(
                    "events",
                    "FORM",
                    "The form of the standard output: json is one event per line".to_owned(),
                )
                .value_parser(["text", "json"])
                .default_value("text"),
            )
            .arg(Approvals::option())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Chat::new().model("openai:gpt-5-mini").grammar().debug_assert();
    }
}
