//! `[channels.NAME]` of kind `email`, as it is written.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::Name;
use signoff_store::Happened;

use super::Mail;
use crate::webhooks::channels::{Page, secret, wanted};
use crate::webhooks::config::WebhookEvent;

/// How long reaching the mail server may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// The most addresses that all are told at.
const MAX_TO: usize = 50;
/// The most people that are told by name.
const MAX_PEOPLE: usize = 500;

/// Mailboxes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailConfig {
    /// The mail server.
    pub host: String,
    /// Its port; 587, or 465 with `tls = "wrapper"`, or 25 with `tls = "none"`, if not given.
    pub port: Option<u16>,
    /// How it is spoken to.
    #[serde(default)]
    pub tls: MailTls,
    /// A file with certificates, as PEM, that are trusted besides those of this machine.
    pub ca_file: Option<PathBuf>,
    /// Who signs in there.
    pub user: Option<String>,
    /// The environment variable that holds the password.
    pub password_env: Option<String>,
    /// Whom mails are from: `Signoff <signoff@example.com>`.
    pub from: String,
    /// Who is told of every request.
    #[serde(default)]
    pub to: Vec<String>,
    /// The addresses of users. Whoever may decide a request gets a mail of their own, with a link by which they decide.
    #[serde(default)]
    pub people: BTreeMap<String, String>,
    /// The address of the page of a request, with `{id}` in it. Without it a mail has no links.
    pub link: Option<String>,
    /// What is told; all but votes and putting off, if nothing is said.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whose requests; everybody's, if nothing is said.
    pub tenants: Option<Vec<String>>,
    /// Whether `tls = "none"` is meant for a server that is not on this machine.
    #[serde(default)]
    pub allow_plain: bool,
}

/// How a mail server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailTls {
    /// In the open first, then encrypted; never without.
    #[default]
    Starttls,
    /// Encrypted from the first byte.
    Wrapper,
    /// In the open.
    None,
}

impl Mail {
    /// The mailboxes that `config` describes; `env` reads environment variables. An error names the setting.
    pub(in crate::webhooks) fn new(
        name: Name,
        config: &MailConfig,
        folder: &Path,
        env: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let filter = wanted(config.events.as_deref(), config.tenants.as_deref(), |what| {
            !matches!(what, Happened::Voted | Happened::Deferred)
        })?;
        if config.to.is_empty() && config.people.is_empty() {
            return Err("it has `to`, `people`, or both".to_owned());
        }
        if config.to.len() > MAX_TO || config.people.len() > MAX_PEOPLE {
            return Err(format!("at most {MAX_TO} in `to`, and {MAX_PEOPLE} in `people`"));
        }
        let from = mailbox("from", &config.from)?;
        let to: Vec<Mailbox> =
            config.to.iter().map(|address| mailbox("to", address)).collect::<Result<_, _>>()?;
        let person = |(name, address): (&String, &String)| {
            Ok((name.clone(), mailbox(&format!("people.{name}"), address)?))
        };
        let people = config.people.iter().map(person).collect::<Result<_, String>>()?;
        let page = Page::read(config.link.as_deref())?;
        let transport = transport(config, &from, folder, env)?;
        Ok(Self { name, filter, from, to, people, page, transport, progress: <_>::default() })
    }
}

fn mailbox(key: &str, address: &str) -> Result<Mailbox, String> {
    address.parse().map_err(|_| format!("{key}: `{address}` is not a mail address"))
}

fn transport(
    config: &MailConfig,
    from: &Mailbox,
    folder: &Path,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, String> {
    let MailConfig { host, tls, .. } = config;
    let here =
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    if *tls == MailTls::None && !here && !config.allow_plain {
        return Err("tls: without it mails and passwords can be read on the way; \
                    `allow_plain = true` says that this is meant"
            .to_owned());
    }
    let parameters = || -> Result<TlsParameters, String> {
        let mut builder = TlsParameters::builder(host.clone());
        if let Some(file) = &config.ca_file {
            let path = folder.join(file);
            let wrong = |why: &dyn std::fmt::Display| format!("ca_file: {}: {why}", path.display());
            let pem = std::fs::read(&path).map_err(|error| wrong(&error))?;
            let trusted = Certificate::from_pem(&pem).map_err(|error| wrong(&error))?;
            builder = builder.add_root_certificate(trusted);
        }
        builder.build_rustls().map_err(|error| format!("tls: {error}"))
    };
    let (usual, tls) = match tls {
        MailTls::Starttls => (587, Tls::Required(parameters()?)),
        MailTls::Wrapper => (465, Tls::Wrapper(parameters()?)),
        MailTls::None => (25, Tls::None),
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
        .port(config.port.unwrap_or(usual))
        .hello_name(ClientId::Domain(from.email.domain().to_owned()))
        .timeout(Some(TIMEOUT))
        .tls(tls);
    match (&config.user, &config.password_env) {
        (Some(user), Some(variable)) => {
            let password = secret("password_env", variable, env)?;
            builder = builder.credentials(Credentials::new(user.clone(), password));
        }
        (None, None) => {}
        _ => return Err("`user` and `password_env` go together".to_owned()),
    }
    Ok(builder.build())
}
