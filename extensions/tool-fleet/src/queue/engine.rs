//! The trait of queues, for an engine whose operations are async functions.

/// Implements [`CallQueue`](super::CallQueue) by the functions of an engine that change and read records: `put_record` for `put_call`, and so on. The first three
/// functions of the trait are given.
macro_rules! impl_call_queue {
    ($engine:ty { $($properties:tt)* }) => {
        impl $crate::CallQueue for $engine {
            $($properties)*

            fn put_call(&self, call: $crate::NewCall) -> $crate::queue::Operation<'_, bool> {
                Box::pin(self.put_record(call))
            }

            fn take_call<'a>(
                &'a self,
                keys: &'a [::tool_runtime::definition::ContentHash],
                worker: &'a str,
                lease: ::std::time::Duration,
            ) -> $crate::queue::Operation<'a, Option<$crate::TakenCall>> {
                Box::pin(self.take_record(keys, worker, lease))
            }

            fn extend_lease<'a>(
                &'a self,
                call: &'a $crate::QueueEpoch,
                lease: ::std::time::Duration,
            ) -> $crate::queue::Operation<'a, $crate::LeaseState> {
                Box::pin(self.extend_record(call, lease))
            }

            fn start_call<'a>(
                &'a self,
                call: &'a $crate::QueueEpoch,
            ) -> $crate::queue::Operation<'a, $crate::StartGrant> {
                Box::pin(self.start_record(call))
            }

            fn return_call<'a>(&'a self, call: &'a $crate::QueueEpoch) -> $crate::queue::Operation<'a, bool> {
                Box::pin(self.return_record(call))
            }

            fn end_call<'a>(
                &'a self,
                call: &'a $crate::QueueEpoch,
                result: ::bytes::Bytes,
            ) -> $crate::queue::Operation<'a, bool> {
                Box::pin(self.end_record(call, result))
            }

            fn read_call<'a>(
                &'a self,
                id: &'a str,
            ) -> $crate::queue::Operation<'a, Option<($crate::QueuedCall, ::bytes::Bytes)>> {
                Box::pin(self.read_record(id))
            }

            fn find_call<'a>(
                &'a self,
                id: &'a str,
            ) -> $crate::queue::Operation<'a, Option<$crate::QueuedCall>> {
                Box::pin(self.find_record(id))
            }

            fn remove_call<'a>(&'a self, id: &'a str) -> $crate::queue::Operation<'a, bool> {
                Box::pin(self.remove_record(id))
            }

            fn cancel_call<'a>(
                &'a self,
                id: &'a str,
            ) -> $crate::queue::Operation<'a, Option<$crate::CallState>> {
                Box::pin(self.cancel_record(id))
            }

            fn list_calls<'a>(
                &'a self,
                states: &'a [$crate::CallState],
            ) -> $crate::queue::Operation<'a, Vec<$crate::QueuedCall>> {
                Box::pin(self.list_records(states))
            }

            fn purge_calls<'a>(
                &'a self,
                states: &'a [$crate::CallState],
            ) -> $crate::queue::Operation<'a, Vec<$crate::QueuedCall>> {
                Box::pin(self.purge_records(states))
            }

            fn settle_calls(&self) -> $crate::queue::Operation<'_, Vec<$crate::QueuedCall>> {
                Box::pin(self.settle_records())
            }
        }
    };
}

pub(super) use impl_call_queue;
