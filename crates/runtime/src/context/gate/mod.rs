//! Gates before an action: whether it may be done, and who is asked.
//!
//! | the journal says | what happens |
//! |---|---|
//! | the call was made | nothing is judged again |
//! | a question about it waits | it is waited for, whatever the policy says by now |
//! | a question about it was answered with yes | it is judged again: what was not asked for then is asked now |
//! | nothing | it is judged |
//!
//! An approval is bound to the digest of what was shown and counts for that call only. An answer that changes the
//! arguments is judged anew; what speaks against the changed ones and did not against those shown is asked.

mod actions;
mod model;
mod question;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::{Audited, ErrorInfo, Event, Gated};
use signoff_core::policy::{
    Action, ActionKind, Counts, Grant, Granted, Judgement, OnTimeout, Outcome, Reason, Remembered,
};
use signoff_core::request::RequestBody;
use signoff_core::state::Answer;
use signoff_core::{Actor, Effects, Name, RequestNo, ToolSpec};
use signoff_tools::Tool;

pub(crate) use self::question::Changed;
use self::question::{Meant, Turn, denied, meant};
use super::dispatch::unfit;
use super::{Context, Effect};
use crate::rules::Rules;

/// How often one call may be asked about.
const MAX_ASKS: usize = 16;

/// What comes of a call before it is made.
#[derive(Debug)]
pub(crate) enum Cleared {
    /// It is made.
    Go(Go),
    /// It is not made; this is its result.
    Instead(Result<Value, ErrorInfo>),
}

/// How a call is made.
#[derive(Debug, Default)]
pub(crate) struct Go {
    /// With other arguments, if a person changed them.
    pub(crate) changed: Option<Changed>,
    /// What the audit calls it, if gates had something to say about it.
    pub(crate) audited: Option<Box<Audited>>,
}

impl Go {
    /// With what a person changed, and with `pinned` in place of it where a preview pinned something.
    fn new(changed: Option<Changed>, pinned: Option<Value>, audited: Option<Box<Audited>>) -> Self {
        let changed = match pinned {
            Some(arguments) => {
                Some(Changed { arguments, by: changed.and_then(|changed| changed.by) })
            }
            None => changed,
        };
        Self { changed, audited }
    }
}

/// What is to be cleared.
struct Subject<'a> {
    key: &'a str,
    kind: ActionKind,
    spec: &'a ToolSpec,
    tool: Option<&'a Arc<dyn Tool>>,
}

impl Subject<'_> {
    /// The turn it belongs to: what one reply of a model wants to do. A call's key begins with that reply's.
    fn turn(&self, ctx: &Context) -> Option<Name> {
        let (reply, _) = self.key.split_once('/')?;
        Some(format!("{}/{reply}", ctx.activation).into())
    }
}

/// What was agreed to so far.
#[derive(Default)]
struct Agreed {
    reasons: BTreeSet<(String, String)>,
    requests: Vec<RequestNo>,
}

impl Agreed {
    /// Whether people have agreed to all that speaks against it.
    fn to(&self, judged: &Judgement) -> bool {
        !self.requests.is_empty()
            && judged.reasons.iter().all(|reason| self.reasons.contains(&pair(reason)))
    }
}

impl Context {
    /// Whether a tool may be called with these arguments, after asking whoever must be asked.
    pub(super) async fn clear(
        &self,
        key: &str,
        tool: &Arc<dyn Tool>,
        arguments: &Value,
    ) -> Result<Cleared, ErrorInfo> {
        let spec = tool.spec();
        let subject = Subject { key, kind: ActionKind::Tool, spec, tool: Some(tool) };
        self.clear_subject(&subject, arguments).await
    }

    /// Whether an agent may hand over to another. If not, what it is told.
    pub(crate) async fn clear_handoff(
        &self,
        key: &str,
        to: &Name,
    ) -> Result<Option<ErrorInfo>, ErrorInfo> {
        let (effects, nothing) = (Effects::default(), json!({}));
        let cleared = self.clear_plain(key, ActionKind::Handoff, to, effects, &nothing);
        Ok(cleared.await?.err())
    }

    /// Whether an agent elsewhere may be told this, and what the audit calls it. If not, why.
    pub(crate) async fn clear_remote(
        &self,
        key: &str,
        to: &str,
        text: &str,
    ) -> Result<Result<Option<Box<Audited>>, ErrorInfo>, ErrorInfo> {
        let effects = Effects { network: true, open_world: true, ..Effects::default() };
        let told = json!({ "message": text });
        self.clear_plain(key, ActionKind::Remote, &to.into(), effects, &told).await
    }

    async fn clear_plain(
        &self,
        key: &str,
        kind: ActionKind,
        name: &Name,
        effects: Effects,
        arguments: &Value,
    ) -> Result<Result<Option<Box<Audited>>, ErrorInfo>, ErrorInfo> {
        let spec = ToolSpec {
            name: name.clone(),
            description: String::new(),
            parameters: json!({ "type": "object" }),
            effects,
        };
        let subject = Subject { key, kind, spec: &spec, tool: None };
        Ok(match self.clear_subject(&subject, arguments).await? {
            Cleared::Go(go) => Ok(go.audited),
            Cleared::Instead(Err(error)) => Err(error),
            Cleared::Instead(Ok(_)) => Err(ErrorInfo::new("denied", "it was left out")),
        })
    }

    /// What the rules say about something that is not a call: a plan, a step of it; and whether what people want
    /// remembered speaks for it or against it.
    pub(crate) async fn judge_one(&self, action: &Action) -> Result<Judgement, ErrorInfo> {
        let rules = self.cell.rules_and_grants()?;
        let (digest, place) = (action.digest(), self.cell.place());
        let now = self.cell.engine.clock.now();
        let covering = |what: Granted| {
            let covers =
                |grant: &&Grant| grant.what == what && grant.covers(action, &digest, &place, now);
            rules.grants.iter().find(covers)
        };
        let with = |remembered| self.judge(&rules, std::slice::from_ref(action), remembered);
        let mut judged = with(Remembered::default());
        if let Some(grant) = covering(Granted::Deny) {
            judged.outcome = Outcome::Deny;
            judged.reasons.push(remembers("denied", format!("{} by {}", grant.id, grant.by)));
        } else if let Some(grant) = covering(Granted::Approve) {
            let approved = with(Remembered { approved: true, ..Remembered::default() });
            if approved.outcome == Outcome::Allow && self.use_grant(grant).await? {
                let evidence = format!("{} by {}", grant.id, grant.by);
                judged = Judgement { remembered: true, ..approved };
                judged.reasons.push(remembers("approved", evidence));
            }
        }
        Ok(judged)
    }

    /// What the workflow says that a call costs.
    fn cost(&self, tool: &str, arguments: &Value) -> Option<Value> {
        Some(self.cell.definition.workflow.costs.get(tool)?.of(arguments))
    }

    async fn clear_subject(
        &self,
        subject: &Subject<'_>,
        arguments: &Value,
    ) -> Result<Cleared, ErrorInfo> {
        let Subject { key, .. } = *subject;
        // What a preview pinned is not judged: what was approved, used up and done has one digest.
        let (mut changed, mut pinned): (Option<Changed>, Option<Value>) = (None, None);
        let mut agreed = Agreed::default();
        let (mut stage, mut paused, mut first) = (0, false, String::new());
        for n in 1..=MAX_ASKS {
            let question = format!("{key}#gate{n}");
            if stage == 0 {
                first.clone_from(&question);
            }
            let now = changed.as_ref().map_or(arguments, |changed| &changed.arguments);
            let mut body = RequestBody::input("");
            if !self.was_asked(&question) {
                if self.is_done(key) {
                    return Ok(Cleared::Go(Go::new(changed, pinned, None)));
                }
                let rules = self.cell.rules()?;
                if rules.policies.is_empty() {
                    return Ok(Cleared::Go(Go::new(changed, pinned, None)));
                }
                // Other calls of the same turn may wait for people by now; this one does not yet.
                let _busy = self.mark(|link| &mut link.busy);
                // Nobody is asked about what cannot be done.
                if let Err(problems) = self.cell.engine.schemas.check(&subject.spec.parameters, now)
                {
                    return Ok(Cleared::Instead(Err(unfit(&problems))));
                }
                let actions = self.actions(subject.kind, subject.spec, now);
                let judged = self.judgement(&rules, &question, &actions, &agreed).await?;
                let asks = judged.outcome == Outcome::Ask && !agreed.to(&judged);
                if asks && let Some(refused) = self.replanned(subject.turn(self).as_ref()) {
                    return Ok(Cleared::Instead(Err(refused)));
                }
                let audited = self.note(subject, &actions[0], &judged, asks, &rules, &agreed);
                match judged.outcome {
                    Outcome::Deny => return Ok(Cleared::Instead(Err(denied(&judged)))),
                    _ if !asks => return Ok(Cleared::Go(Go::new(changed, pinned, audited))),
                    _ => {}
                }
                body = self.question(subject.spec, &actions, &judged, &rules.version);
                let then = self.address(&mut body, &judged, stage);
                body.turn = subject.turn(self);
                // Looking changes nothing; what cannot be shown is left to the person.
                if let Some(tool) = subject.tool
                    && let Ok(Some(preview)) = tool.preview(now).await
                {
                    body.preview = preview;
                }
                if let Some(cost) = self.cost(&subject.spec.name, now) {
                    if !body.preview.is_object() {
                        body.preview = json!({});
                    }
                    body.preview["cost"] = cost;
                }
                if !paused {
                    let turn = Turn { stage, key: &question, first: &first };
                    self.set_due(&mut body, &judged, turn, then.into()).await?;
                }
            }
            let answer = self.ask(&question, body).await?;
            let shown = self.shown(&question);
            let on_timeout: OnTimeout =
                serde_json::from_value(shown["on_timeout"].clone()).unwrap_or_default();
            if answer == Answer::Withdrawn
                && let Some(refused) = self.replanned(subject.turn(self).as_ref())
            {
                return Ok(Cleared::Instead(Err(refused)));
            }
            match meant(answer, on_timeout) {
                Meant::Instead(result) => return Ok(Cleared::Instead(result)),
                Meant::Stop(error) => return Err(error),
                Meant::Escalate => {
                    stage += 1;
                    continue;
                }
                Meant::Pause => {
                    self.pause_for(&question).await?;
                    paused = true;
                    continue;
                }
                Meant::Changed(new) => (changed, pinned) = (Some(new), None),
                Meant::Approved => {
                    // What was agreed to is what was shown. If that is no longer what would be done, it is asked anew.
                    let call = &self.actions(subject.kind, subject.spec, now)[0];
                    if shown["digest"] != call.digest() {
                        continue;
                    }
                    pinned = self.pinned(&question, now).or(pinned);
                }
            }
            let reasons: Vec<Reason> =
                serde_json::from_value(shown["reasons"].clone()).unwrap_or_default();
            agreed.reasons.extend(reasons.iter().map(pair));
            agreed.requests.extend(self.number(&question));
        }
        let message = format!("people were asked {MAX_ASKS} times about one call without an end");
        Ok(Cleared::Instead(Err(ErrorInfo::new("gate_rounds", message))))
    }

    /// What all rules say of all of it together, with what is remembered and what a model thinks.
    async fn judgement(
        &self,
        rules: &Rules,
        question: &str,
        actions: &[Action],
        agreed: &Agreed,
    ) -> Result<Judgement, ErrorInfo> {
        let (call, digest) = (&actions[0], actions[0].digest());
        let (place, now) = (self.cell.place(), self.cell.engine.clock.now());
        let covering = |what: Granted| {
            let covers =
                |grant: &&Grant| grant.what == what && grant.covers(call, &digest, &place, now);
            rules.grants.iter().find(covers)
        };
        let (before, withdrawn) = {
            let inner = self.cell.lock();
            let ledger = &inner.state.ledger;
            (ledger.is_denied(&digest), ledger.is_withdrawn(&call.name))
        };
        let mut remembered = Remembered {
            denied: before || withdrawn || covering(Granted::Deny).is_some(),
            bypass: covering(Granted::Bypass).is_some(),
            approved: false,
        };
        let mut judged = self.judge(rules, actions, remembered);
        if withdrawn {
            let evidence = "people denied calls of this tool again and again; do without it";
            judged.reasons.push(remembers("withdrawn", evidence.to_owned()));
        } else if remembered.denied {
            let evidence = "a person denied exactly this before".to_owned();
            judged.reasons.push(remembers("denied", evidence));
        }
        if let Some(grant) = covering(Granted::Bypass) {
            judged.reasons.push(remembers("bypass", format!("{} by {}", grant.id, grant.by)));
        }
        if agreed.to(&judged) {
            return Ok(judged);
        }
        if let (Outcome::Ask, Some(grant)) = (judged.outcome, covering(Granted::Approve)) {
            remembered.approved = true;
            let with = self.judge(rules, actions, remembered);
            if with.outcome == Outcome::Allow && self.use_grant(grant).await? {
                judged = with;
                let evidence = format!("{} by {}", grant.id, grant.by);
                judged.reasons.push(remembers("approved", evidence));
            }
        } else if !remembered.bypass {
            self.consult(rules, question, call, &mut judged).await;
        }
        Ok(judged)
    }

    /// Asks models where nothing speaks for asking people; and, where the operator lets them, whether people need be
    /// asked about what no gate insists on.
    async fn consult(&self, rules: &Rules, question: &str, call: &Action, judged: &mut Judgement) {
        let unsure = judged.outcome == Outcome::Allow && judged.unsure;
        let optional = judged.outcome == Outcome::Ask && !judged.mandatory;
        let models = rules.policies.iter().filter_map(|policy| policy.smart.judge.as_ref());
        for (n, judge) in models.enumerate() {
            if !(unsure || optional && judge.clears) {
                continue;
            }
            let key = format!("{question}#judge{n}");
            match self.opinion(&key, judge, call).await {
                Some(reason) => {
                    judged.outcome = Outcome::Ask;
                    judged.reasons.push(reason);
                    return;
                }
                None if optional => {
                    judged.outcome = Outcome::Allow;
                    judged.reasons.push(Reason {
                        gate: "smart".into(),
                        criterion: "judge_cleared".to_owned(),
                        evidence: format!("risk below {}", judge.threshold),
                    });
                }
                None => {}
            }
        }
    }

    /// Counts a use of what is remembered for so many times. Whether it could still be used.
    async fn use_grant(&self, grant: &Grant) -> Result<bool, ErrorInfo> {
        if grant.times.is_none() {
            return Ok(true);
        }
        let used = self.cell.engine.store.use_grant(&grant.id).await;
        used.map_err(|error| ErrorInfo::new("could_not_ask", error.to_string()))
    }

    fn judge(&self, rules: &Rules, actions: &[Action], remembered: Remembered) -> Judgement {
        let counts = self.counts(&actions[0].digest());
        let mut all: Option<Judgement> = None;
        for action in actions {
            let action = Action { counts, ..action.clone() };
            for policy in &rules.policies {
                let judged = policy.judge(&action, remembered);
                all = Some(match all {
                    None => judged,
                    Some(all) => all.and(judged),
                });
            }
        }
        all.unwrap_or_default()
    }

    fn counts(&self, digest: &str) -> Counts {
        let inner = self.cell.lock();
        Counts { cost: inner.state.usage.cost, ..inner.state.ledger.counts(digest) }
    }

    /// Journals what was judged. What the audit calls it, if there was something to say.
    fn note(
        &self,
        subject: &Subject<'_>,
        action: &Action,
        judged: &Judgement,
        asks: bool,
        rules: &Rules,
        agreed: &Agreed,
    ) -> Option<Box<Audited>> {
        let outcome = match judged.outcome {
            Outcome::Ask if !asks => Outcome::Allow,
            outcome => outcome,
        };
        let secrets = &self.cell.engine.secrets;
        let approved = match outcome {
            Outcome::Allow => agreed.requests.clone(),
            _ => Vec::new(),
        };
        let (tool, digest) = (subject.spec.name.clone(), action.digest());
        let audited = (!judged.reasons.is_empty()).then(|| {
            Box::new(Audited { tool: tool.clone(), digest: digest.clone(), marked: false })
        });
        // What was begun before a crash has used its approval up, and counts as one call.
        let begun = outcome == Outcome::Allow && self.is_in_doubt(subject.key);
        if begun
            && self.cell.lock().state.ledger.is_under_way(self.activation, subject.key, &digest)
        {
            return audited;
        }
        self.cell.emit(Event::Gated(Box::new(Gated {
            activation: self.activation,
            key: subject.key.into(),
            tool,
            digest,
            action: action.to_json(),
            policy: rules.version.clone(),
            approved,
            read_only: subject.spec.effects.read_only,
            outcome,
            reasons: judged.reasons.iter().map(|reason| reason.made_visible(secrets)).collect(),
        })));
        audited
    }

    /// Lets nothing new start in the run until somebody lets it go on. Once for each question.
    pub(super) async fn pause_for(&self, question: &str) -> Result<(), ErrorInfo> {
        let key = format!("{question}#paused");
        if !self.is_done(&key) {
            self.effect(&key, Effect::repeatable(), |_| async { Ok(json!(true)) }).await?;
            self.cell.emit(Event::Paused { by: Actor::new("system"), reason: None });
        }
        Ok(())
    }

    /// What an agent is told of a call that is not made because a person rejected another one of the same turn and
    /// wants all of it thought over.
    fn replanned(&self, turn: Option<&Name>) -> Option<ErrorInfo> {
        let turn = turn?;
        let inner = self.cell.lock();
        inner.state.requests.values().find_map(|asked| {
            let Some(Answer::Decided { decision, by }) = &asked.answer else { return None };
            let tool = asked.body.context["tool"].as_str().unwrap_or_default();
            (asked.body.withdraws(decision) == Some(turn)).then(|| {
                let message = format!(
                    "this call was not made: {by} denied another call of the same turn ({tool}). \
                     Think again about what is still to be done."
                );
                ErrorInfo::new("withdrawn", message)
            })
        })
    }

    /// The number of a question that was asked.
    fn number(&self, key: &str) -> Option<RequestNo> {
        self.cell.lock().state.open.get(&self.activation)?.asked.get(key).copied()
    }

    pub(crate) fn was_asked(&self, key: &str) -> bool {
        self.number(key).is_some()
    }

    /// The arguments with what the preview pinned: the call is refused if what was shown is no longer so.
    fn pinned(&self, key: &str, arguments: &Value) -> Option<Value> {
        let request = self.number(key)?;
        let inner = self.cell.lock();
        let Value::Object(pin) = &inner.state.requests.get(&request)?.body.preview["pin"] else {
            return None;
        };
        let mut arguments = arguments.clone();
        arguments.as_object_mut()?.extend(pin.clone());
        Some(arguments)
    }

    /// What people were shown with a question.
    fn shown(&self, key: &str) -> Value {
        let request = self.number(key);
        let inner = self.cell.lock();
        let asked = request.and_then(|request| inner.state.requests.get(&request));
        asked.map_or(Value::Null, |request| request.body.context.clone())
    }
}

fn remembers(criterion: &str, evidence: String) -> Reason {
    Reason { gate: "remembered".into(), criterion: criterion.to_owned(), evidence }
}

fn pair(reason: &Reason) -> (String, String) {
    (reason.gate.to_string(), reason.criterion.clone())
}
