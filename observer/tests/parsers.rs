//! Properties of the parsers: no input makes a parser panic, and each parser returns the values
//! from which the text was generated.

use proptest::prelude::*;
use ridealong_observer::capacity::parse_limit;
use ridealong_observer::iostat;
use ridealong_observer::json::{clean, find_keyword, push_string};
use ridealong_observer::proc::diskstats::parse_line;
use ridealong_observer::proc::{cmdline, io, meminfo, mountinfo, schedstat, stat, status, words};
use ridealong_observer::program;

/// Text that resembles files of /proc: labels, numbers, blanks, newlines and other bytes.
fn like_proc() -> impl Strategy<Value = Vec<u8>> {
    let labels = "(Uid:|Gid:|VmRSS:|VmStk:|VmHWM:|VmSize:|voluntary_ctxt_switches:|read_bytes:|\\(|\\)|/pods/|/containers/|hidepid=|sda|-|MemTotal:)";
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
        let _ = (status::effective_capabilities(&text), parse_limit(&text));
        let _ = (io::parse(&text), schedstat::parse_wait(&text), meminfo::parse_total(&text));
        let _ = (mountinfo::container(&text), mountinfo::hidepid(&text), parse_line(&text));
        let _ = (program::name(&cmdline::parse(&text), b"comm"), iostat::devices(&text));
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
    fn numbers_agree_with_the_standard_library(text in "[0-9]{0,22}") {
        prop_assert_eq!(words::number(text.as_bytes()), text.parse().ok());
    }

    #[test]
    fn any_text_becomes_one_line_of_json_without_keywords(
        parts in prop::collection::vec(
            prop_oneof![
                "(POLICY|METRICS OPERATOR|STATISTICS|SWITCHING|THREADS|METADATA)".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..8),
            ],
            0..6,
        ),
    ) {
        let text = clean(&parts.concat());
        let mut out = Vec::new();
        push_string(&mut out, &text);
        let written = std::str::from_utf8(&out).unwrap();
        prop_assert_eq!(find_keyword(written), None);
        prop_assert!(!written.contains(|character: char| character.is_control()));
        prop_assert_eq!(serde_json::from_str::<String>(written).unwrap(), text);
    }
}
