//! Follows a run in this process: drives it, shows it, asks what it asks, and ends as it ends.

mod ask;
pub(crate) mod end;
mod lines;
mod screen;
mod tail;
mod unattended;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use signoff_core::answer::Answers;
use signoff_core::journal;
use signoff_core::{Decision, Request, RequestId, RequestStatus, RunId, Workflow};
use signoff_runtime::{DecideError, DecideRequest, Engine, Live, LiveEvent};
use signoff_store::{RequestFilter, Scope};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::app::App;
use crate::args::NoPrompt;
use crate::failure::{Exit, Failure, Result};
use crate::style::{Style, printable_line};
use crate::{env, find, out, show};
use ask::{Prompt, Typed};
use lines::Lines;
use screen::Screen;
use signoff_tui::form::Form;
use signoff_tui::screen::{Inline, Pressed};
use signoff_tui::theme::Theme;
pub(crate) use tail::From;
use tail::Tail;

/// How often other processes' changes are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(120);

/// How to follow.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) no_prompt: Option<NoPrompt>,
    pub(crate) answers: Answers,
}

/// A run that is being followed.
pub(crate) struct Follow {
    app: App,
    engine: Engine,
    run: RunId,
    workflow: Option<Workflow>,
    options: Options,
    live: broadcast::Receiver<Live>,
    tail: Tail,
    screen: Screen,
    lines: Lines,
    prompt: Option<Prompt>,
    /// The form of what is asked, where there is a terminal for it.
    inline: Option<Inline>,
    /// Whether answers are typed as lines, because there is none or the person wants it so.
    typed: bool,
    announced: BTreeSet<RequestId>,
    /// The run is being stopped because nobody could be asked.
    stopping: bool,
    /// And that is a failure of it, not a decision.
    failing: bool,
}

impl Follow {
    /// Gets ready to follow `run`. `live` was taken before the run began to move.
    pub(crate) fn new(
        app: &App,
        engine: &Engine,
        run: &RunId,
        options: Options,
        live: broadcast::Receiver<Live>,
        from: From,
    ) -> Result<Self> {
        let record = engine.store().run(run)?;
        let definition = record.and_then(|record| engine.definition(&record.version).ok());
        let workflow = definition.map(|definition| definition.workflow.clone());
        Ok(Self {
            app: app.clone(),
            engine: engine.clone(),
            run: run.clone(),
            screen: Screen::new(options.json, workflow.as_ref()),
            workflow,
            options,
            live,
            tail: Tail::new(Arc::clone(engine.store()), run.clone(), from)?,
            lines: Lines::default(),
            prompt: None,
            inline: None,
            typed: !out::is_terminal(),
            announced: BTreeSet::new(),
            stopping: false,
            failing: false,
        })
    }

    /// Follows the run until it is over, waits, or is left.
    pub(crate) async fn follow(mut self) -> Result<Exit> {
        let engine = self.engine.clone();
        let scope = Scope::Tree(self.run.clone());
        engine.look_for_work(&scope).await?;
        let scheduler = engine.schedule(scope);
        let interrupt = tokio::signal::ctrl_c();
        tokio::pin!(scheduler, interrupt);
        loop {
            if let Some(exit) = self.look().await? {
                return Ok(exit);
            }
            loop {
                tokio::select! {
                    biased;
                    _ = &mut interrupt => return self.interrupted(),
                    ended = &mut scheduler => ended?,
                    pressed = pressed(&mut self.inline), if self.inline.is_some() => {
                        self.inline = None;
                        match pressed? {
                            Pressed::Leave => return self.interrupted(),
                            Pressed::Type => self.type_instead(),
                            Pressed::Decide(decision) => self.pressed(decision).await?,
                        }
                        break;
                    }
                    line = self.lines.next(), if self.prompt.is_some() && self.inline.is_none() => {
                        self.typed(line).await?;
                        break;
                    }
                    event = self.live.recv() => match event {
                        Ok(Live { root, event: LiveEvent::Delta { agent, text, .. }, .. }) => {
                            if root == self.run {
                                self.screen.delta(&agent, &text);
                            }
                        }
                        Ok(Live { root, event: LiveEvent::Restart { .. }, .. }) => {
                            if root == self.run {
                                self.screen.restart();
                            }
                        }
                        Ok(_) | Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return Err(anyhow::anyhow!("the engine is gone")),
                    },
                    () = tokio::time::sleep(LOOK_EVERY) => {
                        self.screen.tick();
                        break;
                    }
                }
            }
        }
    }

    /// Looks at what is new; says how it ends, if it does.
    async fn look(&mut self) -> Result<Option<Exit>> {
        // What waits is read before the journal, so that nothing is asked before it is told why.
        let (record, pending) = (self.record()?, self.pending()?);
        self.tell_new()?;
        if record.status.is_over() {
            self.screen.hide();
            return self.ended(&record).map(Some);
        }
        if self.stopping {
            return Ok(None);
        }
        if let Some(prompt) = &self.prompt {
            let id = prompt.request.id.clone();
            if pending.iter().any(|request| request.id == id) {
                return Ok(None);
            }
            self.answered_elsewhere(&id)?;
        }
        for request in &pending {
            self.announce(request)?;
            if let Some(answer) = self.options.answers.next(request) {
                let decision = answer.map_err(|problem| self.bad_answer(request, &problem))?;
                return self.decide(request, decision).await.map(|()| None);
            }
        }
        let Some(request) = pending.first() else { return Ok(None) };
        match self.options.no_prompt {
            None => self.ask(request.clone()),
            Some(NoPrompt::Queue) => return self.queue(&pending),
            Some(NoPrompt::Deny) => self.deny(request).await?,
            Some(NoPrompt::Fail) => self.fail().await?,
        }
        Ok(None)
    }

    fn record(&self) -> Result<signoff_store::RunRecord> {
        let found = self.engine.store().run(&self.run)?;
        Ok(found.ok_or_else(|| Failure::usage(format!("run {} is gone", self.run)))?)
    }

    fn pending(&self) -> Result<Vec<Request>> {
        let filter = RequestFilter {
            status: Some(RequestStatus::Pending),
            root: Some(self.run.clone()),
            ..RequestFilter::default()
        };
        find::requests(&**self.engine.store(), &filter)
    }

    fn tell_new(&mut self) -> Result<()> {
        let all = self.tail.poll()?;
        if all.is_empty() {
            return Ok(());
        }
        // Lines are printed above a form, never into it.
        let form = self.inline.take().and_then(Inline::close);
        for new in all {
            if self.options.json {
                let mut event = journal::to_json(&new.entry);
                event["run"] = new.run.as_str().into();
                out::json_line(&event)?;
            } else {
                self.screen.entry(&new.run, &new.entry, &new.what);
            }
        }
        if let Some(form) = form {
            self.open_form(form);
        }
        Ok(())
    }

    /// Tells programs about a request, once.
    fn announce(&mut self, request: &Request) -> Result<()> {
        if self.announced.insert(request.id.clone()) && self.options.json {
            let event = json!({ "type": "request.pending", "run": request.run, "request": request.to_json() });
            out::json_line(&event)?;
        }
        Ok(())
    }

    /// Shows a request and waits for a line.
    fn ask(&mut self, request: Request) {
        self.screen.hide();
        let prompt = Prompt::new(request);
        if self.talks() {
            let now = self.engine.clock().now();
            let shown =
                show::request(&prompt.request, self.workflow.as_ref(), Style::stderr(), now);
            out::note(&format!("\n{shown}\n"));
        }
        let form = Form::new(&prompt.request.body);
        self.prompt = Some(prompt);
        self.open_form(form);
    }

    /// Shows the form of what is asked; where that cannot be, a line is typed.
    fn open_form(&mut self, form: Form) {
        if !self.typed && !self.options.json {
            self.inline = Inline::open(form, theme()).ok();
            // Keys and lines are read by different readers: once lines are, keys cannot be any more.
            self.typed = self.inline.is_none();
        }
        if let (None, Some(prompt)) = (&self.inline, &self.prompt) {
            self.mark(prompt);
        }
    }

    /// Whether a person is shown requests here.
    fn talks(&self) -> bool {
        !self.options.json || out::stdin_is_terminal()
    }

    fn mark(&self, prompt: &Prompt) {
        if self.talks() && out::stdin_is_terminal() {
            out::raw(prompt.marker());
        }
    }

    /// A button was pressed.
    async fn pressed(&mut self, decision: Decision) -> Result<()> {
        let Some(prompt) = self.prompt.take() else { return Ok(()) };
        self.screen.show();
        self.decide(&prompt.request, decision).await
    }

    /// The person rather types a line, now and from now on.
    fn type_instead(&mut self) {
        self.typed = true;
        if let Some(prompt) = &self.prompt {
            out::note("type the answer; `?` shows what is accepted");
            self.mark(prompt);
        }
    }

    async fn typed(&mut self, line: Option<String>) -> Result<()> {
        let Some(mut prompt) = self.prompt.take() else { return Ok(()) };
        let Some(line) = line else {
            // Nobody will type any more: what waits stays in the queue.
            self.options.no_prompt = Some(NoPrompt::Queue);
            return Ok(());
        };
        match prompt.take(&line) {
            Typed::Nothing => {}
            Typed::Show(text) => out::note(&text),
            Typed::Refused(problem) => out::note(&Style::stderr().warn(&problem)),
            Typed::Decision(decision) => {
                self.screen.show();
                self.screen.own_answer();
                return self.decide(&prompt.request, decision).await;
            }
        }
        self.mark(&prompt);
        self.prompt = Some(prompt);
        Ok(())
    }

    async fn decide(&mut self, request: &Request, decision: Decision) -> Result<()> {
        let decide = DecideRequest::new(request.id.clone(), decision);
        match self.engine.decide(decide).await {
            Ok(_) => Ok(()),
            Err(error @ DecideError::Store(_)) => Err(error.into()),
            // Somebody was faster.
            Err(late) => {
                self.screen.line(&printable_line(&late.to_string()));
                Ok(())
            }
        }
    }

    fn answered_elsewhere(&mut self, id: &RequestId) -> Result<()> {
        self.prompt = None;
        self.inline = None;
        self.screen.show();
        let request = self.engine.store().request(id)?;
        let text = match request.as_ref().and_then(|request| request.decision.as_ref()) {
            Some(taken) => format!("already answered by {}", printable_line(taken.by.as_str())),
            None => "nobody answered in time".to_owned(),
        };
        if out::stdin_is_terminal() {
            self.screen.line("");
        }
        self.screen.line(&Style::stderr().warn(&text));
        Ok(())
    }
}

async fn pressed(inline: &mut Option<Inline>) -> std::io::Result<Pressed> {
    match inline {
        Some(inline) => inline.next().await,
        None => std::future::pending().await,
    }
}

fn theme() -> Theme {
    if env::is_set(env::NO_COLOR) { Theme::Plain } else { Theme::Dark }
}
