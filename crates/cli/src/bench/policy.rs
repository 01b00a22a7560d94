//! What judging an action costs, by how many gates there are.

use serde_json::json;
use signoff_core::Effects;
use signoff_core::policy::{Action, PolicyFile, Remembered};

use super::measure::{Watch, median};
use super::{BenchArgs, Records};

/// How often an action is judged for one sample: enough that neither clock's steps count.
const TIMES: u32 = 20_000;
/// How many gates, and of how many the whole condition must be looked at: by ourselves, where it is plain, and by the library
/// where it is not.
const GATES: [(usize, usize, usize); 5] =
    [(1, 0, 0), (10, 0, 0), (100, 0, 0), (100, 20, 0), (100, 0, 20)];

/// Gates as people write them: some about one tool, some about arguments, some about what happened so far, a checkpoint among
/// each ten. None of them asks, so that all are judged.
fn gates(count: usize, plain: usize, evaluated: usize) -> anyhow::Result<PolicyFile> {
    let gate = |n: usize| {
        let when = match n % 5 {
            _ if n < evaluated => {
                format!("action.arguments.path.size() % 1000 == {}", 500 + n)
            }
            _ if n < plain => {
                format!("has(action.arguments.path) && size(action.arguments.path) > {}", 1_000 + n)
            }
            0 => format!("action.kind == 'tool' && action.tool == 'tool_{n}'"),
            1 => format!("'network' in action.effects && action.environment == 'place_{n}'"),
            2 => format!(
                "action.tool == 'write_file' && action.arguments.path.startsWith('dir_{n}/')"
            ),
            3 => format!("action.counts.writes > {} && action.agent == 'agent_{n}'", 100 + n),
            _ => format!("action.targets.exists(t, t.endsWith('.ext{n}'))"),
        };
        match n % 10 {
            9 if n == 9 && plain + evaluated == 0 => json!({ "name": "before_deploy" }),
            _ => json!({ "name": format!("gate_{n}"), "when": when }),
        }
    };
    Ok(serde_json::from_value(json!({ "gates": (0..count).map(gate).collect::<Vec<_>>() }))?)
}

pub(super) fn judging(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    let action = Action {
        agent_path: vec!["research_task".into(), "engineer".into()],
        ..Action::tool(
            "write_file",
            json!({ "path": "reports/sales.md", "content": "x".repeat(2_000) }),
            Effects { file_edit: true, ..Effects::default() },
        )
    };
    for (count, plain, evaluated) in GATES {
        let policy = gates(count, plain, evaluated)?.compile().map_err(|problems| {
            anyhow::anyhow!("the gates of the benchmark are wrong: {problems:?}")
        })?;
        let (mut wall_us, mut cpu_us) = (Vec::new(), Vec::new());
        for sample in 0..=args.runs {
            let watch = Watch::start();
            for _ in 0..TIMES {
                std::hint::black_box(policy.judge(&action, Remembered::default()));
            }
            let (wall, cpu) = watch.stop();
            if sample > 0 {
                wall_us.push(wall * 1_000.0 / f64::from(TIMES));
                cpu_us.push(cpu * 1_000.0 / f64::from(TIMES));
            }
        }
        let best = wall_us.iter().copied().fold(f64::INFINITY, f64::min);
        let measured = json!({
            "wall_us_per_action": median(&wall_us),
            "wall_us_per_action_best": best,
            "cpu_us_per_action": median(&cpu_us),
        });
        let name = match (plain, evaluated) {
            (0, 0) => format!("gates={count}"),
            (plain, 0) => format!("gates={count} plain={plain}"),
            (_, evaluated) => format!("gates={count} evaluated={evaluated}"),
        };
        records.emit("policy", &name, measured)?;
    }
    Ok(())
}
