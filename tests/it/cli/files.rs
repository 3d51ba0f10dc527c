//! A server that has no file descriptor left.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::program::{Cli, Server};

/// Maximum number of open files of the server.
const FILES_MAX: usize = 80;

fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.api().strip_prefix("http://").unwrap()).unwrap()
}

#[test]
fn a_server_without_free_files_logs_one_error_and_answers_when_files_are_free() {
    let cli = Cli::new();
    let server = cli.serve_after(&format!("ulimit -n {FILES_MAX}"), &["dev", "--data-dir", "d"]);
    let open: Vec<TcpStream> = (0..FILES_MAX).map(|_| connect(&server)).collect();
    let mut waiting = connect(&server);
    waiting.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();

    // Several attempts to accept fail during this time.
    waiting.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let unanswered = waiting.read(&mut [0]).unwrap_err();
    assert!(matches!(unanswered.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{unanswered}");
    drop(open);

    waiting.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(r#"{"ok":true,"status":"ok"}"#), "{answer}");
    let errors = std::fs::read_to_string(cli.path("errors")).unwrap();
    let logged: Vec<&str> = errors.lines().filter(|line| line.contains("could not accept")).collect();
    assert_eq!(logged.len(), 1, "{errors}");
    assert!(logged[0].contains("ERROR") && logged[0].contains("open files"), "{errors}");
    assert_eq!(server.stop(), 0);
}
