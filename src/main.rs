//! The `ringmail` binary. All code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ringmail::cli::main()
}
