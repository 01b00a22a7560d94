//! What is read before anything starts: configuration, policy, workflows, and the variables they name.

use super::Finding;
use crate::app::App;
use crate::policy;

pub(super) fn look(app: &App) -> Vec<Finding> {
    let mut findings = Vec::new();
    let config = match app.config() {
        Ok(config) => config,
        Err(error) => {
            let hint = "`signoff schema config` says all that can be written there";
            findings.push(Finding::error("config", &error, hint));
            return findings;
        }
    };
    let name = config.path().map(|path| path.display().to_string());
    findings.push(Finding::ok("config", name.unwrap_or_else(|| "no file; the usual".to_owned())));
    let missing: Vec<String> = config
        .variables()
        .into_iter()
        .filter(|(_, name)| std::env::var_os(name).is_none_or(|value| value.is_empty()))
        .map(|(what, name)| format!("{name} ({what})"))
        .collect();
    findings.push(if missing.is_empty() {
        let count = config.variables().len();
        Finding::ok("variables", format!("{count} named, none missing"))
    } else {
        let hint = "export them before the server starts; keys are never in the file";
        Finding::fail("variables", format!("not set: {}", missing.join(", ")), hint)
    });
    findings.push(parts(app));
    let plain: Vec<String> = config
        .addresses()
        .into_iter()
        .filter(|(_, url)| is_plain_and_far(url))
        .map(|(what, _)| what)
        .collect();
    findings.push(if plain.is_empty() {
        Finding::ok("tls", "everything that leaves this machine is encrypted")
    } else {
        let found = format!("keys and texts go over http:// to {}", plain.join(", "));
        Finding::warn("tls", found, "take https:// addresses")
    });
    match config.policy() {
        None => findings.push(Finding::ok("policy", "none set")),
        Some(path) => findings.push(match policy::read(&path) {
            Ok(file) => Finding::ok("policy", format!("{} gates", file.gates.len())),
            Err(error) => Finding::error("policy", &error, "`signoff policy check` says where"),
        }),
    }
    let (library, report) = app.check(&[]);
    findings.push(if report.is_empty() {
        Finding::ok("workflows", format!("{} found", library.all().len()))
    } else {
        let found = format!("{} problems in {}", report.len(), report.files().join(", "));
        Finding::fail("workflows", found, "`signoff check FILE` shows each with its line")
    });
    findings
}

/// Everything that is configured can be made.
fn parts(app: &App) -> Finding {
    let made = app.config().and_then(|config| {
        let tools = config.tools()?.len();
        let servers = config.sources()?.len();
        let agents = config.remotes()?.len();
        let channels = config.channels()?.len();
        config.card_key()?;
        config.mcp_server()?;
        let models = config.models()?.len();
        Ok(format!(
            "{models} models, {tools} tools, {servers} tool servers, {agents} remote agents, {channels} channels"
        ))
    });
    match made {
        Ok(made) => Finding::ok("parts", made),
        Err(error) => Finding::error("parts", &error, "the server would not start with this"),
    }
}

fn is_plain_and_far(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host).trim_matches(['[', ']']);
    let near = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    !near && host != "localhost"
}

#[cfg(test)]
mod tests {
    use super::is_plain_and_far;

    #[test]
    fn only_what_leaves_the_machine_unencrypted_is_told() {
        for (url, told) in [
            ("https://models.example/v1", false),
            ("http://127.0.0.1:11434/v1", false),
            ("http://[::1]:8080", false),
            ("http://localhost:1/v1", false),
            ("http://models.example/v1", true),
            ("http://10.0.0.7:8000", true),
        ] {
            assert_eq!(is_plain_and_far(url), told, "{url}");
        }
    }
}
