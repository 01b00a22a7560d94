//! Journals that are not what was written: refused, or folded to a state that holds together.

use proptest::prelude::*;
use signoff_core::RunState;
use signoff_core::journal::{Entry, Event, Input};

use super::play::{Play, choices, graphs};

#[derive(Clone, Debug)]
enum Damage {
    Drop(prop::sample::Index),
    Double(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Overwrite(prop::sample::Index, prop::sample::Index),
    Number(prop::sample::Index, u64),
    Byte(prop::sample::Index, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        place().prop_map(Damage::Drop),
        place().prop_map(Damage::Double),
        (place(), place()).prop_map(|(a, b)| Damage::Swap(a, b)),
        (place(), place()).prop_map(|(a, b)| Damage::Overwrite(a, b)),
        (place(), any::<u64>()).prop_map(|(at, seq)| Damage::Number(at, seq)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
    ]
}

fn renumber(entries: &mut [Entry]) {
    for (entry, seq) in entries.iter_mut().zip(1..) {
        entry.seq = seq;
    }
}

/// A state that holds together: what refers to something refers to what is there.
fn assert_whole(state: &RunState) {
    for (no, request) in &state.requests {
        let asker = state.open.get(&request.activation);
        assert!(asker.is_some(), "request {no} of activation {}", request.activation);
        assert!(*no <= state.last_request);
    }
    for (id, open) in &state.open {
        assert!(*id <= state.last_activation);
        assert!(open.said.iter().all(|n| (*n as usize) < state.messages.len()));
    }
    for arrived in state.joins.values() {
        assert!(!arrived.is_empty() && arrived.values().all(|values| !values.is_empty()));
    }
    if state.end.is_some() {
        assert!(state.open.is_empty() && state.requests.is_empty() && state.joins.is_empty());
    }
    // It can be kept, and planned on.
    let kept: RunState = serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap();
    assert_eq!(kept.seq, state.seq);
    let cancel = Input::Cancel { by: signoff_core::Actor::local(), reason: None };
    let mut ended = state.clone();
    for event in signoff_core::plan::input(state, &cancel) {
        let entry = Entry { seq: ended.seq + 1, at: state.updated_at, event };
        ended.apply(&entry).unwrap();
    }
    assert!(ended.end.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn damage_is_refused_or_harmless(
        graph in graphs(),
        choices in choices(),
        damage in prop::collection::vec(damage(), 1..4),
        renumbered in any::<bool>(),
    ) {
        let mut entries = Play::through(&graph, &choices).entries;
        for damage in damage {
            let count = entries.len();
            if count == 0 {
                break;
            }
            match damage {
                Damage::Drop(at) => {
                    entries.remove(at.index(count));
                }
                Damage::Double(at) => {
                    let entry = entries[at.index(count)].clone();
                    entries.insert(at.index(count), entry);
                }
                Damage::Swap(a, b) => entries.swap(a.index(count), b.index(count)),
                Damage::Overwrite(a, b) => {
                    entries[a.index(count)].event = entries[b.index(count)].event.clone();
                }
                Damage::Number(at, seq) => entries[at.index(count)].seq = seq,
                Damage::Byte(at, byte) => {
                    let mut body = signoff_core::journal::encode(&entries);
                    let at = at.index(body.len());
                    body[at] = byte;
                    if let Ok(read) = signoff_core::journal::decode(1, &body) {
                        entries = read;
                    }
                }
            }
        }
        if renumbered {
            renumber(&mut entries);
        } else if entries.iter().zip(1..).any(|(entry, seq)| entry.seq != seq) {
            prop_assert!(RunState::fold(&entries).is_err(), "a gap was not noticed");
        }
        if let Ok(state) = RunState::fold(&entries) {
            prop_assert!(matches!(entries[0].event, Event::Started(_)));
            assert_whole(&state);
        }
    }
}
