//! Fuzzes the table of TCP sockets. The input is split into steps of 300 bytes. The first byte of a
//! step selects whether the sockets in its messages are closed, read, or read and assigned to a
//! process.

use linux::proc::files::OpenSocket;
use linux::sock_diag::message::{Message, messages};
use ridealong_observer::metrics::network::traffic_table::TrafficTable;

pub fn run(data: &[u8]) {
    let mut table = TrafficTable::default();
    let mut round = 0;
    for (at, step) in data.chunks(300).enumerate() {
        let [kind, datagram @ ..] = step else {
            continue;
        };
        let key = u64::from(kind >> 4);
        let now = f64::from(u32::try_from(at).unwrap_or(0));
        table.begin_reading(5);
        for message in messages(datagram) {
            let Message::Socket(socket) = message else {
                continue;
            };
            match kind & 3 {
                0 => table.close(&socket),
                1 => table.take(&socket, now, round),
                _ => {
                    table.take(&socket, now, round);
                    let inode = socket.inode;
                    table.assign(key, &[OpenSocket { file: 0, inode }]);
                }
            }
        }
        if kind & 4 != 0 {
            round += 1;
            table.end_round(round, now);
        }
        for check in table.due_checks() {
            if check.key == key {
                table.release(&check, now, round);
            } else {
                table.confirm(&check);
            }
        }
        table.settle(kind & 8 != 0);
        table.drain_growth(|_, process, _| process.sum = Some(0));
        table.forget_ended(|alive| alive != key);
        if let Some(process) = table.of_process(key) {
            let _ = process.take_flows_to_print().count();
        }
    }
    table.close_all();
}
