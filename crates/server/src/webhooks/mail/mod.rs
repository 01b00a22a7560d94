//! `[channels.NAME]` of kind `email`: a mail for each request, and an answer to that mail when it is settled.
//!
//! A mail has an id that follows from what it tells of and whom, so one that is sent again is the same mail; and what follows
//! on a request names the id of its first mail, so that mail programs show them together. Nothing is kept for that.
//!
//! | the mail server | what follows |
//! |---|---|
//! | takes it | the next one |
//! | refuses the address or the mail for good (550 and the like) | it is not sent to that address again, and the log says so |
//! | says anything else, or nothing | it is sent again, to those who have not got it |

mod config;
mod letter;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use lettre::address::Envelope;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use signoff_core::text::digest;
use signoff_core::{Actor, Name, RequestStatus, Timestamp};
use signoff_store::{Happened, Store};
use tokio::time::Instant;

use self::config::TIMEOUT;
pub use self::config::{MailConfig, MailTls};
use self::letter::{Leads, Letter};
use super::audited::Audited;
use super::channel::{BoxFuture, Channel, Desk, Filter, News, Outcome};
use super::channels::Page;
use crate::access::Caller;
use crate::link;

/// After so long others are let go first: the right to deliver must not run out meanwhile.
const AT_ONCE: Duration = Duration::from_secs(10);
/// Answers that are not about the mail or its reader, but about us: that can be put right.
const OURS: [u16; 8] = [500, 502, 503, 504, 530, 534, 535, 538];

/// What is said of a mail server that says nothing.
const LATE: &str = "the mail server does not answer in time";

/// Mailboxes that can be told. Its `Debug` shows neither the password nor where they are.
pub(super) struct Mail {
    name: Name,
    filter: Filter,
    from: Mailbox,
    to: Vec<Mailbox>,
    people: BTreeMap<String, Mailbox>,
    page: Option<Page>,
    transport: AsyncSmtpTransport<Tokio1Executor>,
    /// How far the event got that is being told. Only spares people the same mail twice; a restart forgets it.
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    event: String,
    /// Who has got it, or never will.
    done: BTreeSet<String>,
    /// Who has got it.
    reached: BTreeSet<String>,
    /// Links that were made for it, each for a version of the request.
    links: BTreeMap<String, (u32, String)>,
}

/// What a mail is about.
#[derive(Clone, Copy)]
enum About<'a> {
    Request(&'a News),
    Action(&'a Audited),
}

impl<'a> About<'a> {
    fn id(self) -> &'a str {
        match self {
            Self::Request(news) => &news.id,
            Self::Action(audited) => &audited.id,
        }
    }

    fn at(self) -> Timestamp {
        match self {
            Self::Request(news) => news.at,
            Self::Action(audited) => audited.at,
        }
    }
}

/// Somebody who gets a mail.
struct Reader<'a> {
    /// What the log calls them: not by their address.
    label: String,
    address: &'a Mailbox,
    /// Who it is, where that is said.
    person: Option<Caller>,
}

/// What came of a mail.
enum Sent {
    Taken,
    Never(String),
    /// Not this one, but perhaps others.
    Later(String),
    /// Nobody can be reached.
    Down(String),
}

impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mail").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Channel for Mail {
    fn name(&self) -> &Name {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "mail"
    }

    fn filter(&self) -> &Filter {
        &self.filter
    }

    fn reached(&self, event: &str) -> Vec<String> {
        self.progress(event, |progress| progress.reached.iter().cloned().collect())
    }

    fn tell<'a>(&'a self, news: &'a News, desk: &'a Desk) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            // How it was settled is told next; there is nothing left to ask for.
            if news.what == Happened::Requested && news.whole.status != RequestStatus::Pending {
                return Outcome::Taken(None);
            }
            self.send(About::Request(news), desk).await
        })
    }

    fn tell_audited<'a>(&'a self, audited: &'a Audited, desk: &'a Desk) -> BoxFuture<'a, Outcome> {
        Box::pin(self.send(About::Action(audited), desk))
    }

    /// Connects and signs in; no mail is sent.
    fn reach(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            match tokio::time::timeout(TIMEOUT, self.transport.test_connection()).await {
                Ok(Ok(true)) => Ok(()),
                Ok(Ok(false)) => Err("it does not answer as a mail server does".to_owned()),
                Ok(Err(error)) => Err(problem(&error)),
                Err(_) => Err(LATE.to_owned()),
            }
        })
    }
}

impl Mail {
    async fn send(&self, about: About<'_>, desk: &Desk) -> Outcome {
        let event = about.id();
        let readers = match self.readers(about, desk).await {
            Ok(readers) => readers,
            Err(problem) => return Outcome::Later(problem),
        };
        if readers.is_empty() && matches!(about, About::Request(_)) {
            tracing::warn!(webhook = %self.name, event, "nobody who may decide it has an address");
        }
        let (since, mut later, mut never) = (Instant::now(), None, None);
        for reader in readers {
            if self.progress(event, |progress| progress.done.contains(&reader.label)) {
                continue;
            }
            if since.elapsed() > AT_ONCE {
                return later.map_or(Outcome::Partly, Outcome::Later);
            }
            match self.send_to(&reader, about, desk).await {
                Sent::Taken => self.progress(event, |progress| {
                    progress.done.insert(reader.label.clone());
                    progress.reached.insert(reader.label);
                }),
                Sent::Never(problem) => {
                    let reader = reader.label;
                    tracing::error!(
                        webhook = %self.name,
                        event,
                        reader,
                        problem,
                        "a mail was refused for good"
                    );
                    self.progress(event, |progress| progress.done.insert(reader));
                    never = Some(problem);
                }
                Sent::Later(problem) => later = Some(problem),
                Sent::Down(problem) => return Outcome::Later(problem),
            }
        }
        let sent = self.progress(event, |progress| progress.reached.len());
        match (later, never) {
            (Some(problem), _) => Outcome::Later(problem),
            (None, Some(problem)) if sent == 0 => Outcome::Refused(problem),
            _ => Outcome::Taken(None),
        }
    }

    /// All who get a mail. What nobody is asked about is for those of the list.
    async fn readers(&self, about: About<'_>, desk: &Desk) -> Result<Vec<Reader<'_>>, String> {
        let of_list = |(n, address)| Reader { label: format!("to[{n}]"), address, person: None };
        let mut readers: Vec<Reader<'_>> = self.to.iter().enumerate().map(of_list).collect();
        let About::Request(news) = about else { return Ok(readers) };
        if self.people.is_empty() {
            return Ok(readers);
        }
        let users = desk.read(Store::users).await.map_err(|error| error.to_string())?;
        let (asked, access) = (&news.whole, &desk.app.access);
        for (name, address) in &self.people {
            let person = access.person(&users, name);
            let may = |person: &Caller| {
                person.tenant == asked.tenant
                    && person.may_work().is_ok()
                    && asked.body.admit(&person.actor, &person.roles).is_ok()
            };
            if let Some(person) = person.filter(may) {
                readers.push(Reader { label: name.clone(), address, person: Some(person) });
            }
        }
        Ok(readers)
    }

    async fn send_to(&self, reader: &Reader<'_>, about: About<'_>, desk: &Desk) -> Sent {
        let secrets = desk.app.engine.secrets();
        let letter = match about {
            About::Request(news) => {
                let page = self.page.as_ref().map(|page| page.of(news.whole.id.as_str()));
                let leads = Leads { page, decide: self.link(reader, news, desk).await };
                Letter::new(news, leads, secrets)
            }
            About::Action(audited) => Letter::audited(audited, secrets),
        };
        let mail = match self.mail(reader, about, &letter) {
            Ok(mail) => mail,
            Err(error) => return Sent::Never(error.to_string()),
        };
        match tokio::time::timeout(TIMEOUT, self.transport.send(mail)).await {
            Ok(Ok(_)) => Sent::Taken,
            Ok(Err(error)) => failed(&error),
            Err(_) => Sent::Down(LATE.to_owned()),
        }
    }

    /// The link by which a person decides; none, where it cannot be decided in that way.
    async fn link(&self, reader: &Reader<'_>, news: &News, desk: &Desk) -> Option<String> {
        let (person, page) = (reader.person.clone()?, self.page.as_ref()?);
        let request = &news.whole;
        if request.status != RequestStatus::Pending {
            return None;
        }
        let made = self.progress(&news.id, |progress| progress.links.get(&reader.label).cloned());
        if let Some((version, link)) = made
            && version == request.version
        {
            return Some(link);
        }
        let by = Actor::new(self.name.clone());
        let wanted = link::Wanted { within: link::LONGEST, decisions: None, by };
        let made = link::link(&desk.app, (**request).clone(), person, wanted).await;
        let link = page.beside(&made.ok()?.0)?;
        let kept = (request.version, link.clone());
        self.progress(&news.id, |progress| progress.links.insert(reader.label.clone(), kept));
        Some(link)
    }

    fn mail(
        &self,
        reader: &Reader<'_>,
        about: About<'_>,
        letter: &Letter,
    ) -> Result<Message, lettre::error::Error> {
        let subject = &letter.subject;
        let (first, own) = self.ids(reader, about);
        let at =
            UNIX_EPOCH + Duration::from_millis(u64::try_from(about.at().0).unwrap_or_default());
        let (sender, address) = (self.from.email.clone(), reader.address.email.clone());
        let mut mail = Message::builder()
            .from(self.from.clone())
            .date(at)
            .message_id(Some(own.clone()))
            // Programs that answer mails by themselves leave it alone.
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .envelope(Envelope::new(Some(sender), vec![address])?);
        mail = match reader.person {
            Some(_) => mail.to(reader.address.clone()),
            // The same mail for all of the list; each gets it by themselves, so that one bad address harms nobody.
            None => self.to.iter().fold(mail, |mail, address| mail.to(address.clone())),
        };
        mail = if own == first {
            mail.subject(subject)
        } else {
            mail.in_reply_to(first.clone()).references(first).subject(format!("Re: {subject}"))
        };
        mail.multipart(MultiPart::alternative_plain_html(letter.plain(), letter.html()))
    }

    /// The id of the first mail on the same to a reader, and of this one.
    fn ids(&self, reader: &Reader<'_>, about: About<'_>) -> (String, String) {
        let reader = reader.person.as_ref().map_or("", |_| reader.label.as_str());
        let id = |of: &str| {
            let name = digest(&format!("{} {of} {reader}", self.name), 32);
            format!("<{name}@{}>", self.from.email.domain())
        };
        let own = id(about.id());
        match about {
            About::Action(_) => (own.clone(), own),
            About::Request(news) => {
                let first = id(news.whole.id.as_str());
                let asks = news.what == Happened::Requested;
                (first.clone(), if asks { first } else { own })
            }
        }
    }

    /// How far this event got; nowhere, if another was told before.
    fn progress<T>(&self, event: &str, change: impl FnOnce(&mut Progress) -> T) -> T {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.event != event {
            *progress = Progress { event: event.to_owned(), ..Progress::default() };
        }
        change(&mut progress)
    }
}

/// What went wrong. What the server says in words may have addresses in it, and stays out.
fn problem(error: &smtp::Error) -> String {
    error.status().map_or_else(|| error.to_string(), |code| format!("it answers {code}"))
}

/// What an error means.
fn failed(error: &smtp::Error) -> Sent {
    let problem = problem(error);
    let Some(code) = error.status() else { return Sent::Down(problem) };
    let ours = OURS.iter().any(|ours| *ours == u16::from(code));
    match (error.is_permanent(), ours) {
        (true, true) => Sent::Down(problem),
        (true, false) => Sent::Never(problem),
        _ => Sent::Later(problem),
    }
}
