//! The contract in tests. Every store passes all of it:
//!
//! ```ignore
//! signoff_store::store_conformance!(fresh_store());
//! ```
//!
//! where the expression gives an empty `Arc<dyn Store>` and something to keep alive along with it.

#![allow(
    missing_docs,
    clippy::wildcard_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::unused_async
)]

pub mod decisions;
pub mod fixtures;
pub mod inbox;
pub mod journal;
pub mod leases;
pub mod links;
pub mod people;
pub mod pushes;
pub mod record;
pub mod runs;
pub mod siblings;
pub mod timers;
pub mod upkeep;
pub mod views;
pub mod webhooks;

/// One test per case of the suite, each with a store of its own.
#[macro_export]
macro_rules! store_conformance {
    ($fresh:expr) => {
        $crate::store_conformance! { @each $fresh;
            journal::a_run_reads_back_as_it_was_written,
            journal::creating_twice_changes_nothing,
            journal::a_run_begins_with_how_it_started,
            journal::numbers_have_no_gaps,
            journal::a_stale_position_is_fenced,
            journal::a_stale_epoch_is_fenced,
            journal::another_node_is_fenced,
            journal::a_refused_append_leaves_no_trace,
            journal::appends_keep_their_order,
            journal::entries_come_in_slices,
            journal::a_snapshot_shortens_loading,
            journal::inputs_are_consumed_once,
            journal::unknown_runs_are_refused,
            journal::a_definition_is_kept_once,
            leases::a_new_run_is_ready,
            leases::a_lease_excludes_others,
            leases::a_lease_runs_out,
            leases::claims_do_not_overlap,
            leases::a_parked_run_is_not_ready,
            leases::parking_with_a_waiting_input_stays_ready,
            leases::a_released_run_is_ready,
            leases::renewing_keeps_what_is_held,
            leases::a_tree_is_claimed_without_its_neighbours,
            leases::a_single_run_is_claimed_ready_or_not,
            leases::a_run_that_is_over_is_not_claimed,
            leases::a_duty_is_one_nodes_at_a_time,
            decisions::a_decision_wakes_the_run,
            decisions::deciding_twice_tells_the_first,
            decisions::many_deciders_have_one_winner,
            decisions::a_decision_on_an_older_version_is_refused,
            decisions::a_decision_keeps_the_message_that_said_so,
            decisions::several_must_agree,
            decisions::several_are_decided_all_or_none,
            decisions::a_policy_is_set_and_taken_back,
            decisions::a_decision_is_remembered,
            links::a_secret_is_made_once,
            links::the_audit_says_what_came_by_a_link,
            views::a_person_who_looks_is_noted_once_for_each_version,
            views::who_was_told_is_noted_with_how_far,
            views::what_people_note_on_requests_is_in_the_audit,
            views::who_stops_a_run_is_in_the_audit,
            record::what_is_asked_is_bound_by_the_audit,
            record::what_was_called_is_bound_by_the_audit,
            record::what_a_fork_brings_along_is_not_in_the_audit,
            siblings::a_rejection_takes_the_rest_of_its_turn_back,
            siblings::what_is_decided_along_with_a_rejection_counts,
            siblings::a_request_is_put_off_and_comes_back,
            timers::people_are_reminded_while_it_waits,
            decisions::a_late_decision_finds_it_expired,
            decisions::a_decision_can_lease_the_run,
            decisions::an_unknown_request_is_refused,
            decisions::the_audit_is_a_chain,
            decisions::the_audit_is_read_back_from_its_end,
            decisions::expiry_and_decision_exclude_each_other,
            timers::a_sleep_ends_once,
            timers::a_run_runs_out_of_time,
            timers::what_is_answered_is_not_due,
            timers::a_fired_timer_is_not_due,
            timers::firing_is_limited,
            runs::the_end_clears_up,
            runs::the_end_tells_the_parent,
            runs::the_end_tells_the_runs_that_are_part_of_it,
            runs::a_fork_brings_its_answers,
            runs::withdrawn_requests_are_cancelled,
            runs::runs_are_listed_newest_first,
            runs::runs_are_filtered,
            runs::a_conversation_has_a_latest_run,
            runs::a_conversation_goes_on_from_where_it_was_seen,
            runs::changes_are_noticed,
            inbox::requests_are_listed_oldest_first,
            inbox::pages_do_not_shift,
            inbox::requests_are_filtered,
            inbox::words_are_only_words,
            inbox::what_comes_later_is_after_the_ends,
            inbox::a_bad_cursor_is_refused,
            people::tenants_have_runs_of_their_own,
            people::a_tenant_sees_nothing_of_others,
            people::what_waits_is_counted_for_each_tenant,
            people::a_request_is_looked_after_by_one,
            people::requests_are_found_by_risk_and_age,
            people::a_conversation_keeps_what_is_put_into_it,
            people::a_run_makes_its_conversation_known_once,
            people::conversations_are_listed_newest_first,
            people::users_have_unique_names,
            pushes::those_who_wait_for_news_are_told,
            pushes::one_tells_and_tells_again,
            pushes::parts_of_a_run_are_news,
            pushes::so_many_are_told_of_a_run,
            pushes::a_tenant_is_told_of_its_own_runs,
            upkeep::a_run_moves_from_store_to_store,
            upkeep::a_run_that_is_moved_out_is_over,
            upkeep::what_is_over_is_removed,
            upkeep::what_somebody_is_to_be_told_of_is_kept,
            upkeep::a_store_says_how_it_is,
            webhooks::what_happens_is_told_in_order,
            webhooks::votes_and_reminders_are_told,
            webhooks::what_a_fork_brings_along_is_not_told,
            webhooks::what_is_audited_is_told,
            webhooks::a_webhook_is_delivered_to_by_one,
            webhooks::what_it_is_known_by_there_is_kept,
            webhooks::events_are_kept_until_all_are_told,
            webhooks::a_tenant_does_not_deliver,
        }
    };
    (@each $fresh:expr; $($module:ident::$case:ident,)*) => {$(
        #[tokio::test]
        async fn $case() {
            let (store, _keep) = $fresh;
            $crate::conformance::$module::$case(store).await;
        }
    )*};
}
