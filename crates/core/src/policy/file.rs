//! A policy as operators write it, apart from any workflow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gate, GateFile, Policy, Smart};

/// The most gates of one policy.
const MAX_GATES: usize = 1000;

/// Gates that hold for all workflows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// The gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateFile>,
    /// When gates that are `smart` ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smart: Option<Smart>,
    /// Whether it is only tried out: it is noted what it would say, and nobody is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

impl PolicyFile {
    /// Everything that is wrong with it, each with its place as a JSON pointer.
    pub fn problems(&self) -> Vec<(String, String)> {
        gate_problems(&self.gates, self.smart.as_ref())
    }

    /// Ready to judge; or everything that is wrong with it.
    pub fn compile(&self) -> Result<Policy, Vec<(String, String)>> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let gates = self.gates.iter().cloned().filter_map(|gate| Gate::compile(gate).ok());
        let smart = self.smart.clone().unwrap_or_default();
        Ok(Policy { gates: gates.collect(), smart, shadow: self.shadow })
    }
}

/// Everything that is wrong with gates, each with its place as a JSON pointer.
pub(crate) fn gate_problems(gates: &[GateFile], smart: Option<&Smart>) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    if gates.len() > MAX_GATES {
        problems.push(("/gates".to_owned(), format!("more than {MAX_GATES} gates")));
        return problems;
    }
    let mut names = std::collections::BTreeSet::new();
    for (n, gate) in gates.iter().enumerate() {
        if !names.insert(gate.name.as_str()) {
            let message = format!("there are two gates `{}`", gate.name);
            problems.push((format!("/gates/{n}/name"), message));
        }
        for problem in Gate::compile(gate.clone()).err().into_iter().flatten() {
            problems.push((format!("/gates/{n}/{}", problem.key), problem.message));
        }
    }
    let judge = smart.and_then(|smart| smart.judge.as_ref());
    if judge.is_some_and(|judge| !(0.0..=1.0).contains(&judge.threshold)) {
        let message = "it is a number from 0 to 1".to_owned();
        problems.push(("/smart/judge/threshold".to_owned(), message));
    }
    problems
}
