//! What the caller decides.

use std::path::PathBuf;

use crate::Error;

/// Where the database lives and how it runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder that holds the cluster, its password and its socket. Created when missing.
    pub data_dir: PathBuf,
    /// Whether what is acknowledged survives a crash of the machine.
    pub durability: Durability,
    /// The folder of `postgres` and `initdb`, when the caller names one (`LESSOR_PG_BIN_DIR`); no other is tried then.
    pub bin_dir: Option<PathBuf>,
    /// Connections that the server accepts at once, at least 1.
    pub max_connections: u16,
    /// The database that exists after the start: `[a-z_][a-z0-9_]{0,62}`.
    pub database: String,
}

/// Whether what is acknowledged survives a crash of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Acknowledged writes are on disk.
    Durable,
    /// Nothing is ever flushed: fast, and lost or corrupt after a crash of the machine. For tests. Not to be used on
    /// a data directory whose content matters.
    Throwaway,
}

impl Settings {
    /// Durable, 100 connections, database `lessor`, binaries looked for.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            durability: Durability::Durable,
            bin_dir: None,
            max_connections: 100,
            database: "lessor".to_owned(),
        }
    }

    /// The name is put into SQL, into a URL and into a file: only what needs quoting nowhere.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let name = &self.database;
        let mut bytes = name.bytes();
        let starts = bytes
            .next()
            .is_some_and(|b| b.is_ascii_lowercase() || b == b'_');
        let continues = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        let template = name == "template0" || name == "template1";
        if starts && continues && name.len() <= 63 && !template {
            Ok(())
        } else {
            Err(Error::DatabaseName(name.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn only_names_that_need_no_quoting_are_accepted() {
        let check = |name: &str| {
            let mut settings = Settings::new("unused");
            settings.database = name.to_owned();
            settings.check().is_ok()
        };
        for good in ["lessor", "_x", "a1", "postgres", &"x".repeat(63)] {
            assert!(check(good), "{good}");
        }
        for bad in [
            "",
            "1a",
            "Lessor",
            "a-b",
            "a\"b",
            "ä",
            "template1",
            &"x".repeat(64),
        ] {
            assert!(!check(bad), "{bad}");
        }
    }
}
