//! Finds runs and requests by what people type of their ids.

use signoff_core::{Request, RequestId, RequestStatus, RunId};
use signoff_store::{RequestFilter, RunFilter, RunRecord, Store};

use crate::failure::{Failure, Result};
use crate::style::printable_line;

const PAGE: usize = 500;

/// The run that `text` means: an id, the beginning or end of exactly one, or `last`.
pub(crate) fn run(store: &dyn Store, text: &str, unfinished: bool) -> Result<RunRecord> {
    if text == "last" {
        return last(store, unfinished);
    }
    if let Some(found) = store.run(&RunId::new(text))? {
        return Ok(found);
    }
    let found = all_runs(store, |record| {
        !is_part(record) && (means(record.id.as_str(), record.id.unique(), text))
    })?;
    let shown = printable_line(text);
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let failure = Failure::usage(format!("there is no run `{shown}`"));
            let recent = all_runs(store, |record| !is_part(record))?;
            Err(match recent.as_slice() {
                [] => failure.hint("there are no runs here; start one with `signoff run`"),
                some => failure.hint(format!("the latest are:\n{}", listed(some))),
            }
            .into())
        }
        several => Err(Failure::usage(format!("`{shown}` could be {} runs", several.len()))
            .hint(format!("type more of it:\n{}", listed(several)))
            .into()),
    }
}

fn last(store: &dyn Store, unfinished: bool) -> Result<RunRecord> {
    let fits = |record: &RunRecord| !(is_part(record) || unfinished && record.status.is_over());
    let mut cursor = None;
    loop {
        let page = store.runs(&RunFilter::default(), cursor.as_deref(), PAGE)?;
        if let Some(found) = page.items.into_iter().find(fits) {
            return Ok(found);
        }
        cursor = page.next;
        if cursor.is_none() {
            let what =
                if unfinished { "no run here is unfinished" } else { "there are no runs here" };
            return Err(Failure::usage(what).hint("`signoff runs` lists all of them").into());
        }
    }
}

/// The request that `text` means: an id, or the beginning or end of exactly one.
pub(crate) fn request(store: &dyn Store, text: &str) -> Result<Request> {
    if let Some(found) = store.request(&RequestId::new(text))? {
        return Ok(found);
    }
    let fits = |request: &Request| means(request.id.as_str(), request.id.unique(), text);
    // What waits is meant before what is decided.
    for status in [Some(RequestStatus::Pending), None] {
        let filter = RequestFilter { status, ..RequestFilter::default() };
        let found: Vec<Request> = requests(store, &filter)?.into_iter().filter(fits).collect();
        match found.as_slice() {
            [one] => return Ok(one.clone()),
            [] => {}
            several => {
                let ids: Vec<String> =
                    several.iter().take(5).map(|it| format!("  {}", it.id)).collect();
                let shown = printable_line(text);
                let message = format!("`{shown}` could be {} requests", several.len());
                let hint = format!("type more of it:\n{}", ids.join("\n"));
                return Err(Failure::usage(message).hint(hint).into());
            }
        }
    }
    Err(Failure::usage(format!("there is no request `{}`", printable_line(text)))
        .hint("`signoff inbox` lists what waits")
        .into())
}

/// All requests that match, oldest first.
pub(crate) fn requests(store: &dyn Store, filter: &RequestFilter) -> Result<Vec<Request>> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.requests(filter, cursor.as_deref(), PAGE)?;
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

/// Whether a run is part of another.
pub(crate) fn is_part(record: &RunRecord) -> bool {
    record.root != record.id
}

fn all_runs(store: &dyn Store, fits: impl Fn(&RunRecord) -> bool) -> Result<Vec<RunRecord>> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.runs(&RunFilter::default(), cursor.as_deref(), PAGE)?;
        all.extend(page.items.into_iter().filter(&fits));
        cursor = page.next;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

/// Whether `text` is the beginning or the end of an id.
pub(crate) fn means(whole: &str, unique: &str, text: &str) -> bool {
    !text.is_empty()
        && (whole.starts_with(text) || unique.starts_with(text) || whole.ends_with(text))
}

fn listed(runs: &[RunRecord]) -> String {
    let line = |run: &RunRecord| format!("  {}  {}  {}", run.id, run.workflow, run.status);
    runs.iter().take(5).map(line).collect::<Vec<_>>().join("\n")
}
