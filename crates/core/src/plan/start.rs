//! How a run begins.

use std::sync::Arc;

use crate::graph::{ExecutorKind, Graph};
use crate::journal::{Delivered, Event, Payload, Started};
use crate::message::{Message, Part, Role};
use crate::time::Timestamp;

/// The first events of a run. A coordinator's conversation begins with the date, because people say
/// "Friday in three weeks".
///
/// `added` is what was put into the conversation since the run before it.
pub fn start(graph: &Graph, started: Started, added: Vec<Message>, now: Timestamp) -> Vec<Event> {
    let first = graph.start().clone();
    let coordinated = graph
        .executor(&first)
        .is_some_and(|executor| matches!(executor.kind, ExecutorKind::Coordinator));
    let started = Started { added: u32::try_from(added.len()).unwrap_or(u32::MAX), ..started };
    let mut events = vec![Event::Started(Box::new(started))];
    let said = |message| Event::Said { activation: None, message: Arc::new(message) };
    events.extend(added.into_iter().map(said));
    if coordinated {
        let date = Message::assistant(first.clone(), format!("Today's date is {}.", now.date()));
        events.push(said(date));
    }
    let input = Message { role: Role::User, author: None, parts: vec![Part::Input] };
    events.push(said(input));
    events.push(Event::Delivered(Delivered {
        activation: 1,
        to: first,
        payload: Payload::Input,
        from: None,
        caller: None,
    }));
    events
}
