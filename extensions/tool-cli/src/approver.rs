//! Approval of calls, by `--approve` or by a person at the terminal.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use clap::{Arg, builder::PossibleValue};
use tokio::sync::Notify;
use tool_runtime::{
    Executor, RunContext, ToolError,
    definition::Permission,
    executor::{ExecutorError, RunSettings},
    policy::{
        Approval, ApprovalHandle, ApprovalRequest, Approver, PermissionRequest, Rule, Rules, SharedApprover,
    },
};

use crate::{
    approval_question::ApprovalQuestion,
    terminal::{Screen, Terminal},
};

/// The reason for which `--approve read-only` rejects a call.
const ONLY_READING: &str = "only read-only tools may run (`--approve read-only`)";

/// The value of `--approve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApproveMode {
    Ask,
    Always,
    Never,
    ReadOnly,
}

/// The option `--approve`.
pub(crate) fn approve_option() -> Arg {
    let values = [
        PossibleValue::new("ask").help("Ask at the terminal; without one, reject"),
        PossibleValue::new("never").help("Reject every call that requires approval"),
        PossibleValue::new("read-only").help("Run read-only tools without asking, and no others"),
        PossibleValue::new("always").help("Approve every call without asking"),
    ];
    Arg::new("approve")
        .long("approve")
        .value_name("HOW")
        .value_parser(values)
        .default_value("ask")
        .help("The decision on calls that require approval")
}

impl ApproveMode {
    /// Parses the value of the option. Default: `Ask`.
    pub(crate) fn from_name(name: Option<&str>) -> Self {
        match name {
            Some("always") => Self::Always,
            Some("never") => Self::Never,
            Some("read-only") => Self::ReadOnly,
            _ => Self::Ask,
        }
    }

    /// Derives the executor of a command from the `base` of the program. The decision applies in addition to the rules,
    /// policies and the approver of the program: it can only reject more calls. `confirms_destructive`: destructive tools require
    /// approval, also if they do not ask for it themselves. `events_shown`: questions wait until it is notified.
    ///
    /// # Errors
    ///
    /// If `settings` are invalid.
    pub(crate) fn derive_executor(
        self,
        base: &Executor,
        settings: RunSettings,
        confirms_destructive: bool,
        screen: Option<Screen>,
        events_shown: Option<Arc<Notify>>,
    ) -> Result<(Executor, MissingTerminalFlag), ExecutorError> {
        // A rule, since a policy is not consulted if the tool itself requires confirmation.
        let tools = base.tools();
        let writing = tools.all_definitions().iter().filter(|it| {
            // A rule about a tool that redirects would be one about all calls of others that it makes.
            let redirects = || tools.redirects_calls_of(it.name().as_str());
            self == Self::ReadOnly && !it.metadata().is_read_only() && !redirects()
        });
        let rules: Vec<_> = writing.map(|it| Rule::deny(it.name().as_str()).reason(ONLY_READING)).collect();
        let permission = move |request: &PermissionRequest<'_>| {
            let metadata = request.metadata();
            match self {
                // A tool that was added later, for which there is no rule.
                Self::ReadOnly if !metadata.is_read_only() => Permission::deny(ONLY_READING),
                Self::Ask | Self::Never if confirms_destructive && metadata.destructive == Some(true) => {
                    Permission::ask(format!("`{}` is destructive.", request.tool()))
                }
                _ => Permission::Allow,
            }
        };
        let missing_terminal = MissingTerminalFlag::default();
        let of_program = base.approver().cloned();
        let approver = TerminalApprover {
            mode: self,
            of_program,
            screen,
            events_shown,
            missing_terminal: missing_terminal.clone(),
        };
        let settings = settings.rules(Rules::new(rules)).permission(permission).approver(approver);
        Ok((base.with_settings(&RunContext::new(), settings)?, missing_terminal))
    }
}

/// A flag for a question that could not be asked.
#[derive(Clone, Default)]
pub(crate) struct MissingTerminalFlag(Arc<AtomicBool>);

impl MissingTerminalFlag {
    /// Writes a note with the fix, which is for the person and not for the model.
    pub(crate) fn report_missing_terminal(&self, terminal: &Terminal) {
        if self.0.load(Ordering::Relaxed) {
            terminal.report_note("stdin is not a terminal, so that no question can be asked; `--approve always` approves the call");
        }
    }
}

/// An approver that decides by the option, or asks at the terminal.
struct TerminalApprover {
    mode: ApproveMode,
    /// The approver of the program, which decides after the option.
    of_program: Option<SharedApprover>,
    screen: Option<Screen>,
    /// Notified while all events are shown: a question waits for it.
    events_shown: Option<Arc<Notify>>,
    missing_terminal: MissingTerminalFlag,
}

impl Approver for TerminalApprover {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let rejected = |why: &str| Ok(Approval::Rejected(why.to_owned()));
        if self.mode == ApproveMode::Never {
            return rejected("no call is approved (`--approve never`)");
        }
        // A tool that was added later, for which there is no rule.
        if self.mode == ApproveMode::ReadOnly && !request.definition().metadata().is_read_only() {
            return rejected(ONLY_READING);
        }
        if let (ApproveMode::Ask, Some(shown)) = (self.mode, &self.events_shown) {
            shown.notified().await;
        }
        if let Some(of_program) = &self.of_program {
            return of_program.ask(request).await;
        }
        match (self.mode, &self.screen) {
            (ApproveMode::Always | ApproveMode::ReadOnly, _) => Ok(Approval::Approved),
            (ApproveMode::Ask, Some(screen)) => ask_person(request, screen).await,
            _ => {
                self.missing_terminal.0.store(true, Ordering::Relaxed);
                rejected("it requires approval, and stdin is not a terminal")
            }
        }
    }
}

async fn ask_person(request: &ApprovalRequest, screen: &Screen) -> Result<Approval, ToolError> {
    let question = ApprovalQuestion::new(request, &screen.page);
    // Closed on cancellation, too.
    let _open = screen.stderr.open_question();
    let answer = question.ask(&screen.keyboard).await.map_err(ToolError::from)?;
    Ok(if answer { Approval::Approved } else { Approval::Rejected("the person said no".to_owned()) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::{
        Executor, Registry, ToolBuilder, ToolCall, ToolDefinition, ToolName,
        definition::{Metadata, Permission, Prepared, Redirect, Redirection},
        prelude::{Tool, ToolError, json},
        schema::{Arguments, InputSchema},
        tool, tool_args,
    };

    use super::{ApproveMode, Arc, MissingTerminalFlag, Notify, Ordering, RunSettings};

    /// The executor of `tools` without guards of the program.
    fn test_executor(
        mode: ApproveMode,
        tools: Registry,
        confirms_destructive: bool,
    ) -> (Executor, MissingTerminalFlag) {
        mode.derive_executor(&Executor::new(tools), RunSettings::new(), confirms_destructive, None, None)
            .unwrap()
    }

    #[tool_args]
    struct Nothing {}

    /// The result of a destructive tool that does not ask for approval.
    fn destructive_result(mode: ApproveMode, confirms_destructive: bool) -> String {
        let metadata = Metadata { destructive: Some(true), ..Metadata::default() };
        let wipe = ToolBuilder::new("wipe").description("Wipes.").metadata(metadata);
        let wipe = wipe.handler(|_: Nothing, _| async { Ok::<_, tool_runtime::ToolError>("wiped") }).unwrap();
        let tools = Registry::builder().add(wipe).build().unwrap();
        let executor = test_executor(mode, tools, confirms_destructive).0;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcomes = runtime.block_on(executor.run(vec![ToolCall::new("wipe", "{}")]));
        outcomes[0].result().unwrap().text().into_owned()
    }

    fn closed() -> Permission {
        Permission::deny("closed")
    }

    /// Says when the shop is open.
    #[tool(register = false, permission = closed)]
    fn shop() {}

    /// Shuts the shop.
    #[tool(register = false, confirm)]
    fn shut() {}

    #[test]
    fn the_note_follows_a_missing_approval_and_no_denial() {
        let tools = Registry::builder().tool::<shop>().tool::<shut>().build().unwrap();
        let (executor, missing_terminal) = test_executor(ApproveMode::Ask, tools, false);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcomes = runtime.block_on(executor.run(vec![ToolCall::new("shop", "{}")]));
        assert_eq!(outcomes[0].result().unwrap().text(), "Denied: closed");
        assert!(!missing_terminal.0.load(Ordering::Relaxed));
        runtime.block_on(executor.run(vec![ToolCall::new("shut", "{}")]));
        assert!(missing_terminal.0.load(Ordering::Relaxed));
    }

    #[test]
    fn tools_that_are_added_later_do_not_run_if_only_reading_tools_may() {
        /// Writes.
        #[tool(register = false)]
        fn write() {}
        let (executor, _) = test_executor(ApproveMode::ReadOnly, Registry::default(), true);
        let tools = Registry::builder().tool::<write>().tool::<shut>().build().unwrap();
        let executor = executor.with_tools(tools).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcomes =
            runtime.block_on(executor.run(vec![ToolCall::new("write", "{}"), ToolCall::new("shut", "{}")]));
        for outcome in outcomes {
            let text = outcome.result().unwrap().text().into_owned();
            assert!(text.contains("only read-only tools may run"), "{text}");
        }
    }

    // A destructive call of a model requires approval, also if the tool does not ask for it.
    #[test]
    fn destructive_tools_require_approval_if_the_command_confirms_them() {
        assert_eq!(destructive_result(ApproveMode::Ask, false), "wiped");
        assert!(
            destructive_result(ApproveMode::Ask, true)
                .ends_with("it requires approval, and stdin is not a terminal")
        );
        assert!(
            destructive_result(ApproveMode::Never, true).ends_with("no call is approved (`--approve never`)")
        );
        assert!(
            destructive_result(ApproveMode::ReadOnly, false)
                .starts_with("Denied: only read-only tools may run")
        );
        assert_eq!(destructive_result(ApproveMode::Always, true), "wiped");
    }

    fn careful() -> Permission {
        Permission::ask("is it closing time?")
    }

    /// Locks the shop.
    #[tool(register = false, permission = careful)]
    fn lock() -> &'static str {
        "locked"
    }

    /// Looks into the till.
    #[tool(register = false, read_only, permission = careful)]
    fn look() -> &'static str {
        "looked"
    }

    // A tool that asks for permission itself is not thereby read-only.
    #[test]
    fn read_only_refuses_a_writing_tool_that_asks_itself() {
        let tools = Registry::builder().tool::<lock>().tool::<look>().build().unwrap();
        let executor = test_executor(ApproveMode::ReadOnly, tools, true).0;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let calls = vec![ToolCall::new("lock", "{}"), ToolCall::new("look", "{}")];
        let outcomes = runtime.block_on(executor.run(calls));
        let text = |at: usize| outcomes[at].result().unwrap().text().into_owned();
        assert_eq!(text(0), "Denied: only read-only tools may run (`--approve read-only`)");
        assert_eq!(text(1), "looked");
    }

    /// A tool whose calls are those of the tool that they name.
    struct CallTool(ToolDefinition);

    impl Tool for CallTool {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        fn prepare<'a>(&'a self, _: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
            Err(ToolError::failed("it redirects"))
        }

        fn redirect(&self) -> Option<Redirect> {
            Some(|arguments| {
                let call = arguments.to_value().map_err(|error| ToolError::failed(error.to_string()))?;
                Ok(Redirection::new(call["name"].as_str().unwrap_or_default(), "{}"))
            })
        }
    }

    #[test]
    fn read_only_decides_about_the_tool_to_which_a_call_is_redirected() {
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        let name = ToolName::new("call_tool").unwrap();
        let call_tool =
            CallTool(ToolDefinition::new(name, "Calls a tool.", InputSchema::new(schema).unwrap()));
        let tools = Registry::builder().tool::<lock>().tool::<look>().tool::<shut>().add(call_tool).build();
        let tools = tools.unwrap().with_deferred(|tool| tool.name() != "call_tool");
        let executor = test_executor(ApproveMode::ReadOnly, tools, true).0;
        let call = |name: &str| ToolCall::new("call_tool", json!({ "name": name }));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcomes = runtime.block_on(executor.run(vec![call("look"), call("lock"), call("shut")]));
        let text = |at: usize| outcomes[at].result().unwrap().text().into_owned();
        assert_eq!(text(0), "looked");
        for at in [1, 2] {
            assert_eq!(text(at), "Denied: only read-only tools may run (`--approve read-only`)");
        }
    }

    // The events before a question are shown before it.
    #[test]
    fn a_question_waits_until_the_events_before_it_are_shown() {
        for (mode, waits, text) in [
            (
                ApproveMode::Ask,
                true,
                "Denied: the \"shut\" call is rejected: it requires approval, and stdin is not a terminal",
            ),
            (
                ApproveMode::Never,
                false,
                "Denied: the \"shut\" call is rejected: no call is approved (`--approve never`)",
            ),
            (ApproveMode::Always, false, ""),
        ] {
            let tools = Registry::builder().tool::<shut>().build().unwrap();
            let shown = Arc::<Notify>::default();
            let base = Executor::new(tools);
            let derived =
                mode.derive_executor(&base, RunSettings::new(), false, None, Some(Arc::clone(&shown)));
            let executor = derived.unwrap().0;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let mut run = std::pin::pin!(executor.run(vec![ToolCall::new("shut", "{}")]));
                let first = std::future::poll_fn(|cx| std::task::Poll::Ready(run.as_mut().poll(cx))).await;
                assert_eq!(first.is_pending(), waits, "{mode:?}");
                let outcomes = match first {
                    std::task::Poll::Ready(outcomes) => outcomes,
                    std::task::Poll::Pending => {
                        shown.notify_waiters();
                        run.await
                    }
                };
                assert_eq!(outcomes[0].result().unwrap().text(), text, "{mode:?}");
            });
        }
    }

    #[test]
    fn the_value_of_the_option_is_a_mode() {
        let names = [None, Some("ask"), Some("always"), Some("never"), Some("read-only")];
        let modes = [
            ApproveMode::Ask,
            ApproveMode::Ask,
            ApproveMode::Always,
            ApproveMode::Never,
            ApproveMode::ReadOnly,
        ];
        assert_eq!(names.map(ApproveMode::from_name), modes);
    }
}
