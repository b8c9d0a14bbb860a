//! The restrictions that a thread puts on itself.

use std::{error::Error, os::fd::AsFd, path::Path};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
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
/// The first version that guards requests to devices.
const DEVICE_ABI: ABI = ABI::V5;
/// The first version that guards signals.
const SIGNAL_ABI: ABI = ABI::V6;
/// The newest version that is asked for; the kernel takes the parts that it knows. Newer parts than those named above guard sockets,
/// which the filter of system calls refuses.
const NEWEST_ABI: ABI = ABI::V10;

/// Guards of a thread that has restricted itself.
#[derive(Debug, Default)]
pub(super) struct ThreadGuards {
    pub(super) enforced: Enforced,
    /// Its children send no signals to other processes.
    pub(super) guards_signals: bool,
}

/// Restricts the calling thread, and says which guards hold.
pub(super) fn restrict_calling_thread(confinement: &Confinement, private: &Path) -> ThreadGuards {
    let mut guards = ThreadGuards::default();
    let missing = &mut guards.enforced.missing;
    match restrict_files(confinement, private, missing) {
        Ok(RestrictionStatus {
            ruleset, landlock: LandlockStatus::Available { effective_abi, .. }, ..
        }) if ruleset != RulesetStatus::NotEnforced => {
            guards.enforced.files = Some("landlock".to_owned());
            missing.extend(missing_device_guard(effective_abi));
            guards.guards_signals = effective_abi >= SIGNAL_ABI;
        }
        Ok(_) => missing.push("files: this kernel has no landlock; install `bubblewrap`".to_owned()),
        Err(error) => missing.push(format!("files: landlock failed: {error}")),
    }
    let filtered = syscall_filter(confinement.permits_network)
        .map_err(|error| error.to_string())
        .and_then(|filter| seccompiler::apply_filter(&filter).map_err(|error| error.to_string()));
    match filtered {
        Ok(()) => guards.enforced.network = Some("seccomp".to_owned()),
        Err(error) => missing.push(format!(
            "network: seccomp failed: {error}; nor does it refuse system calls that reach other processes, the terminal or \
             the kernel"
        )),
    }
    guards
}

/// The guard that versions of landlock before [`DEVICE_ABI`] lack.
fn missing_device_guard(version: ABI) -> Option<String> {
    (version < DEVICE_ABI).then(|| {
        "devices: landlock of this kernel does not guard requests to devices (`ioctl`); Linux 6.10 does"
            .to_owned()
    })
}

/// The access to folders that commands may change: all but to make devices, and requests to them.
fn own_folder_access() -> BitFlags<AccessFs> {
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    AccessFs::from_all(NEWEST_ABI) & !devices
}

/// Adds to `missing` which paths of the setting commands do not reach.
fn restrict_files(
    confinement: &Confinement,
    private: &Path,
    missing: &mut Vec<String>,
) -> Result<RestrictionStatus, RulesetError> {
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
    let own = own_folder_access();

    let mut created = ruleset.create()?;
    for folder in SYSTEM_FOLDERS {
        created = permit_system_path(created, Path::new(folder), executable)?;
    }
    for path in &confinement.readable {
        created = permit_named_path(created, path, executable, missing)?;
    }
    for path in SYSTEM_SETTINGS {
        created = permit_system_path(created, Path::new(path), readable)?;
    }
    for path in DEVICES {
        created = permit_system_path(created, Path::new(path), device)?;
    }
    for folder in &confinement.writable {
        created = permit_named_path(created, folder, own, missing)?;
    }
    match PathFd::new(private) {
        Ok(handle) => created = permit_handle(created, handle, own)?,
        Err(error) => missing.push(unreached_path_text("their private folder", &error)),
    }
    created.restrict_self()
}

/// Permits `access` below a path of the setting; nothing if there is none, or a command of another setting has put a link there.
fn permit_named_path(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    missing: &mut Vec<String>,
) -> Result<RulesetCreated, RulesetError> {
    match open_named_path(path, OFlags::PATH) {
        Ok(Some(handle)) => permit_handle(ruleset, handle, access),
        Ok(None) => Ok(ruleset),
        Err(error) => {
            missing.push(unreached_path_text(&format!("`{}`", path.display()), &error));
            Ok(ruleset)
        }
    }
}

/// Says that less is permitted than the setting names.
fn unreached_path_text(path: &str, reason: &dyn Error) -> String {
    format!("paths: commands do not reach {path}: {reason}")
}

/// Permits `access` below a path of the system; nothing if there is none.
fn permit_system_path(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_make_no_devices_in_the_folders_that_they_may_change() {
        let refused = BitFlags::all() & !own_folder_access();
        assert_eq!(
            refused.iter().collect::<Vec<_>>(),
            [AccessFs::MakeChar, AccessFs::MakeBlock, AccessFs::IoctlDev]
        );
    }

    #[test]
    fn a_kernel_whose_landlock_guards_less_is_named_with_what_it_lacks() {
        for version in [ABI::V3, ABI::V4] {
            assert!(missing_device_guard(version).is_some_and(|gap| gap.starts_with("devices: ")));
        }
        for version in [ABI::V5, ABI::V6, NEWEST_ABI] {
            assert_eq!(missing_device_guard(version), None);
        }
    }
}
