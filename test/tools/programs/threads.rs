// Threads that compute, one that panics, a child, and an exit code.
use std::process::{exit, Command};
use std::time::{Duration, Instant};

fn compute(seed: u64) -> u64 {
    let mut sum = seed;
    for number in 0..100_000_u64 {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(number));
    }
    sum
}

fn main() {
    std::panic::set_hook(Box::new(|_| eprintln!("panicked")));
    let threads = [1, 2].map(|seed| {
        std::thread::spawn(move || {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(900) {
                compute(seed);
            }
            compute(seed)
        })
    });
    for thread in threads {
        println!("{}", thread.join().unwrap());
    }
    println!("{}", std::thread::spawn(|| panic!("expected")).join().is_err());
    let status = Command::new("sh").args(["-c", "echo child; exit 8"]).status().unwrap();
    println!("{:?}", status.code());
    exit(31);
}
