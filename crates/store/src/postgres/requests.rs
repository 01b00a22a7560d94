//! Reads requests: the inbox.

use signoff_core::request::{Request, RequestKind, RequestStatus, Risk, TakenDecision};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, ConversationId, RequestId, RequestNo, RunId, Tenant};
use tokio_postgres::Row;

use super::clauses::Clauses;
use super::columns::Columns as _;
use super::conn::Conn;
use super::error::{Stop, parse};
use super::page::{List, Order, rows};
use super::text::Text;
use crate::what_waits::WhatWaits;
use crate::{Assigned, Page, RequestFilter, StoreError};

const SELECT: &str = "SELECT r.no, r.run, r.number, r.root, r.status, r.version, r.created_at,
    r.decision, r.decided_by, r.decided_at, r.body, u.id, u.workflow, u.conversation,
    r.tenant, r.assignee, r.sent, r.withdrawn, r.deferred_until FROM requests r JOIN runs u ON u.no = r.run";

/// A request with its numbers in this database.
#[derive(Debug)]
pub(super) struct StoredRequest {
    pub(super) no: i64,
    pub(super) run: i64,
    pub(super) number: RequestNo,
    pub(super) request: Request,
}

/// The request of this id.
pub(super) async fn by_id(conn: &Conn, id: &RequestId) -> Result<Option<StoredRequest>, Stop> {
    let Some((run, number)) = id.split() else { return Ok(None) };
    let sql = format!("{SELECT} WHERE u.id = $1 AND r.number = $2");
    let row = conn.row(&sql, &[&Text(run.as_str()), &i64::from(number)]).await?;
    row.as_ref().map(from_row).transpose()
}

/// The request of this number in a run.
pub(super) async fn numbered(
    conn: &Conn,
    run: i64,
    number: RequestNo,
) -> Result<Option<StoredRequest>, Stop> {
    let sql = format!("{SELECT} WHERE r.run = $1 AND r.number = $2");
    let row = conn.row(&sql, &[&run, &i64::from(number)]).await?;
    row.as_ref().map(from_row).transpose()
}

/// A page of the inbox.
pub(super) async fn page(
    conn: &Conn,
    filter: &RequestFilter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<Request>, Stop> {
    let order = Order::Oldest { after: "r.no > ?", by: "r.no" };
    let list = List { select: SELECT.to_owned(), clauses: conditions(filter), order, cursor: 'q' };
    let item = |row: &Row| from_row(row).map(|found| (found.no, found.request));
    list.page(conn, cursor, limit, item).await
}

/// How many match.
pub(super) async fn count(conn: &Conn, filter: &RequestFilter) -> Result<u64, Stop> {
    if let Some(what_waits) = WhatWaits::of(filter) {
        // Indexes alone tell these numbers, where each request would have to be looked at to see whose it is, and
        // whether it was put off.
        let all = "SELECT count(*) FROM requests WHERE status = 'pending'";
        let of_others =
            "SELECT count(*) FROM requests WHERE status = 'pending' AND tenant <> 'local'";
        let put_off =
            "SELECT count(*) FROM requests WHERE status = 'pending' AND deferred_until IS NOT NULL";
        let sql = match what_waits {
            WhatWaits::Here { put_off_too: true } => format!("SELECT ({all}) - ({of_others})"),
            WhatWaits::Here { put_off_too: false } => {
                format!("SELECT ({all}) - ({of_others}) - ({put_off} AND tenant = 'local')")
            }
            WhatWaits::Anywhere => format!("SELECT ({all}) - ({put_off})"),
            WhatWaits::Of(_) => {
                format!("SELECT ({of_others} AND tenant = $1) - ({put_off} AND tenant = $1)")
            }
        };
        let row = match what_waits.tenant() {
            Some(tenant) => conn.row(&sql, &[&Text(tenant.as_str())]).await?,
            None => conn.row(&sql, &[]).await?,
        };
        return Ok(row.map_or(Ok(0), |row| row.number(0))?);
    }
    let clauses = conditions(filter);
    // The run is looked at only where its columns are asked for.
    let join = if filter.workflow.is_some() || filter.conversation.is_some() {
        " JOIN runs u ON u.no = r.run"
    } else {
        ""
    };
    let sql = format!("SELECT count(*) FROM requests r{join}{}", clauses.sql());
    let found = rows(conn, &sql, &clauses).await?;
    Ok(found.first().map_or(Ok(0), |row| row.number(0))?)
}

fn conditions(filter: &RequestFilter) -> Clauses {
    let mut clauses = Clauses::default();
    match filter.status {
        // Written out, so that the index of pending requests serves.
        Some(RequestStatus::Pending) => clauses.and_so("r.status = 'pending'"),
        status => clauses.and_if("r.status = ?", status.map(RequestStatus::as_str)),
    }
    if let Some(tenant) = &filter.tenant {
        // Said, so that the index of all others serves.
        if !tenant.is_local() {
            clauses.and_so("r.tenant <> 'local'");
        }
        clauses.and("r.tenant = ?", [tenant.as_str()]);
    }
    match &filter.assigned {
        None => {}
        Some(Assigned::To(actor)) => clauses.and("r.assignee = ?", [actor.as_str()]),
        Some(Assigned::ToNobody) => clauses.and_so("r.assignee IS NULL"),
    }
    clauses.and_if("r.risk = ?", filter.risk.map(Risk::as_str));
    if let Some(at) = filter.asked_until {
        clauses.and("r.created_at <= ?", [at.0]);
    }
    match filter.deferred {
        None => {}
        Some(true) => clauses.and_so("r.deferred_until IS NOT NULL AND r.status = 'pending'"),
        Some(false) => clauses.and_so("(r.deferred_until IS NULL OR r.status <> 'pending')"),
    }
    clauses.and_if("r.kind = ?", filter.kind.map(RequestKind::as_str));
    clauses.and_if("u.workflow = ?", filter.workflow.as_deref());
    clauses.and_if("r.agent = ?", filter.agent.as_deref());
    clauses.and_if("u.conversation = ?", filter.conversation.as_ref().map(ConversationId::as_str));
    if let Some(run) = &filter.root {
        let run = run.as_str();
        clauses.and("(r.root = ? OR r.run = (SELECT no FROM runs WHERE id = ?))", [run, run]);
    }
    for word in filter.text.as_deref().unwrap_or_default().split_whitespace() {
        clauses.and("strpos(r.prompt, ?) > 0", [searched(word).as_str()]);
    }
    clauses
}

/// A prompt as it is searched in, and words as they are searched for: the case of ASCII letters does not matter.
pub(super) fn searched(text: &str) -> String {
    text.to_ascii_lowercase()
}

fn from_row(row: &Row) -> Result<StoredRequest, Stop> {
    let number: RequestNo = row.small(2)?;
    let run = RunId::new(row.text(11)?);
    let id = run.request(number);
    let status = row.text(4)?;
    let status = RequestStatus::from_word(&status)
        .ok_or_else(|| StoreError::Corrupt(format!("{id} has the status `{status}`")))?;
    let decision = match row.text_if_any(7)? {
        None => None,
        Some(decision) => Some(TakenDecision {
            decision: parse(id.as_str(), &decision)?,
            by: Actor::new(row.text(8)?),
            at: Timestamp(row.int(9)?),
            sent: row.text_if_any(16)?.map(|sent| parse(id.as_str(), &sent)).transpose()?,
        }),
    };
    let body = parse(id.as_str(), &row.text(10)?)?;
    Ok(StoredRequest {
        no: row.int(0)?,
        run: row.int(1)?,
        number,
        request: Request {
            id,
            version: row.small(5)?,
            status,
            root: row.text_if_any(3)?.map_or_else(|| run.clone(), RunId::new),
            run,
            workflow: row.text(12)?.into(),
            conversation: ConversationId::new(row.text(13)?),
            tenant: Tenant::new(row.text(14)?),
            assignee: row.text_if_any(15)?.map(Actor::new),
            body,
            created_at: Timestamp(row.int(6)?),
            decision,
            withdrawn: row.text_if_any(17)?,
            deferred_until: row
                .int_if_any(18)?
                .map(Timestamp)
                .filter(|_| status == RequestStatus::Pending),
        },
    })
}
