//! The clients of GPUs, and what each process has used through them.
//!
//! A client is an open file of a GPU. A process can have it open under several numbers, and
//! processes inherit it or send it to each other. Each client counts for one process only: the
//! first one that was seen with it, and another one when that has closed it or has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use linux::proc::drm::{Client, Engine};

use crate::sampling::process::Key;

/// The maximum clients that are remembered.
const MAX_CLIENTS: usize = 4096;
/// The rounds of readings for which a client is remembered that no process has, because a process
/// that is read later in a round may have it.
const MAX_ROUNDS: u64 = 2;

/// A device, by its address on the PCI bus, or by its driver if it has none.
pub type Device = String;

/// What a process has used of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// The driver of the device.
    pub driver: String,
    /// The clients that count for the process.
    pub clients: u64,
    /// Bytes of its clients in the memory of the device.
    pub memory: Option<u64>,
    /// Bytes of its clients in the memory of the node.
    pub system_memory: Option<u64>,
    /// The engines of the device that it has used, by their names.
    pub engines: BTreeMap<String, EngineUse>,
}

/// What a process has used of an engine, or of a group of identical engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineUse {
    /// The nanoseconds for which the engines were busy for it, summed over the engines.
    pub busy: u64,
    /// The number of engines.
    pub capacity: u64,
}

/// The clients that are known, and what each process has used.
#[derive(Debug, Default)]
pub struct Clients {
    known: BTreeMap<(Device, u64), Known>,
    uses: BTreeMap<(Key, Device), Use>,
    round: u64,
}

/// A client.
#[derive(Debug)]
struct Known {
    /// The process for which the client counts.
    owner: Option<Key>,
    /// The round of readings in which the client lost its last owner.
    left: u64,
    engines: BTreeMap<String, Counter>,
}

impl Clients {
    /// Takes the clients that a process has open at the time `now`, in seconds since boot. Returns
    /// whether all of them are counted: there may be too many.
    pub fn take(&mut self, key: Key, clients: &[Client<'_>], now: f64) -> bool {
        for (_, own) in self.uses.range_mut(range(key)) {
            own.clients = 0;
            own.memory = own.memory.map(|_| 0);
            own.system_memory = own.system_memory.map(|_| 0);
        }
        let mut open = BTreeSet::new();
        let mut has_room = true;
        for client in clients {
            let Some(id) = client.id else { continue };
            let name = (device_of(client), id);
            if open.contains(&name) {
                continue;
            }
            let is_new = !self.known.contains_key(&name);
            if is_new && self.known.len() == MAX_CLIENTS {
                has_room = false;
                continue;
            }
            self.take_client(key, &name, client, now);
            open.insert(name);
        }
        self.leave(|name, owner| owner == key && !open.contains(name));
        has_room
    }

    fn take_client(&mut self, key: Key, name: &(Device, u64), client: &Client<'_>, now: f64) {
        let known = self.known.entry(name.clone()).or_insert_with(|| Known {
            owner: None,
            left: self.round,
            engines: BTreeMap::new(),
        });
        if *known.owner.get_or_insert(key) != key {
            return;
        }
        let own = self.uses.entry((key, name.0.clone())).or_default();
        client.driver.clone_into(&mut own.driver);
        own.clients += 1;
        own.memory = add(own.memory, client.memory);
        own.system_memory = add(own.system_memory, client.system_memory);
        for engine in &client.engines {
            let counter = known.engines.entry(engine.name.to_owned()).or_default();
            let Some(growth) = counter.take(engine, now) else {
                continue;
            };
            let own = own.engines.entry(engine.name.to_owned()).or_default();
            own.busy = own.busy.saturating_add(growth);
            own.capacity = engine.capacity;
        }
    }

    /// Takes clients from their owners.
    fn leave(&mut self, has_left: impl Fn(&(Device, u64), Key) -> bool) {
        for (name, known) in &mut self.known {
            if known.owner.is_some_and(|owner| has_left(name, owner)) {
                known.owner = None;
                known.left = self.round;
            }
        }
    }

    /// Forgets the processes that have ended.
    pub fn forget(&mut self, is_alive: impl Fn(Key) -> bool) {
        self.leave(|_, owner| !is_alive(owner));
        self.uses.retain(|(key, _), _| is_alive(*key));
    }

    /// Ends a round of readings, in which all processes were read.
    pub fn end_round(&mut self) {
        self.round += 1;
        let round = self.round;
        let is_open = |known: &Known| known.owner.is_some() || known.left + MAX_ROUNDS > round;
        self.known.retain(|_, known| is_open(known));
    }

    /// Returns what a process has used, by device.
    pub fn of_process(&self, key: Key) -> impl Iterator<Item = (&Device, &Use)> {
        let all = self.uses.range(range(key));
        all.map(|((_, device), own)| (device, own))
    }
}

/// The devices of a process.
fn range(key: Key) -> std::ops::Range<(Key, Device)> {
    (key, Device::new())..(key + 1, Device::new())
}

fn device_of(client: &Client<'_>) -> Device {
    client.device.unwrap_or(client.driver).to_owned()
}

fn add(sum: Option<u64>, number: Option<u64>) -> Option<u64> {
    match (sum, number) {
        (Some(sum), Some(number)) => Some(sum.saturating_add(number)),
        (sum, number) => sum.or(number),
    }
}

/// The use of an engine by a client at its last reading. A driver may report less than before,
/// until it has caught up with the larger number.
#[derive(Debug, Default)]
struct Counter {
    busy: u64,
    cycles: Option<Cycles>,
}

#[derive(Clone, Copy, Debug)]
struct Cycles {
    busy: u64,
    total: u64,
    /// The time of the reading in seconds since boot.
    at: f64,
}

impl Counter {
    /// Returns the nanoseconds for which the engines were busy since the last reading. If the
    /// driver counts cycles, the time before the first reading is not known, and counts as 0.
    /// `None` if the driver counts neither.
    fn take(&mut self, engine: &Engine<'_>, now: f64) -> Option<u64> {
        if let Some(busy) = engine.busy {
            let growth = busy.saturating_sub(self.busy);
            self.busy = self.busy.max(busy);
            return Some(growth);
        }
        let next = Cycles {
            busy: engine.cycles?,
            total: engine.total_cycles?,
            at: now,
        };
        let last = *self.cycles.get_or_insert(next);
        if next.busy < last.busy && next.total > last.total {
            return Some(0);
        }
        self.cycles = Some(next);
        Some(next.nanoseconds_since(&last))
    }
}

impl Cycles {
    /// Returns 0 if the clock of the engine has not advanced, or has begun again.
    fn nanoseconds_since(&self, last: &Self) -> u64 {
        let elapsed = Duration::try_from_secs_f64(self.at - last.at).unwrap_or_default();
        let busy = u128::from(self.busy.saturating_sub(last.busy));
        let total = u128::from(self.total.saturating_sub(last.total));
        let nanoseconds = busy
            .saturating_mul(elapsed.as_nanos())
            .checked_div(total)
            .unwrap_or(0);
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = "0000:03:00.0";

    fn client(id: u64, busy: u64) -> Client<'static> {
        Client {
            driver: "amdgpu",
            device: Some(DEVICE),
            id: Some(id),
            engines: vec![Engine {
                busy: Some(busy),
                ..Engine::new("compute")
            }],
            memory: Some(100),
            system_memory: None,
        }
    }

    fn busy(clients: &Clients, key: Key) -> Option<u64> {
        let (_, own) = clients.of_process(key).next()?;
        Some(own.engines.get("compute")?.busy)
    }

    #[test]
    fn a_client_counts_once_for_a_process() {
        let mut clients = Clients::default();
        assert!(clients.take(1, &[client(7, 30), client(7, 30), client(8, 5)], 0.0));
        let (device, own) = clients.of_process(1).next().unwrap();
        assert_eq!((device.as_str(), &*own.driver), (DEVICE, "amdgpu"));
        assert_eq!((own.clients, own.memory), (2, Some(200)));
        assert_eq!(own.system_memory, None);
        assert_eq!(busy(&clients, 1), Some(35));
    }

    #[test]
    fn a_client_counts_for_one_process_only() {
        let mut clients = Clients::default();
        clients.take(1, &[client(7, 30)], 0.0);
        clients.take(2, &[client(7, 40)], 0.0);
        assert_eq!((busy(&clients, 1), busy(&clients, 2)), (Some(30), None));
        clients.end_round();
        // The first process closes it.
        clients.take(1, &[], 5.0);
        clients.take(2, &[client(7, 50)], 5.0);
        assert_eq!((busy(&clients, 1), busy(&clients, 2)), (Some(30), Some(20)));
        let own = |key| clients.of_process(key).next().unwrap().1;
        assert_eq!((own(1).clients, own(1).memory), (0, Some(0)));
        assert_eq!((own(2).clients, own(2).memory), (1, Some(100)));
    }

    #[test]
    fn a_client_stays_known_until_all_processes_were_read() {
        let mut clients = Clients::default();
        clients.take(2, &[client(7, 30)], 0.0);
        clients.end_round();
        // The process that has it now was read before the one that closes it.
        clients.take(2, &[], 5.0);
        clients.end_round();
        clients.take(1, &[client(7, 45)], 10.0);
        assert_eq!((busy(&clients, 1), busy(&clients, 2)), (Some(15), Some(30)));
        clients.forget(|key| key == 2);
        clients.end_round();
        clients.end_round();
        assert!(clients.known.is_empty());
        assert_eq!((busy(&clients, 1), busy(&clients, 2)), (None, Some(30)));
    }

    #[test]
    fn a_closed_client_stays_in_the_sum_of_its_process() {
        let mut clients = Clients::default();
        clients.take(1, &[client(7, 30)], 0.0);
        clients.take(1, &[client(8, 5)], 5.0);
        assert_eq!(busy(&clients, 1), Some(35));
    }

    #[test]
    fn a_counter_that_decreases_counts_once_it_has_caught_up() {
        let mut clients = Clients::default();
        let mut expected = Vec::new();
        for number in [30, 20, 25, 34] {
            clients.take(1, &[client(7, number)], 0.0);
            expected.push(busy(&clients, 1).unwrap());
        }
        assert_eq!(expected, [30, 30, 30, 34]);
    }

    #[test]
    fn cycles_become_a_part_of_the_time_between_two_readings() {
        let mut counter = Counter::default();
        let mut take = |cycles, total, now| {
            let engine = Engine {
                cycles: Some(cycles),
                total_cycles: Some(total),
                ..Engine::new("ccs")
            };
            counter.take(&engine, now)
        };
        assert_eq!(take(500, 1000, 10.0), Some(0));
        assert_eq!(take(750, 2000, 12.0), Some(500_000_000));
        // Less than before: the next reading covers the time since the largest number.
        assert_eq!(take(700, 3000, 14.0), Some(0));
        assert_eq!(take(1750, 4000, 16.0), Some(2_000_000_000));
        // The clock of the device has begun again.
        assert_eq!(take(1800, 100, 18.0), Some(0));
        assert_eq!(take(1850, 200, 20.0), Some(1_000_000_000));
        assert_eq!(take(1850, 200, 22.0), Some(0));
        assert_eq!(counter.take(&Engine::new("ccs"), 24.0), None);
    }

    #[test]
    fn a_device_without_an_address_has_the_name_of_its_driver() {
        let mut clients = Clients::default();
        let other = Client {
            driver: "panthor",
            device: None,
            ..client(1, 3)
        };
        let unnamed = Client {
            id: None,
            ..client(9, 9)
        };
        clients.take(1, &[other, unnamed, client(1, 4)], 0.0);
        let devices: Vec<_> = clients.of_process(1).map(|(device, _)| &**device).collect();
        assert_eq!(devices, [DEVICE, "panthor"]);
    }

    #[test]
    fn there_are_at_most_so_many_clients() {
        let mut clients = Clients::default();
        let many: Vec<_> = (0..=MAX_CLIENTS as u64).map(|id| client(id, 1)).collect();
        assert!(!clients.take(1, &many, 0.0));
        assert_eq!(busy(&clients, 1), Some(MAX_CLIENTS as u64));
        clients.take(1, &many[1..], 1.0);
        clients.end_round();
        clients.end_round();
        assert!(clients.take(1, &many[1..], 2.0));
    }
}
