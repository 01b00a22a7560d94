//! The inbox: one queue over all runs. State and views are pure; `perform` carries out what they ask for.

mod bulk;
mod keys;
mod line;
mod list;
mod perform;
mod update;
mod view;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use signoff_client::{ClientError, Many, Note};
use signoff_core::request::{RequestStatus, Risk};
use signoff_core::{Decision, Request, RequestId, RunId, Timestamp};

use crate::Spoken;
use crate::editor::Editor;
use crate::form::Form;
use crate::mark::Mark;
use crate::overlay::Extent;
use crate::screen::Input;
use crate::text::line;
use crate::theme::Theme;

use line::Asks;
pub use perform::Performer;

/// How long after a request came under the cursor by itself keys do not decide it, in milliseconds.
const ARMED_AFTER: u64 = 300;

/// A request in the list.
#[derive(Clone, Debug)]
struct Row {
    request: Request,
    /// Everything that is searched, in small letters.
    words: String,
    /// The question in one line.
    question: String,
    agent: String,
}

impl Row {
    fn new(request: Request) -> Self {
        let body = &request.body;
        let question = crate::text::fit(&line(&body.prompt).replace("**", ""), 300);
        let agent = body.agent_path.last().map(|agent| line(agent)).unwrap_or_default();
        let words = format!(
            "{} {} {} {} {} {} {}",
            question,
            agent,
            request.workflow,
            body.kind,
            body.risk.map_or("", Risk::as_str),
            request.assignee.as_ref().map_or("", |it| it.as_str()),
            request.id
        );
        Self { words: words.to_lowercase(), question, agent, request }
    }
}

/// Where keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Focus {
    List,
    Search,
    Detail,
    /// A line is typed: what for.
    Line(Asks),
    Bulk,
    Help,
}

/// The way to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Link {
    Connecting,
    Live,
    Lost(String),
}

/// Which requests are shown, besides those that are searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Narrowed {
    kind: Option<String>,
    workflow: Option<String>,
    /// Those that this one looks after; an empty name means nobody.
    assignee: Option<String>,
    risky: bool,
}

/// Something to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Read all that waits.
    Load,
    /// Read what was noted on a request, and what was said before it.
    Look(RequestId, RunId),
    /// Decide one.
    Decide(RequestId, u32, Decision),
    /// Decide several.
    Many(Vec<(RequestId, u32, Decision)>),
    /// Do something to it that decides nothing.
    Mark(RequestId, Mark),
    /// Call for attention.
    Bell(String),
    /// Leave.
    Quit,
}

/// What comes of it, and what happens by itself.
#[derive(Clone, Debug)]
pub enum Told {
    /// A key, text, a size, the time.
    Input(Input),
    /// The inbox, or the way to it, changed.
    Inbox(signoff_client::InboxEvent),
    /// All that waits.
    Loaded(Result<Vec<Request>, ClientError>),
    /// What was noted, and what was said.
    Looked(RequestId, Box<Looked>),
    /// A decision was taken, or not.
    Decided(RequestId, Result<Request, ClientError>),
    /// The same for several.
    DecidedMany(Vec<(RequestId, Result<Request, ClientError>)>),
    /// Something else was done to a request, or not.
    Marked(Mark, Result<Request, ClientError>),
}

/// What is known about a request besides itself.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// What people noted on it.
    pub notes: Vec<Note>,
    /// What was said before it was asked.
    pub said: Vec<Spoken>,
}

/// The inbox.
#[derive(Debug)]
pub struct Inbox {
    /// Who we are.
    me: String,
    theme: Theme,
    now: Timestamp,
    rows: Vec<Row>,
    /// Which rows are shown, by number.
    shown: Vec<usize>,
    /// The request under the cursor.
    at: Option<RequestId>,
    /// Its place among those shown.
    cursor: usize,
    /// When it came there by itself.
    came_at: Option<Timestamp>,
    marked: BTreeSet<RequestId>,
    narrowed: Narrowed,
    search: Editor,
    line: Editor,
    focus: Focus,
    form: Option<Form>,
    /// The first line of the request that is to be seen; the one that has the focus is, if nothing is said.
    scrolled: Option<usize>,
    /// How much of it the last frame showed.
    seen: Cell<Extent>,
    help_at: usize,
    /// How far the help can be scrolled, as it was last shown.
    help_most: Cell<usize>,
    looked: BTreeMap<RequestId, Looked>,
    link: Link,
    /// What is said at the bottom, and until when.
    notice: Option<(String, bool, Timestamp)>,
    /// Decisions that are under way.
    busy: BTreeSet<RequestId>,
    bulk: Option<bulk::Bulk>,
    /// Whether the terminal is looked at.
    looked_at: bool,
    loaded: bool,
    bell: bool,
}

impl Inbox {
    /// An inbox that knows nothing yet.
    pub fn new(me: &str, theme: Theme, bell: bool, now: Timestamp) -> Self {
        Self {
            me: line(me),
            theme,
            now,
            rows: Vec::new(),
            shown: Vec::new(),
            at: None,
            cursor: 0,
            came_at: None,
            marked: BTreeSet::new(),
            narrowed: Narrowed::default(),
            search: Editor::line(),
            line: Editor::line(),
            focus: Focus::List,
            form: None,
            scrolled: None,
            seen: Cell::default(),
            help_at: 0,
            help_most: Cell::new(0),
            looked: BTreeMap::new(),
            link: Link::Connecting,
            notice: None,
            busy: BTreeSet::new(),
            bulk: None,
            looked_at: true,
            loaded: false,
            bell,
        }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.rows.iter().filter(|row| self.waits(&row.request)).count()
    }

    /// Whether it waits and is not put off.
    fn waits(&self, request: &Request) -> bool {
        request.status == RequestStatus::Pending
            && request.deferred_until.is_none_or(|at| at <= self.now)
    }

    fn selected(&self) -> Option<&Row> {
        self.shown.get(self.cursor).and_then(|n| self.rows.get(*n))
    }

    fn say(&mut self, text: impl Into<String>, bad: bool) {
        let until = self.now.plus(signoff_core::Span::seconds(8));
        self.notice = Some((crate::text::fit(&line(&text.into()), 300), bad, until));
    }
}

/// As the server wants several decisions.
fn many(items: &[(RequestId, u32, Decision)]) -> Vec<Many> {
    let one = |(request, version, decision): &(RequestId, u32, Decision)| Many {
        request: request.clone(),
        version: *version,
        decision: decision.clone(),
    };
    items.iter().map(one).collect()
}
