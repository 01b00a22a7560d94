//! The pages of `docs/errors`, one for each error code, inside the binary. A test holds this list against the folder.

macro_rules! pages {
    ($($code:ident)*) => {
        [$((stringify!($code), include_str!(concat!("../../../docs/errors/", stringify!($code), ".md")))),*]
    };
}

/// Codes and their pages, by code.
static PAGES: &[(&str, &str)] = &pages! {
    a2a_auth a2a_canceled a2a_card a2a_config a2a_failed a2a_overtaken a2a_protocol a2a_refused
    a2a_rejected a2a_task_lost a2a_unavailable already_claimed already_decided ambiguous_answer
    bad_arguments bad_calendar bad_calendar_name bad_glob bad_header bad_path bad_url body_timeout
    body_too_large calendar_failed cancelled canned_no_reply cannot_fork cannot_reload cannot_undo
    command_failed command_stuck conversation_busy could_not_ask decision_not_allowed denied
    edge_condition expired feedback_not_taken fenced file_changed file_failed file_too_large
    folder_not_empty foreign_request gate_rounds group_chat_rule group_chat_speaker handoff_until
    host_denied host_refused idempotency_conflict in_doubt internal interrupts_open invalid_answer
    invalid_body invalid_cursor invalid_deferral invalid_input invalid_link invalid_path
    invalid_policy invalid_query invalid_question invalid_token invalid_workflow join_incomplete
    limit_activations limit_model_calls limit_steps limit_wall link link_expired malformed_json
    mcp_config mcp_disconnected mcp_protocol mcp_unavailable method_not_allowed missing_token
    model_auth model_bad_request model_context_length model_cut model_malformed model_not_found
    model_overloaded model_rate_limited model_refused model_timeout model_unavailable net_connect
    net_refused net_timeout net_tls net_too_large no_calendar no_change no_match no_permission
    no_such_line none_decided not_a_file not_a_folder not_acceptable not_asked not_failed not_found
    not_permitted not_ready not_text origin_refused output_invalid own_run panic path_denied
    plan_rejected plan_revisions program_denied program_missing remote_questions remote_timeout
    run_over script_no_match script_template several_matches shutting_down step_failed step_rejected
    step_turns store too_many_attached too_many_messages too_many_redirects too_many_requests
    too_many_streams tool_arguments tool_failed tool_missing tool_panicked tool_rounds tool_timeout
    transform unknown_agent unknown_code unknown_conversation unknown_definition unknown_executor
    unknown_feedback unknown_function unknown_grant unknown_item unknown_model unknown_remote
    unknown_request unknown_response unknown_route unknown_run unknown_session unknown_source
    unknown_tool unknown_workflow unsupported_media_type upgrade_required version_conflict withdrawn
};

/// The page of a code.
pub(crate) fn page(code: &str) -> Option<&'static str> {
    let found = PAGES.binary_search_by_key(&code, |(code, _)| code).ok()?;
    PAGES.get(found).map(|(_, page)| *page)
}

/// All codes that have a page.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(code, _)| *code)
}
