//! A limit for work that is not needed at each sample: reading where the memory of a process is,
//! looking for the processes of sockets, and reading the counters of processes that may end.

/// The part of a core that the work may use, averaged over the run.
const SHARE: f64 = 0.001;
/// Seconds of processor time that the work may use in addition to its share.
const BURST: f64 = 0.05;

/// The processor time that the work may use.
#[derive(Debug)]
pub struct CostLimit {
    began: f64,
    spent: f64,
}

impl CostLimit {
    /// Creates the limit for a run that began at the time `began`, in seconds since boot.
    pub fn new(began: f64) -> Self {
        Self { began, spent: 0.0 }
    }

    /// Whether another process may be read now.
    pub fn allows_more(&self, now: f64) -> bool {
        self.spent <= BURST + (now - self.began) * SHARE
    }

    /// Counts seconds of processor time.
    pub fn count(&mut self, seconds: f64) {
        self.spent += seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_use_a_share_of_a_core() {
        let mut limit = CostLimit::new(100.0);
        assert!(limit.allows_more(100.0));
        limit.count(0.25);
        assert!(!limit.allows_more(299.0));
        assert!(limit.allows_more(301.0));
    }
}
