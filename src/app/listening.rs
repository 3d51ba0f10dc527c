//! Listeners of HTTP, the source addresses of SMTP sessions, and the DNS resolver.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use salvo::conn::tcp::TcpAcceptor;
use tokio::net::{TcpListener, TcpSocket};

use super::error::StartError;
use crate::config::Config;
use crate::dns::Resolver;

/// Maximum number of connections that are not accepted yet.
const LISTEN_BACKLOG: u32 = 1_024;

/// A bound socket of HTTP. Both listeners accept its connections.
pub(super) struct HttpSocket {
    pub(super) address: SocketAddr,
    /// Listener until the store is open.
    pub(super) starting: TcpAcceptor,
    pub(super) ready: TcpAcceptor,
}

/// Binds an address of HTTP, which `flag` sets.
pub(super) fn bind_http(address: SocketAddr, flag: &'static str) -> Result<HttpSocket, StartError> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        // Accepted connections inherit this option. Without it, a response may wait for the acknowledgement of the
        // previous one (Nagle's algorithm).
        socket.set_nodelay(true)?;
        socket.bind(address)?;
        let listener = socket.listen(LISTEN_BACKLOG)?.into_std()?;
        let starting = TcpListener::from_std(listener.try_clone()?)?.try_into()?;
        let bound = listener.local_addr()?;
        Ok(HttpSocket { address: bound, starting, ready: TcpListener::from_std(listener)?.try_into()? })
    };
    listen().map_err(|error| StartError::Listen { address, flag, error })
}

/// Checks that sessions can start from each source address. Otherwise all hosts would seem to be down.
pub(super) fn check_sources(config: &Config) -> Result<(), StartError> {
    for source in &config.routes.sources {
        let address = source.address;
        UdpSocket::bind((address, 0)).map_err(|error| StartError::Source { address, error })?;
    }
    Ok(())
}

pub(super) fn resolver(config: &Config) -> Result<Arc<Resolver>, StartError> {
    config.resolver().map(Arc::new).map_err(StartError::Resolver)
}
