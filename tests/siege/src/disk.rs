//! The disk of the database is full for a while.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lessor_tests::server::PATIENCE;
use lessor_tests::{Folder, refuse};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tokio::time::Instant;

use crate::Siege;
use crate::load::shown;
use crate::report::Row;
use crate::scene::{Data, Scene};
use crate::shop::{Answer, Shop};
use crate::writers::Writers;

const NAME: &str = "disk full, under load";
/// Room for a new cluster and the log of some thousand writes.
const SIZE: &str = "size=256m,mode=0755";
/// Reads and writes while it is full.
const ASKED: u32 = 40;
/// Writes that are acknowledged before it is full, and after it.
const BETWEEN: u64 = 50;
/// From when there is room again until writes are acknowledged.
const MOST: Duration = Duration::from_secs(5);

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let folder = Folder::new("disk");
    let disk = match Disk::mount(folder.path().join("data")) {
        Ok(disk) => disk,
        Err(error) => {
            return vec![Row::not_measured(
                NAME,
                &format!("cannot mount a disk: {error}"),
            )];
        }
    };
    let scene = Scene::on(siege.binary, Data::Embedded(folder), &[]);
    // What is probed with is another's: the writers count what is theirs.
    let shop = scene.shop().await;
    let writers = Writers::begin(&scene.shop().await);
    writers.acknowledged(BETWEEN).await;
    let ballast = fill(&disk.0);
    let deadline = Instant::now() + PATIENCE;
    while !matches!(shop.write().await, Answer::Refused(_)) {
        assert!(Instant::now() < deadline, "the full disk is not noticed");
    }
    let full = Full::ask(&shop).await;
    if let Err(error) = fs::remove_file(&ballast) {
        refuse(&format!("{ballast:?}: {error}"));
    }
    writers.interrupted();
    writers.acknowledged(BETWEEN).await;
    let pause = writers.longest_pause();
    let outcome = writers.end().await;
    let Full {
        refused,
        read,
        failed,
    } = full;
    vec![Row::new(
        NAME,
        format!(
            "{outcome}; while it was full {refused} of {ASKED} writes refused with 503, {read} of {ASKED} reads \
             answered, {failed} otherwise; writes again within {}",
            shown(pause)
        ),
        format!("0 lost, none twice, 503 alone, ≤ {}", shown(MOST)),
        outcome.is_whole() && failed == 0 && pause <= MOST,
    )]
}

/// What is answered while the disk is full.
#[derive(Default)]
struct Full {
    /// Writes that were refused for now.
    refused: u32,
    /// Reads that were answered.
    read: u32,
    /// Anything that was answered with another error, or not at all.
    failed: u32,
}

impl Full {
    async fn ask(shop: &Shop) -> Self {
        let mut full = Self::default();
        for _ in 0..ASKED {
            let (written, read) = (shop.write().await, shop.read().await);
            full.refused += u32::from(matches!(written, Answer::Refused(_)));
            full.read += u32::from(matches!(read, Answer::Done(_)));
            for answer in [written, read] {
                full.failed += u32::from(matches!(answer, Answer::Failed(_)));
            }
        }
        full
    }
}

/// A small disk in memory, which goes with the value.
struct Disk(PathBuf);

impl Disk {
    fn mount(place: PathBuf) -> std::io::Result<Self> {
        fs::create_dir(&place)?;
        let options = CString::new(SIZE)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", &place, "tmpfs", flags, options.as_c_str())?;
        Ok(Self(place))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Whoever still has a file there keeps it a moment longer.
        let _: Result<(), Errno> = unmount(&self.0, UnmountFlags::DETACH);
        // The folder that it was mounted in could not be removed before.
        drop(self.0.parent().map(fs::remove_dir_all));
    }
}

/// Takes all the room that is left; the file that has it.
fn fill(disk: &Path) -> PathBuf {
    let path = disk.join("ballast");
    let mut file = File::create(&path).unwrap_or_else(|error| refuse(&error.to_string()));
    for length in [1024 * 1024, 4 * 1024] {
        let zeros = vec![0; length];
        while file.write_all(&zeros).is_ok() {}
    }
    path
}
