//! The `ringmail` binary. All code is in the library, except the choice of the allocator.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    ringmail::cli::main()
}
