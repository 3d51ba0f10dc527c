//! A port without a listener.

use tokio::net::TcpSocket;

/// A port of this machine that refuses connections. The socket keeps it, so that no other test gets it. A test can
/// listen on it at any time, because neither socket excludes the other. The port of a dropped socket can still be in
/// use, by a child process that has not begun its program.
pub(crate) struct ClosedPort(TcpSocket);

impl ClosedPort {
    pub(crate) fn bind() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        Self(socket)
    }

    pub(crate) fn number(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }
}
