//! `signoff user`: who may come in to the server.

use serde_json::json;
use signoff_core::{Actor, Tenant};
use signoff_store::{User, hex_sha256};

use crate::app::App;
use crate::args::{UserAddArgs, UserCommand};
use crate::failure::{Exit, Failure, Result};
use crate::out;
use crate::style::printable_line;

/// How a token begins, so that programs that look for secrets find it.
const PREFIX: &str = "sgn_";
/// The most roles of a user.
const MAX_ROLES: usize = 32;

pub(crate) async fn perform(app: &App, command: UserCommand) -> Result<Exit> {
    match command {
        UserCommand::Add(args) => add(app, args).await,
        UserCommand::List { json } => list(app, json),
        UserCommand::Remove { name } => remove(app, &name).await,
    }
}

async fn add(app: &App, args: UserAddArgs) -> Result<Exit> {
    let name = word("NAME", &args.name)?;
    if ["local", "system", "policy", "default"].contains(&name.as_str()) {
        return Err(Failure::usage(format!("`{name}` is not a name for a user"))
            .hint("it stands for whoever sits at this machine, and for the program itself")
            .into());
    }
    let tenant = word("--tenant", args.tenant.as_deref().unwrap_or("local"))?;
    if args.role.len() > MAX_ROLES {
        return Err(Failure::usage(format!("a user has at most {MAX_ROLES} roles")).into());
    }
    let roles = args.role.iter().map(|role| Ok(word("--role", role)?.as_str().into()));
    let roles = roles.collect::<Result<Vec<_>>>()?;
    let store = app.store()?;
    let before = store.users()?.into_iter().find(|user| user.name.as_str() == name.as_str());
    // A new token alone leaves the rest as it was.
    let kept = before.filter(|_| args.new_token && args.tenant.is_none() && roles.is_empty());
    let token = format!("{PREFIX}{}", signoff_runtime::new_secret());
    let user = User {
        name: Actor::new(name.as_str()),
        tenant: kept.as_ref().map_or(tenant, |user| user.tenant.clone()),
        roles: kept.map_or(roles, |user| user.roles),
        token: hex_sha256(token.as_bytes()),
        created_at: signoff_runtime::Clock::now(&signoff_runtime::SystemClock),
    };
    if !store.put_user(user, args.new_token).await? {
        return Err(Failure::usage(format!("there is a user `{name}` already"))
            .hint("--new-token gives it another token, and the old one no longer works")
            .into());
    }
    out::note("the token is shown this once; only its hash is kept");
    out::line(&token)?;
    Ok(Exit::Done)
}

/// A name of letters, digits, `_`, `-` and `.`.
fn word(what: &str, text: &str) -> Result<Tenant> {
    Tenant::from_word(text).ok_or_else(|| {
        let shown = printable_line(text);
        Failure::usage(format!("{what}: `{shown}` is not a name"))
            .hint("up to 64 letters, digits, `_`, `-` and `.`")
            .into()
    })
}

fn list(app: &App, json: bool) -> Result<Exit> {
    let users = match app.existing_store()? {
        Some(store) => store.users()?,
        None => Vec::new(),
    };
    if users.is_empty() && !json {
        out::line("There are no users: the server is open to this machine, and to no other.")?;
        return Ok(Exit::Done);
    }
    for user in users {
        let (name, tenant) = (user.name, user.tenant);
        if json {
            let created_at = user.created_at.rfc3339();
            out::json_line(&json!({
                "name": name, "tenant": tenant, "roles": user.roles, "created_at": created_at,
            }))?;
            continue;
        }
        let roles = if user.roles.is_empty() { "-".to_owned() } else { user.roles.join(", ") };
        out::line(&format!("{:20} {:20} {roles}", name.as_str(), tenant.as_str()))?;
    }
    Ok(Exit::Done)
}

async fn remove(app: &App, name: &str) -> Result<Exit> {
    let removed = match app.existing_store()? {
        Some(store) => store.remove_user(name).await?,
        None => false,
    };
    if !removed {
        let shown = printable_line(name);
        return Err(Failure::usage(format!("there is no user `{shown}`"))
            .hint("`signoff user list` shows who there is")
            .into());
    }
    out::note("removed; a server that runs notices within a second");
    Ok(Exit::Done)
}
