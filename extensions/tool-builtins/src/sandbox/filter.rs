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

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]
mod tests {
    use super::*;

    const ALLOWED: u32 = 0x7fff_0000;
    const REFUSED: u32 = 0x0005_0000 | libc::EPERM as u32;

    /// The words that a filter reads: number, processor, instruction pointer and the six arguments.
    fn call_data(number: i64, arguments: &[u64]) -> Vec<u32> {
        const X86_64: u32 = 0xc000_003e;
        let halves = |value: u64| [value as u32, (value >> 32) as u32];
        let mut all = arguments.to_vec();
        all.resize(6, 0);
        [number as u32, X86_64, 0, 0].into_iter().chain(all.into_iter().flat_map(halves)).collect()
    }

    /// Runs a filter, as the kernel does.
    fn run_filter(program: &BpfProgram, data: &[u32]) -> u32 {
        let (mut value, mut place) = (0_u32, 0);
        loop {
            let instruction = &program[place];
            let k = instruction.k;
            place += 1;
            let jump = |holds: bool| usize::from(if holds { instruction.jt } else { instruction.jf });
            match instruction.code {
                // A word, a jump, comparisons, a mask and the result.
                0x20 => value = data[k as usize / 4],
                0x05 => place += k as usize,
                0x15 => place += jump(value == k),
                0x25 => place += jump(value > k),
                0x35 => place += jump(value >= k),
                0x45 => place += jump(value & k != 0),
                0x54 => value &= k,
                0x06 => return k,
                code => panic!("{code:#x} is no instruction of these filters"),
            }
        }
    }

    fn is_refused(permits_network: bool, number: i64, arguments: &[u64]) -> bool {
        let program = syscall_filter(permits_network).unwrap();
        match run_filter(&program, &call_data(number, arguments)) {
            REFUSED => true,
            ALLOWED => false,
            other => panic!("{other:#x}"),
        }
    }

    fn number(value: impl TryInto<u64>) -> u64 {
        value.try_into().ok().unwrap()
    }

    #[test]
    fn calls_that_reach_other_processes_or_the_kernel_are_refused_by_both_of_their_numbers() {
        for call in REFUSED_CALLS {
            for permits_network in [false, true] {
                assert!(is_refused(permits_network, *call, &[]), "{call}");
                assert!(is_refused(permits_network, x32_call_number(*call).unwrap(), &[]), "{call}");
            }
        }
        for call in [libc::SYS_read, libc::SYS_execve, libc::SYS_clone, libc::SYS_openat, libc::SYS_connect] {
            assert!(!is_refused(false, call, &[]), "{call}");
        }
        let own = [
            (libc::SYS_ioctl, 514),
            (libc::SYS_ptrace, 521),
            (libc::SYS_kexec_load, 528),
            (libc::SYS_process_vm_readv, 539),
            (libc::SYS_process_vm_writev, 540),
            (libc::SYS_mount, libc::SYS_mount),
        ];
        for (call, expected) in own {
            assert_eq!(x32_call_number(call), Some(0x4000_0000 + expected));
        }
    }

    #[test]
    fn requests_that_write_into_the_terminal_are_refused() {
        for request in REFUSED_REQUESTS {
            for call in [libc::SYS_ioctl, x32_call_number(libc::SYS_ioctl).unwrap()] {
                assert!(is_refused(false, call, &[1, request, 0]));
                assert!(is_refused(false, call, &[1, request | 1 << 40, 0]));
                assert!(!is_refused(false, call, &[request, libc::TCGETS, request]));
            }
        }
    }

    #[test]
    fn sockets_are_refused_or_those_of_other_families_where_the_network_is_permitted() {
        for (family, is_network) in [
            (libc::AF_INET, true),
            (libc::AF_INET6, true),
            (libc::AF_NETLINK, true),
            (libc::AF_UNIX, false),
            (libc::AF_PACKET, false),
            (libc::AF_VSOCK, false),
        ] {
            // The type of a socket has the number of a family, too.
            let arguments = [number(family), number(libc::SOCK_STREAM), number(libc::AF_INET)];
            assert!(is_refused(false, libc::SYS_socket, &arguments), "{family}");
            assert_eq!(is_refused(true, libc::SYS_socket, &arguments), !is_network, "{family}");
        }
    }

    #[test]
    fn pairs_of_sockets_are_streams_of_this_machine() {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        for (family, kind, refused) in [
            (libc::AF_UNIX, libc::SOCK_STREAM, false),
            (libc::AF_UNIX, libc::SOCK_STREAM | flags, false),
            (libc::AF_UNIX, libc::SOCK_SEQPACKET, false),
            (libc::AF_UNIX, libc::SOCK_DGRAM, true),
            (libc::AF_UNIX, libc::SOCK_DGRAM | flags, true),
            (libc::AF_UNIX, libc::SOCK_RAW, true),
            (libc::AF_INET, libc::SOCK_STREAM, true),
        ] {
            for permits_network in [false, true] {
                let arguments = [number(family), number(kind), 1];
                let found = is_refused(permits_network, libc::SYS_socketpair, &arguments);
                assert_eq!(found, refused, "{family} {kind}");
            }
        }
    }

    #[test]
    fn files_keep_their_owner_and_no_program_runs_as_its_owner() {
        for call in [libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_chown, libc::SYS_lchown] {
            assert!(is_refused(false, call, &[]), "{call}");
        }
        let mode_calls = [
            (libc::SYS_fchmod, 1),
            (libc::SYS_fchmodat, 2),
            (452, 2),
            (libc::SYS_chmod, 1),
            (libc::SYS_mknodat, 2),
            (libc::SYS_creat, 1),
            (libc::SYS_mknod, 1),
        ];
        for (call, place) in mode_calls {
            for (mode, refused) in
                [(0o4755, true), (0o2755, true), (0o6000, true), (0o1777, false), (0o755, false), (0, false)]
            {
                let mut arguments = [0; 6];
                arguments[place] = mode;
                assert_eq!(is_refused(true, call, &arguments), refused, "{call} {mode:o}");
                // Another argument is no mode.
                let mut others = [0o6777; 6];
                others[place] = mode;
                assert_eq!(is_refused(true, call, &others), refused, "{call} {mode:o}");
            }
        }
        let directory = libc::O_DIRECTORY;
        for (call, flags_place) in [(libc::SYS_openat, 2), (libc::SYS_open, 1)] {
            for (flags, mode, refused) in [
                (libc::O_CREAT, 0o4755, true),
                (libc::O_CREAT | libc::O_WRONLY, 0o2755, true),
                (libc::O_TMPFILE, 0o4755, true),
                (libc::O_CREAT, 0o1755, false),
                (libc::O_TMPFILE, 0o755, false),
                (libc::O_WRONLY, 0o6755, false),
                (directory, 0o6755, false),
            ] {
                let mut arguments = [0; 6];
                arguments[flags_place] = number(flags);
                arguments[flags_place + 1] = mode;
                assert_eq!(is_refused(false, call, &arguments), refused, "{call} {flags:o} {mode:o}");
            }
        }
    }
}
