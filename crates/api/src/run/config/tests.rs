use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::ExposeSecret as _;

use super::*;

/// A file in the system's temporary folder that goes with the value.
struct File(PathBuf);

impl File {
    fn new(content: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "lessor-config-{}-{}.toml",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn config(
    flags: &[(&'static str, &str)],
    environment: &[(&str, &str)],
    file: Option<&File>,
) -> Result<Config, ConfigError> {
    let flags: BTreeMap<_, _> = flags
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let environment = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::load(flags, environment, file.map(|file| file.0.as_path()))
}

fn entry<'a>(config: &'a Config, key: &str) -> &'a Entry {
    config
        .entries
        .iter()
        .find(|entry| entry.key == key)
        .unwrap()
}

#[test]
fn flags_beat_the_environment_which_beats_the_file_which_beats_the_default() {
    let file = File::new("listen = '127.0.0.1:3'\nexpiry_days = 3\npool_size = 3\n");
    let config = config(
        &[("listen", "127.0.0.1:1")],
        &[
            ("LESSOR_LISTEN", "127.0.0.1:2"),
            ("LESSOR_EXPIRY_DAYS", "2"),
        ],
        Some(&file),
    )
    .unwrap();
    assert_eq!(config.listen, "127.0.0.1:1");
    assert_eq!(config.expiry_days.get(), 2);
    assert_eq!(config.pool_size.get(), 3);
    assert_eq!(config.shutdown_timeout, Duration::from_secs(10));
    let origins: Vec<String> = ["listen", "expiry_days", "pool_size", "shutdown_timeout"]
        .iter()
        .map(|key| entry(&config, key).origin.clone())
        .collect();
    let in_file = format!("{} (pool_size)", file.0.display());
    assert_eq!(
        origins,
        ["--listen", "LESSOR_EXPIRY_DAYS", &in_file, "default"]
    );
}

#[test]
fn the_file_may_be_named_by_the_environment() {
    let file =
        File::new("no_worker = true\nprocessor_live_webhook_secrets = ['whsec_a', 'whsec_b']\n");
    let path = file.0.display().to_string();
    let config = config(&[], &[("LESSOR_CONFIG", &path)], None).unwrap();
    assert!(config.no_worker);
    let secrets: Vec<&str> = config
        .processor
        .live_webhook_secrets
        .iter()
        .map(SecretString::expose_secret)
        .collect();
    assert_eq!(secrets, ["whsec_a", "whsec_b"]);
    assert!(config.unknown_environment.is_empty());
}

#[test]
fn a_secret_may_be_in_a_file_of_its_own() {
    let secret = File::new("sk_live_1\r\n");
    let path = secret.0.display().to_string();
    let of_file = ("LESSOR_PROCESSOR_LIVE_KEY_FILE", path.as_str());
    let read = config(&[], &[of_file], None).unwrap();
    let key = |config: &Config| {
        let key = config.processor.live_key.as_ref();
        key.map(|key| key.expose_secret().to_owned())
    };
    assert_eq!(key(&read).as_deref(), Some("sk_live_1"));
    let shown = entry(&read, "processor_live_key");
    assert_eq!(
        (shown.value.as_deref(), shown.origin.as_str()),
        (Some("***"), of_file.0)
    );
    assert!(read.unknown_environment.is_empty());

    let both = [of_file, ("LESSOR_PROCESSOR_LIVE_KEY", "sk_live_2")];
    let error = config(&[], &both, None).unwrap_err().to_string();
    assert!(
        error.contains("beside LESSOR_PROCESSOR_LIVE_KEY"),
        "{error}"
    );
    let empty = File::new("\n");
    let path = empty.0.display().to_string();
    let error = config(&[], &[("DATABASE_URL_FILE", &path)], None).unwrap_err();
    assert!(error.to_string().ends_with("is empty"), "{error}");
    let error = config(&[], &[("DATABASE_URL_FILE", "/nowhere")], None).unwrap_err();
    assert_eq!(error.key.as_deref(), Some("database_url"));
    assert!(
        error.to_string().contains("/nowhere cannot be read"),
        "{error}"
    );
    // What is no secret is in the one file of all settings.
    let read = config(&[], &[("LESSOR_LISTEN_FILE", "/nowhere")], None).unwrap();
    assert_eq!(read.unknown_environment, ["LESSOR_LISTEN_FILE"]);
}

#[test]
fn a_secret_may_be_handed_over_by_systemd() {
    let folder = std::env::temp_dir().join(format!("lessor-credentials-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("processor_live_key"), "sk_live_1\n").unwrap();
    let path = folder.display().to_string();
    let folder_given = ("CREDENTIALS_DIRECTORY", path.as_str());
    let handed = config(&[], &[folder_given], None).unwrap();
    let variable = ("LESSOR_PROCESSOR_LIVE_KEY", "sk_live_2");
    let both = config(&[], &[folder_given, variable], None).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let origin = |config: &Config| entry(config, "processor_live_key").origin.clone();
    assert_eq!(
        origin(&handed),
        "CREDENTIALS_DIRECTORY (processor_live_key)"
    );
    assert_eq!(origin(&both), variable.0);
    assert_eq!(handed.origin("database_url"), Some("default"));
}

#[test]
fn a_key_of_the_file_that_means_nothing_is_named() {
    let file = File::new("listn = '127.0.0.1:1'\n");
    let error = config(&[], &[], Some(&file)).unwrap_err().to_string();
    assert!(error.contains("\"listn\""), "{error}");
    assert!(error.contains("did you mean \"listen\"?"), "{error}");

    let file = File::new("[server]\nlisten = '127.0.0.1:1'\n");
    let error = config(&[], &[], Some(&file)).unwrap_err().to_string();
    assert!(error.contains("\"server\""), "{error}");
    assert!(!error.contains("did you mean"), "{error}");
}

#[test]
fn a_file_that_is_no_toml_is_refused_with_the_line_and_without_its_content() {
    let file = File::new("listen = '127.0.0.1:1'\nprocessor_live_key = hunter2\n");
    let error = config(&[], &[], Some(&file)).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");

    let missing = Config::load(
        BTreeMap::new(),
        [],
        Some("/nonexistent/lessor.toml".as_ref()),
    );
    let error = missing.unwrap_err().to_string();
    assert!(error.contains("/nonexistent/lessor.toml"), "{error}");
}

#[test]
fn wrong_values_are_refused_with_their_origin_and_what_is_allowed() {
    for (variable, value) in [
        ("LESSOR_LISTEN", "8080"),
        ("LESSOR_LISTEN", ":8080"),
        ("LESSOR_LISTEN", "::1:8080"),
        ("LESSOR_LISTEN", "localhost:99999"),
        ("LESSOR_PUBLIC_URL", "lease.example.com"),
        ("LESSOR_PUBLIC_URL", "ftp://lease.example.com"),
        ("LESSOR_PUBLIC_URL", "https://lease.example.com/?a=b"),
        ("LESSOR_POOL_SIZE", "0"),
        ("LESSOR_POOL_SIZE", "many"),
        ("LESSOR_RATE_LIMIT", "-1"),
        ("LESSOR_NO_WORKER", "yes"),
        ("LESSOR_LOG_FORMAT", "xml"),
        ("LESSOR_SHUTDOWN_TIMEOUT", "10"),
        ("LESSOR_SHUTDOWN_TIMEOUT", "1s"),
        ("LESSOR_SHUTDOWN_TIMEOUT", "11m"),
        ("LESSOR_EXPIRY_DAYS", "0"),
        ("LESSOR_SERVER_SECRET", "short"),
        ("LESSOR_NOT_BILLED_AFTER", "30s"),
        ("LESSOR_NOT_BILLED_AFTER", "31d"),
        ("LESSOR_DELIVERY_OVERDUE_AFTER", "10"),
        ("LESSOR_DELIVERY_OVERDUE_AFTER", "366d"),
        ("LESSOR_ADDRESS_RATE_LIMIT", "0"),
        ("LESSOR_TRUSTED_PROXIES", "proxy.example.com"),
        ("LESSOR_MAX_CONNECTIONS", "0"),
        ("LESSOR_MAX_CONNECTIONS_PER_ADDRESS", "65536"),
        ("LESSOR_MEMORY_BUDGET", "15"),
        ("LESSOR_JOB_SETTLED", "1s"),
        ("LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS", ", ,"),
        ("LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS", ", ,"),
    ] {
        let error = config(&[], &[(variable, value)], None).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("{variable}: must ")), "{text}");
    }
}

/// An error names the setting and its origin, and shows no value: it may be a secret.
#[test]
fn wrong_values_are_told_of_and_not_shown() {
    let file = File::new("server_secret = 'hunter2'\n");
    let error = config(&[], &[], Some(&file)).unwrap_err();
    let place = format!("{} (server_secret): must have ", file.0.display());
    assert!(error.to_string().starts_with(&place), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    assert_eq!(error.key.as_deref(), Some("server_secret"));
    for (flag, value) in [("no_worker", "hunter2"), ("data_dir", "")] {
        let error = config(&[(flag, value)], &[], None).unwrap_err();
        let place = format!("--{}: must ", flag.replace('_', "-"));
        assert!(error.to_string().starts_with(&place), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    for value in ["{ a = 1 }", "2026-01-01", "[1]", "[]", "''"] {
        let file = File::new(&format!("tracking_webhook_secrets = {value}\n"));
        let error = config(&[], &[], Some(&file)).unwrap_err();
        let place = format!("{} (tracking_webhook_secrets): must ", file.0.display());
        assert!(error.to_string().starts_with(&place), "{error}");
    }
}

#[test]
fn values_that_are_right_are_taken() {
    let config = config(
        &[],
        &[
            ("LESSOR_LISTEN", "[::1]:0"),
            ("LESSOR_PUBLIC_URL", "https://lease.example.com/a/"),
            ("LESSOR_RATE_LIMIT", "50"),
            ("LESSOR_TRUSTED_PROXIES", "10.0.0.0/8, ::1"),
            ("LESSOR_NO_MIGRATE", "1"),
            ("LESSOR_PG_BIN_DIR", "/usr/lib/postgresql/18/bin"),
            ("LESSOR_HTTP_THREADS", "3"),
            ("LESSOR_LOG", "-"),
            ("LESSOR_PROCESSOR_URL", "http://localhost:1"),
            ("LESSOR_PROCESSOR_SANDBOX_KEY", "007"),
            ("LESSOR_LOG_FORMAT", "json"),
            ("LESSOR_SHUTDOWN_TIMEOUT", "1m"),
            ("LESSOR_DELIVERY_OVERDUE_AFTER", "4d"),
            // Empty is unset.
            ("LESSOR_POOL_SIZE", ""),
        ],
        None,
    )
    .unwrap();
    assert_eq!(config.listen, "[::1]:0");
    assert_eq!(
        config.public_url.as_deref(),
        Some("https://lease.example.com/a")
    );
    assert_eq!(config.rate_limit.map(NonZeroU32::get), Some(50));
    assert_eq!(config.address_rate_limit.map(NonZeroU32::get), Some(100));
    let proxies: Vec<_> = config
        .trusted_proxies
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(proxies, ["10.0.0.0/8", "::1/128"]);
    assert!(config.no_migrate);
    assert_eq!(config.log_format, LogFormat::Json);
    assert!(config.pg_bin_dir.is_some_and(|dir| dir.ends_with("bin")));
    assert_eq!(config.http_threads.map(NonZeroUsize::get), Some(3));
    assert_eq!(config.log.as_deref(), Some("-"));
    assert_eq!(config.processor.url.as_deref(), Some("http://localhost:1"));
    let key = config.processor.sandbox_key.unwrap();
    assert_eq!(key.expose_secret(), "007");
    assert_eq!(config.shutdown_timeout, Duration::from_secs(60));
    assert_eq!(config.pool_size.get(), 20);
    assert_eq!(config.max_connections.get(), 10_000);
    assert_eq!(config.max_connections_per_address.get(), 2_048);
    assert_eq!(config.memory_budget.get(), 256);
    assert_eq!(config.delivery_overdue_after.as_secs(), 4 * 86_400);
    assert_eq!(config.not_billed_after.as_secs(), 3_600);
}

#[test]
fn rates_hold_unless_they_are_switched_off() {
    let rates = |environment: &[(&str, &str)]| {
        let config = config(&[], environment, None).unwrap();
        [config.rate_limit, config.address_rate_limit].map(|rate| rate.map(NonZeroU32::get))
    };
    assert_eq!(rates(&[]), [Some(1_000), Some(100)]);
    let off = ("LESSOR_RATE_LIMIT", "off");
    assert_eq!(rates(&[off]), [None, Some(100)]);
    assert_eq!(
        rates(&[off, ("LESSOR_ADDRESS_RATE_LIMIT", "off")]),
        [None, None]
    );
}

/// What is for tests alone can be set as all else, and is described to nobody.
#[test]
fn hidden_settings_are_not_described() {
    let hidden: Vec<Setting> = settings()
        .into_iter()
        .filter(|setting| setting.hidden)
        .collect();
    assert!(!hidden.is_empty());
    for setting in hidden {
        assert!(setting.flag.is_none(), "{}", setting.key);
        assert!(!markdown().contains(&setting.key), "{}", setting.key);
    }
    let config = config(&[], &[("LESSOR_JOB_SETTLED", "2s")], None).unwrap();
    assert_eq!(config.job_settled, Duration::from_secs(2));
    assert!(config.unknown_environment.is_empty());
}

#[test]
fn secrets_are_shown_nowhere() {
    let long = "hunter2-".repeat(5);
    let config = config(
        &[],
        &[
            (
                "DATABASE_URL",
                "postgres://app:hunter2@db.example.com/lessor?sslmode=require",
            ),
            (
                "LESSOR_REPLICA_URL",
                "postgres://app:hunter2@replica.example.com/lessor",
            ),
            ("LESSOR_PROCESSOR_LIVE_KEY", "hunter2"),
            ("LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS", "hunter2,hunter2"),
            ("LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS", "hunter2"),
            ("LESSOR_TRACKING_WEBHOOK_SECRETS", "whsec:hunter2"),
            ("LESSOR_SERVER_SECRET", &long),
        ],
        None,
    )
    .unwrap();
    assert!(!format!("{config:?}").contains("hunter2"), "{config:?}");
    assert_eq!(
        entry(&config, "database_url").value.as_deref(),
        Some("postgres://app:***@db.example.com/lessor?sslmode=require")
    );
    assert_eq!(
        entry(&config, "replica_url").value.as_deref(),
        Some("postgres://app:***@replica.example.com/lessor")
    );
    assert_eq!(
        entry(&config, "tracking_webhook_secrets").value.as_deref(),
        Some("***")
    );

    for url in [
        "host=db user=app password=hunter2",
        "postgres://db/lessor?user=app&password=hunter2",
    ] {
        let config = self::config(&[], &[("DATABASE_URL", url)], None).unwrap();
        assert_eq!(entry(&config, "database_url").value.as_deref(), Some("***"));
    }
}

#[test]
fn every_setting_is_read_and_shown_in_its_order() {
    let config = config(&[], &[], None).unwrap();
    let shown: Vec<&String> = config.entries.iter().map(|entry| &entry.key).collect();
    let declared = settings();
    let declared: Vec<&String> = declared.iter().map(|setting| &setting.key).collect();
    assert_eq!(shown, declared);
}

#[test]
fn names_follow_from_the_key() {
    for setting in settings() {
        let upper = setting.key.to_uppercase();
        let expected = match setting.key.as_str() {
            "database_url" => upper,
            _ => format!("LESSOR_{upper}"),
        };
        assert_eq!(setting.variable, expected);
        if let Some(flag) = setting.flag {
            assert_eq!(flag, format!("--{}", setting.key.replace('_', "-")));
            assert!(!setting.secret, "{flag} would show a secret");
        }
    }
}

#[test]
fn misspelled_variables_are_found() {
    let config = config(
        &[],
        &[("LESSOR_LISTN", "127.0.0.1:1"), ("LESSON", "1")],
        None,
    )
    .unwrap();
    assert_eq!(config.unknown_environment, ["LESSOR_LISTN"]);
}

#[test]
fn durations() {
    for (text, seconds) in [
        ("30s", 30),
        ("15m", 900),
        ("12h", 43_200),
        ("90d", 7_776_000),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)));
    }
    for text in [
        "",
        "s",
        "30",
        "-1d",
        "+1d",
        "1.5h",
        "1w",
        "0s",
        "36501d",
        "9999999999999999999d",
        "1ä",
    ] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}

#[test]
fn the_operations_guide_has_the_table_of_settings() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/OPERATIONS.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let table = markdown();
    assert!(
        guide.contains(&table),
        "put the output of `lessor config --describe` into docs/OPERATIONS.md:\n{table}"
    );
}

#[test]
fn origins_are_a_list_of_what_browsers_send() {
    let file = File::new("cors_origins = ['https://a.example', 'http://localhost:3000']\n");
    let read = config(&[], &[], Some(&file)).unwrap();
    let origins: Vec<&str> = read.cors_origins.iter().map(WebOrigin::as_str).collect();
    assert_eq!(origins, ["https://a.example", "http://localhost:3000"]);
    let none = config(&[], &[("LESSOR_CORS_ORIGINS", "")], None).unwrap();
    assert!(none.cors_origins.is_empty());
    let listed = [(
        "LESSOR_CORS_ORIGINS",
        "https://a.example, https://b.example",
    )];
    assert_eq!(config(&[], &listed, None).unwrap().cors_origins.len(), 2);
    for bad in [
        "*",
        "https://a.example,*",
        "https://a.example/",
        "a.example",
    ] {
        let error = config(&[], &[("LESSOR_CORS_ORIGINS", bad)], None).unwrap_err();
        assert!(error.to_string().contains("LESSOR_CORS_ORIGINS"), "{error}");
    }
}

#[test]
fn a_request_waits_for_a_connection_for_a_second() {
    assert_eq!(
        config(&[], &[], None).unwrap().database_wait,
        Duration::from_secs(1)
    );
    for bad in ["0s", "2m", "1", "soon"] {
        let error = config(&[("database_wait", bad)], &[], None).unwrap_err();
        assert!(error.to_string().contains("--database-wait"), "{error}");
    }
}

#[test]
fn who_migrates_is_waited_for_for_five_minutes() {
    assert_eq!(
        config(&[], &[], None).unwrap().migration_wait,
        Duration::from_secs(300)
    );
    for bad in ["0s", "2d", "5", "soon"] {
        let error = config(&[("migration_wait", bad)], &[], None).unwrap_err();
        assert!(error.to_string().contains("--migration-wait"), "{error}");
    }
}

#[test]
fn a_request_has_a_quarter_of_a_minute() {
    assert_eq!(
        config(&[], &[], None).unwrap().request_deadline,
        Duration::from_secs(15)
    );
    for bad in ["0s", "11m", "1", "soon"] {
        let error = config(&[("request_deadline", bad)], &[], None).unwrap_err();
        assert!(error.to_string().contains("--request-deadline"), "{error}");
    }
}

#[test]
fn a_mail_server_and_a_sender_are_given_together() {
    let server = ("LESSOR_SMTP_URL", "smtp://ada:hunter2@mail.example.com:587");
    let sender = ("LESSOR_MAIL_FROM", "Lessor <mail@lease.example>");
    let none = config(&[], &[], None).unwrap();
    assert_eq!(none.mail.modes(), MailModes::default());
    let live = config(&[], &[server, sender], None).unwrap();
    assert_eq!(
        live.mail.modes(),
        MailModes {
            live: true,
            sandbox: false
        }
    );
    let shown = entry(&live, "smtp_url").value.as_deref();
    assert_eq!(shown, Some("smtp://ada:***@mail.example.com:587"));
    let tests = ("LESSOR_SANDBOX_MAIL_TO", "tests@lessor.example");
    let both = config(&[], &[server, sender, tests], None).unwrap();
    assert!(both.mail.modes().live && both.mail.modes().sandbox);
    // Without a mail server there is nothing to be sent to anybody.
    let alone = config(&[], &[tests], None).unwrap();
    assert_eq!(alone.mail.modes(), MailModes::default());
    for (given, missing) in [(server, "LESSOR_MAIL_FROM"), (sender, "LESSOR_SMTP_URL")] {
        let refused = config(&[], &[given], None).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("{}: must not be given without {missing}", given.0)
        );
    }
    for (name, bad) in [
        ("LESSOR_SMTP_URL", "mail.example.com"),
        ("LESSOR_SMTP_URL", "smtp://ada@mail.example.com"),
        ("LESSOR_MAIL_FROM", "nobody"),
        ("LESSOR_SANDBOX_MAIL_TO", "nobody"),
        ("LESSOR_LEASE_ENDS_SOON", "61d"),
    ] {
        let refused = config(&[], &[server, sender, (name, bad)], None);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.starts_with(&format!("{name}: ")), "{refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}
