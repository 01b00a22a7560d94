//! The real server, as its clients see it.

#![cfg(unix)] // signals and paths of a Unix system
#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

#[path = "serve/a2a.rs"]
mod a2a;
#[path = "serve/a2a_answers.rs"]
mod a2a_answers;
#[path = "serve/a2a_clients.rs"]
mod a2a_clients;
#[path = "serve/a2a_push.rs"]
mod a2a_push;
#[path = "serve/a2a_support.rs"]
mod a2a_support;
#[path = "serve/access.rs"]
mod access;
#[path = "serve/ag_ui.rs"]
mod ag_ui;
#[path = "serve/bounds.rs"]
mod bounds;
#[path = "serve/bridge.rs"]
mod bridge;
#[path = "serve/bridge_questions.rs"]
mod bridge_questions;
#[path = "serve/checks.rs"]
mod checks;
#[path = "serve/checks_nodes.rs"]
mod checks_nodes;
#[path = "serve/deciders.rs"]
mod deciders;
#[path = "serve/defer.rs"]
mod defer;
#[path = "serve/devui.rs"]
mod devui;
#[path = "serve/document.rs"]
mod document;
#[path = "serve/errors.rs"]
mod errors;
#[path = "serve/executed.rs"]
mod executed;
#[path = "serve/framework.rs"]
mod framework;
#[path = "serve/gates.rs"]
mod gates;
#[path = "serve/judges.rs"]
mod judges;
#[path = "serve/links.rs"]
mod links;
#[path = "serve/logs.rs"]
mod logs;
#[path = "serve/marks.rs"]
mod marks;
#[path = "serve/mcp.rs"]
mod mcp;
#[path = "serve/mcp_conformance.rs"]
mod mcp_conformance;
#[path = "serve/mcp_forms.rs"]
mod mcp_forms;
#[path = "serve/mcp_support.rs"]
mod mcp_support;
#[path = "serve/nodes.rs"]
mod nodes;
#[path = "serve/openai.rs"]
mod openai;
#[path = "serve/phases.rs"]
mod phases;
#[path = "serve/planner.rs"]
mod planner;
#[path = "serve/policy.rs"]
mod policy;
#[path = "serve/postgres.rs"]
mod postgres;
#[path = "serve/qlaw.rs"]
mod qlaw;
#[path = "serve/races.rs"]
mod races;
#[path = "serve/rebound.rs"]
mod rebound;
#[path = "serve/webhooks/receiver.rs"]
mod receiver;
#[path = "serve/record.rs"]
mod record;
#[path = "serve/refused.rs"]
mod refused;
#[path = "serve/rollback.rs"]
mod rollback;
#[path = "serve/schemathesis.rs"]
mod schemathesis;
#[path = "serve/siblings.rs"]
mod siblings;
#[path = "serve/steering.rs"]
mod steering;
#[path = "serve/stopping.rs"]
mod stopping;
#[path = "serve/streams.rs"]
mod streams;
#[path = "serve/support.rs"]
mod support;
#[path = "serve/tenants.rs"]
mod tenants;
#[path = "serve/traces.rs"]
mod traces;
#[path = "serve/unanswered.rs"]
mod unanswered;
#[path = "serve/visible.rs"]
mod visible;
#[path = "serve/web.rs"]
mod web;
#[path = "serve/webhooks.rs"]
mod webhooks;
#[path = "serve/ws.rs"]
mod ws;
#[path = "serve/ws_access.rs"]
mod ws_access;
#[path = "serve/ws_approvals.rs"]
mod ws_approvals;
#[path = "serve/ws_refused.rs"]
mod ws_refused;
#[path = "serve/ws_support.rs"]
mod ws_support;
