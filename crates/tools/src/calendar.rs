//! Calendars as `.ics` files (RFC 5545) in a folder the operator names; any calendar program opens them.
//!
//! A time with an offset (`2026-11-20T18:00-08:00`) is kept as a point in UTC. A time without one is kept
//! *floating*: six in the evening wherever the event is, which is what people mean when they say it.
//! Neither needs a time-zone table in the file.

mod event;
mod files;
mod ics;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use signoff_core::time::Timestamp;
use signoff_core::{Effects, Name, ToolSpec};

use crate::tool::{BoxFuture, Invocation, Tool, ToolError};
use event::{Event, Moment};
use files::Folder;
use ics::Document;

const DEFAULT_CALENDAR: &str = "event_planning";

/// The calendars of one folder, and the three tools that work on them.
#[derive(Clone, Debug)]
pub struct Calendar {
    folder: Folder,
}

impl Calendar {
    /// The calendars in `folder`, which is made when the first event is.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Folder::new(folder.into()) }
    }

    /// `create_calendar_event`, `list_calendar_events` and `delete_calendar_event`.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |spec, act: Act| -> Arc<dyn Tool> {
            Arc::new(CalendarTool { spec, folder: self.folder.clone(), act })
        };
        vec![tool(create_spec(), create), tool(list_spec(), list), tool(delete_spec(), delete)]
    }
}

/// A calendar file with events as `create_calendar_event` told them; none, if there is none among them.
pub fn calendar_file<'a>(
    name: &str,
    events: impl IntoIterator<Item = &'a Value>,
    now: Timestamp,
) -> Option<String> {
    let mut document = Document::empty(name);
    let events: Vec<Event> = events.into_iter().filter_map(Event::told).collect();
    for event in &events {
        document.add(event.lines(now));
    }
    (!events.is_empty()).then(|| document.text())
}

type Act = fn(&Folder, &Invocation) -> Result<Value, ToolError>;

#[derive(Debug)]
struct CalendarTool {
    spec: ToolSpec,
    folder: Folder,
    act: Act,
}

impl Tool for CalendarTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let (folder, act) = (self.folder.clone(), self.act);
        // Locking and syncing files takes its time; the threads that run everything else must not wait.
        Box::pin(async move {
            tokio::task::spawn_blocking(move || act(&folder, &invocation))
                .await
                .unwrap_or_else(|error| Err(ToolError::new("calendar_failed", error.to_string())))
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    title: String,
    start: String,
    #[serde(default = "two_hours")]
    duration_minutes: u32,
    #[serde(default)]
    location: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    calendar: Option<String>,
}

fn two_hours() -> u32 {
    120
}

fn create(folder: &Folder, invocation: &Invocation) -> Result<Value, ToolError> {
    let wanted: Create = arguments(invocation)?;
    let calendar = wanted.calendar.as_deref().unwrap_or(DEFAULT_CALENDAR);
    let start = Moment::parse(&wanted.start).map_err(bad)?;
    let event = Event {
        uid: uid(&invocation.idempotency_key),
        title: wanted.title,
        end: Some(start.plus_minutes(wanted.duration_minutes).map_err(bad)?),
        start,
        location: wanted.location,
        description: wanted.description,
    };
    folder.change(calendar, |document| {
        // A second attempt at the same call finds the event there and leaves it, edits by hand included.
        if let Some(there) = document.events().find(|there| there.uid == event.uid) {
            return (there.to_json(calendar), false);
        }
        document.add(event.lines(invocation.now));
        (event.to_json(calendar), true)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    calendar: Option<String>,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    to: Option<String>,
}

fn list(folder: &Folder, invocation: &Invocation) -> Result<Value, ToolError> {
    let wanted: List = arguments(invocation)?;
    let calendar = wanted.calendar.as_deref().unwrap_or(DEFAULT_CALENDAR);
    let day = |text: &Option<String>| text.as_deref().map(event::day).transpose().map_err(bad);
    let (from, to) = (day(&wanted.from)?, day(&wanted.to)?);
    let document: Document = folder.read(calendar)?;
    let mut events: Vec<Event> = document
        .events()
        .filter(|event| {
            let day = event.start.date();
            from.is_none_or(|from| day >= from) && to.is_none_or(|to| day <= to)
        })
        .collect();
    events.sort_by_key(|event| event.start.sort_key());
    let events: Vec<Value> = events.iter().map(|event| event.to_json(calendar)).collect();
    Ok(json!({ "calendar": calendar, "events": events }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    #[serde(default)]
    uid: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    calendar: Option<String>,
}

fn delete(folder: &Folder, invocation: &Invocation) -> Result<Value, ToolError> {
    let wanted: Delete = arguments(invocation)?;
    let calendar = wanted.calendar.as_deref().unwrap_or(DEFAULT_CALENDAR);
    if wanted.uid.is_some() == wanted.title.is_some() {
        return Err(bad("say which event: either its `uid` or its exact `title`".into()));
    }
    folder.change(calendar, |document| {
        let gone = document.remove(|event| match (&wanted.uid, &wanted.title) {
            (Some(uid), _) => event.uid == *uid,
            (_, Some(title)) => event.title == *title,
            _ => false,
        });
        let changed = !gone.is_empty();
        let deleted: Vec<Value> = gone.iter().map(|event| event.to_json(calendar)).collect();
        (json!({ "calendar": calendar, "deleted": deleted }), changed)
    })
}

fn arguments<T: serde::de::DeserializeOwned>(invocation: &Invocation) -> Result<T, ToolError> {
    T::deserialize(&invocation.arguments).map_err(|error| bad(error.to_string()))
}

fn bad(problem: String) -> ToolError {
    ToolError::new("bad_arguments", problem)
}

/// The same for every attempt at one call.
fn uid(idempotency_key: &str) -> String {
    let digest = Sha256::digest(idempotency_key.as_bytes());
    let mut uid = String::new();
    for byte in digest.iter().take(16) {
        // Writing to a string cannot fail.
        let _ = write!(uid, "{byte:02x}");
    }
    uid + "@signoff"
}

fn spec(
    name: &str,
    description: &str,
    properties: &Value,
    required: &[&str],
    effects: Effects,
) -> ToolSpec {
    ToolSpec {
        name: Name::from(name),
        description: description.into(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        }),
        effects,
    }
}

fn calendar_property() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 64,
            "description": "Which calendar: letters, digits, spaces, - and _. `event_planning` if not given." })
}

fn create_spec() -> ToolSpec {
    let effects = Effects { idempotent: true, file_edit: true, ..Effects::default() };
    let properties = json!({
        "title": { "type": "string", "minLength": 1, "maxLength": 200 },
        "start": { "type": "string", "description": "When it starts: 2026-11-20T18:00 in the time of the place, or with an offset, 2026-11-20T18:00-08:00." },
        "duration_minutes": { "type": "integer", "minimum": 1, "maximum": 44640, "description": "How long it lasts; 120 if not given." },
        "location": { "type": "string", "maxLength": 500 },
        "description": { "type": "string", "maxLength": 8000 },
        "calendar": calendar_property(),
    });
    spec(
        "create_calendar_event",
        "Put an event into a calendar.",
        &properties,
        &["title", "start"],
        effects,
    )
}

fn list_spec() -> ToolSpec {
    let properties = json!({
        "from": { "type": "string", "description": "First day, 2026-11-01; no bound if not given." },
        "to": { "type": "string", "description": "Last day, included; no bound if not given." },
        "calendar": calendar_property(),
    });
    spec(
        "list_calendar_events",
        "List the events of a calendar that start in a range of days.",
        &properties,
        &[],
        Effects::READ_ONLY,
    )
}

fn delete_spec() -> ToolSpec {
    let effects =
        Effects { idempotent: true, destructive: true, file_edit: true, ..Effects::default() };
    let properties = json!({
        "uid": { "type": "string", "description": "The event's uid, as given when it was created or listed." },
        "title": { "type": "string", "description": "The exact title; all events with it are deleted." },
        "calendar": calendar_property(),
    });
    spec(
        "delete_calendar_event",
        "Delete events from a calendar, by uid or by exact title.",
        &properties,
        &[],
        effects,
    )
}
