//! What an instance holds from its start to its end: the store and its key, the listener, the resolver.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use salvo::conn::tcp::TcpAcceptor;
use tokio::net::TcpSocket;

use super::error::StartError;
use crate::blocking;
use crate::clock::monotonic;
use crate::config::Config;
use crate::dns::Resolver;
use crate::store::{FILE_NAME, Keyring, OpenError, OpenOptions, Store};

/// Connections that may wait to be accepted.
const LISTEN_BACKLOG: u32 = 1_024;
/// How long a store in use is waited for.
const IN_USE_MAX: Duration = Duration::from_secs(3);
/// The pause between two attempts at it.
const IN_USE_PAUSE: Duration = Duration::from_millis(50);

/// Opens the store and its key, and waits for a moment where the store is in use: a verb of the
/// command line holds it while no server runs.
pub(super) async fn open_in_time(options: OpenOptions, key_file: PathBuf) -> Result<(Store, Keyring), OpenError> {
    let started = monotonic();
    loop {
        let (options, key_file) = (options.clone(), key_file.clone());
        match blocking::run(move || open(&options, &key_file)).await {
            Err(OpenError::InUse(_)) if started.elapsed() < IN_USE_MAX => tokio::time::sleep(IN_USE_PAUSE).await,
            opened => return opened,
        }
    }
}

/// Opens the store and its key. The key comes first, so that a start that is cut off between the
/// two leaves a key without a store, which the next start uses, and never a store without a key.
fn open(options: &OpenOptions, key_file: &Path) -> Result<(Store, Keyring), OpenError> {
    let path = options.directory.join(FILE_NAME);
    if path.is_file() {
        let keyring = Keyring::open_existing(key_file)?;
        return Ok((Store::open(options)?, keyring));
    }
    crate::store::make_directory(&options.directory)
        .map_err(|error| OpenError::Directory(options.directory.clone(), error))?;
    let keyring = Keyring::open(key_file)?;
    Ok((Store::open(options)?, keyring))
}

pub(super) fn bind_http(address: SocketAddr) -> Result<(TcpAcceptor, SocketAddr), StartError> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        // Accepted connections inherit it: an answer never waits for the acknowledgement of the last.
        socket.set_nodelay(true)?;
        socket.bind(address)?;
        let listener = socket.listen(LISTEN_BACKLOG)?;
        let bound = listener.local_addr()?;
        Ok((listener.try_into()?, bound))
    };
    listen().map_err(|error| StartError::Listen { address, flag: "--listen", error })
}

pub(super) fn resolver(config: &Config) -> Result<Arc<Resolver>, StartError> {
    let resolver =
        if config.resolvers.is_empty() { Resolver::system() } else { Resolver::with_servers(&config.resolvers) };
    resolver.map(Arc::new).map_err(StartError::Resolver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Kind;

    #[tokio::test]
    async fn a_store_that_is_held_for_a_moment_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let key_file = directory.path().join("master.key");
        let options = OpenOptions { directory: directory.path().to_owned(), kind: Kind::Serve, cache_bytes: 8 << 20 };
        let (held, _) = open(&options, &key_file).unwrap();
        assert!(matches!(open(&options, &key_file), Err(OpenError::InUse(_))));

        let (opened, ()) = tokio::join!(open_in_time(options, key_file), held.close());

        opened.unwrap().0.close().await;
    }
}
