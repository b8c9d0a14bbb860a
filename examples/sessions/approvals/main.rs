//! A service with approvals that outlive its process: one process asks, another one takes the answer.
//!
//! ```sh
//! APPROVALS_USERS=ada=token-1,bob=token-2 cargo run --bin approvals-service -- /tmp/approvals
//! api=http://127.0.0.1:3002 as_ada='authorization: Bearer token-1'
//! curl -H "$as_ada" -d '{"text":"pay the baker 12"}' $api/sessions/s-1/messages
//! curl -H "$as_ada" $api/calls    # the calls that wait, also after a restart
//! curl -H "$as_ada" -d '{"confirmed":true}' $api/sessions/s-1/calls/ID
//! ```
//!
//! | request | effect |
//! | --- | --- |
//! | `POST /sessions/{session}/messages` with `{"text":".."}` | runs the agent, until it answers or calls wait for the user |
//! | `GET /calls`, `GET /sessions/{session}/calls` | lists the calls that wait for the user |
//! | `POST /sessions/{session}/calls/{id}` | answers a call, and continues its run |
//!
//! The answer to an approval is `{"confirmed":true}` or `{"confirmed":false,"payload":"the reason"}`; the result of a call that the user's
//! device runs is `{"result":".."}`. The folder has one database with the sessions and the calls that wait, the key of the program, and the payments. The
//! model is a script; `MODEL=anthropic:claude-sonnet-4-5` and the key of the provider ask a model.

mod accountant;
mod answer;
mod call_ids;
mod refusal;
mod service;
mod users;
mod waiting;

use std::{env, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use tokio::net::TcpListener;
use tool_agent::Runner;
use tool_runtime::open_calls::ProgramKey;
use tool_session::SqliteStore;

use self::{call_ids::CallIds, service::Service, users::Users};

/// The name under which the sessions and the calls are stored.
const APP: &str = "accountant";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context("the first argument is the folder of the service")?);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:3002".to_owned());
    let users =
        env::var("APPROVALS_USERS").context("`APPROVALS_USERS` has the users: `ada=TOKEN,bob=TOKEN`")?;
    let users = Users::from_text(&users)?;

    // Makes the folder, which no other user of the machine can read.
    let store = SqliteStore::open(folder.join("sessions.sqlite")).await?;
    let key_file = folder.join("program.key");
    let key = ProgramKey::load_or_create(&key_file)?;
    let executor = accountant::executor(folder.join("payments.txt"), &store, &key)?;
    let agent = accountant::agent(executor.clone())?;
    let runner = Runner::new(agent).with_app(APP).with_store(store.clone()).with_program_key(key);
    let ids = CallIds::from_key_file(&key_file)?;

    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    let service = Arc::new(Service { runner, executor, store: store.clone(), users, ids });
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, service::router(service)).with_graceful_shutdown(stop).await?;
    store.close().await;
    Ok(())
}
