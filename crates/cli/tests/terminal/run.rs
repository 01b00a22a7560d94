//! `signoff run` and `resume` on a terminal: the same forms, below what is printed.

use crate::support::{PARTY, Place};

#[test]
fn a_run_asks_with_forms() {
    let place = Place::new();
    let mut screen = place.open(&["run", "event_planner", PARTY], &[], (100, 40));
    screen.shows("( ) 2  The Glasshouse");
    screen.keys("2");
    screen.shows("(•) 2  The Glasshouse");
    screen.keys("\r");
    screen.shows("local answered: The Glasshouse");
    // Left in the middle of an approval, it is parked and the terminal is as before.
    screen.shows("[ Change and approve ]");
    screen.keys("\u{3}");
    let (code, written) = screen.ends();
    assert_eq!(code, 130);
    assert!(written.contains("nothing is lost"), "{written}");
    assert!(written.contains("\u{1b}[?2004l"));
    let mut screen = place.open(&["resume", "last"], &[], (100, 40));
    screen.shows("[ Change and approve ]");
    screen.keys("a");
    screen.shows("[▸Approve◂]");
    screen.keys("\r");
    screen.shows("dietary");
    // Whoever rather types a line does, once the form is there.
    screen.shows("Esc types it instead");
    screen.keys("\u{1b}");
    screen.shows("type the answer");
    screen.keys("vegan\r");
    let (code, written) = screen.ends();
    assert_eq!(code, 0, "{written}");
    assert!(written.contains("The Glasshouse") && written.contains("vegan"), "{written}");
}
