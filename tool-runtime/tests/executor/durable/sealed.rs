//! Secret arguments in a store that outlives the process.

use tool_runtime::{
    context::ConfirmationAnswer,
    open_calls::{OpenCallError, ProgramKey},
    policy::Approval,
    prelude::*,
};

use super::{
    super::{answered, building, one, texts},
    Folder, PAID, PAY, executor, ledger, paying, payments,
};

const YES: ConfirmationAnswer = ConfirmationAnswer { confirmed: true, payload: Value::Null };

// I17: only the tool of the call can decrypt its secret arguments.
#[test]
fn a_changed_tool_cannot_read_secret_arguments() {
    crate::run(async {
        let folder = Folder::new();
        let outcomes = executor(&folder).run(one("pay", PAY)).await;
        let address = outcomes[0].address().unwrap();
        let changed = {
            /// Pays, and shows everything.
            #[tool(register = false, confirm)]
            fn pay(amount: u128, pin: String) -> String {
                format!("{amount} {pin}")
            }
            let tools = Registry::builder().tool::<pay>();
            building(tools).open_calls(folder.clone()).program_key(ProgramKey::new([7; 32])).build().unwrap()
        };
        let refused = changed.resume([(address, YES)]).await.unwrap_err();
        assert_eq!(refused, OpenCallError::SecretsUnavailable(address.into()));
        assert_eq!(changed.open_arguments(address).await.unwrap_err(), refused);
        assert_eq!(payments(&folder), 0);
        let outcomes = executor(&folder).resume([(address, YES)]).await.unwrap().run().await;
        assert_eq!((texts(&outcomes), payments(&folder)), (vec![PAID.to_owned()], 1));
    });
}

#[test]
fn a_question_of_the_body_and_the_approval_before_it_outlive_the_process() {
    /// Asks a question after the call is approved.
    #[tool(register = false, confirm)]
    fn transfer(amount: u32, #[arg(secret)] pin: String, cx: &ToolContext) -> Result<String, ToolError> {
        match cx.confirmation() {
            None => Err(cx.request_confirmation("Which account?", json!({ "amount": amount }))),
            Some(answer) => Ok(format!("{amount} from {} with {}", answer.payload, pin.len())),
        }
    }
    crate::run(async {
        let folder = Folder::new();
        let executor = || {
            let tools = building(Registry::builder().tool::<transfer>());
            tools.open_calls(folder.clone()).program_key(ProgramKey::new([7; 32])).build().unwrap()
        };
        let first = executor().run(one("transfer", r#"{"amount":7,"pin":"hunter2"}"#)).await;
        let second = executor().resume([(first[0].address().unwrap(), YES)]).await.unwrap().run().await;
        assert_eq!(first[0].address(), second[0].address());
        assert_eq!(texts(&second), ["requires confirmation: Which account?"]);
        let savings = ConfirmationAnswer { confirmed: true, payload: json!("savings") };
        let third = answered(&executor(), "0", savings).await.run().await;
        assert_eq!(texts(&third), [r#"7 from "savings" with 7"#]);
        assert!(executor().open_calls().await.unwrap().is_empty());
    });
}

// I20
#[test]
fn a_call_whose_approver_answers_later_is_resumed_in_another_executor() {
    crate::run(async {
        let folder = Folder::new();
        let asking = paying(&folder).approver_fn(async |_| Ok(Approval::Pending)).build().unwrap();
        let outcomes = asking.run(one("pay", PAY)).await;
        let address = outcomes[0].address().unwrap();
        let outcomes = executor(&folder).resume([(address, YES)]).await.unwrap().run().await;
        assert_eq!((texts(&outcomes), payments(&folder)), (vec![PAID.to_owned()], 1));
        assert!(ledger(&folder).exists());
    });
}
