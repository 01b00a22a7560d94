//! Reads requests: the inbox.

use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use signoff_core::request::{Request, RequestKind, RequestStatus, Risk, TakenDecision};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, ConversationId, RequestId, RequestNo, RunId, Tenant};

use super::clauses::{Clauses, containing};
use super::error::{parse, read};
use super::page::{List, Order};
use crate::what_waits::WhatWaits;
use crate::{Assigned, Page, RequestFilter, StoreError};

const COLUMNS: &str = "SELECT r.no, r.run, r.number, r.root, r.status, r.version, r.created_at,
    r.decision, r.decided_by, r.decided_at, r.body, u.id, u.workflow, u.conversation,
    r.tenant, r.assignee, r.sent, r.withdrawn, r.deferred_until";

/// A request with its numbers in this database.
#[derive(Debug)]
pub(super) struct StoredRequest {
    pub(super) no: i64,
    pub(super) run: i64,
    pub(super) number: RequestNo,
    pub(super) request: Request,
}

/// The request of this id.
pub(super) fn by_id(
    connection: &Connection,
    id: &RequestId,
) -> Result<Option<StoredRequest>, StoreError> {
    let Some((run, number)) = id.split() else { return Ok(None) };
    let sql = format!(
        "{COLUMNS} FROM runs u CROSS JOIN requests r ON r.run = u.no AND r.number = ?2
         WHERE u.id = ?1"
    );
    connection
        .prepare_cached(&sql)?
        .query_row(params![run.as_str(), number], |row| Ok(from_row(row)))
        .optional()?
        .transpose()
}

/// The request of this number in a run.
pub(super) fn numbered(
    connection: &Connection,
    run: i64,
    number: RequestNo,
) -> Result<Option<StoredRequest>, StoreError> {
    let sql = format!(
        "{COLUMNS} FROM requests r CROSS JOIN runs u ON u.no = r.run
         WHERE r.run = ?1 AND r.number = ?2"
    );
    connection
        .prepare_cached(&sql)?
        .query_row(params![run, number], |row| Ok(from_row(row)))
        .optional()?
        .transpose()
}

/// A page of the inbox.
pub(super) fn page(
    connection: &Connection,
    filter: &RequestFilter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<Request>, StoreError> {
    let order = Order::Oldest { after: "r.no > ?", by: "r.no" };
    let (select, clauses) = (format!("{COLUMNS}{}", tables(filter)), conditions(filter));
    let list = List { select, clauses, order, cursor: 'q' };
    list.page(connection, cursor, limit, |row| from_row(row).map(|found| (found.no, found.request)))
}

/// How many match.
pub(super) fn count(connection: &Connection, filter: &RequestFilter) -> Result<u64, StoreError> {
    if let Some(what_waits) = WhatWaits::of(filter) {
        // Indexes alone tell these numbers, where each request would have to be looked at to see whose it is, and
        // whether it was put off.
        let all =
            "SELECT count(*) FROM requests r INDEXED BY requests_inbox WHERE r.status = 'pending'";
        let of_others = "SELECT count(*) FROM requests r INDEXED BY requests_tenant
             WHERE r.status = 'pending' AND r.tenant <> 'local'";
        let put_off = "SELECT count(*) FROM requests r INDEXED BY requests_deferred
             WHERE r.status = 'pending' AND r.deferred_until IS NOT NULL";
        let sql = match what_waits {
            WhatWaits::Here { put_off_too: true } => format!("SELECT ({all}) - ({of_others})"),
            WhatWaits::Here { put_off_too: false } => {
                format!("SELECT ({all}) - ({of_others}) - ({put_off} AND r.tenant = 'local')")
            }
            WhatWaits::Anywhere => format!("SELECT ({all}) - ({put_off})"),
            WhatWaits::Of(_) => {
                format!("SELECT ({of_others} AND r.tenant = ?1) - ({put_off} AND r.tenant = ?1)")
            }
        };
        let bound = what_waits.tenant().map(Tenant::as_str);
        let count = connection
            .prepare_cached(&sql)?
            .query_row(params_from_iter(bound), |row| row.get(0))?;
        return Ok(read(count));
    }
    let clauses = conditions(filter);
    // A run is looked up only for what is asked of it: there is one for each request.
    let of_runs = filter.workflow.is_some() || filter.conversation.is_some();
    let from = tables(filter);
    let from = if of_runs { from } else { from.split(" CROSS JOIN").next().unwrap_or(from) };
    let sql = format!("SELECT count(*){from}{}", clauses.sql());
    let count = connection
        .prepare_cached(&sql)?
        .query_row(params_from_iter(&clauses.values), |row| row.get(0))?;
    Ok(read(count))
}

fn conditions(filter: &RequestFilter) -> Clauses {
    let mut clauses = Clauses::default();
    match filter.status {
        // Written out, so that the index of pending requests serves.
        Some(RequestStatus::Pending) => clauses.and("r.status = 'pending'", [] as [i64; 0]),
        status => clauses.and_if("r.status = ?", status.map(RequestStatus::as_str)),
    }
    if let Some(tenant) = &filter.tenant {
        // Said, so that the index of all others serves.
        if !tenant.is_local() {
            clauses.and("r.tenant <> 'local'", [] as [i64; 0]);
        }
        clauses.and("r.tenant = ?", [tenant.as_str().to_owned()]);
    }
    match &filter.assigned {
        None => {}
        Some(Assigned::To(actor)) => clauses.and("r.assignee = ?", [actor.as_str().to_owned()]),
        Some(Assigned::ToNobody) => clauses.and("r.assignee IS NULL", [] as [i64; 0]),
    }
    clauses.and_if("r.body ->> '$.risk' = ?", filter.risk.map(Risk::as_str));
    if let Some(at) = filter.asked_until {
        clauses.and("r.created_at <= ?", [at.0]);
    }
    match filter.deferred {
        None => {}
        Some(true) => {
            clauses.and("r.deferred_until IS NOT NULL AND r.status = 'pending'", [] as [i64; 0]);
        }
        Some(false) => {
            clauses.and("(r.deferred_until IS NULL OR r.status <> 'pending')", [] as [i64; 0]);
        }
    }
    clauses.and_if("r.kind = ?", filter.kind.map(RequestKind::as_str));
    clauses.and_if("u.workflow = ?", filter.workflow.as_deref());
    clauses.and_if("r.agent = ?", filter.agent.as_deref());
    clauses.and_if("u.conversation = ?", filter.conversation.as_ref().map(ConversationId::as_str));
    if let Some(run) = &filter.root {
        let run = run.as_str().to_owned();
        clauses
            .and("(r.root = ? OR r.run = (SELECT no FROM runs WHERE id = ?))", [run.clone(), run]);
    }
    for word in filter.text.as_deref().unwrap_or_default().split_whitespace() {
        clauses.and(r"r.body ->> '$.prompt' LIKE ? ESCAPE '\'", [containing(word)]);
    }
    clauses
}

/// Where to look. The planner is told the way: through pending requests only, where nothing narrower
/// is known, or from the conversation's runs.
fn tables(filter: &RequestFilter) -> &'static str {
    let pending = filter.status == Some(RequestStatus::Pending);
    if filter.conversation.is_some() {
        " FROM runs u CROSS JOIN requests r ON r.run = u.no"
    } else if pending && filter.root.is_none() {
        if filter.deferred == Some(true) {
            return " FROM requests r INDEXED BY requests_deferred CROSS JOIN runs u ON u.no = r.run";
        }
        if filter.tenant.as_ref().is_some_and(|tenant| !tenant.is_local()) {
            return " FROM requests r INDEXED BY requests_tenant CROSS JOIN runs u ON u.no = r.run";
        }
        " FROM requests r INDEXED BY requests_inbox CROSS JOIN runs u ON u.no = r.run"
    } else {
        " FROM requests r CROSS JOIN runs u ON u.no = r.run"
    }
}

fn from_row(row: &Row<'_>) -> Result<StoredRequest, StoreError> {
    let text = |column| row.get::<_, String>(column);
    let number: RequestNo = row.get(2)?;
    let run = RunId::new(text(11)?);
    let id = run.request(number);
    let status = text(4)?;
    let status = RequestStatus::from_word(&status)
        .ok_or_else(|| StoreError::Corrupt(format!("{id} has the status `{status}`")))?;
    let decision = match row.get::<_, Option<String>>(7)? {
        None => None,
        Some(decision) => Some(TakenDecision {
            decision: parse(id.as_str(), &decision)?,
            by: Actor::new(text(8)?),
            at: Timestamp(row.get(9)?),
            sent: match row.get::<_, Option<String>>(16)? {
                None => None,
                Some(sent) => Some(parse(id.as_str(), &sent)?),
            },
        }),
    };
    let body = parse(id.as_str(), row.get_ref(10)?.as_str().unwrap_or_default())?;
    Ok(StoredRequest {
        no: row.get(0)?,
        run: row.get(1)?,
        number,
        request: Request {
            id,
            version: row.get(5)?,
            status,
            root: row.get::<_, Option<String>>(3)?.map_or_else(|| run.clone(), RunId::new),
            run,
            workflow: text(12)?.into(),
            conversation: ConversationId::new(text(13)?),
            tenant: Tenant::new(text(14)?),
            assignee: row.get::<_, Option<String>>(15)?.map(Actor::new),
            body,
            created_at: Timestamp(row.get(6)?),
            decision,
            withdrawn: row.get(17)?,
            deferred_until: row
                .get::<_, Option<i64>>(18)?
                .map(Timestamp)
                .filter(|_| status == RequestStatus::Pending),
        },
    })
}
