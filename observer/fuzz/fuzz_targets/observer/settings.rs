//! Fuzzes the settings of an observer. The first byte of each line selects an environment variable;
//! the rest of the line is the value of the variable.

use ridealong_observer::metrics::METRICS;
use ridealong_observer::runtime::settings::Settings;

const NAMES: [&str; 8] = [
    "RIDEALONG_TARGET_CONTAINER",
    "RIDEALONG_TARGET_COMMAND",
    "RIDEALONG_OBSERVERS",
    "RIDEALONG_OPTION_RATE",
    "RIDEALONG_OPTION_COMPLETIONS",
    "RIDEALONG_OPTION_TIMEOUT",
    "RIDEALONG_OPTION_MAX_LOG",
    "POD_NAME",
];

pub fn run(data: &[u8]) {
    let settings = Settings::read(&METRICS[0].declaration, Vec::new(), |name| {
        let place = NAMES.iter().position(|known| *known == name)?;
        let mut lines = data.split(|byte| *byte == b'\n');
        let line = lines.find(|line| {
            line.first()
                .is_some_and(|byte| usize::from(*byte) % NAMES.len() == place)
        })?;
        Some(line[1..].to_vec())
    });
    assert!(settings.rate >= 0.1 && settings.max_log >= 0.05);
    assert!(settings.timeout >= 0.0 && settings.completions >= 0.0);
}
