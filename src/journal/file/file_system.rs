//! File systems on which a lock or an acknowledgement may not mean what it says (SPEC 7.1).

use std::fs::File;
#[cfg(feature = "sqlite")]
use std::path::Path;

use crate::error::{Error, ErrorKind};

/// The name of the file system that `file` is on, if it is one that other machines or processes serve.
#[cfg(target_os = "linux")]
pub(super) fn shared_file_system(file: &File) -> Option<&'static str> {
    shared(&rustix::fs::fstatfs(file).ok()?)
}

/// As [`shared_file_system`], of what is at `path`, which is not opened.
#[cfg(all(feature = "sqlite", target_os = "linux"))]
pub(super) fn shared_file_system_at(path: &Path) -> Option<&'static str> {
    shared(&rustix::fs::statfs(path).ok()?)
}

#[cfg(target_os = "linux")]
fn shared(status: &rustix::fs::StatFs) -> Option<&'static str> {
    // Magic numbers from linux/magic.h and statfs(2).
    const SHARED: [(u32, &str); 10] = [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB2"),
        (0x0102_1997, "9P"),
        (0x6573_5546, "FUSE"),
        (0x00C3_6400, "Ceph"),
        (0x5346_414F, "AFS"),
        (0x7375_7245, "Coda"),
        (0x0BD0_0BD0, "Lustre"),
    ];
    let magic = u32::try_from(status.f_type & 0xFFFF_FFFF).ok()?;
    SHARED.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// Elsewhere the kind of a file system is not looked at.
#[cfg(not(target_os = "linux"))]
pub(super) fn shared_file_system(_file: &File) -> Option<&'static str> {
    None
}

/// Elsewhere the kind of a file system is not looked at.
#[cfg(all(feature = "sqlite", not(target_os = "linux")))]
pub(super) fn shared_file_system_at(_path: &Path) -> Option<&'static str> {
    None
}

/// Why nothing is written to the file system `name` unless that is allowed.
pub(super) fn not_safe(name: &str) -> Error {
    let message =
        format!("{name} may not keep locks between machines; allow shared file systems if one machine writes");
    Error::new(ErrorKind::Unsafe, message)
}
