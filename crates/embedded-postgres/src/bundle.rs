//! The bundled server.

use crate::account::Account;
use crate::binaries::Binaries;
use crate::layout::Layout;
use crate::{Error, Progress};

/// The version of the bundled server.
pub(crate) const VERSION: &str = "18.4";
/// Its major version.
pub(crate) const MAJOR: u32 = 18;

/// The bundled server, unpacked.
pub(crate) fn provide(
    _layout: &Layout,
    _account: Option<&Account>,
    _progress: &mut dyn FnMut(Progress),
) -> Result<Binaries, Error> {
    Err(Error::Bundle(
        "this build carries none (cargo feature `bundled-postgres`)".to_owned(),
    ))
}
