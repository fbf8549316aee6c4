//! Properties of the parsers: no input makes a parser panic, and each parser returns the values
//! from which the text was generated.

use linux::cgroup::limit::Limit;
use linux::cgroup::location::locate;
use linux::cgroup::{cpu_limit, cpu_stat, flat_keyed, stall};
use linux::proc::cpu_list::CpuList;
use linux::proc::diskstats::parse_line;
use linux::proc::{
    cgroup, cmdline, drm, fd, io, maps, meminfo, mountinfo, net_dev, net_snmp, numa_maps, sched,
    schedstat, smaps_rollup, sockstat, stat, status, syscall, task_state, timers, words,
};
use linux::sock_diag::message::{Message, messages};
use linux::sock_diag::tcp_info::TcpInfo;
use proptest::prelude::*;

/// Text that resembles files of /proc: labels, numbers, blanks, newlines and other bytes.
fn like_proc() -> impl Strategy<Value = Vec<u8>> {
    let labels = "(Uid:|Gid:|VmRSS:|VmStk:|VmHWM:|VmSize:|voluntary_ctxt_switches:|read_bytes:|\\(|\\)|/pods/|/containers/|hidepid=|sda|-|MemTotal:|cgroup2?|N[0-9]=|kernelpagesize_kB=|some|full|total=|max|usage_usec|Pss:|0::|Tcp:|TcpExt:|InSegs|eth0:|socket:\\[|\\]|State:|SigBlk:|running|0x|signal: 23/|drm-(driver|client-id|pdev|engine-gfx|engine-capacity-gfx|cycles-gfx|total-cycles-gfx|resident-vram): | ns\\n| KiB\\n)";
    let word = prop_oneof![
        labels.prop_map(String::into_bytes),
        any::<u64>().prop_map(|number| number.to_string().into_bytes()),
        "[0-9]{18,25}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..5),
    ];
    let separator = "[ \n\t\0]?".prop_map(String::into_bytes);
    prop::collection::vec((word, separator), 0..80).prop_map(|parts| {
        let parts = parts.into_iter().map(|(word, end)| [word, end].concat());
        parts.collect::<Vec<_>>().concat()
    })
}

proptest! {
    #[test]
    fn no_parser_panics(text in like_proc()) {
        let _ = (stat::parse(&text), status::parse(&text), status::has_memory(&text));
        let _ = (status::effective_capabilities(&text), Limit::parse(&text));
        let _ = (io::parse(&text), schedstat::parse_wait(&text), meminfo::parse_total(&text));
        let _ = (mountinfo::container_mounts(&text).count(), mountinfo::hidepid(&text), parse_line(&text));
        let _ = (mountinfo::cgroup_mounts(&text).len(), cgroup::memberships(&text).count());
        let _ = (maps::file_names(&text).count(), numa_maps::parse(&text), sched::parse_migrations(&text), CpuList::parse(&text));
        let _ = (smaps_rollup::parse(&text), status::allowed_processors(&text));
        let _ = (cpu_stat::parse(&text), stall::parse(&text), flat_keyed::value(&text, b"max"));
        let _ = (cpu_limit::parse_max(&text), cpu_limit::parse_quota(&text, &text));
        let _ = (locate(&text, &text), net_dev::interfaces(&text).count());
        let _ = (net_snmp::value(&text, b"Tcp", b"InSegs"), fd::socket_inode(&text));
        let _ = (cmdline::parse(&text), sockstat::tcp_in_use(&text), syscall::parse(&text));
        let _ = (task_state::parse(&text), timers::value_of_signal(&text, 23), drm::parse(&text));
    }

    #[test]
    fn no_message_of_the_kernel_makes_the_parsers_panic(
        words in prop::collection::vec(prop_oneof![0..300_u32, any::<u32>()], 0..200),
        cut in 0..4_usize,
    ) {
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
        bytes.truncate(bytes.len().saturating_sub(cut));
        let _ = (messages(&bytes).count(), TcpInfo::parse(&bytes));
    }

    #[test]
    fn each_socket_of_a_datagram_is_found(
        sockets in prop::collection::vec((any::<u32>(), any::<u64>(), 0..1_u64 << 40, 0..1_u64 << 40, 0..3_usize), 0..9),
    ) {
        let mut datagram = Vec::new();
        for (inode, cookie, sent, again, padding) in &sockets {
            let mut body = vec![0; 72];
            body[0] = 2;
            body[44..52].copy_from_slice(&cookie.to_ne_bytes());
            body[68..72].copy_from_slice(&inode.to_ne_bytes());
            // Another attribute of one to three bytes, then the counters.
            body.extend([5 + u16::try_from(*padding).unwrap(), 10].map(u16::to_ne_bytes).concat());
            body.extend([0; 4]);
            body.extend([4 + 248_u16, 2].map(u16::to_ne_bytes).concat());
            let mut info = [0; 248];
            info[200..208].copy_from_slice(&(sent + again).to_ne_bytes());
            info[208..216].copy_from_slice(&again.to_ne_bytes());
            body.extend(info);
            let length = u32::try_from(16 + body.len()).unwrap();
            datagram.extend(length.to_ne_bytes());
            datagram.extend(20_u32.to_ne_bytes());
            datagram.extend([0; 8]);
            datagram.extend(body);
        }
        let found: Vec<_> = messages(&datagram)
            .map(|message| match message {
                Message::Socket(socket) => (socket.inode, socket.cookie, socket.info.sent),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected: Vec<_> = sockets.iter().map(|(inode, cookie, sent, ..)| (*inode, *cookie, *sent)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn the_counters_of_an_interface_are_read(counters in prop::array::uniform16(any::<u64>()), name in "[a-z0-9.@-]{1,15}") {
        let words: Vec<String> = counters.iter().map(u64::to_string).collect();
        let text = format!("Inter-| Receive | Transmit\n face |bytes|bytes\n {name}:{}\n", words.join("  "));
        let found: Vec<_> = net_dev::interfaces(text.as_bytes()).collect();
        prop_assert_eq!(found.len(), 1);
        let (received, sent) = (found[0].received, found[0].sent);
        prop_assert_eq!(found[0].name, name.as_bytes());
        prop_assert_eq!([received.bytes, received.packets, received.errors, received.dropped], &counters[..4]);
        prop_assert_eq!([sent.bytes, sent.packets, sent.errors, sent.dropped], &counters[8..12]);
    }

    #[test]
    fn a_stat_is_parsed_with_any_process_name(
        comm in prop::collection::vec(any::<u8>(), 0..16),
        fields in prop::collection::vec(0..u64::from(u32::MAX >> 1), 49),
    ) {
        let numbers: Vec<String> = fields.iter().map(u64::to_string).collect();
        let text = [b"7 (", comm.as_slice(), b") S ", numbers.join(" ").as_bytes(), b"\n"].concat();
        let stat = stat::parse(&text).unwrap();
        prop_assert_eq!(stat.comm, comm.as_slice());
        // `fields[0]` is field 4 in proc(5).
        let field = |place: usize| fields[place - 4];
        prop_assert_eq!(u64::from(stat.ppid.unsigned_abs()), field(4));
        let (counters, gauges) = (stat.counters, stat.gauges);
        prop_assert_eq!((counters.minflt, counters.utime), (field(10), field(14)));
        prop_assert_eq!((counters.guest, counters.cguest), (field(43), field(44)));
        prop_assert_eq!((stat.start, stat.stack), (field(22), field(28)));
        prop_assert_eq!((gauges.threads, gauges.processor), (field(20), field(39)));
        prop_assert_eq!(gauges.policy, field(41));
    }

    #[test]
    fn a_status_is_parsed_with_any_process_name(
        name in "[^\n]{0,15}",
        uid: u32,
        sizes in prop::array::uniform4(any::<u32>()),
        switches in any::<(u64, u64)>(),
    ) {
        let [size, peak, resident, stack] = sizes;
        let text = format!(
            "Name:\t{name}\nUid:\t{uid}\t0\t0\t0\nGid:\t0\t0\t0\t0\nVmSize:\t{size:8} kB\nVmHWM:\t{peak:8} kB\n\
             VmRSS:\t{resident:8} kB\nVmStk:\t{stack:8} kB\nvoluntary_ctxt_switches:\t{}\n\
             nonvoluntary_ctxt_switches:\t{}\n",
            switches.0, switches.1,
        );
        let status = status::parse(text.as_bytes()).unwrap();
        let memory = status.memory.unwrap();
        prop_assert_eq!(status.uids[0], uid);
        prop_assert_eq!((memory.size, memory.peak), (u64::from(size), u64::from(peak)));
        prop_assert_eq!((memory.resident, memory.stack), (u64::from(resident), u64::from(stack)));
        prop_assert_eq!((status.voluntary, status.involuntary), switches);
    }

    #[test]
    fn a_cpu_stat_of_either_version_is_read(
        counts in prop::array::uniform3(any::<u32>()),
        microseconds: u32,
    ) {
        let [periods, throttled, usage] = counts.map(u64::from);
        let time = u64::from(microseconds) * 1000;
        let one = format!("nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time {time}\n");
        let two = format!(
            "usage_usec {usage}\nnr_periods {periods}\nnr_throttled {throttled}\n\
             throttled_usec {microseconds}\n",
        );
        for (text, used) in [(one, None), (two, Some(usage * 1000))] {
            let expected = cpu_stat::CpuStat {
                periods: Some(periods),
                throttled_periods: Some(throttled),
                throttled: Some(time),
                usage: used,
            };
            prop_assert_eq!(cpu_stat::parse(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_list_of_processors_contains_its_numbers(numbers in prop::collection::btree_set(0..64_u32, 0..20)) {
        let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let list = CpuList::parse(words.join(",").as_bytes()).unwrap();
        prop_assert_eq!(list.count(), numbers.len() as u64);
        prop_assert_eq!(list.numbers(64), numbers.iter().copied().collect::<Vec<_>>());
        for number in 0..64 {
            let single = CpuList::parse(number.to_string().as_bytes()).unwrap();
            prop_assert_eq!(list.overlaps(&single), numbers.contains(&number));
        }
    }

    #[test]
    fn pages_of_each_node_are_summed(
        mappings in prop::collection::vec((any::<u16>(), any::<u16>(), prop_oneof![Just(4_u64), Just(2048)]), 0..9),
    ) {
        let lines = mappings.iter().map(|(one, other, size)| {
            format!("7f0 default anon=1 N0={one} N1={other} kernelpagesize_kB={size}\n")
        });
        let nodes = numa_maps::parse(lines.collect::<String>().as_bytes()).unwrap();
        let sum = |pick: fn(&(u16, u16, u64)) -> u64| mappings.iter().map(pick).sum::<u64>();
        prop_assert_eq!(nodes.get(&0).copied().unwrap_or(0), sum(|one| u64::from(one.0) * one.2));
        prop_assert_eq!(nodes.get(&1).copied().unwrap_or(0), sum(|one| u64::from(one.1) * one.2));
    }

    #[test]
    fn the_cgroup_of_a_process_is_below_the_mount(
        names in prop::collection::vec("[a-z.]{3,8}", 0..5),
        mounted in 0..5_usize,
    ) {
        let path = |names: &[String]| format!("/{}", names.join("/"));
        let mounted = mounted.min(names.len());
        let mountinfo = format!("1 2 0:3 {} /sys/fs/cgroup ro - cgroup2 cgroup rw\n", path(&names[..mounted]));
        let found = locate(format!("0::{}\n", path(&names)).as_bytes(), mountinfo.as_bytes());
        // If only a cgroup is mounted, and not the whole hierarchy, it is the container's cgroup.
        let below = if mounted == 0 { &names[..] } else { &[] };
        let expected = [&["sys/fs/cgroup".to_owned()], below].concat().join("/");
        prop_assert_eq!(found.memory.map(|found| found.path), Some(expected.into_bytes()));
    }

    #[test]
    fn numbers_agree_with_the_standard_library(text in "[0-9]{0,22}") {
        prop_assert_eq!(words::number(text.as_bytes()), text.parse().ok());
    }
}
