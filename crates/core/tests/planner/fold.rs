//! The state is the fold of the journal, however it is folded.

use proptest::prelude::*;
use signoff_core::RunState;
use signoff_core::journal::{decode, encode};

use super::play::{Play, choices, graphs};

fn text(state: &RunState) -> String {
    serde_json::to_string(state).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]

    #[test]
    fn all_ways_to_fold_agree(
        graph in graphs(),
        choices in choices(),
        cut in any::<prop::sample::Index>(),
    ) {
        let play = Play::through(&graph, &choices);
        let whole = RunState::fold(&play.entries).unwrap();
        prop_assert_eq!(text(&whole), text(&play.state), "entry by entry");

        let cut = 1 + cut.index(play.entries.len());
        let (before, after) = play.entries.split_at(cut);
        let prefix = RunState::fold(before).unwrap();
        prop_assert_eq!(prefix.seq, cut as u64);

        let mut restored: RunState = serde_json::from_str(&text(&prefix)).unwrap();
        prop_assert_eq!(text(&restored), text(&prefix), "a snapshot is the state");
        for entry in after {
            restored.apply(entry).unwrap();
        }
        prop_assert_eq!(text(&restored), text(&whole), "snapshot and rest");

        let mut read = decode(1, &encode(before)).unwrap();
        read.extend(decode(1 + cut as u64, &encode(after)).unwrap());
        prop_assert_eq!(&read, &play.entries);
        prop_assert_eq!(text(&RunState::fold(&read).unwrap()), text(&whole), "as bytes");
    }

    #[test]
    fn every_prefix_is_a_state_that_was(graph in graphs(), choices in choices()) {
        let mut play = Play::new(&graph);
        let mut seen = vec![(play.entries.len(), text(&play.state))];
        for choice in choices {
            play.step(choice);
            seen.push((play.entries.len(), text(&play.state)));
        }
        for (length, state) in seen.into_iter().step_by(7) {
            prop_assert_eq!(text(&RunState::fold(&play.entries[..length]).unwrap()), state);
        }
    }
}
