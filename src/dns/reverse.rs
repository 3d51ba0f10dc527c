//! Reverse DNS of an address: whether its name leads back to it. Large receivers refuse IPv6 without this.

use std::net::IpAddr;

use super::error::LookupError;
use super::resolver::Resolver;

/// Maximum number of names of one address that are looked up.
const NAMES_MAX: usize = 4;

/// Reverse DNS of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReverseDns {
    /// The address has this name, and the name has the address.
    Confirmed(String),
    /// The address has no name.
    NoName,
    /// The address has this name, and the name does not have the address.
    OtherAddress(String),
}

impl Resolver {
    /// Looks up the names of an address, and the addresses of each name. Bypasses the cache.
    ///
    /// # Errors
    /// [`LookupError::Temporary`] if a lookup failed that could have confirmed a name.
    pub async fn reverse_dns(&self, ip: IpAddr) -> Result<ReverseDns, LookupError> {
        let names = match self.ptr(ip).await {
            Ok(names) => names,
            Err(LookupError::NoSuchName | LookupError::NoRecords) => return Ok(ReverseDns::NoName),
            Err(error) => return Err(error),
        };
        let mut result = Ok(ReverseDns::NoName);
        for name in names.into_iter().take(NAMES_MAX) {
            match self.published_addresses(&name).await {
                Ok(addresses) if addresses.contains(&ip) => return Ok(ReverseDns::Confirmed(name)),
                Err(error @ LookupError::Temporary(_)) => result = Err(error),
                Ok(_) | Err(LookupError::NoSuchName | LookupError::NoRecords) => {
                    result = result.map(|_| ReverseDns::OtherAddress(name));
                }
            }
        }
        result
    }
}
