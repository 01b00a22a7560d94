//! Whatever is done to them, all stores say the same.

use std::sync::Arc;

use proptest::prelude::*;
use signoff_core::journal::{ErrorInfo, Event, Input, Outcome};
use signoff_core::{Actor, RunStatus, Tenant};

use crate::conformance::fixtures::{
    TTL, append, asked, at, child_run, decide, end, entry, executed, new_run, node, output,
    question, run,
};
use crate::{
    Append, Claim, Decide, Lease, MemoryStore, NewRun, PostgresOptions, PostgresStore,
    RequestFilter, Rest, RunFilter, Scope, Snapshot, SqliteOptions, SqliteStore, Store,
    TakeWebhook,
};

const RUNS: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Create { run: usize, parent: Option<usize>, claim: bool, deadline: Option<i64> },
    Append { run: usize, what: What, rest: u8, consumed: usize, stale: bool, snapshot: bool },
    End { run: usize },
    Deliver { run: usize },
    Decide { run: usize, request: u32, claim: bool },
    Claim { node: u8, limit: usize, tree: Option<usize> },
    ClaimRun { run: usize, node: u8 },
    Renew { run: usize, by: u64 },
    Release { run: usize },
    Fire { limit: usize },
    Wait { ms: i64 },
}

#[derive(Clone, Debug)]
enum What {
    Nothing,
    Output,
    Ask { expires: Option<i64> },
    Decided { request: u32 },
    Expired { request: u32 },
    Withdrawn { request: u32 },
    Execute { fails: bool },
    Sleep { key: u8, ms: i64 },
    Wake { key: u8 },
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        1 => Just(What::Nothing),
        2 => Just(What::Output),
        4 => proptest::option::of(0..20_000_i64).prop_map(|expires| What::Ask { expires }),
        1 => (1..4_u32).prop_map(|request| What::Decided { request }),
        1 => (1..4_u32).prop_map(|request| What::Expired { request }),
        1 => (1..4_u32).prop_map(|request| What::Withdrawn { request }),
        1 => any::<bool>().prop_map(|fails| What::Execute { fails }),
        2 => (0..2_u8, 0..20_000_i64).prop_map(|(key, ms)| What::Sleep { key, ms }),
        1 => (0..2_u8).prop_map(|key| What::Wake { key }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let run = || 0..RUNS;
    prop_oneof![
        4 => (run(), proptest::option::of(run()), any::<bool>(), proptest::option::of(0..20_000_i64))
            .prop_map(|(run, parent, claim, deadline)| Step::Create { run, parent, claim, deadline }),
        10 => (run(), what(), 0..3_u8, 0..4_usize, prop::bool::weighted(0.1), prop::bool::weighted(0.2))
            .prop_map(|(run, what, rest, consumed, stale, snapshot)| {
                Step::Append { run, what, rest, consumed, stale, snapshot }
            }),
        1 => run().prop_map(|run| Step::End { run }),
        2 => run().prop_map(|run| Step::Deliver { run }),
        4 => (run(), 1..4_u32, any::<bool>())
            .prop_map(|(run, request, claim)| Step::Decide { run, request, claim }),
        3 => (0..2_u8, 0..4_usize, proptest::option::of(run()))
            .prop_map(|(node, limit, tree)| Step::Claim { node, limit, tree }),
        3 => (run(), 0..2_u8).prop_map(|(run, node)| Step::ClaimRun { run, node }),
        1 => (run(), 0..20_000_u64).prop_map(|(run, by)| Step::Renew { run, by }),
        1 => run().prop_map(|run| Step::Release { run }),
        2 => (0..4_usize).prop_map(|limit| Step::Fire { limit }),
        2 => (0..15_000_i64).prop_map(|ms| Step::Wait { ms }),
    ]
}

/// What one would have to know to use a store, told by what the store under test answered.
#[derive(Default)]
struct Knowledge {
    now: i64,
    leases: [Option<Lease>; RUNS],
    asked: [u32; RUNS],
}

impl Knowledge {
    fn learn(&mut self, leases: &[Lease]) {
        for lease in leases {
            let place = (0..RUNS).find(|&n| lease.run == id(n)).unwrap();
            self.leases[place] = Some(lease.clone());
        }
    }
}

fn id(n: usize) -> signoff_core::RunId {
    run(&format!("r{n}"))
}

fn event(what: &What, run: usize, known: &mut Knowledge) -> Option<Event> {
    let key = |key: &u8| format!("k{key}").into();
    Some(match what {
        What::Nothing => return None,
        What::Output => output(1).event,
        What::Ask { expires } => {
            known.asked[run] += 1;
            let expires = expires.map(|ms| known.now + ms);
            asked(1, known.asked[run], question("Where to?", expires)).event
        }
        What::Decided { request } => Event::Decided {
            request: *request,
            decision: signoff_core::Decision::approve(),
            by: Actor::local(),
            sent: None,
        },
        What::Expired { request } => Event::Expired { request: *request },
        What::Withdrawn { request } => {
            let by = (request % 2 == 0).then(Actor::local);
            let reason = by.as_ref().map(|by| format!("{by} wants it so"));
            Event::Withdrawn { request: *request, by, reason }
        }
        What::Execute { fails: false } => executed(1, Outcome::Ok(Arc::new("done".into()))).event,
        What::Execute { fails: true } => {
            executed(1, Outcome::Err(ErrorInfo::new("tool_timeout", "too late"))).event
        }
        What::Sleep { key: name, ms } => {
            Event::TimerSet { activation: 1, key: key(name), due: at(known.now + ms) }
        }
        What::Wake { key: name } => Event::TimerFired { activation: 1, key: key(name) },
    })
}

/// Does one step and says what came of it.
async fn perform(store: &Arc<dyn Store>, step: &Step, known: &mut Knowledge) -> String {
    let now = at(known.now);
    let head = |n: usize| store.run(&id(n)).unwrap().map_or(0, |run| run.head);
    let lease_of = |known: &Knowledge, n: usize| {
        let nobody = Lease { run: id(n), node: node("n9"), epoch: 7 };
        known.leases[n].clone().unwrap_or(nobody)
    };
    match step.clone() {
        Step::Create { run, parent, claim, deadline } => {
            // No run is part of itself.
            let new = match parent.filter(|parent| *parent != run) {
                Some(parent) => child_run(&format!("r{run}"), &id(parent)),
                None => new_run(&format!("r{run}")),
            };
            let claim = claim.then(|| Claim { node: node("n0"), until: now.plus(TTL) });
            let deadline = deadline.map(|ms| at(known.now + ms));
            let created = store.create_run(NewRun { deadline, claim, ..new }).await;
            if let Ok(Some(created)) = &created {
                known.learn(created.lease.as_slice());
            }
            format!("{created:?}")
        }
        Step::Append { run, what, rest, consumed, stale, snapshot } => {
            let lease = lease_of(known, run);
            let expected = head(run) + u64::from(stale);
            let asked = known.asked[run];
            // Nobody consumes what was never there.
            let waiting = store.inputs(&id(run), 0).unwrap_or_default();
            let consumed = waiting.iter().take(consumed).next_back().map_or(0, |(no, _)| *no);
            let entries: Vec<_> = event(&what, run, known)
                .into_iter()
                .map(|event| entry(expected + 1, event))
                .collect();
            let done = store
                .append(Append {
                    consumed,
                    status: if rest == 0 { RunStatus::Waiting } else { RunStatus::Running },
                    rest: if rest == 0 { Rest::Park } else { Rest::Keep },
                    snapshot: snapshot.then(|| Snapshot { seq: expected, body: vec![1, 2] }),
                    ..append(&lease, expected, entries)
                })
                .await;
            if done.is_err() {
                known.asked[run] = asked;
            }
            format!("{done:?}")
        }
        Step::End { run } => {
            format!("{:?}", store.append(end(&lease_of(known, run), head(run))).await)
        }
        Step::Deliver { run } => {
            let input = Input::Pause { by: Actor::local(), reason: None };
            format!("{:?}", store.deliver(&id(run), input, now).await)
        }
        Step::Decide { run, request, claim } => {
            let claim = claim.then(|| Claim { node: node("n1"), until: now.plus(TTL) });
            let decision = decide(&id(run), request, "yes", "ann", known.now);
            let decided = store.decide(Decide { claim, ..decision }).await;
            if let Ok(crate::Decided::Taken { lease: Some(lease), .. }) = &decided {
                known.learn(std::slice::from_ref(lease));
            }
            format!("{decided:?}")
        }
        Step::Claim { node: n, limit, tree } => {
            let scope = tree.map_or(Scope::All, |run| Scope::Tree(id(run)));
            let leases = store.claim(scope, &node(&format!("n{n}")), now, TTL, limit).await;
            known.learn(leases.as_ref().unwrap());
            format!("{leases:?}")
        }
        Step::ClaimRun { run, node: n } => {
            let lease = store.claim_run(&id(run), &node(&format!("n{n}")), now, TTL).await;
            if let Ok(Some(lease)) = &lease {
                known.learn(std::slice::from_ref(lease));
            }
            format!("{lease:?}")
        }
        Step::Renew { run, by } => {
            let until = now.plus(signoff_core::Span(by));
            format!("{:?}", store.renew(vec![lease_of(known, run)], until).await)
        }
        Step::Release { run } => {
            format!("{:?}", store.release(lease_of(known, run)).await)
        }
        Step::Fire { limit } => format!("{:?}", store.fire_due(now, limit).await),
        Step::Wait { ms } => {
            known.now += ms;
            String::new()
        }
    }
}

/// Everything that can be read.
fn observe(store: &Arc<dyn Store>) -> String {
    let mut seen = Vec::new();
    for n in 0..RUNS {
        seen.push(format!("{:?}", store.load(&id(n), None)));
        seen.push(format!("{:?}", store.load(&id(n), Some(3))));
        seen.push(format!("{:?}", store.entries(&id(n), 1, 2)));
        let tree = RequestFilter { root: Some(id(n)), ..RequestFilter::default() };
        seen.push(format!("{:?}", store.requests(&tree, None, 50)));
    }
    let pending = RequestFilter {
        status: Some(signoff_core::RequestStatus::Pending),
        ..RequestFilter::default()
    };
    seen.push(format!("{:?}", store.requests(&pending, None, 2)));
    seen.push(format!("{:?}", store.count_requests(&pending)));
    seen.push(format!("{:?}", store.runs(&RunFilter::default(), None, 3)));
    seen.push(format!("{:?}", store.latest_run(&Tenant::local(), &"conv_1".into())));
    seen.push(format!("{:?}", store.next_due()));
    seen.push(format!("{:?}", store.audit(None, 0, 100)));
    seen.push(format!("{:?}", store.happened(0, 1000)));
    seen.join("\n")
}

/// Does the same to both and looks for a difference.
fn agree(other: &Arc<dyn Store>, steps: &[Step]) -> Result<(), TestCaseError> {
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (mut one, mut another) = (Knowledge::default(), Knowledge::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for store in [&memory, other] {
            let (name, node) = ("ops".into(), node("n1"));
            store.take_webhook(TakeWebhook { name, node, now: at(0), ttl: TTL }).await.unwrap();
        }
        for step in steps {
            let expected = perform(&memory, step, &mut one).await;
            let found = perform(other, step, &mut another).await;
            prop_assert_eq!(expected, found, "{:?}", step);
        }
        prop_assert_eq!(observe(&memory), observe(other));
        Ok(())
    })
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn memory_and_sqlite_agree(steps in prop::collection::vec(step(), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(directory.path().join("test.db"), "own");
        let sqlite: Arc<dyn Store> = Arc::new(SqliteStore::open(options).unwrap());
        agree(&sqlite, &steps)?;
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn memory_and_postgres_agree(steps in prop::collection::vec(step(), 1..60)) {
        let options = PostgresOptions::new(&signoff_test_postgres::fresh(), "own").unwrap();
        let postgres: Arc<dyn Store> = Arc::new(PostgresStore::open(options).unwrap());
        agree(&postgres, &steps)?;
    }
}
