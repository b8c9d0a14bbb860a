//! The contract of a store of sessions: each test runs over every store.

pub(crate) mod deletion;
pub(crate) mod entries;
pub(crate) mod exports;
pub(crate) mod forks;
pub(crate) mod leases;
pub(crate) mod lists;
pub(crate) mod names;
pub(crate) mod state;
pub(crate) mod world;
pub(crate) mod writes;

/// Runs the whole suite over the stores of a [`StoreFactory`](world::StoreFactory).
macro_rules! contract_of {
    ($factory:ident) => {
        crate::contract::contract_tests! { $factory;
            deletion: a_deleted_session_is_gone_and_its_run_writes_nothing, a_deleted_user_leaves_nothing,
                a_session_made_again_is_not_the_one_before, retention_keeps_young_and_last_changed_sessions,
                retention_keeps_a_session_whose_run_is_alive, a_user_is_deleted_while_runs_write;
            entries: pages_go_forward_and_backward_without_gaps, a_page_ends_at_its_bytes, a_large_entry_is_a_page_of_its_own,
                filters_select_by_kind_run_branch_and_view, the_last_compaction_is_found_without_the_rest,
                bodies_are_kept_byte_for_byte, all_columns_are_kept, entries_of_a_missing_session_are_none;
            exports: an_imported_session_equals_the_exported_one, an_import_is_all_or_nothing,
                a_large_session_is_exported_whole;
            forks: a_fork_shares_entries_and_goes_on_by_itself, a_fork_of_a_missing_entry_is_refused;
            leases: one_of_two_holders_gets_the_lease, a_released_lease_is_free, an_expired_lease_is_taken_over,
                a_holder_takes_over_its_own_lease, an_older_epoch_writes_nothing, an_expired_lease_goes_on_if_no_run_took_it,
                a_lease_is_taken_again_at_an_unchanged_revision_only, a_write_renews_the_lease,
                unfinished_runs_are_those_that_expired_without_an_end, a_continued_run_reads_its_usage,
                an_abandoned_lease_is_free_and_its_run_unfinished,
                a_clock_that_jumps_back_gives_no_second_writer, of_many_requests_one_is_granted;
            lists: sessions_are_listed_by_their_last_change, a_list_is_read_in_pages;
            names: hostile_names_are_kept_exactly, names_beyond_the_limit_are_refused, a_hostile_call_id_is_kept_exactly,
                users_do_not_see_each_other, any_text_is_kept_in_every_column;
            state: changes_are_merged_by_scope, values_of_a_run_are_not_stored, changes_of_two_sessions_are_merged,
                numbers_and_deep_values_are_kept, a_scope_has_at_most_16_mib;
            writes: a_write_is_one_transaction, a_write_for_another_revision_is_refused, a_repeated_write_is_stored_once,
                the_end_of_a_run_ends_its_lease, an_entry_of_64_megabytes_is_refused, many_sessions_are_written_at_once,
                a_write_without_entries_changes_title_and_revision, a_removed_view_keeps_the_numbers_of_its_entries_and_nothing_else,
                a_write_that_is_refused_removes_no_view;
        }
    };
}

macro_rules! contract_tests {
    ($factory:ident; $($module:ident: $($test:ident),+;)+) => { $(
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    if <super::$factory as crate::contract::world::StoreFactory>::is_available() {
                        crate::contract::$module::$test::<super::$factory>().await;
                    }
                }
            )+
        }
    )+ };
}

pub(crate) use {contract_of, contract_tests};
