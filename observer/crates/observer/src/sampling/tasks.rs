//! Sums of counters that the kernel keeps only for each thread: context switches, run-queue time,
//! migrations, and I/O without children. Each scan adds the growth of every thread since the last
//! scan to the sum of its process. The growth between the last scan and the end of a thread is
//! lost.
//!
//! A thread that executes a program ends all other threads, and takes the id of the process
//! (fs/exec.c, `de_thread`). Its counters continue under the new id.

use linux::proc::io::Io;

use crate::sampling::counters::Switches;

/// Counters of a thread, which only grow.
pub trait ThreadCounters: Copy + Default {
    /// Returns the growth since `before`. `None` if a counter has fallen: `before` is then a state
    /// of another thread.
    fn since(self, before: Self) -> Option<Self>;

    /// Adds other counters.
    fn add(&mut self, other: Self);

    /// Returns the sum of the counters, to compare two growths of the same thread.
    fn size(self) -> u64;

    /// Fills in the counters that could not be read because the thread ended meanwhile.
    fn fill(&mut self, _before: Self) {}
}

impl ThreadCounters for u64 {
    fn since(self, before: Self) -> Option<Self> {
        self.checked_sub(before)
    }

    fn add(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }

    fn size(self) -> u64 {
        self
    }
}

impl ThreadCounters for Io {
    fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            read: self.read.checked_sub(before.read)?,
            written: self.written.checked_sub(before.written)?,
            cancelled: self.cancelled.checked_sub(before.cancelled)?,
        })
    }

    fn add(&mut self, other: Self) {
        self.read.add(other.read);
        self.written.add(other.written);
        self.cancelled.add(other.cancelled);
    }

    fn size(self) -> u64 {
        self.read.saturating_add(self.written)
    }
}

impl ThreadCounters for Switches {
    fn since(self, before: Self) -> Option<Self> {
        let wait = match self.wait {
            Some(wait) => Some(wait.since(before.wait.unwrap_or(0))?),
            None => None,
        };
        Some(Self {
            voluntary: self.voluntary.since(before.voluntary)?,
            involuntary: self.involuntary.since(before.involuntary)?,
            wait,
        })
    }

    fn add(&mut self, other: Self) {
        self.voluntary.add(other.voluntary);
        self.involuntary.add(other.involuntary);
        if let Some(wait) = other.wait {
            self.wait.get_or_insert(0).add(wait);
        }
    }

    fn size(self) -> u64 {
        let switches = self.voluntary.saturating_add(self.involuntary);
        switches.saturating_add(self.wait.unwrap_or(0))
    }

    fn fill(&mut self, before: Self) {
        self.wait = self.wait.or(before.wait);
    }
}

/// The counters of each thread of a process at the last scan, sorted by thread id.
#[derive(Clone, Debug, Default)]
pub struct ThreadStates<T>(Vec<(i32, T)>);

impl<T: ThreadCounters> ThreadStates<T> {
    /// Creates the states of a process that had only its first thread until now.
    pub fn of_first(pid: i32, counters: T) -> Self {
        Self(vec![(pid, counters)])
    }

    /// Adds the growth of each thread's counters to the sum of the process `pid`, and replaces the
    /// states by `now`. `has_executed` says that the process has executed a program since the last
    /// scan.
    pub fn update(&mut self, sum: &mut T, pid: i32, mut now: Vec<(i32, T)>, has_executed: bool) {
        now.sort_unstable_by_key(|(tid, _)| *tid);
        // A program may also change the name of its process, which looks like an execution. But
        // after an execution, no other thread is left.
        let is_known = |tid: i32| self.find(tid).is_some();
        let is_left = now.iter().any(|(tid, _)| *tid != pid && is_known(*tid));
        let has_executed = has_executed && !is_left;
        for (tid, counters) in &mut now {
            let known = self.find(*tid).unwrap_or_default();
            counters.fill(known);
            let growth = if *tid == pid {
                let same = counters.since(known).filter(|_| !has_executed);
                same.unwrap_or_else(|| self.growth_of_executor(*counters))
            } else {
                // If a counter has fallen, this is a new thread with the id of an earlier one.
                let same = counters.since(known).filter(|_| !has_executed);
                same.unwrap_or(*counters)
            };
            sum.add(growth);
        }
        self.0 = now;
    }

    /// Returns the growth of the thread that has executed a program. It had any of the known ids,
    /// or started after the last scan. Of the threads whose counters fit, the one with the least
    /// growth is used, so that nothing is counted twice.
    fn growth_of_executor(&self, counters: T) -> T {
        let growths = self
            .0
            .iter()
            .filter_map(|(_, known)| counters.since(*known));
        let least = growths.min_by_key(|growth| growth.size());
        least.unwrap_or(counters)
    }

    fn find(&self, tid: i32) -> Option<T> {
        let found = self.0.binary_search_by_key(&tid, |(known, _)| *known);
        found.ok().map(|at| self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn switches(voluntary: u64, wait: Option<u64>) -> Switches {
        Switches {
            voluntary,
            involuntary: 1,
            wait,
        }
    }

    fn io(read: u64, written: u64) -> Io {
        Io {
            read,
            written,
            cancelled: 0,
        }
    }

    #[test]
    fn a_sum_includes_threads_that_have_ended() {
        let mut sum = Switches::default();
        let mut last = ThreadStates::default();
        let mut update = |now| {
            last.update(&mut sum, 7, now, false);
            (sum.voluntary, sum.involuntary, sum.wait)
        };
        let first = vec![(9, switches(5, Some(100))), (7, switches(10, Some(50)))];
        assert_eq!(update(first), (15, 2, Some(150)));
        let second = vec![(7, switches(12, None)), (11, switches(1, Some(4)))];
        assert_eq!(update(second), (18, 3, Some(154)));
        assert_eq!(
            update(vec![(7, switches(12, Some(60)))]),
            (18, 3, Some(164))
        );
    }

    #[test]
    fn bytes_are_added_once() {
        let mut sum = Io::default();
        let mut last = ThreadStates::default();
        last.update(&mut sum, 7, vec![(7, io(1, 2))], false);
        last.update(&mut sum, 7, vec![(7, io(1, 5)), (8, io(3, 0))], false);
        assert_eq!(sum, io(4, 5));
    }

    #[test]
    fn the_counters_of_a_thread_that_executes_a_program_are_added_once() {
        for (before, now, expected) in [
            // The second thread has executed the program.
            (vec![(7, 4), (8, 3000)], 3010, 3014),
            // The first thread has executed it.
            (vec![(7, 3000), (8, 4)], 3010, 3014),
            // A thread that started after the last scan has executed it.
            (vec![(7, 4), (8, 3000)], 3, 3007),
        ] {
            let (mut sum, mut last) = (0_u64, ThreadStates::default());
            last.update(&mut sum, 7, before, false);
            last.update(&mut sum, 7, vec![(7, now)], true);
            assert_eq!(sum, expected, "{now}");
        }
    }

    #[test]
    fn a_process_that_only_changes_its_name_has_the_same_threads() {
        let (mut sum, mut last) = (0_u64, ThreadStates::default());
        last.update(&mut sum, 7, vec![(7, 10), (8, 50)], false);
        last.update(&mut sum, 7, vec![(7, 60), (8, 50)], true);
        assert_eq!(sum, 110);
    }

    #[test]
    fn a_new_thread_with_the_id_of_an_earlier_thread_counts_from_zero() {
        let (mut sum, mut last) = (0_u64, ThreadStates::default());
        last.update(&mut sum, 7, vec![(7, 1), (8, 50)], false);
        last.update(&mut sum, 7, vec![(7, 1), (8, 20)], false);
        assert_eq!(sum, 71);
    }

    /// An event in the life of a process. The numbers choose a thread.
    #[derive(Clone, Debug)]
    enum Event {
        Work(usize, u64),
        Start,
        End(usize),
        Execute(usize),
        Scan,
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            4 => (any::<usize>(), 0..100_u64).prop_map(|(at, count)| Event::Work(at, count)),
            2 => Just(Event::Start),
            1 => any::<usize>().prop_map(Event::End),
            1 => any::<usize>().prop_map(Event::Execute),
            3 => Just(Event::Scan),
        ];
        prop::collection::vec(event, 0..60)
    }

    /// A process with the id 1, and the amount that its threads have counted.
    struct Life {
        threads: BTreeMap<i32, u64>,
        truth: u64,
        next: i32,
        has_executed: bool,
    }

    impl Life {
        fn choose(&self, at: usize) -> i32 {
            let ids: Vec<i32> = self.threads.keys().copied().collect();
            ids[at % ids.len()]
        }

        fn take(&mut self, event: &Event) {
            match event {
                Event::Work(at, count) => {
                    *self.threads.get_mut(&self.choose(*at)).unwrap() += count;
                    self.truth += count;
                }
                Event::Start => {
                    // The kernel reuses an id only after all others.
                    self.next += 1;
                    self.threads.insert(self.next, 0);
                }
                Event::End(at) => {
                    let tid = self.choose(*at);
                    if tid != 1 {
                        self.threads.remove(&tid);
                    }
                }
                Event::Execute(at) => {
                    let count = self.threads[&self.choose(*at)];
                    self.threads = BTreeMap::from([(1, count)]);
                    self.has_executed = true;
                }
                Event::Scan => {}
            }
        }
    }

    proptest! {
        #[test]
        fn a_sum_is_at_most_the_truth(events in events()) {
            let mut life = Life {
                threads: BTreeMap::from([(1, 0)]),
                truth: 0,
                next: 1,
                has_executed: false,
            };
            let (mut sum, mut last) = (0_u64, ThreadStates::default());
            for event in events {
                life.take(&event);
                if matches!(event, Event::Scan) {
                    let now = life.threads.clone().into_iter().collect();
                    last.update(&mut sum, 1, now, std::mem::take(&mut life.has_executed));
                    prop_assert!(sum <= life.truth, "{sum} of {}", life.truth);
                }
            }
        }

        #[test]
        fn the_sum_of_a_process_that_executes_no_program_is_exact(
            work in prop::collection::vec((any::<usize>(), 0..100_u64), 0..60),
        ) {
            let (mut threads, mut truth) = (BTreeMap::from([(1, 0), (2, 0), (3, 0)]), 0);
            let (mut sum, mut last) = (0_u64, ThreadStates::default());
            for (at, count) in work {
                *threads.get_mut(&i32::try_from(at % 3 + 1).unwrap()).unwrap() += count;
                truth += count;
                last.update(&mut sum, 1, threads.clone().into_iter().collect(), false);
                prop_assert_eq!(sum, truth);
            }
        }
    }
}
