//! Behind PgBouncer, where the machine has one: `LESSOR_TEST_PGBOUNCER`, else that of Debian's package.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::time::Duration;

use lessor_adapters::postgres::{MigrateError, PgDatabase, PgSettings, Pooling, PoolingError};
use lessor_adapters::testing::TestDatabase;
use lessor_domain::ports::{Database, Reach};
use lessor_domain::testing::contract;
use tokio::net::UnixStream;
use tokio::time::sleep;

use crate::support::skipped_on_a_cluster;

/// A pooler in front of a database, which ends with this.
struct Pooler {
    child: Child,
    folder: PathBuf,
    url: String,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The program, and whether it knows statements that were prepared before.
#[expect(clippy::print_stdout, reason = "says what was not tested")]
fn program() -> Option<(PathBuf, bool)> {
    if skipped_on_a_cluster("the pooler stands in front of one server") {
        return None;
    }
    let path = std::env::var_os("LESSOR_TEST_PGBOUNCER")
        .map_or_else(|| PathBuf::from("/usr/sbin/pgbouncer"), PathBuf::from);
    let Ok(said) = Command::new(&path).arg("--version").output() else {
        println!("SKIPPED behind a pooler: there is no {}", path.display());
        return None;
    };
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let mut numbers = said
        .trim_start_matches("PgBouncer ")
        .split(['.', '\n'])
        .map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    Some((path, version >= (1, 21)))
}

impl Pooler {
    async fn before(test: &TestDatabase, program: &Path, mode: &str, more: &str) -> Self {
        let address = test.url().trim_start_matches("postgres://");
        let (login, place) = address.rsplit_once('@').unwrap();
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, format!("password={password}")),
            None => (login, String::new()),
        };
        let (socket, name) = place.split_once('/').unwrap();
        let socket = socket.replace("%2F", "/").replace("%2f", "/");
        // Whoever may use the socket is its owner.
        let number = fs::metadata(&socket).unwrap().uid();
        let owner = Command::new("id")
            .args(["-un", &number.to_string()])
            .output();
        let owner = String::from_utf8(owner.unwrap().stdout).unwrap();
        let folder =
            std::env::temp_dir().join(format!("lessor-pooler-{}-{name}-{mode}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let place = folder.display();
        let settings = format!(
            "[databases]\n* = host={socket} port=5432 user={user} {password}\n\
             [pgbouncer]\nlisten_addr =\nlisten_port = 5432\nunix_socket_dir = {place}\n\
             auth_type = any\npool_mode = {mode}\ndefault_pool_size = 8\n{more}\n"
        );
        let file = folder.join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new(program);
        if number != fs::metadata("/proc/self").unwrap().uid() {
            command.args(["-u", owner.trim()]);
        }
        let child = command
            .args(["-q".as_ref(), file.as_os_str()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let encoded = place.to_string().replace('/', "%2F");
        let url = format!("postgres://{user}@{encoded}/{name}?sslmode=disable");
        let mut pooler = Self { child, folder, url };
        while UnixStream::connect(pooler.folder.join(".s.PGSQL.5432"))
            .await
            .is_err()
        {
            assert_eq!(
                pooler.child.try_wait().unwrap(),
                None,
                "the pooler has ended"
            );
            sleep(Duration::from_millis(20)).await;
        }
        pooler
    }

    fn database(&self, pooling: Pooling) -> PgDatabase {
        let mut settings = PgSettings::new(&self.url);
        settings.pooling = pooling;
        settings.max_connections = 6;
        settings.lock_timeout = Duration::from_secs(4);
        PgDatabase::new(&settings).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_for_each_client_is_as_good_as_none_between() {
    let Some((program, _)) = program() else {
        return;
    };
    let test = TestDatabase::create().await;
    test.database().check_pooling().await.unwrap();
    let pooler = Pooler::before(&test, &program, "session", "").await;
    let database = pooler.database(Pooling::Session);
    database.check_pooling().await.unwrap();
    assert_eq!(database.migrate(|_| {}).await.unwrap(), 0);
    contract::customers(&database).await;
    contract::jobs(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_handed_on_are_refused_by_name() {
    let Some((program, knows)) = program() else {
        return;
    };
    let test = TestDatabase::create().await;
    let pooler = Pooler::before(&test, &program, "transaction", "").await;
    let refused = pooler.database(Pooling::Session).check_pooling().await;
    // One that loses statements as well may do so while the second of the two clients is set up.
    let is_named = match &refused {
        Err(PoolingError::LosesStatements) => !knows,
        refused => matches!(refused, Err(PoolingError::SharesSessions)),
    };
    assert!(is_named, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_loses_prepared_statements_is_refused_by_name() {
    let Some((program, knows)) = program() else {
        return;
    };
    let test = TestDatabase::create().await;
    let forgetful = if knows {
        "max_prepared_statements = 0"
    } else {
        ""
    };
    let pooler = Pooler::before(&test, &program, "transaction", forgetful).await;
    let refused = pooler.database(Pooling::Transaction).check_pooling().await;
    assert!(
        matches!(refused, Err(PoolingError::LosesStatements)),
        "{refused:?}"
    );
}

/// Each transaction acts as whom it should, and keeps the limits, whichever session it has.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_handed_on_serve_where_it_was_said() {
    let Some((program, knows)) = program() else {
        return;
    };
    if !knows {
        println!("SKIPPED behind a pooler of transactions: PgBouncer is older than 1.21");
        return;
    }
    let test = TestDatabase::create().await;
    let more = "max_prepared_statements = 200";
    let pooler = Pooler::before(&test, &program, "transaction", more).await;
    let database = pooler.database(Pooling::Transaction);
    database.check_pooling().await.unwrap();
    assert_eq!(
        database.pending_migrations().await.unwrap(),
        Vec::<String>::new()
    );
    let refused = database.migrate(|_| {}).await;
    assert!(matches!(refused, Err(MigrateError::Pooled)), "{refused:?}");
    // Row security holds for a superuser's transactions too.
    test.execute(
        "CREATE TABLE acting (who text, lock_timeout text, plans text); GRANT ALL ON acting TO lessor_app; \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO acting VALUES (current_user, current_setting('lock_timeout'), \
                 current_setting('plan_cache_mode')); RETURN NEW; END $$; \
         CREATE TRIGGER note AFTER INSERT ON cursors FOR EACH ROW EXECUTE FUNCTION note()",
    )
    .await;
    for walk in 0..20 {
        let mut work = database.begin(Reach::Server).await.unwrap();
        let walk = format!("walk {walk}");
        work.cursors()
            .set_position(&walk, "somewhere")
            .await
            .unwrap();
        work.commit().await.unwrap();
    }
    let acting = "SELECT DISTINCT who || ' ' || lock_timeout || ' ' || plans FROM acting";
    assert_eq!(
        test.query(acting).await,
        ["lessor_app 4s force_generic_plan"]
    );
    contract::owners(&database).await;
    contract::customers(&database).await;
    contract::checkouts(&database).await;
    contract::jobs(&database).await;
}
