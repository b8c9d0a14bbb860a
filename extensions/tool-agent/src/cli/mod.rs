//! The command `chat` for [`tool-cli`](tool_cli): a conversation with a model that calls the tools of the program.
//!
//! ```no_run,standalone_crate
//! use tool_agent::cli::Chat;
//! use tool_cli::Cli;
//! use tool_runtime::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     Cli::new().command(Chat::new()).main()
//! }
//! ```
//!
//! ```text
//! $ calculator chat --model anthropic:claude-sonnet-4-5
//! $ calculator chat --model openai:qwen3 --base-url http://127.0.0.1:11434/v1
//! $ calculator chat --model gemini:gemini-2.5-flash --prompt "2 + 3?" --record talk.jsonl
//! $ calculator chat --script talk.jsonl --prompt "2 + 3?"
//! ```
//!
//! | option | effect |
//! | --- | --- |
//! | `--model PROVIDER:NAME` | the model: `openai` (chat completions), `openai-responses`, `anthropic`, `gemini`; keys as for [`HttpModel`](crate::HttpModel) |
//! | `--base-url URL` | another server with the API of the provider; a key in the environment is sent to it |
//! | `--instruction TEXT` | the instruction (system prompt); overrides the instruction of the program |
//! | `--prompt TEXT` | answers one message; `-` reads it from the standard input |
//! | `--record FILE` | records the exchanges with the model in a new file: [`RecordingModel`](crate::model::RecordingModel) |
//! | `--script FILE` | answers from such a file, without a network: [`ScriptedModel`](crate::ScriptedModel) |
//! | `--events json` | writes an [`AgentEvent`](crate::AgentEvent) per line to the standard output |
//! | `--approve HOW` | the decision on calls that require approval: `ask` (default; without a terminal, they are rejected), `never`, `read-only`, `always` |
//!
//! With the feature `chat-store`, conversations can be stored; without it, a program compiles no database:
//!
//! | option | effect |
//! | --- | --- |
//! | `--session NAME` | begins or continues the stored conversation `NAME`, which a later process continues; without it, nothing is stored |
//! | `--store URL` | the store: `sqlite:PATH`, or with the feature `postgres` of `tool-session` `postgres://user@host/database`; default: a file in the data folder of the user, which the help names |
//! | `--wait SECONDS` | the time to wait while another process uses the session; default: 30 |
//!
//! The key under which messages with secret arguments are encrypted is a file beside the database, with `.key` added to its name, mode 0600,
//! which the first use makes. Any process that can write to the database controls what the model reads of the conversation. The command
//! `sessions` of `tool-session` (its feature `cli`) lists, shows, exports and deletes the conversations.
//!
//! Without `--prompt`, each line of the standard input is a message of one conversation, until `/exit` or the end of the
//! input; `/help` lists the commands. Ctrl-C ends the turn, and the conversation continues; at the prompt, and a second
//! time before the turn has ended, it ends the program.
//!
//! Without `--events json`, the standard output receives the text of the model only: on a terminal as it arrives, in a pipe the answers. Prompts,
//! calls, their results and messages go to the standard error, shortened and escaped, as [`tool_cli`] describes.
//!
//! Calls run with the guards of [`Cli::executor`](tool_cli::Cli::executor). A call of a tool that requires approval or
//! that is declared as destructive is asked for at the terminal, and rejected without one.
//!
//! # Exit codes
//!
//! 0 if the model answered; 1 if it did not, or if the recording cannot be written; 2 for an invalid command line, a
//! missing key or a script that cannot be read; 3 if a call was not permitted or not approved, even if the model
//! answered; 130 if the turn was cancelled by Ctrl-C. At a terminal, the exit code of a conversation is 0, or 130 after
//! Ctrl-C at the prompt.

mod chat;
mod conversation;
mod interrupts;
mod session;
mod source;
#[cfg(feature = "chat-store")]
mod store;
mod view;

pub use self::chat::Chat;
