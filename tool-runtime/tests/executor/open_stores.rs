//! Handles to stores of open calls.

use tool_runtime::{
    call::CallAddress,
    open_calls::{
        MemoryOpenCalls, OpenCallStore, OpenFilter, OpenRecord, OpenStoreError, SharedOpenCallStore,
    },
};

/// A store that does not know whether it outlives the process.
struct Torn;

impl OpenCallStore for Torn {
    fn outlives_process(&self) -> bool {
        panic!("torn")
    }

    async fn put(&self, _: OpenRecord) -> Result<(), OpenStoreError> {
        Ok(())
    }

    async fn get(&self, _: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        Ok(None)
    }

    async fn list(&self, _: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        panic!("torn")
    }

    async fn consume(&self, _: &OpenRecord) -> Result<bool, OpenStoreError> {
        Ok(false)
    }
}

#[test]
fn a_store_that_panics_is_treated_as_one_that_outlives_the_process() {
    let torn = SharedOpenCallStore::new(Torn);
    assert!(torn.outlives_process());
    let error = super::now(torn.list(&OpenFilter::default())).unwrap_err();
    assert!(error.to_string().contains("the store of open calls panicked: torn"), "{error}");
    assert!(!SharedOpenCallStore::new(MemoryOpenCalls::new()).outlives_process());
}
