//! Two processes with one run.

use signoff_testkit::Process;

use crate::support::{Place, Reference, TYPED};

#[test]
fn of_two_processes_that_resume_a_run_one_drives_it() {
    let reference = Reference::new();
    for _ in 0..5 {
        let mut place = Place::new();
        drop(place.run(&Place::PLAN_QUEUED, &[]).exits(3));
        let run = place.run_id().unwrap();
        let resume = |place: &Place| place.start(&["resume", &run, "--json"], &[]);
        let mut followers = [resume(&place), resume(&place)];
        for (agent, answer) in TYPED {
            let of_agent = |line: &serde_json::Value| {
                line["type"] == "request.pending" && line["request"]["agent_path"][0] == agent
            };
            let pending = followers.each_mut().map(|it| it.json_until(of_agent));
            let id = pending[0]["request"]["id"].as_str().unwrap();
            assert_eq!(pending[1]["request"]["id"], id);
            // Both hear of it, and both want to go on.
            let args = ["inbox", "answer", id, answer, "--as", "ada", "--no-drive", "--json"];
            drop(place.run(&args, &[]).exits(0));
        }
        for follower in followers.map(Process::wait) {
            let follower = follower.exits(0);
            let events = follower.json();
            let last = events.last().unwrap();
            assert_eq!(
                (&last["type"], &last["status"]),
                (&"run.ended".into(), &"completed".into())
            );
            place.saw(&follower);
        }
        reference.assert_same(&place);
    }
}
