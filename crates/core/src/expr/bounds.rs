//! How much an expression may do. What it is long is bounded when it is read; this bounds what it makes of large data.
//!
//! | it would | what follows |
//! |---|---|
//! | go through lists inside of lists for ever | each list that is gone through inside of another is counted by its length; past the limit the evaluation fails |
//! | make something that doubles again and again | refused when it is compiled |

use std::cell::Cell;

use cel::common::ast::{CallExpr, EntryExpr, Expr as Node, IdedEntryExpr, IdedExpr, operators};
use cel::common::types::DYN_TYPE;
use cel::common::value::CowVal;
use cel::{Env, ExecutionError};

/// How many items of lists inside of lists one evaluation may go through.
const MAX_INNER: u64 = 1_000_000;
/// How many times as large as what it goes through an expression may make something.
const MAX_GROWTH: u64 = 1024;
/// What counts. No expression can be written that calls it.
const COUNT: &str = "@count";

thread_local! {
    /// What the evaluation that runs on this thread may still go through.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// The functions of the language, and what counts.
pub(super) fn functions() -> Env {
    let mut env = Env::stdlib();
    // There is none of this name yet.
    let _ = env.add_overload(COUNT, "count_inner", vec![DYN_TYPE], count);
    env
}

/// Begins an evaluation.
pub(super) fn begin() {
    LEFT.set(MAX_INNER);
}

fn count<'b, 'v>(mut given: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let failed = |message: String| ExecutionError::FunctionError {
        function: "a list inside of a list".to_owned(),
        message,
    };
    let Some(list) = given.pop() else { return Err(failed("there is none".to_owned())) };
    let items = list.as_sizer().map_or(1, |it| u64::try_from(*it.size().inner()).unwrap_or(1));
    let left = LEFT.get().checked_sub(items.max(1));
    LEFT.set(left.unwrap_or(0));
    left.map(|_| list).ok_or_else(|| failed(format!("it goes through more than {MAX_INNER} items")))
}

/// The expression with its counters, if it needs some.
pub(super) fn counted(root: &IdedExpr) -> Option<IdedExpr> {
    let mut root = root.clone();
    let mut counters = 0;
    put(&mut root, false, &mut counters);
    (counters > 0).then_some(root)
}

/// Puts a counter before everything that is gone through inside of something else that is.
fn put(node: &mut IdedExpr, inside: bool, counters: &mut usize) {
    if let Node::Comprehension(it) = &mut node.expr {
        put(&mut it.iter_range, inside, counters);
        for part in [&mut it.accu_init, &mut it.loop_cond, &mut it.loop_step, &mut it.result] {
            put(part, true, counters);
        }
        if inside {
            *counters += 1;
            let range = std::mem::take(&mut it.iter_range);
            let id = range.id;
            let call = CallExpr { func_name: COUNT.to_owned(), target: None, args: vec![range] };
            it.iter_range = IdedExpr { id, expr: Node::Call(call) };
        }
        return;
    }
    parts(&mut node.expr, &mut |part| put(part, inside, counters));
}

/// Calls `seen` with each part of a node that is no comprehension.
fn parts(node: &mut Node, seen: &mut impl FnMut(&mut IdedExpr)) {
    let entries = |entries: &mut Vec<IdedEntryExpr>, seen: &mut dyn FnMut(&mut IdedExpr)| {
        for entry in entries {
            match &mut entry.expr {
                EntryExpr::StructField(field) => seen(&mut field.value),
                EntryExpr::MapEntry(entry) => {
                    seen(&mut entry.key);
                    seen(&mut entry.value);
                }
            }
        }
    };
    match node {
        Node::Select(select) => seen(&mut select.operand),
        Node::Call(call) => {
            call.target.as_deref_mut().into_iter().for_each(&mut *seen);
            call.args.iter_mut().for_each(seen);
        }
        Node::List(list) => list.elements.iter_mut().for_each(seen),
        Node::Map(map) => entries(&mut map.entries, seen),
        Node::Struct(it) => entries(&mut it.entries, seen),
        _ => {}
    }
}

/// Whether it could make something that is far larger than what it is given: what is gone through is used more than
/// once to make something new of it, and that again, and so on.
pub(super) fn grows_too_much(root: &IdedExpr) -> bool {
    let mut growth = 1_u64;
    let mut todo = vec![root.clone()];
    while let Some(mut node) = todo.pop() {
        if let Node::Comprehension(it) = node.expr {
            let used = uses(&mut it.loop_step.clone(), &it.iter_var, false);
            growth = growth.saturating_mul(used.max(1));
            todo.extend([it.iter_range, it.accu_init, it.loop_cond, it.loop_step, it.result]);
        } else {
            parts(&mut node.expr, &mut |part| todo.push(part.clone()));
        }
    }
    growth > MAX_GROWTH
}

/// How often a variable as a whole becomes part of something larger.
fn uses(node: &mut IdedExpr, variable: &str, grows: bool) -> u64 {
    match &mut node.expr {
        Node::Ident(name) => u64::from(grows && name == variable),
        // A part of it is smaller than all of it.
        Node::Select(select) if matches!(select.operand.expr, Node::Ident(_)) => 0,
        Node::Comprehension(it) => {
            uses(&mut it.iter_range, variable, grows) + uses(&mut it.loop_step, variable, grows)
        }
        other => {
            let makes = match other {
                Node::List(_) | Node::Map(_) => true,
                Node::Call(call) => call.func_name == operators::ADD,
                _ => false,
            };
            let mut found = 0;
            parts(other, &mut |part| found += uses(part, variable, grows || makes));
            found
        }
    }
}
