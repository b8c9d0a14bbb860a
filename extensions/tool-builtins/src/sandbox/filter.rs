//! The filter of system calls.
//!
//! It is a list of refusals: a command may be any program. A call by an interface other than the native one ends the
//! process; the second numbers of x86-64 (`x32`) are listed beside the first ones.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// System calls that reach other processes, sockets past this filter, keys, mounts or the kernel itself.
const REFUSED_CALLS: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// `ioctl` requests that write into the terminal of the program.
#[allow(clippy::unnecessary_cast, reason = "their type depends on the C library")]
const REFUSED_REQUESTS: [u64; 2] = [libc::TIOCSTI as u64, libc::TIOCLINUX as u64];

/// The families of sockets that a permitted network needs; `AF_UNIX` would reach the services of the machine.
const NETWORK_FAMILIES: [libc::c_int; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The filter of a sandbox.
///
/// # Errors
///
/// Returns the reason if there is no filter for this processor.
pub(super) fn syscall_filter(permits_network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED_CALLS {
        insert_refusal(&mut rules, *call, &[])?;
    }
    for request in REFUSED_REQUESTS {
        // The kernel reads 32 bits of it.
        let is_request = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)?;
        insert_refusal(&mut rules, libc::SYS_ioctl, &[is_request])?;
    }
    let mut other_family = Vec::new();
    if permits_network {
        for family in NETWORK_FAMILIES {
            let family = u64::from(family.unsigned_abs());
            other_family.push(SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)?);
        }
    }
    insert_refusal(&mut rules, libc::SYS_socket, &other_family)?;
    insert_socket_pair_refusals(&mut rules)?;
    insert_owner_and_setuid_refusals(&mut rules)?;
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let processor = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, processor)?.try_into()
}

/// Refuses pairs of sockets that can be connected to another one later: only streams of this machine are connected for good.
fn insert_socket_pair_refusals(
    rules: &mut BTreeMap<i64, Vec<SeccompRule>>,
) -> Result<(), seccompiler::BackendError> {
    /// The bits of the type without its flags.
    const TYPE_MASK: u64 = 0xf;
    let condition = |argument: u8, operator: SeccompCmpOp, value: libc::c_int| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(value.unsigned_abs()))
    };
    let other_family = condition(0, SeccompCmpOp::Ne, libc::AF_UNIX)?;
    insert_refusal(rules, libc::SYS_socketpair, &[other_family])?;
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        let is_kind = condition(1, SeccompCmpOp::MaskedEq(TYPE_MASK), kind)?;
        insert_refusal(rules, libc::SYS_socketpair, &[is_kind])?;
    }
    Ok(())
}

/// Refuses to give files to another user, and to make programs that run as their owner: `landlock` guards neither.
fn insert_owner_and_setuid_refusals(
    rules: &mut BTreeMap<i64, Vec<SeccompRule>>,
) -> Result<(), seccompiler::BackendError> {
    /// Of Linux 6.6, on every processor.
    const SYS_FCHMODAT2: libc::c_long = 452;
    let mut owner_calls = vec![libc::SYS_fchown, libc::SYS_fchownat];
    let mut mode_calls = vec![(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2)];
    #[cfg(target_arch = "x86_64")]
    {
        owner_calls.extend([libc::SYS_chown, libc::SYS_lchown]);
        mode_calls.push((libc::SYS_chmod, 1));
    }
    // The places of flags and mode, of calls that create a file.
    let mut create_calls = vec![(libc::SYS_openat, 2, 3)];
    mode_calls.push((libc::SYS_mknodat, 2));
    #[cfg(target_arch = "x86_64")]
    {
        create_calls.push((libc::SYS_open, 1, 2));
        mode_calls.extend([(libc::SYS_creat, 1), (libc::SYS_mknod, 1)]);
    }
    for (call, flags, mode) in create_calls {
        for flag in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
            for bit in [0o4000, 0o2000] {
                let flag = u64::from(flag.unsigned_abs());
                let condition = |argument: u8, bits: u64| {
                    SeccompCondition::new(
                        argument,
                        SeccompCmpArgLen::Dword,
                        SeccompCmpOp::MaskedEq(bits),
                        bits,
                    )
                };
                insert_refusal(rules, call, &[condition(flags, flag)?, condition(mode, bit)?])?;
            }
        }
    }
    for call in owner_calls {
        insert_refusal(rules, call, &[])?;
    }
    for (call, argument) in mode_calls {
        for bit in [0o4000, 0o2000] {
            let operator = SeccompCmpOp::MaskedEq(bit);
            let sets_bit = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, bit)?;
            insert_refusal(rules, call, &[sets_bit])?;
        }
    }
    Ok(())
}

/// Refuses `call`, if all `conditions` hold.
fn insert_refusal(
    rules: &mut BTreeMap<i64, Vec<SeccompRule>>,
    call: libc::c_long,
    conditions: &[SeccompCondition],
) -> Result<(), seccompiler::BackendError> {
    for number in [Some(call), x32_call_number(call)].into_iter().flatten() {
        let of_call = rules.entry(number).or_default();
        if !conditions.is_empty() {
            of_call.push(SeccompRule::new(conditions.to_vec())?);
        }
    }
    Ok(())
}

/// The number of `call` in the second table of x86-64, which a kernel may offer.
#[cfg(target_arch = "x86_64")]
fn x32_call_number(call: libc::c_long) -> Option<i64> {
    const X32_BIT: i64 = 0x4000_0000;
    // Calls with pointers to pointers have numbers of their own there.
    let own_number = match call {
        libc::SYS_ioctl => 514,
        libc::SYS_ptrace => 521,
        libc::SYS_kexec_load => 528,
        libc::SYS_process_vm_readv => 539,
        libc::SYS_process_vm_writev => 540,
        same => same,
    };
    Some(X32_BIT | own_number)
}

#[cfg(not(target_arch = "x86_64"))]
fn x32_call_number(_: libc::c_long) -> Option<i64> {
    None
}
