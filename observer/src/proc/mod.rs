//! Files of `/proc`: where they are read, and a parser for each.
//!
//! Every parser takes the bytes of one file and returns `None`, or leaves out what is missing,
//! where the text is not what the kernel writes. None of them panics, whatever the bytes are.

pub mod cmdline;
pub mod diskstats;
pub mod files;
pub mod io;
pub mod meminfo;
pub mod mountinfo;
pub mod schedstat;
pub mod stat;
pub mod status;
pub mod words;
