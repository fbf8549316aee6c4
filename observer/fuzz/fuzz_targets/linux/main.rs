//! The fuzz targets of the crate linux. `FUZZ_TARGET` is the name of one.
#![no_main]

#[path = "../../run_target.rs"]
mod run_target;

use libfuzzer_sys::fuzz_target;
use linux::cgroup::limit::Limit;
use linux::cgroup::location::locate;
use linux::cgroup::{cpu_limit, cpu_stat, flat_keyed, stall};
use linux::proc::cpu_list::CpuList;
use linux::proc::mountinfo::{cgroup_mounts, container_mounts, hidepid};
use linux::proc::status::{allowed_processors, effective_capabilities, has_memory};
use linux::proc::{
    drm, fd, io, maps, meminfo, net_dev, net_snmp, numa_maps, sched, schedstat, smaps_rollup,
    sockstat, stat, status,
};
use linux::sock_diag::message::messages;
use linux::sock_diag::tcp_info::TcpInfo;

use self::run_target::Target;

/// The parsers of files of /proc and of cgroups, by the name of the file or of the module.
const TARGETS: &[Target] = &[
    ("cpu_list", check_cpu_lists),
    ("cpu_stat", |data| {
        ignore((cpu_stat::parse(data), flat_keyed::value(data, b"oom_kill")))
    }),
    ("drm", check_drm),
    ("fd", |data| ignore(fd::socket_inode(data))),
    ("io", |data| ignore(io::parse(data))),
    ("limit", check_limits),
    ("location", check_location),
    ("maps", |data| ignore(maps::file_names(data).count())),
    ("meminfo", |data| ignore(meminfo::parse_total(data))),
    ("mountinfo", check_mounts),
    ("net_dev", |data| ignore(net_dev::interfaces(data).count())),
    ("net_snmp", check_net_snmp),
    ("numa_maps", |data| ignore(numa_maps::parse(data))),
    ("sched", |data| ignore(sched::parse_migrations(data))),
    ("schedstat", |data| ignore(schedstat::parse_wait(data))),
    ("smaps_rollup", |data| ignore(smaps_rollup::parse(data))),
    ("sock_diag", |data| {
        ignore((messages(data).count(), TcpInfo::parse(data)))
    }),
    ("sockstat", |data| ignore(sockstat::tcp_in_use(data))),
    ("stall", |data| ignore(stall::parse(data))),
    ("stat", |data| ignore(stat::parse(data))),
    ("status", check_status),
];

fuzz_target!(|data: &[u8]| run_target::run(TARGETS, data));

/// Checks the parser of lists of processors, and the functions that count and compare them.
fn check_cpu_lists(data: &[u8]) {
    let (one, other) = data.split_at(data.len() / 2);
    if let (Some(one), Some(other)) = (CpuList::parse(one), CpuList::parse(other)) {
        assert_eq!(one.overlaps(&other), other.overlaps(&one));
        assert!(one.numbers(1024).len() as u64 <= one.count());
    }
}

/// Checks the parser of `/proc/PID/fdinfo/N` of open GPUs.
fn check_drm(data: &[u8]) {
    let Some(client) = drm::parse(data) else {
        return;
    };
    assert!(client.engines.len() <= 32);
    assert!(client.engines.iter().all(|engine| engine.capacity > 0));
}

/// Checks the parsers of the limits of a cgroup, such as `cpu.max` and `memory.max`.
fn check_limits(data: &[u8]) {
    let (quota, period) = data.split_at(data.len() / 2);
    let _ = (Limit::parse(data), cpu_limit::parse_max(data));
    let _ = cpu_limit::parse_quota(quota, period);
}

/// Checks the search for the cgroups of a process. The first empty line separates
/// `/proc/PID/cgroup` from `/proc/PID/mountinfo`.
fn check_location(data: &[u8]) {
    let at = data.windows(2).position(|pair| pair == b"\n\n");
    let (cgroup, mountinfo) = data.split_at(at.unwrap_or(data.len()));
    let location = locate(cgroup, mountinfo);
    for found in [&location.cpu, &location.memory, &location.unified] {
        assert!(
            found
                .as_ref()
                .is_none_or(|found| !found.path.starts_with(b"/"))
        );
    }
}

fn check_mounts(data: &[u8]) {
    let _ = (container_mounts(data).count(), hidepid(data));
    let _ = cgroup_mounts(data).len();
}

fn check_net_snmp(data: &[u8]) {
    let _ = net_snmp::value(data, b"Tcp", b"InSegs");
    let _ = net_snmp::value(data, b"", b"");
}

fn check_status(data: &[u8]) {
    let _ = (status::parse(data), has_memory(data));
    let _ = (effective_capabilities(data), allowed_processors(data));
}

/// Ignores what a parser returns: it must not panic.
fn ignore<Parsed>(_: Parsed) {}
