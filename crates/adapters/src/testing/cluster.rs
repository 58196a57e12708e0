//! Databases of a cluster that somebody started: PostgreSQL with the extension `citus`.

use super::{TEMPLATE, administer, must};
use crate::postgres::{PgDatabase, PgSettings};

/// The address of the cluster's coordinator, where tests are to have one.
pub(super) fn address() -> Option<String> {
    std::env::var("LESSOR_TEST_CITUS")
        .ok()
        .filter(|address| !address.is_empty())
}

/// A cluster.
pub(super) struct Cluster {
    /// The login of its nodes' addresses, and what follows the database's name there.
    login: String,
    options: String,
    /// Host and port of each node, the coordinator first.
    nodes: Vec<String>,
    /// What this process calls its template.
    template: String,
}

impl Cluster {
    /// Finds the nodes and makes a template on each, whose tables are spread over them.
    pub(super) async fn start(coordinator: &str) -> Self {
        let Some((login, place)) = coordinator.rsplit_once('@') else {
            panic!("LESSOR_TEST_CITUS has no login")
        };
        let (place, options) = place.split_once('?').unwrap_or((place, ""));
        let Some((host, _)) = place.split_once('/') else {
            panic!("LESSOR_TEST_CITUS names no database")
        };
        let mut nodes = vec![host.to_owned()];
        let workers = "SELECT nodename || ':' || nodeport FROM pg_dist_node \
            WHERE noderole = 'primary' AND groupid <> 0 ORDER BY nodeid";
        nodes.extend(administer(coordinator, workers).await);
        let cluster = Self {
            login: login.to_owned(),
            options: options.to_owned(),
            nodes,
            template: format!("{TEMPLATE}_{}", std::process::id()),
        };
        cluster.make_template().await;
        cluster
    }

    fn at(&self, node: &str, database: &str) -> String {
        format!("{}@{node}/{database}?{}", self.login, self.options)
    }

    /// The coordinator's database of this name.
    pub(super) fn url_of(&self, database: &str) -> String {
        let node = self.nodes.first().map_or("", String::as_str);
        self.at(node, database)
    }

    /// Every node's database of this name.
    pub(super) fn nodes_of(&self, database: &str) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes.map(|node| self.at(node, database)).collect()
    }

    async fn make_template(&self) {
        let name = &self.template;
        for url in self.nodes_of("postgres") {
            administer(&url, &format!("CREATE DATABASE {name}")).await;
        }
        for url in self.nodes_of(name) {
            administer(&url, "CREATE EXTENSION citus").await;
        }
        let url = self.url_of(name);
        for (place, node) in self.nodes.iter().enumerate() {
            let Some((host, port)) = node.rsplit_once(':') else {
                panic!("{node} has no port")
            };
            let join = if place == 0 {
                "citus_set_coordinator_host"
            } else {
                "citus_add_node"
            };
            administer(&url, &format!("SELECT {join}('{host}', {port})")).await;
        }
        // Few, since each test's database has them all.
        let few = format!("ALTER DATABASE {name} SET citus.shard_count = 4");
        administer(&url, &few).await;
        let template = must(PgDatabase::new(&PgSettings::new(&url)), "connect");
        must(template.migrate(|_| {}).await, "migrate");
        must(template.distribute().await, "spread the tables");
        drop(template);
        // What is connected to is not copied: the extension's own keeper is, and comes back.
        for url in self.nodes_of("postgres") {
            let sql = format!(
                "ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false; \
                 SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            );
            administer(&url, &sql).await;
        }
    }

    /// A database on each node that is a copy of the node's template. What the nodes know of each other
    /// is in it: the shards of the copy lie where those of the template do.
    pub(super) async fn copy(&self, template: &str, name: &str) {
        let template = if template == TEMPLATE {
            &self.template
        } else {
            template
        };
        for url in self.nodes_of("postgres") {
            let sql = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy");
            administer(&url, &sql).await;
        }
    }
}
