//! Workflows: the examples inside this binary, those of folders, and single files.

mod disk;
mod embedded;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use signoff_core::Workflow;
use signoff_core::workflow::{Diagnostic, FileSource, Known, MapFiles, Parsed, link, text_of};
use signoff_models::Scripted;
use signoff_runtime::{ASK_HUMAN, REQUEST_APPROVAL};
use signoff_tools::{Calendar, REQUEST_USER_INPUT};

use crate::failure::{Failure, Result};
pub(crate) use report::Report;

/// Every workflow that can be started, and the replies written for them.
#[derive(Debug, Default)]
pub(crate) struct Library {
    workflows: BTreeMap<String, Workflow>,
    scripts: BTreeMap<String, Arc<Scripted>>,
    /// The ids that came from each file that was named.
    by_file: BTreeMap<PathBuf, String>,
}

/// What this installation offers to workflows besides what every one has.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    /// Tools.
    pub(crate) tools: Vec<String>,
    /// Tool servers.
    pub(crate) sources: Vec<String>,
    /// Agents that run elsewhere.
    pub(crate) remotes: Vec<String>,
}

struct Loaded {
    name: String,
    parsed: Parsed,
    script: Option<Arc<Scripted>>,
}

impl Library {
    /// The examples, overridden by what `paths` (files or folders) hold; or everything that is wrong.
    pub(crate) fn load(paths: &[PathBuf], offers: &Offers) -> Result<Self> {
        let (library, report) = Self::load_reporting(paths, offers);
        if report.is_empty() { Ok(library) } else { Err(report.into_failure().into()) }
    }

    /// The same, with the problems as data.
    pub(crate) fn load_reporting(paths: &[PathBuf], offers: &Offers) -> (Self, Report) {
        let mut report = Report::default();
        let mut library = Self::default();
        let mut seen = BTreeSet::new();
        let mut loaded = Vec::new();
        for path in paths {
            let files = match disk::discover(path) {
                Ok(files) => files,
                Err(problem) => {
                    report.add_file(&path.display().to_string(), &problem);
                    continue;
                }
            };
            if files.is_empty() {
                let problem =
                    "there is no workflow in this folder: neither *.yaml nor */workflow.yaml";
                report.add_file(&path.display().to_string(), problem);
            }
            for file in files {
                let whole = file.canonicalize().unwrap_or_else(|_| file.clone());
                if !seen.insert(whole.clone()) {
                    continue;
                }
                if let Some(found) = load_file(&file, offers, &mut report) {
                    library.by_file.insert(whole, found.parsed.workflow.id.clone());
                    loaded.push(found);
                }
            }
        }
        let own: BTreeSet<String> =
            loaded.iter().map(|found| found.parsed.workflow.id.clone()).collect();
        for example in embedded::EXAMPLES {
            let found = load_example(example, offers);
            loaded.extend(found.filter(|found| !own.contains(&found.parsed.workflow.id)));
        }
        library.link(loaded, &mut report);
        (library, report)
    }

    fn link(&mut self, loaded: Vec<Loaded>, report: &mut Report) {
        let mut files = Vec::with_capacity(loaded.len());
        for found in loaded {
            if let Some(script) = found.script {
                self.scripts.insert(found.parsed.workflow.id.clone(), script);
            }
            files.push((found.name, found.parsed));
        }
        match link(files) {
            Ok(workflows) => {
                let by_id = workflows.into_iter().map(|workflow| (workflow.id.clone(), workflow));
                self.workflows = by_id.collect();
            }
            Err(problems) => {
                // A name may be missing only because its file could not be read.
                let certain = report.is_empty();
                report.extend(
                    problems.into_iter().filter(|found| certain || found.path == "/workflow"),
                );
            }
        }
    }

    /// The workflow of this id.
    pub(crate) fn get(&self, id: &str) -> Option<&Workflow> {
        self.workflows.get(id)
    }

    /// Which workflow a file holds.
    pub(crate) fn in_file(&self, file: &Path) -> Option<&str> {
        let file = file.canonicalize().ok()?;
        let inside = file.join("workflow.yaml");
        self.by_file.get(&file).or_else(|| self.by_file.get(&inside)).map(String::as_str)
    }

    /// The ids that came from files, in order.
    pub(crate) fn ids_of_files(&self) -> BTreeSet<&str> {
        self.by_file.values().map(String::as_str).collect()
    }

    /// All ids.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.workflows.keys().map(String::as_str)
    }

    /// All workflows.
    pub(crate) fn all(&self) -> Vec<Workflow> {
        self.workflows.values().cloned().collect()
    }

    /// A workflow and all that it uses.
    pub(crate) fn with_uses(&self, id: &str) -> Vec<Workflow> {
        let mut wanted = vec![id.to_owned()];
        let mut found: BTreeMap<String, Workflow> = BTreeMap::new();
        while let Some(id) = wanted.pop() {
            if let (Some(workflow), false) = (self.get(&id), found.contains_key(&id)) {
                wanted.extend(workflow.uses.keys().cloned());
                found.insert(id, workflow.clone());
            }
        }
        found.into_values().collect()
    }

    /// The written replies, by workflow.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = (&str, Arc<Scripted>)> {
        self.scripts.iter().map(|(id, script)| (id.as_str(), Arc::clone(script)))
    }
}

/// An example, if its tools are offered here.
fn load_example(example: &embedded::Example, offers: &Offers) -> Option<Loaded> {
    let mut report = Report::default();
    let files: MapFiles = example.files.iter().copied().collect();
    let parsed = parse(example.name, example.workflow, &files, offers, &mut report)?;
    let script_name = example.name.replace("workflow.yaml", "script.yaml");
    let script = read_script(&script_name, example.script, &mut report);
    Some(Loaded { name: example.name.to_owned(), parsed, script })
}

fn load_file(file: &Path, offers: &Offers, report: &mut Report) -> Option<Loaded> {
    let name = file.display().to_string();
    let text = read_text(file, &name, report)?;
    let parsed = parse(&name, &text, &disk::DiskFiles::beside(file), offers, report);
    let script = disk::script_beside(file).and_then(|script| {
        let name = script.display().to_string();
        read_script(&name, &read_text(&script, &name, report)?, report)
    });
    Some(Loaded { name, parsed: parsed?, script })
}

/// The text of a file, if it is text.
pub(crate) fn read_text(file: &Path, name: &str, report: &mut Report) -> Option<String> {
    let bytes = disk::read(file).map_err(|problem| report.add_file(name, &problem)).ok()?;
    match text_of(&bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(problems) => {
            report.add_source(name, String::from_utf8_lossy(&bytes).into_owned());
            report.extend(problems.into_iter().map(|problem| problem.in_file(name)));
            None
        }
    }
}

fn parse(
    name: &str,
    text: &str,
    files: &dyn FileSource,
    offers: &Offers,
    report: &mut Report,
) -> Option<Parsed> {
    report.add_source(name, text.to_owned());
    let calendar = Calendar::new("").tools();
    let mut tools: Vec<&str> = calendar.iter().map(|tool| &*tool.spec().name).collect();
    tools.push(REQUEST_USER_INPUT);
    tools.extend(offers.tools.iter().map(String::as_str));
    let sources = offers.sources.iter().map(String::as_str).collect();
    let remotes = offers.remotes.iter().map(String::as_str).collect();
    let taken = vec![ASK_HUMAN, REQUEST_APPROVAL];
    let known = Known { tools, sources, remotes, taken, ..Known::default() };
    match Workflow::parse(text, files, &known) {
        Ok(parsed) => {
            let problems = report::canned_problems(&parsed);
            let good = problems.is_empty();
            report.extend(problems.into_iter().map(|problem| problem.in_file(name)));
            good.then_some(parsed)
        }
        Err(problems) => {
            report.extend(problems.into_iter().map(|problem| problem.in_file(name)));
            None
        }
    }
}

/// The written replies in `text`, called `name` in reports.
pub(crate) fn read_script(name: &str, text: &str, report: &mut Report) -> Option<Arc<Scripted>> {
    report.add_source(name, text.to_owned());
    match report::script(text) {
        Ok(script) => Some(Arc::new(script)),
        Err(problems) => {
            let located = |problem: Diagnostic| problem.in_file(name);
            report.extend(problems.into_iter().map(located));
            None
        }
    }
}

/// The error for a workflow that does not exist.
pub(crate) fn unknown(library: &Library, wanted: &str) -> Failure {
    let failure = Failure::usage(format!("there is no workflow `{wanted}`"));
    if let Some(found) = nearest(wanted, library.ids()) {
        return failure.hint(format!("did you mean `{found}`?"));
    }
    let ids: Vec<&str> = library.ids().collect();
    failure.hint(format!(
        "known here: {}; a path to a file works as well, and --workflows adds a folder",
        ids.join(", ")
    ))
}

/// The one of `known` that `wanted` most likely means.
pub(crate) fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    known
        .map(|id| (strsim::damerau_levenshtein(&wanted, &id.to_lowercase()), id))
        .filter(|(distance, id)| {
            *distance <= (wanted.chars().count().max(id.len()) / 3).max(1)
                || wanted.len() >= 3 && id.to_lowercase().contains(&wanted)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, id)| id)
}
