//! From a data directory to a server that accepts connections.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::cluster::{self, ROLE, Workshop};
use crate::instance::{Address, Instance, shutdown_signal};
use crate::layout::{Layout, remove_file};
use crate::lock::{Attempt, Holder, OwnerLock, Role, ServerLock};
use crate::process::{Server, guard, tail};
use crate::{Durability, Error, Progress, Settings, postmaster};

/// The write-ahead log of a crash is replayed within this time.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(300);
/// How long a start waits for the command of another process to end.
const COMMAND_DEADLINE: Duration = Duration::from_secs(60);
/// Between two looks at something that only another process can change.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Starts the server of a data directory that this process comes to own.
pub(crate) fn start(
    settings: &Settings,
    role: Role,
    progress: &mut dyn FnMut(Progress),
) -> Result<Instance, Error> {
    settings.check()?;
    let layout = Layout::prepare(&settings.data_dir)?;
    let account = Account::choose(&layout.data())?;
    let account = account.as_ref();
    let mut owner = take_ownership(&layout, role, account, progress)?;
    let server_lock = take_over(&layout, account, progress)?;
    let unclean = clear_pid_file(&layout)?;

    let wanted = cluster::existing_major(&layout)?;
    let binaries = Binaries::find(settings, &layout, wanted, account, progress)?;
    let workshop = Workshop {
        settings,
        layout: &layout,
        binaries: &binaries,
        account,
        lock: &server_lock,
    };
    let password = workshop.ensure(progress)?;
    let (server, address) = launch(&workshop, unclean, progress)?;
    drop(server_lock);

    let instance_url = address.url(ROLE, &password, &settings.database);
    if let Err(error) = owner.publish(&instance_url, &layout.owner_lock()) {
        crate::instance::stop_server(&server, settings.durability);
        return Err(error);
    }
    progress(Progress::Ready);
    tracing::info!(
        version = %binaries.version,
        data_dir = %layout.root.display(),
        pid = server.pid(),
        "embedded PostgreSQL is ready"
    );
    Ok(Instance::new(
        layout, owner, server, settings, address, password,
    ))
}

/// Starts a server again that has ended by itself, at the address that it had, for the process that still owns the data
/// directory.
pub(crate) fn again(
    settings: &Settings,
    layout: &Layout,
    address: &Address,
) -> Result<Server, Error> {
    let untold: &mut dyn FnMut(Progress) = &mut |_| ();
    let account = Account::choose(&layout.data())?;
    let account = account.as_ref();
    // Sessions of a server that was killed end when they come to wait for something, and write until then.
    let server_lock = take_over(layout, account, untold)?;
    clear_pid_file(layout)?;
    let wanted = cluster::existing_major(layout)?;
    let binaries = Binaries::find(settings, layout, wanted, account, untold)?;
    let workshop = Workshop {
        settings,
        layout,
        binaries: &binaries,
        account,
        lock: &server_lock,
    };
    workshop.fresh_run_dir()?;
    launch_at(&workshop, address)
}

/// Waits while another process is about to let go of the data directory; refuses when one serves from it.
fn take_ownership(
    layout: &Layout,
    role: Role,
    account: Option<&Account>,
    progress: &mut dyn FnMut(Progress),
) -> Result<OwnerLock, Error> {
    let path = layout.owner_lock();
    let mut seen = None;
    let mut since = Instant::now();
    let mut announced = None;
    loop {
        let holder = match OwnerLock::attempt(&path, role, account)? {
            Attempt::Taken(lock) => return Ok(lock),
            Attempt::Held(holder) => holder,
        };
        if seen.as_ref() != Some(&holder) {
            let serves = matches!(
                &holder,
                Some(Holder {
                    role: Role::Service,
                    url: Some(_),
                    ..
                })
            );
            if let Some(Holder { pid, .. }) = holder
                && !serves
                && announced != Some(pid)
            {
                announced = Some(pid);
                progress(Progress::WaitingForOwner { pid });
            }
            seen = Some(holder.clone());
            since = Instant::now();
        }
        if since.elapsed() >= patience(holder.as_ref()) {
            return Err(in_use(layout, holder.as_ref()));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// How long a start waits for this holder of the data directory to let go.
fn patience(holder: Option<&Holder>) -> Duration {
    match holder {
        // It serves; but one that was killed a moment ago still does on paper.
        Some(Holder {
            role: Role::Service,
            url: Some(_),
            ..
        }) => Duration::from_secs(1),
        // It starts, and will serve, or it stops.
        Some(Holder {
            role: Role::Service,
            url: None,
            ..
        }) => START_DEADLINE,
        Some(Holder {
            role: Role::Command,
            ..
        }) => COMMAND_DEADLINE,
        // The time between taking the lock and writing into it.
        None => Duration::from_secs(5),
    }
}

pub(crate) fn in_use(layout: &Layout, holder: Option<&Holder>) -> Error {
    Error::InUse {
        data_dir: layout.root.clone(),
        holder: holder.map_or_else(
            || "another process".to_owned(),
            |holder| format!("process {}", holder.pid),
        ),
    }
}

/// Waits until no process of an earlier server is left, and sees to it: its owner is dead, or this process would not
/// own the data directory.
fn take_over(
    layout: &Layout,
    account: Option<&Account>,
    progress: &mut dyn FnMut(Progress),
) -> Result<ServerLock, Error> {
    /// What is sent to a server that does not go, and after how long: in order, at once, by force.
    const ESCALATION: [(Duration, Signal); 3] = [
        (Duration::ZERO, Signal::INT),
        (Duration::from_secs(20), Signal::QUIT),
        (Duration::from_secs(30), Signal::KILL),
    ];
    const GIVE_UP: Duration = Duration::from_secs(40);

    let path = layout.server_lock();
    let begun = Instant::now();
    let mut sent: Vec<(u32, Signal)> = Vec::new();
    loop {
        if let Some(lock) = ServerLock::attempt(&path, account)? {
            return Ok(lock);
        }
        let pid = postmaster::pid_in(&layout.postmaster_pid())
            .filter(|&pid| postmaster::runs_on(pid, &layout.data()));
        if sent.is_empty() {
            progress(Progress::StoppingOrphan { pid });
        }
        let due = ESCALATION
            .iter()
            .rev()
            .find(|(after, _)| begun.elapsed() >= *after);
        if let (Some(pid), Some(&(_, signal))) = (pid, due)
            && !sent.contains(&(pid, signal))
        {
            tracing::warn!(
                pid,
                ?signal,
                "stopping a PostgreSQL server that outlived its owner"
            );
            postmaster::signal(pid, signal);
            sent.push((pid, signal));
        }
        if begun.elapsed() >= GIVE_UP {
            return Err(Error::Orphan {
                data_dir: layout.root.clone(),
                pid: pid
                    .map(|pid| format!(" (process {pid})"))
                    .unwrap_or_default(),
            });
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Removes what a server that was not stopped in order left behind, and says whether there was such a thing.
///
/// With the server's lock in hand its writer is dead, whatever its process number now stands for; but a server that was
/// started by hand does not know of that lock.
fn clear_pid_file(layout: &Layout) -> Result<bool, Error> {
    let path = layout.postmaster_pid();
    if !path.exists() {
        return Ok(false);
    }
    match postmaster::pid_in(&path) {
        Some(pid) if postmaster::runs_on(pid, &layout.data()) => Err(Error::DataDir {
            path: layout.data(),
            reason: format!(
                "a PostgreSQL server that Lessor did not start runs on it (process {pid}): stop that server"
            ),
        }),
        _ => remove_file(&path).map(|()| true),
    }
}

/// Starts the server and waits until it accepts connections.
fn launch(
    workshop: &Workshop<'_>,
    unclean: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Server, Address), Error> {
    /// Another program may take a free port before the server does.
    const PORT_ATTEMPTS: u32 = 5;

    progress(Progress::Starting {
        version: workshop.binaries.version.to_string(),
    });
    if unclean {
        progress(Progress::Recovering);
    }
    let mut attempt = 1;
    loop {
        let address = if workshop.layout.socket_fits() {
            Address::Socket(workshop.layout.run())
        } else {
            Address::Loopback(free_port()?)
        };
        workshop.fresh_run_dir()?;
        match launch_at(workshop, &address) {
            Ok(server) => return Ok((server, address)),
            Err(Error::NotStarted { log, .. })
                if matches!(address, Address::Loopback(_))
                    && attempt < PORT_ATTEMPTS
                    && log.contains("Address already in use") => {}
            Err(error) => return Err(error),
        }
        attempt += 1;
    }
}

fn free_port() -> Result<u16, Error> {
    let listener =
        TcpListener::bind(("127.0.0.1", 0)).map_err(Error::io("listen on", "127.0.0.1"))?;
    let address = listener
        .local_addr()
        .map_err(Error::io("listen on", "127.0.0.1"))?;
    Ok(address.port())
}

fn launch_at(workshop: &Workshop<'_>, address: &Address) -> Result<Server, Error> {
    let Workshop {
        settings,
        layout,
        binaries,
        account,
        lock,
    } = *workshop;
    let (log, log_start) = workshop.open_log()?;
    let mut command = binaries.command("postgres", account);
    command.arg("-D").arg(layout.data());
    for (name, value) in parameters(settings) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    address.listen(&mut command);
    let copy = log.try_clone().map_err(Error::io("open", layout.log()))?;
    command.stdout(copy).stderr(log);
    guard(
        &mut command,
        &lock.file,
        shutdown_signal(settings.durability),
    )
    .map_err(Error::io("run", layout.data()))?;

    let server = Server::spawn(command)?;
    let pid_file = layout.postmaster_pid();
    let begun = Instant::now();
    while !postmaster::is_ready(&pid_file, server.pid()) {
        if let Some(reason) = server.wait(LOOK_AGAIN) {
            return Err(Error::NotStarted {
                reason,
                log: log_since(&layout.log(), log_start),
            });
        }
        if begun.elapsed() >= START_DEADLINE {
            crate::instance::stop_server(&server, settings.durability);
            return Err(Error::NotStarted {
                reason: format!("not ready after {} s", START_DEADLINE.as_secs()),
                log: log_since(&layout.log(), log_start),
            });
        }
    }
    Ok(server)
}

/// The server's parameters. They are given on its command line, so that nothing stale is left in its files.
fn parameters(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut parameters: Vec<(&'static str, String)> = [
        ("port", "5432"),
        ("unix_socket_permissions", "0700"),
        // Every session is the superuser's: reserved ones would only be missing.
        ("superuser_reserved_connections", "0"),
        ("cluster_name", "lessor"),
        ("timezone", "UTC"),
        ("log_timezone", "UTC"),
        ("log_destination", "stderr"),
        ("logging_collector", "off"),
        ("log_line_prefix", "%m [%p] "),
        ("log_checkpoints", "off"),
        // The client is told of errors; the log is for what the server has to say, and holds nobody's data.
        ("log_min_messages", "log"),
        ("log_min_error_statement", "panic"),
        // Compiling a plan costs more than any short query gains.
        ("jit", "off"),
    ]
    .into_iter()
    .map(|(name, value)| (name, value.to_owned()))
    .collect();
    parameters.push((
        "max_connections",
        settings.max_connections.max(1).to_string(),
    ));
    if cfg!(target_os = "linux") {
        // Else recovery opens and flushes every single file.
        parameters.push(("recovery_init_sync_method", "syncfs".to_owned()));
    }
    let durability: &[(&str, &str)] = match settings.durability {
        Durability::Durable => &[
            ("fsync", "on"),
            ("full_page_writes", "on"),
            ("synchronous_commit", "on"),
        ],
        Durability::Throwaway => &[
            ("fsync", "off"),
            ("full_page_writes", "off"),
            ("synchronous_commit", "off"),
            ("autovacuum", "off"),
            ("wal_level", "minimal"),
            ("max_wal_senders", "0"),
            ("checkpoint_timeout", "1d"),
        ],
    };
    parameters.extend(
        durability
            .iter()
            .map(|&(name, value)| (name, value.to_owned())),
    );
    parameters
}

fn log_since(path: &Path, start: u64) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let start = usize::try_from(start)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    let text = String::from_utf8_lossy(&bytes[start..]);
    tail(text.trim(), 2_000).to_owned()
}
