//! What comes from outside too late, twice or for nobody changes nothing, and never breaks a journal.

use proptest::prelude::*;
use signoff_core::journal::{Event, Input, Outcome};
use signoff_core::state::Answer;
use signoff_core::{Actor, Decision};

use super::play::{Play, choices, graphs};

fn inputs() -> impl Strategy<Value = Input> {
    let number = 0_u32..12;
    let key = (0..3_u32).prop_map(|n| -> signoff_core::Key { format!("k{n}").into() });
    let by = || Actor::new("ann");
    prop_oneof![
        (number.clone(), 0..6_u8).prop_map(move |(request, n)| {
            let decision = match n {
                0 => Decision::Abort { reason: None },
                1 => Decision::reject(None, signoff_core::decision::Then::Stop),
                2 => Decision::approve(),
                n => Decision::respond(n),
            };
            Input::Decided { request, decision, by: by(), sent: None }
        }),
        number.clone().prop_map(|request| Input::Expired { request }),
        (number.clone(), key.clone())
            .prop_map(|(activation, key)| Input::Timer { activation, key }),
        (number, key, any::<bool>()).prop_map(move |(activation, key, stopped)| {
            Input::ChildEnded {
                activation,
                key,
                outcome: Outcome::Ok(std::sync::Arc::new(1.into())),
                stopped_by: stopped.then(by),
            }
        }),
        Just(Input::OutOfTime {}),
        Just(Input::Cancel { by: by(), reason: None }),
        Just(Input::Pause { by: by(), reason: None }),
        Just(Input::Resume { by: by() }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn inputs_always_fit_and_count_once(
        graph in graphs(),
        choices in choices(),
        inputs in prop::collection::vec(inputs(), 1..24),
    ) {
        let mut play = Play::through(&graph, &choices);
        for input in inputs {
            let before = play.entries.len();
            play.input(&input);
            let after = play.entries.len();
            // The same again changes nothing.
            play.input(&input);
            prop_assert_eq!(play.entries.len(), after, "{:?} counted twice", input);
            if let Input::Decided { request, decision, .. } = &input
                && after > before
                && let Some(waiting) = play.state.requests.get(request)
            {
                let kept = matches!(
                    &waiting.answer,
                    Some(Answer::Decided { decision: kept, .. }) if kept == decision
                );
                prop_assert!(kept, "{:?}", waiting);
            }
        }
        let mut ends = play.entries.iter().filter(|entry| {
            matches!(
                entry.event,
                Event::RunCompleted {} | Event::RunFailed { .. } | Event::RunCancelled { .. }
            )
        });
        let last = ends.next();
        prop_assert!(ends.next().is_none());
        if let Some(last) = last {
            prop_assert_eq!(last.seq, play.state.seq, "nothing follows the end");
        }
    }

    #[test]
    fn what_is_asked_is_answered_or_taken_back(graph in graphs(), choices in choices()) {
        let mut play = Play::through(&graph, &choices);
        play.input(&Input::Cancel { by: Actor::local(), reason: None });
        let mut waiting = std::collections::BTreeSet::new();
        for entry in &play.entries {
            match &entry.event {
                Event::Asked { request, .. } => prop_assert!(waiting.insert(*request)),
                Event::Decided { request, .. }
                | Event::Expired { request }
                | Event::Withdrawn { request, .. } => prop_assert!(waiting.remove(request)),
                _ => {}
            }
        }
        prop_assert!(waiting.is_empty(), "{:?} still wait after the end", waiting);
    }
}
