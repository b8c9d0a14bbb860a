//! The queued calls of each key, in the order in which they were stored.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Bound,
};

use tool_runtime::definition::ContentHash;

/// The ids of queued calls, so that the next one is found without a look at the others.
#[derive(Debug, Default)]
pub(super) struct QueuedCalls {
    by_key: HashMap<ContentHash, BTreeSet<(u64, String)>>,
}

impl QueuedCalls {
    pub(super) fn insert(&mut self, key: ContentHash, number: u64, id: &str) {
        self.by_key.entry(key).or_default().insert((number, id.to_owned()));
    }

    pub(super) fn remove(&mut self, key: ContentHash, number: u64, id: &str) {
        let Some(calls) = self.by_key.get_mut(&key) else { return };
        calls.remove(&(number, id.to_owned()));
        if calls.is_empty() {
            self.by_key.remove(&key);
        }
    }

    /// Returns the first call of one of `keys` after the call `after` that is ready.
    pub(super) fn next_after<'a>(
        &'a self,
        keys: &[ContentHash],
        after: Option<&(u64, String)>,
        mut is_ready: impl FnMut(&str) -> bool,
    ) -> Option<&'a (u64, String)> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let calls_of =
            |key| self.by_key.get(key).into_iter().flat_map(|calls| calls.range((start, Bound::Unbounded)));
        let mut next: Option<&(u64, String)> = None;
        for key in keys {
            // Those behind the best one of an earlier key need no look.
            let earlier = calls_of(key).take_while(|call| next.is_none_or(|next| *call < next));
            next = { earlier }.find(|(_, id)| is_ready(id)).or(next);
        }
        next
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn keys(count: usize) -> Vec<ContentHash> {
        (0..count).map(|number| ContentHash::of(&number)).collect()
    }

    #[test]
    fn ten_thousand_calls_are_drained_in_their_order_with_a_look_at_each_one() {
        let (keys, mut queued) = (keys(3), QueuedCalls::default());
        for number in 0..10_000 {
            queued.insert(keys[number as usize % 2], number, &format!("{number}-1"));
        }
        let mut looks = 0;
        for number in 0..10_000 {
            let look = |_: &str| {
                looks += 1;
                true
            };
            let next = queued.next_after(&keys, None, look).unwrap();
            let id = format!("{number}-1");
            assert_eq!(next, &(number, id.clone()));
            queued.remove(keys[number as usize % 2], number, &id);
        }
        assert!(queued.next_after(&keys, None, |_| true).is_none());
        // One for the first call of each key that has calls, at most.
        assert!(looks <= 20_000, "{looks}");
        assert!(queued.by_key.is_empty());
    }

    #[test]
    fn calls_of_other_keys_and_those_before_a_call_are_passed_over() {
        let (keys, mut queued) = (keys(3), QueuedCalls::default());
        for (number, key) in [(1, 0), (2, 1), (3, 0), (3, 2), (4, 1)] {
            queued.insert(keys[key], number, &format!("{number}-{key}"));
        }
        let next = |keys: &[ContentHash], after: Option<(u64, String)>| {
            queued.next_after(keys, after.as_ref(), |id| id != "3-0").map(|(_, id)| id.as_str())
        };
        assert_eq!(next(&keys[1..], None).unwrap(), "2-1");
        assert_eq!(next(&keys, Some((1, "1-0".to_owned()))).unwrap(), "2-1");
        assert_eq!(next(&keys, Some((2, "2-1".to_owned()))).unwrap(), "3-2");
        assert_eq!(next(&keys[..1], Some((1, "1-0".to_owned()))), None);
        assert_eq!(next(&keys[2..], None).unwrap(), "3-2");
    }
}
