//! What is modelled: a store as the contract has it, nodes as the driver is, and people.
//!
//! A run does a step, asks, does another step with what came of it, and ends. Each step is an effect that must not be
//! repeated: its intent is written before it begins. A node that finds an intent without a result, which it has not written
//! itself, does not know, and stops for a person; here that is an end.

/// When the request's deadline is.
const DEADLINE: i8 = 3;
/// Time ends here, and with it all leases.
const LAST: i8 = 7;
/// How long a lease lasts, by its holder's clock.
const LEASE: i8 = 2;
/// How often nodes may die.
const CRASHES: u8 = 2;

/// What stops a node that has lost its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// An append names its lease and its place, and is refused if either is stale.
    Rows,
    /// Once an append has passed so, those after it that nothing follows from look at a number of their node only. Whoever takes
    /// a run from a node changes it.
    Number,
    /// The same, but nobody changes it.
    FixedNumber,
    /// The same, but who finds it changed still believes to hold what it held before.
    BelievedNumber,
    Nothing,
}

impl Fence {
    fn is_number(self) -> bool {
        !matches!(self, Self::Rows | Self::Nothing)
    }

    fn changes(self) -> bool {
        matches!(self, Self::Number | Self::BelievedNumber)
    }
}

/// How things are done. As they should be, unless it is said otherwise.
#[allow(clippy::struct_excessive_bools)] // each can be taken away
#[derive(Clone, Debug)]
pub struct Rules {
    pub fence: Fence,
    /// An answer is taken only while the request is pending.
    pub compare_and_set: bool,
    /// A deadline changes the request in the transaction that tells the run of it.
    pub claimed_deadline: bool,
    /// The intent of a step is written before the step begins.
    pub intent_first: bool,
    /// The errors of the nodes' clocks.
    pub clocks: [i8; 2],
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            fence: Fence::Rows,
            compare_and_set: true,
            claimed_deadline: true,
            intent_first: true,
            clocks: [0, 0],
        }
    }
}

/// What came of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// This person's answer.
    Answer(usize),
    Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    Intent(usize),
    Result(usize),
    Asked,
    Outcome(Outcome),
    /// It may have happened: a person must look.
    InDoubt,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    NotAsked,
    Pending,
    Over(Outcome),
}

impl Request {
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Over(outcome) => Some(outcome),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Tick,
    Claim(usize),
    Renew(usize),
    /// A node does what comes next.
    Work(usize),
    Crash(usize),
    /// A node is taken for dead: its lease ends.
    Reap(usize),
    /// A node finds its number changed when it writes something else.
    Notice(usize),
    /// A node sees that the deadline has passed.
    Deadline(usize),
    Answer(usize),
}

/// What a node has in memory of a run it believes to hold.
#[allow(clippy::struct_excessive_bools)] // each is one thing that it knows
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    /// Nobody else has claimed the run since. That is what an epoch tells; its number would only make more states.
    current: bool,
    journal: Vec<Entry>,
    /// An append has passed since it was claimed, or since the number was last found to be another.
    known: bool,
    /// It has written the intent that stands last, or carried out the step that comes next.
    mine: bool,
    carried_out: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    time: i8,
    journal: Vec<Entry>,
    /// Who holds the lease, and until when.
    lease: Option<(usize, i8)>,
    ready: bool,
    /// Whose number is not the one they remember.
    changed: [bool; 2],
    reaped: bool,
    pub request: Request,
    mailbox: Vec<Outcome>,
    nodes: [Option<Held>; 2],
    crashes: u8,
    /// Who has acted on the deadline without claiming it.
    fired: [bool; 2],
    /// How often each step was really carried out.
    pub performed: [u8; 2],
    /// What the people were told: whether their answer was taken.
    pub told: [Option<bool>; 2],
}

impl State {
    pub fn new() -> Self {
        Self {
            time: 0,
            journal: Vec::new(),
            lease: None,
            ready: true,
            changed: [false; 2],
            reaped: false,
            request: Request::NotAsked,
            mailbox: Vec::new(),
            nodes: [None, None],
            crashes: 0,
            fired: [false; 2],
            performed: [0; 2],
            told: [None; 2],
        }
    }

    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.journal.iter().filter_map(|entry| match entry {
            Entry::Outcome(outcome) => Some(*outcome),
            _ => None,
        })
    }

    pub fn is_over(&self) -> bool {
        matches!(self.journal.last(), Some(Entry::Ended | Entry::InDoubt))
    }

    /// Everything that can happen, and what is then.
    pub fn next(&self, rules: &Rules) -> Vec<(Action, Self)> {
        let mut all = Vec::new();
        let mut can = |action, then: Option<Self>| all.extend(then.map(|then| (action, then)));
        let tick = Self { time: self.time + 1, ..self.clone() };
        can(Action::Tick, (self.time < LAST).then_some(tick));
        for node in 0..2 {
            let now = self.time + rules.clocks[node];
            can(Action::Claim(node), self.claim(node, now, rules));
            can(Action::Renew(node), self.renew(node, now));
            can(Action::Work(node), self.work(node, rules));
            can(Action::Crash(node), self.crash(node));
            can(Action::Reap(node), self.reap(node, rules));
            can(Action::Notice(node), self.notice(node, rules));
            can(Action::Deadline(node), self.deadline(node, now, rules));
            can(Action::Answer(node), self.answer(node, rules));
        }
        all
    }

    fn claim(&self, node: usize, now: i8, rules: &Rules) -> Option<Self> {
        let free = self.lease.is_none_or(|(_, until)| until <= now || self.time == LAST);
        if !free || !self.ready || self.nodes[node].is_some() || self.is_over() {
            return None;
        }
        let mut then = self.clone();
        for held in then.nodes.iter_mut().flatten() {
            held.current = false;
        }
        if let Some((before, _)) = self.lease.filter(|(before, _)| *before != node) {
            then.changed[before] |= rules.fence.changes();
        }
        then.lease = Some((node, now + LEASE));
        let journal = self.journal.clone();
        let held = Held { current: true, journal, known: false, mine: false, carried_out: false };
        then.nodes[node] = Some(held);
        Some(then)
    }

    fn holds(&self, node: usize, held: &Held) -> bool {
        held.current && self.lease.is_some_and(|(holder, _)| holder == node)
    }

    fn renew(&self, node: usize, now: i8) -> Option<Self> {
        let held = self.nodes[node].as_ref()?;
        let mut then = self.clone();
        if self.holds(node, held) {
            then.lease = Some((node, now + LEASE));
        } else {
            then.nodes[node] = None;
        }
        Some(then)
    }

    fn crash(&self, node: usize) -> Option<Self> {
        let alive = self.nodes[node].is_some() && self.crashes < CRASHES;
        alive.then(|| {
            let mut then = self.clone();
            then.nodes[node] = None;
            then.crashes += 1;
            then
        })
    }

    /// Once, with what stands for all of them: so much is taken from it at any time.
    fn reap(&self, node: usize, rules: &Rules) -> Option<Self> {
        let holds = self.lease.is_some_and(|(holder, _)| holder == node);
        (holds && !self.reaped).then(|| {
            let mut then = self.clone();
            then.lease = None;
            then.reaped = true;
            then.changed[node] |= rules.fence.changes();
            then
        })
    }

    fn notice(&self, node: usize, rules: &Rules) -> Option<Self> {
        self.changed[node].then(|| {
            let mut then = self.clone();
            then.changed[node] = false;
            if let Some(held) = &mut then.nodes[node] {
                held.known &= rules.fence == Fence::BelievedNumber;
            }
            then
        })
    }

    /// What comes next in the run, as the node has it in memory.
    fn work(&self, node: usize, rules: &Rules) -> Option<Self> {
        let held = self.nodes[node].as_ref()?;
        let step = |n: usize| {
            if !rules.intent_first && !held.carried_out {
                return self.carry_out(node, n);
            }
            self.append(node, Entry::Intent(n), rules)
        };
        match held.journal.last() {
            None => step(0),
            Some(Entry::Outcome(_)) => step(1),
            Some(Entry::Intent(n)) if held.carried_out => {
                self.append(node, Entry::Result(*n), rules)
            }
            Some(Entry::Intent(n)) if held.mine => self.carry_out(node, *n),
            Some(Entry::Intent(_)) => self.append(node, Entry::InDoubt, rules),
            Some(Entry::Result(0)) => self.append(node, Entry::Asked, rules),
            Some(Entry::Result(_)) => self.append(node, Entry::Ended, rules),
            Some(Entry::Asked) => {
                let outcome = *self.mailbox.first()?;
                self.append(node, Entry::Outcome(outcome), rules)
            }
            Some(Entry::InDoubt | Entry::Ended) => None,
        }
    }

    /// The step really happens, whoever holds what.
    fn carry_out(&self, node: usize, step: usize) -> Option<Self> {
        let mut then = self.clone();
        then.performed[step] += 1;
        then.nodes[node].as_mut()?.carried_out = true;
        Some(then)
    }

    fn append(&self, node: usize, entry: Entry, rules: &Rules) -> Option<Self> {
        let held = self.nodes[node].as_ref()?;
        let mut then = self.clone();
        let stands = self.holds(node, held) && held.journal.len() == self.journal.len();
        let plain = held.known && matches!(entry, Entry::Intent(_) | Entry::Result(_));
        let passes = match rules.fence {
            Fence::Nothing => true,
            fence if fence.is_number() && plain && !self.changed[node] => true,
            _ => {
                // The number is read along with what tells whether the run is held.
                then.changed[node] = false;
                stands
            }
        };
        if !passes {
            then.nodes[node] = None;
            return Some(then);
        }
        // Nobody writes after the end, fence or not.
        if self.is_over() {
            return None;
        }
        then.journal.push(entry);
        let memory = then.nodes[node].as_mut()?;
        memory.journal.push(entry);
        memory.known = rules.fence.is_number();
        memory.mine = matches!(entry, Entry::Intent(_));
        memory.carried_out &= memory.mine && !rules.intent_first;
        match entry {
            Entry::Asked => {
                then.request = Request::Pending;
                then.let_go(node);
            }
            Entry::Outcome(_) if !then.mailbox.is_empty() => {
                then.mailbox.remove(0);
            }
            Entry::InDoubt | Entry::Ended => then.let_go(node),
            _ => {}
        }
        Some(then)
    }

    /// The run is parked or over.
    fn let_go(&mut self, node: usize) {
        self.nodes[node] = None;
        self.lease = None;
        self.ready = false;
    }

    fn deadline(&self, node: usize, now: i8, rules: &Rules) -> Option<Self> {
        if now < DEADLINE || self.request != Request::Pending || self.fired[node] {
            return None;
        }
        let mut then = self.clone();
        if rules.claimed_deadline {
            then.request = Request::Over(Outcome::Expired);
        } else {
            then.fired[node] = true;
        }
        then.mailbox.push(Outcome::Expired);
        then.ready = true;
        Some(then)
    }

    fn answer(&self, person: usize, rules: &Rules) -> Option<Self> {
        if self.told[person].is_some() || self.request == Request::NotAsked {
            return None;
        }
        let mut then = self.clone();
        let taken = self.request == Request::Pending || !rules.compare_and_set;
        then.told[person] = Some(taken);
        if taken {
            then.request = Request::Over(Outcome::Answer(person));
            then.mailbox.push(Outcome::Answer(person));
            then.ready = true;
        }
        Some(then)
    }
}
