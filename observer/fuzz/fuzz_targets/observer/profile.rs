//! Fuzzes the reader of profiles: the records, and then their functions and the sums of samples.

use ridealong_observer::metrics::cpu_profile::functions::{Addresses, Functions};
use ridealong_observer::metrics::cpu_profile::tally::Tally;
use ridealong_observer::metrics::cpu_profile::{maps, records};

pub fn run(data: &[u8]) {
    // Without a valid header, nothing else is read.
    let words = [0_u64, 3, 0, 10_000, 0];
    let header: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    let file = [&header, data].concat();
    let mut addresses = Addresses::default();
    let outline = records::read(file.as_slice(), |_, stack| addresses.add(stack));
    let Some(outline) = outline else { return };
    let mappings = outline.maps.map(|from| maps::read(file.as_slice(), from));
    let mappings = mappings.unwrap_or_default();
    let functions = Functions::resolve(addresses, &mappings, |_| Some(data.to_vec()));
    let mut tally = Tally::new(&functions);
    let mut numbers = Vec::new();
    records::read(file.as_slice(), |samples, stack| {
        functions.of_stack(stack, &mut numbers);
        tally.add(samples, &numbers);
    });
    let own: u64 = tally.functions.iter().map(|samples| samples.own).sum();
    assert_eq!(own, outline.samples);
}
