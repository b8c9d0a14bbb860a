//! Helpers of all test programs.

use std::future::Future;

/// Runs `future` to its end.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Returns the output of `future`, which must be ready at once, like the futures of a store in memory.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    futures_util::FutureExt::now_or_never(future).expect("the future is ready at once")
}
