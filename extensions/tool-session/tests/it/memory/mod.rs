//! The contract of a memory: each test runs over every store.

pub(crate) mod deletion;
pub(crate) mod queries;
pub(crate) mod ranking;
#[cfg(feature = "tools")]
mod results;
pub(crate) mod sessions;
#[cfg(feature = "tools")]
mod tools;
pub(crate) mod world;

/// Runs the whole suite over the memories of a [`MemoryFactory`](world::MemoryFactory).
macro_rules! memory_contract_of {
    ($factory:ident) => {
        mod memory {
            use super::$factory;

            crate::memory::memory_tests! { $factory;
                deletion: a_deleted_note_is_not_found, a_deleted_session_takes_its_notes_along, a_pruned_session_takes_its_notes_along,
                    a_deleted_user_leaves_no_note, the_notes_of_a_user_are_deleted_alone;
                queries: a_query_is_text_and_never_syntax, a_query_of_100_kb_is_searched, an_empty_query_finds_nothing,
                    one_character_is_found, words_are_found_in_any_case_and_script, hostile_texts_and_names_are_kept_exactly,
                    notes_beyond_the_limits_are_refused, users_do_not_find_the_notes_of_each_other,
                    any_note_is_found_by_its_own_text;
                ranking: all_stores_find_the_same_notes_in_the_same_order, a_rare_word_is_found_among_many_notes_with_a_frequent_one,
                    the_newest_of_equal_notes_is_first, a_limit_keeps_the_best_matches,
                    at_most_8_mib_of_text_are_compared;
                sessions: a_session_is_added_once_for_each_revision, two_processes_add_a_session_once,
                    a_session_made_again_is_added_again, a_long_entry_becomes_several_notes, a_missing_session_is_an_error,
                    entries_without_a_text_add_no_note;
            }
        }
    };
}

macro_rules! memory_tests {
    ($factory:ident; $($module:ident: $($test:ident),+;)+) => { $(
        mod $module {
            $(
                #[tokio::test]
                async fn $test() {
                    if <super::$factory as crate::memory::world::MemoryFactory>::is_available() {
                        crate::memory::$module::$test::<super::$factory>().await;
                    }
                }
            )+
        }
    )+ };
}

pub(crate) use {memory_contract_of, memory_tests};
