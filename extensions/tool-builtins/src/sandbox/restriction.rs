//! The restrictions that a thread puts on itself.

use std::{os::fd::AsFd, path::Path};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{FileType, OFlags, fstat};

use super::{Confinement, Enforced, filter::syscall_filter, named_path::open_named_path};

/// The programs and libraries of the system.
pub(super) const SYSTEM_FOLDERS: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// The settings of the system that programs read; no keys, passwords or names of other machines' users.
pub(super) const SYSTEM_SETTINGS: [&str; 34] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki/tls/certs",
    "/etc/profile",
    "/etc/protocols",
    "/etc/python3",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// The devices that hold nothing.
pub(super) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Without this version, a file can be emptied that cannot be written.
const LEAST_ABI: ABI = ABI::V3;
/// The newest version that is asked for; the kernel takes the parts that it knows.
const NEWEST_ABI: ABI = ABI::V10;

/// Restricts the calling thread, and says which guards hold.
pub(super) fn restrict_thread(confinement: &Confinement, private: &Path, enforced: &mut Enforced) {
    match restrict_files(confinement, private) {
        Ok(true) => enforced.files = Some("landlock".to_owned()),
        Ok(false) => {
            enforced.missing.push("files: this kernel has no landlock; install `bubblewrap`".to_owned())
        }
        Err(error) => enforced.missing.push(format!("files: landlock failed: {error}")),
    }
    let filtered = syscall_filter(confinement.permits_network)
        .map_err(|error| error.to_string())
        .and_then(|filter| seccompiler::apply_filter(&filter).map_err(|error| error.to_string()));
    match filtered {
        Ok(()) => enforced.network = Some("seccomp".to_owned()),
        Err(error) => enforced.missing.push(format!("network: seccomp failed: {error}")),
    }
}

/// Returns `false` if the kernel does not know it.
fn restrict_files(confinement: &Confinement, private: &Path) -> Result<bool, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST_ABI))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST_ABI))?
        .scope(Scope::from_all(NEWEST_ABI))?;
    if !confinement.permits_network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST_ABI))?;
    }
    let executable = AccessFs::from_read(NEWEST_ABI);
    let readable = AccessFs::ReadFile | AccessFs::ReadDir;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let not_in_folders = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let own = AccessFs::from_all(NEWEST_ABI) & !not_in_folders;

    let mut created = ruleset.create()?;
    for folder in SYSTEM_FOLDERS {
        created = permit_path(created, Path::new(folder), executable)?;
    }
    for path in &confinement.readable {
        created = permit_named_path(created, path, executable)?;
    }
    for path in SYSTEM_SETTINGS {
        created = permit_path(created, Path::new(path), readable)?;
    }
    for path in DEVICES {
        created = permit_path(created, Path::new(path), device)?;
    }
    for folder in &confinement.writable {
        created = permit_named_path(created, folder, own)?;
    }
    created = permit_path(created, private, own)?;
    Ok(created.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// Permits `access` below a path of the setting; nothing if there is none, or a command of another setting has put a link there.
fn permit_named_path(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match open_named_path(path, OFlags::PATH) {
        Ok(Some(handle)) => permit_handle(ruleset, handle, access),
        _ => Ok(ruleset),
    }
}

/// Permits `access` below a path of the system; nothing if there is none.
fn permit_path(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(handle) => permit_handle(ruleset, handle, access),
        Err(_) => Ok(ruleset),
    }
}

fn permit_handle(
    ruleset: RulesetCreated,
    handle: impl AsFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let is_folder = fstat(&handle).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir());
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST_ABI) };
    ruleset.add_rule(PathBeneath::new(handle, access))
}
