//! One server.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::programs::{command, program, run, unprivileged};

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits for a word: a signal to send to the server. If nobody is there any more to say one, the server and all it has
/// written go.
const KEEPER: &str = r#"
    folder="$1"; shift
    "$@" >> "$folder/log" 2>&1 & server=$!
    if read -r signal; then
        kill -s "$signal" "$server"; wait "$server"; exit 0
    fi
    kill -s QUIT "$server"; wait "$server"; rm -rf "$folder"
"#;

/// A server. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    keeper: Option<Child>,
    more: Vec<String>,
    port: String,
}

impl Server {
    /// Starts a new one.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a new one with these settings (`name=value`).
    pub fn start_with(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        if let Some(person) = unprivileged() {
            chown(&folder, Some(person.uid), Some(person.gid)).unwrap();
        }
        let template = template();
        run(Command::new("cp").arg("-a").arg(&template).arg(folder.join("data")));
        let more = settings.iter().map(ToString::to_string).collect();
        let port = settings.iter().find_map(|setting| setting.strip_prefix("port="));
        let port = port.unwrap_or("5432").to_owned();
        let mut server = Self { folder, keeper: None, more, port };
        server.begin();
        server
    }

    /// Where its socket and its data are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a database. Its address.
    pub fn create(&self, database: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {database}"));
        self.address(database)
    }

    /// The address of a database.
    pub fn address(&self, database: &str) -> String {
        let socket = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{socket}:{}/{database}", self.port)
    }

    /// Lets it speak TLS from now on, with this certificate.
    pub fn use_certificate(&self, certificate: &Path, key: &Path) {
        for (from, to) in [(certificate, "server.crt"), (key, "server.key")] {
            let to = self.folder.join("data").join(to);
            std::fs::copy(from, &to).unwrap();
            std::fs::set_permissions(&to, Permissions::from_mode(0o600)).unwrap();
            if let Some(person) = unprivileged() {
                chown(&to, Some(person.uid), Some(person.gid)).unwrap();
            }
        }
        self.sql("postgres", "ALTER SYSTEM SET ssl = on");
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// Carries out SQL, as somebody from outside would. What it prints.
    #[track_caller]
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let mut psql = self.psql(database);
        let output = psql.args(["-c", sql]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Ends it as an operator would: connections are cut, what was under way is rolled back.
    pub fn stop(&mut self) {
        self.end("INT");
    }

    /// Ends it as a crash would.
    pub fn crash(&mut self) {
        self.end("QUIT");
    }

    fn end(&mut self, signal: &str) {
        let mut keeper = self.keeper.take().expect("it runs");
        writeln!(keeper.stdin.take().unwrap(), "{signal}").unwrap();
        keeper.wait().unwrap();
    }

    /// Starts it again, with what it had.
    pub fn begin(&mut self) {
        let folder = self.folder.display().to_string();
        let mut keeper = command(Path::new("/bin/sh"), &self.folder);
        keeper.args(["-c", KEEPER, "keeper", &folder]).arg(program("postgres"));
        keeper.args(["-D", &format!("{folder}/data"), "-k", &folder]);
        let usual = [
            "listen_addresses=",
            // Processes are killed here, not machines.
            "fsync=off",
            "full_page_writes=off",
            "shared_buffers=32MB",
            "max_connections=200",
        ];
        for setting in usual.into_iter().chain(self.more.iter().map(String::as_str)) {
            keeper.args(["-c", setting]);
        }
        // Of its own, so that what stops the test does not stop what cleans up after it.
        std::os::unix::process::CommandExt::process_group(&mut keeper, 0);
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.keeper = Some(keeper.spawn().unwrap());
        let since = Instant::now();
        while !self.answers() {
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(since.elapsed() < PATIENCE, "PostgreSQL does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn answers(&self) -> bool {
        let asked = self.psql("postgres").args(["-c", "SELECT 1"]).output();
        asked.is_ok_and(|output| output.status.success())
    }

    fn psql(&self, database: &str) -> Command {
        let mut psql = command(&program("psql"), &self.folder);
        psql.args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-U", "postgres"]);
        psql.arg("-h").arg(&self.folder).args(["-p", &self.port, "-d", database]);
        psql
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match &mut self.keeper {
            // Nothing is said any more: the keeper cleans up.
            Some(keeper) => {
                drop(keeper.stdin.take());
                let _ = keeper.wait();
            }
            None => {
                let _ = std::fs::remove_dir_all(&self.folder);
            }
        }
    }
}

/// The data of a new server, made once: making it takes longer than most tests.
fn template() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let folder = target.join("peers").join("postgres");
    std::fs::create_dir_all(&folder).unwrap();
    let lock = std::fs::File::create(folder.join("install.lock")).unwrap();
    lock.lock().unwrap();
    let initdb = program("initdb");
    let version = Command::new(&initdb).arg("--version").output().unwrap();
    let version: String = String::from_utf8_lossy(&version.stdout)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let template = folder.join(version.trim_matches('-'));
    if !template.exists() {
        let made = tempfile::tempdir().unwrap();
        if let Some(person) = unprivileged() {
            chown(made.path(), Some(person.uid), Some(person.gid)).unwrap();
        }
        let mut initdb = command(&initdb, made.path());
        initdb.args(["-U", "postgres", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync"]);
        run(initdb.arg("-D").arg(made.path().join("data")));
        let copy = folder.join("copy");
        let _ = std::fs::remove_dir_all(&copy);
        run(Command::new("cp").arg("-a").arg(made.path().join("data")).arg(&copy));
        std::fs::rename(copy, &template).unwrap();
    }
    template
}
