//! The fuzz targets of the crate observer. `FUZZ_TARGET` is the name of one.
#![no_main]

mod cmdline;
mod diskstats;
mod elf;
mod environ;
mod gpu_readings;
mod maps;
#[path = "../../memory.rs"]
mod memory;
mod mpi_file;
mod mpi_memory;
mod nccl_answer;
mod profile;
mod python_memory;
#[path = "../../run_target.rs"]
mod run_target;
mod settings;
mod stack_answers;
mod torch_memory;
mod torch_message;
mod traffic;

use libfuzzer_sys::fuzz_target;

use self::run_target::Target;

const TARGETS: &[Target] = &[
    ("cmdline", cmdline::run),
    ("diskstats", diskstats::run),
    ("elf", elf::run),
    ("environ", environ::run),
    ("gpu_readings", gpu_readings::run),
    ("maps", maps::run),
    ("mpi_file", mpi_file::run),
    ("mpi_memory", mpi_memory::run),
    ("nccl_answer", nccl_answer::run),
    ("profile", profile::run),
    ("python_memory", python_memory::run),
    ("settings", settings::run),
    ("stack_answers", stack_answers::run),
    ("torch_memory", torch_memory::run),
    ("torch_message", torch_message::run),
    ("traffic", traffic::run),
];

fuzz_target!(|data: &[u8]| run_target::run(TARGETS, data));
