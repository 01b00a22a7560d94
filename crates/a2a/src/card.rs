//! The card of an agent: where it listens, and in which words.

use serde::Deserialize;
use serde_json::Value;
use signoff_net::Url;

use crate::config::{A2aConfig, Place};
use crate::failure::Failure;

/// How an agent is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tongue {
    /// JSON-RPC of 1.0.
    JsonRpc,
    /// HTTP and JSON of 1.0.
    Http,
    /// JSON-RPC of 0.3.
    OldJsonRpc,
}

/// Where an agent listens, and in which words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) url: Url,
    pub(crate) tongue: Tongue,
    pub(crate) tenant: Option<String>,
    /// Whether it says how a task goes on while it does.
    pub(crate) streams: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Card {
    supported_interfaces: Vec<Offer>,
    capabilities: Capabilities,
    skills: Vec<Skill>,
    // As 0.3 has it.
    url: Option<String>,
    preferred_transport: Option<String>,
    additional_interfaces: Vec<Offer>,
    protocol_version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Capabilities {
    streaming: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Skill {
    id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Offer {
    url: String,
    #[serde(alias = "transport")]
    protocol_binding: String,
    protocol_version: String,
    tenant: Option<String>,
}

/// The best way to speak to the agent whose card this is.
pub(crate) fn choose(card: Value, place: &Place) -> Result<Interface, Failure> {
    if let Some(key) = &place.key {
        key.check(&card)?;
    }
    let card: Card = serde_json::from_value(card).map_err(|_| Failure::Card {
        problem: "it is not one".to_owned(),
        hint: "look whether `url` leads to an A2A agent",
    })?;
    if let Some(wanted) = &place.skill
        && card.skills.iter().all(|skill| skill.id != *wanted)
    {
        return Err(Failure::Card {
            problem: format!("it does not have the skill `{wanted}`"),
            hint: "look at `skill`, and at what the agent can do now",
        });
    }
    let streams = card.capabilities.streaming.unwrap_or(false);
    let offers = offers(card);
    let mut usable: Vec<Interface> = Vec::new();
    for offer in &offers {
        let tongue = match (offer.protocol_binding.as_str(), major(&offer.protocol_version)) {
            ("JSONRPC", "1") => Tongue::JsonRpc,
            ("HTTP+JSON", "1") => Tongue::Http,
            ("JSONRPC", "0") => Tongue::OldJsonRpc,
            _ => continue,
        };
        if let Ok(url) = place.card.join(&offer.url) {
            let tenant = offer.tenant.clone().filter(|tenant| !tenant.is_empty());
            usable.push(Interface { url, tongue, tenant, streams });
        }
    }
    usable.sort_by_key(|interface| match interface.tongue {
        Tongue::JsonRpc => 0,
        Tongue::Http => 1,
        Tongue::OldJsonRpc => 2,
    });
    let elsewhere = usable.first().map(|interface| host(&interface.url));
    if let Some(found) = usable.into_iter().find(|interface| place.allows(&interface.url)) {
        return Ok(found);
    }
    Err(match elsewhere {
        Some(host) => Failure::Card {
            problem: format!("it leads to {host}, and `url` does not"),
            hint: "name that place under `origins`, if it is meant",
        },
        None if offers.iter().any(|offer| offer.protocol_binding == "GRPC") => Failure::Card {
            problem: "it offers gRPC only".to_owned(),
            hint: "have the agent offer JSONRPC or HTTP+JSON as well",
        },
        None => Failure::Card {
            problem: "it offers nothing that is spoken here".to_owned(),
            hint: "JSONRPC of 1.0 or 0.3 and HTTP+JSON of 1.0 are",
        },
    })
}

/// Where the agent of `config` would be spoken to if this were its card.
pub fn leads_to(config: &A2aConfig, card: Value) -> Result<Url, String> {
    let place = config.place("agent").map_err(|failure| failure.to_string())?;
    choose(card, &place).map(|found| found.url).map_err(|failure| failure.to_string())
}

/// All that a card offers, in either form.
fn offers(card: Card) -> Vec<Offer> {
    let mut offers = card.supported_interfaces;
    for offer in &mut offers {
        if offer.protocol_version.is_empty() {
            "1.0".clone_into(&mut offer.protocol_version);
        }
    }
    let version = card.protocol_version.unwrap_or_else(|| "0.3.0".to_owned());
    let main = card.url.map(|url| Offer {
        url,
        protocol_binding: card.preferred_transport.unwrap_or_else(|| "JSONRPC".to_owned()),
        ..Offer::default()
    });
    if offers.is_empty() {
        offers.extend(
            main.into_iter()
                .chain(card.additional_interfaces)
                .map(|offer| Offer { protocol_version: version.clone(), ..offer }),
        );
    }
    offers
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}

fn host(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::A2aConfig;

    fn chosen(card: Value) -> Result<(Tongue, String), String> {
        let config = A2aConfig {
            url: "https://a.example".into(),
            origins: vec!["https://rpc.example".into()],
            timeout: signoff_core::Span::seconds(1),
            ..A2aConfig::default()
        };
        let place = config.place("desk").unwrap();
        let found = choose(card, &place).map_err(|failure| failure.to_string())?;
        Ok((found.tongue, found.url.to_string()))
    }

    fn offer(url: &str, binding: &str, version: &str) -> Value {
        json!({ "url": url, "protocolBinding": binding, "protocolVersion": version })
    }

    #[test]
    fn the_best_of_what_is_offered() {
        let all = [
            offer("https://a.example/grpc", "GRPC", "1.0"),
            offer("https://a.example/old", "JSONRPC", "0.3"),
            offer("https://a.example/http", "HTTP+JSON", "1.0"),
            offer("https://rpc.example/", "JSONRPC", "1.0"),
        ];
        let best = |offers: &[Value]| chosen(json!({ "supportedInterfaces": offers }));
        assert_eq!(best(&all).unwrap(), (Tongue::JsonRpc, "https://rpc.example/".into()));
        assert_eq!(best(&all[..3]).unwrap(), (Tongue::Http, "https://a.example/http".into()));
        assert_eq!(best(&all[..2]).unwrap(), (Tongue::OldJsonRpc, "https://a.example/old".into()));
        assert!(best(&all[..1]).unwrap_err().contains("gRPC"));
        assert!(best(&[]).unwrap_err().contains("nothing"));
    }

    #[test]
    fn a_card_of_the_older_form() {
        let old = json!({ "url": "https://a.example/rpc", "protocolVersion": "0.3.0" });
        assert_eq!(chosen(old).unwrap(), (Tongue::OldJsonRpc, "https://a.example/rpc".into()));
        let other = json!({
            "url": "https://a.example/grpc", "preferredTransport": "GRPC", "protocolVersion": "0.3.0",
            "additionalInterfaces": [{ "url": "https://a.example/rpc", "transport": "JSONRPC" }],
        });
        assert_eq!(chosen(other).unwrap().1, "https://a.example/rpc");
    }

    #[test]
    fn it_cannot_lead_elsewhere() {
        for url in [
            "https://evil.example/",
            "http://a.example/",
            "https://a.example:8443/",
            "//evil.example/x",
        ] {
            let card = json!({ "supportedInterfaces": [offer(url, "JSONRPC", "1.0")] });
            assert!(chosen(card).unwrap_err().contains("leads to"), "{url}");
        }
        assert!(chosen(json!([1])).unwrap_err().contains("not one"));
        assert!(chosen(json!({ "supportedInterfaces": "x" })).is_err());
    }
}
