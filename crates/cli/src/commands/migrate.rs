//! `signoff migrate`: carries everything over from SQLite to PostgreSQL.

use serde_json::json;
use signoff_store::{PostgresOptions, PostgresStore};

use crate::app::App;
use crate::args::MigrateArgs;
use crate::failure::{Exit, Failure, Result};
use crate::place::Place;
use crate::show::table;
use crate::{env, out};

pub(crate) fn perform(app: &App, args: &MigrateArgs) -> Result<Exit> {
    let from = match &args.from {
        Some(from) => Place::named("--from", from)?,
        None => app.kept()?,
    };
    let to = Place::named("--to", &args.to)?;
    let (Place::Sqlite(path), Place::Postgres(address)) = (&from, &to) else {
        return Err(Failure::usage("runs are carried over from SQLite to PostgreSQL only")
            .hint("signoff migrate --from sqlite:PATH --to postgres://USER@HOST/DATABASE")
            .into());
    };
    if !path.exists() {
        return Err(Failure::usage(format!("{}: there is no such file", path.display())).into());
    }
    let failed = |error: signoff_store::StoreError| {
        Failure { exit: Exit::Failed, ..Failure::usage(error.to_string()) }
            .hint("nothing was changed in either; it can be tried again")
    };
    let options = PostgresOptions::new(address, app.node())
        .map(|options| options.or_password(env::text(env::PGPASSWORD)))
        .map_err(|error| Failure::usage(format!("--to: {error}")))?;
    let carried = PostgresStore::carry_over(path, options, &to.shown()).map_err(failed)?;
    if args.json {
        let tables = &carried.tables;
        out::json_line(&json!({ "was_there": carried.was_there, "tables": tables }))?;
    } else {
        let rows: Vec<Vec<String>> = carried
            .tables
            .iter()
            .map(|it| {
                let digest: String = it.sha256.chars().take(16).collect();
                vec![it.table.to_owned(), it.rows.to_string(), digest]
            })
            .collect();
        out::line(&table(&["TABLE", "ROWS", "THE SAME ON BOTH SIDES"], &rows))?;
    }
    out::note(&format!(
        "everything is in {}; {} is closed for good, keep it as a backup",
        to.shown(),
        from.shown()
    ));
    out::note("files of tools (workspace, calendars) stay in the data directory");
    Ok(Exit::Done)
}
