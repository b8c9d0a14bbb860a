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
        Approval, ApprovalHandle, ApprovalRequest, Approver, BoxApprover, PermissionRequest, Rule, Rules,
    },
};

use crate::{
    question::Question,
    terminal::{Screen, Terminal},
};

/// The value of `--approve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approve {
    Ask,
    Always,
    Never,
    ReadOnly,
}

/// The option `--approve`.
pub(crate) fn option() -> Arg {
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

impl Approve {
    /// Parses the value of the option. Default: `Ask`.
    pub(crate) fn named(name: Option<&str>) -> Self {
        match name {
            Some("always") => Self::Always,
            Some("never") => Self::Never,
            Some("read-only") => Self::ReadOnly,
            _ => Self::Ask,
        }
    }

    /// Derives the executor of a command from the `base` of the program. The decision applies in addition to the rules,
    /// policies and the approver of the program: it can only reject more calls. `wary`: destructive tools require
    /// approval, also if they do not ask for it themselves. `shown`: questions wait until it is notified.
    ///
    /// # Errors
    ///
    /// If `settings` are invalid.
    pub(crate) fn executor(
        self,
        base: &Executor,
        settings: RunSettings,
        wary: bool,
        screen: Option<Screen>,
        shown: Option<Arc<Notify>>,
    ) -> Result<(Executor, Unasked), ExecutorError> {
        // A rule, since a policy is not consulted if the tool itself requires confirmation.
        let all = base.tools().definitions();
        let writing = all.iter().filter(|it| self == Self::ReadOnly && !it.metadata().is_read_only());
        let why = "only read-only tools may run (`--approve read-only`)";
        let rules: Vec<_> = writing.map(|it| Rule::deny(it.name().as_str()).reason(why)).collect();
        let permission = move |request: &PermissionRequest<'_>| {
            let metadata = request.metadata();
            match self {
                Self::Ask | Self::Never if wary && metadata.destructive == Some(true) => {
                    Permission::ask(format!("`{}` is destructive.", request.tool()))
                }
                _ => Permission::Allow,
            }
        };
        let unasked = Unasked::default();
        let of_program = base.approver().cloned();
        let person = Person { how: self, of_program, screen, shown, unasked: unasked.clone() };
        let settings = settings.rules(Rules::new(rules)).permission(permission).approver(person);
        Ok((base.with_settings(&RunContext::new(), settings)?, unasked))
    }
}

/// A flag for a question that could not be asked.
#[derive(Clone, Default)]
pub(crate) struct Unasked(Arc<AtomicBool>);

impl Unasked {
    /// Writes a note with the fix, which is for the person and not for the model.
    pub(crate) fn remark(&self, terminal: &Terminal) {
        if self.0.load(Ordering::Relaxed) {
            terminal.note("stdin is not a terminal, so that no question can be asked; `--approve always` approves the call");
        }
    }
}

/// An approver that decides by the option, or asks at the terminal.
struct Person {
    how: Approve,
    /// The approver of the program, which decides after the option.
    of_program: Option<BoxApprover>,
    screen: Option<Screen>,
    /// Notified while all events are shown: a question waits for it.
    shown: Option<Arc<Notify>>,
    unasked: Unasked,
}

impl Approver for Person {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let rejected = |why: &str| Ok(Approval::Rejected(why.to_owned()));
        if self.how == Approve::Never {
            return rejected("no call is approved (`--approve never`)");
        }
        if let (Approve::Ask, Some(shown)) = (self.how, &self.shown) {
            shown.notified().await;
        }
        if let Some(of_program) = &self.of_program {
            return of_program.ask(request).await;
        }
        match (self.how, &self.screen) {
            (Approve::Always | Approve::ReadOnly, _) => Ok(Approval::Approved),
            (Approve::Ask, Some(screen)) => asked(request, screen).await,
            _ => {
                self.unasked.0.store(true, Ordering::Relaxed);
                rejected("it requires approval, and stdin is not a terminal")
            }
        }
    }
}

async fn asked(request: &ApprovalRequest, screen: &Screen) -> Result<Approval, ToolError> {
    let question = Question::new(request, &screen.page);
    // Closed on cancellation, too.
    let _open = screen.stage.open();
    let answer = question.ask(&screen.keyboard).await.map_err(ToolError::from)?;
    Ok(if answer { Approval::Approved } else { Approval::Rejected("the person said no".to_owned()) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::{
        Executor, Registry, ToolBuilder, ToolCall,
        definition::{Metadata, Permission},
        tool, tool_args,
    };

    use super::{Approve, Ordering, RunSettings, Unasked};

    /// The executor of `tools` without guards of the program.
    fn executor(how: Approve, tools: Registry, wary: bool) -> (Executor, Unasked) {
        how.executor(&Executor::new(tools), RunSettings::new(), wary, None, None).unwrap()
    }

    #[tool_args]
    struct Nothing {}

    /// The result of a destructive tool that does not ask for approval.
    fn answer(how: Approve, wary: bool) -> String {
        let metadata = Metadata { destructive: Some(true), ..Metadata::default() };
        let wipe = ToolBuilder::new("wipe").description("Wipes.").metadata(metadata);
        let wipe = wipe.handler(|_: Nothing, _| async { Ok::<_, tool_runtime::ToolError>("wiped") }).unwrap();
        let tools = Registry::builder().add(wipe).build().unwrap();
        let executor = executor(how, tools, wary).0;
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
        let (executor, unasked) = executor(Approve::Ask, tools, false);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcomes = runtime.block_on(executor.run(vec![ToolCall::new("shop", "{}")]));
        assert_eq!(outcomes[0].result().unwrap().text(), "Denied: closed");
        assert!(!unasked.0.load(Ordering::Relaxed));
        runtime.block_on(executor.run(vec![ToolCall::new("shut", "{}")]));
        assert!(unasked.0.load(Ordering::Relaxed));
    }

    // A destructive call of a model requires approval, also if the tool does not ask for it.
    #[test]
    fn destructive_tools_require_approval_if_wary() {
        assert_eq!(answer(Approve::Ask, false), "wiped");
        assert!(answer(Approve::Ask, true).ends_with("it requires approval, and stdin is not a terminal"));
        assert!(answer(Approve::Never, true).ends_with("no call is approved (`--approve never`)"));
        assert!(answer(Approve::ReadOnly, false).starts_with("Denied: only read-only tools may run"));
        assert_eq!(answer(Approve::Always, true), "wiped");
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
        let executor = executor(Approve::ReadOnly, tools, true).0;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let calls = vec![ToolCall::new("lock", "{}"), ToolCall::new("look", "{}")];
        let outcomes = runtime.block_on(executor.run(calls));
        let text = |at: usize| outcomes[at].result().unwrap().text().into_owned();
        assert_eq!(text(0), "Denied: only read-only tools may run (`--approve read-only`)");
        assert_eq!(text(1), "looked");
    }
}
