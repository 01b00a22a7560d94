//! Workflows that use each other.

use std::fmt::Write as _;

use signoff_core::workflow::{Known, NoFiles, Parsed, Workflow, link};

use crate::support::show;

fn file(id: &str, uses: &[&str]) -> (String, Parsed) {
    let mut text =
        format!("workflow: {id}\npattern: graph\nexecutors:\n  begin: {{ transform: output }}\n");
    for used in uses {
        let _ = writeln!(text, "  run_{used}: {{ workflow: {used} }}");
    }
    text.push_str("edges:\n");
    for used in uses {
        let _ = writeln!(text, "  - {{ from: begin, to: run_{used} }}");
    }
    if uses.is_empty() {
        text = text.replace("edges:\n", "");
    }
    text.push_str("start: begin\n");
    let parsed = Workflow::parse(&text, &NoFiles, &Known::default());
    (format!("{id}.yaml"), parsed.unwrap_or_else(|problems| panic!("{}\n{text}", show(&problems))))
}

fn wrong(files: Vec<(String, Parsed)>) -> String {
    link(files).map_or_else(|problems| show(&problems), |_| "nothing".to_owned())
}

#[test]
fn versions_are_pinned_from_the_bottom_up() {
    let linked = link(vec![file("a", &["b", "c"]), file("b", &["c"]), file("c", &[])]).unwrap();
    let [a, b, c] = linked.as_slice() else { panic!() };
    assert_eq!(b.uses["c"], c.version());
    assert_eq!(a.uses["b"], b.version());
    let before = a.version();
    let mut changed = file("c", &[]);
    changed.1.workflow.description = "Another.".into();
    let linked = link(vec![file("a", &["b", "c"]), file("b", &["c"]), changed]).unwrap();
    assert_ne!(linked[0].version(), before);
}

#[test]
fn unknown_workflows() {
    assert_eq!(
        wrong(vec![file("invoice", &["trnslate"]), file("translate", &[])]),
        "invoice.yaml:5:29: there is no workflow `trnslate`\nhint: did you mean `translate`?"
    );
}

#[test]
fn circles() {
    assert_eq!(
        wrong(vec![file("a", &["b"]), file("b", &["c"]), file("c", &["a"])]),
        "c.yaml:5:22: workflows use each other in a circle: a -> b -> c -> a\n\
         hint: a workflow cannot be part of itself"
    );
    assert!(wrong(vec![file("a", &["a"])]).contains("a -> a"));
}

#[test]
fn one_id_in_two_files() {
    let (_, again) = file("a", &[]);
    assert_eq!(
        wrong(vec![file("a", &[]), ("copy.yaml".into(), again)]),
        "copy.yaml:1:11: the workflow `a` is in two files\nhint: it is already in a.yaml"
    );
}

#[test]
fn a_definition_built_in_rust_can_be_linked() {
    let workflow = file("a", &[]).1.workflow;
    assert_eq!(link(vec![("a".to_owned(), workflow)]).unwrap().len(), 1);
}
