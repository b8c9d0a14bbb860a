//! The contract of artifacts: each test runs over every store.

pub(crate) mod deletion;
#[cfg(feature = "sqlite")]
mod folder;
#[cfg(feature = "tools")]
mod instructions;
pub(crate) mod names;
pub(crate) mod saves;
pub(crate) mod sweeps;
#[cfg(feature = "tools")]
mod tools;
#[cfg(feature = "sqlite")]
mod transient;
pub(crate) mod world;

/// Runs the whole suite over the artifacts of an [`ArtifactFactory`](world::ArtifactFactory).
macro_rules! artifact_contract_of {
    ($factory:ident) => {
        mod artifacts {
            use super::$factory;

            crate::artifacts::artifact_tests! { $factory;
                deletion: a_deleted_name_leaves_no_body, a_deleted_session_leaves_its_bodies_to_a_sweep,
                    a_deleted_user_leaves_no_note_no_artifact_and_no_body, the_artifacts_of_a_user_are_deleted_alone;
                names: hostile_names_are_kept_exactly_and_never_in_a_path, names_beyond_the_limits_are_refused,
                    names_with_the_prefix_of_users_belong_to_the_user, users_do_not_load_the_artifacts_of_each_other,
                    any_name_is_kept;
                saves: lists_are_read_in_pages, versions_are_counted_and_each_can_be_loaded, writers_at_once_get_different_versions,
                    a_body_beyond_the_limit_is_refused_and_leaves_nothing, a_stream_that_fails_saves_nothing,
                    a_large_body_is_streamed, equal_bodies_of_a_user_are_stored_once, an_artifact_of_a_missing_session_is_refused,
                    a_changed_body_is_an_error;
                sweeps: a_sweep_keeps_the_body_of_a_writer_at_work, a_writer_that_is_too_slow_saves_nothing,
                    a_sweep_removes_what_an_interrupted_writer_left;
            }
        }
    };
}

macro_rules! artifact_tests {
    ($factory:ident; $($module:ident: $($test:ident),+;)+) => { $(
        mod $module {
            $(
                #[tokio::test]
                async fn $test() {
                    if <super::$factory as crate::artifacts::world::ArtifactFactory>::is_available() {
                        crate::artifacts::$module::$test::<super::$factory>().await;
                    }
                }
            )+
        }
    )+ };
}

pub(crate) use {artifact_contract_of, artifact_tests};
