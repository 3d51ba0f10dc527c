//! A port without a listener.

use tokio::net::TcpSocket;

/// A port of this machine that refuses connections. The socket keeps it, so that no other test listens there.
pub(crate) struct ClosedPort(TcpSocket);

impl ClosedPort {
    pub(crate) fn bind() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        Self(socket)
    }

    pub(crate) fn number(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }
}
