//! The variables of a process that set the options of its NCCL.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use encode::json::clean;

use crate::sampling::environ::{find, number};

/// The port of the service (`src/ras/ras_internal.h`).
const PORT: u16 = 28028;
/// The maximum bytes of an address in a message.
const MAX_ADDRESS: usize = 128;

/// The variables of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// Whether NCCL has no service: `NCCL_RAS_ENABLE` is 0.
    pub is_off: bool,
    /// The address of the service: `NCCL_RAS_ADDR`.
    pub address: Option<String>,
}

impl Variables {
    /// Parses the variables of a process, each of which ends with a zero byte.
    pub fn parse(environ: &[u8]) -> Self {
        let address = find(environ, "NCCL_RAS_ADDR").filter(|value| !value.is_empty());
        Self {
            is_off: find(environ, "NCCL_RAS_ENABLE").and_then(number) == Some(0),
            address: address.map(|value| clean(&value[..value.len().min(MAX_ADDRESS)])),
        }
    }
}

/// Returns the addresses at which the service can listen, in the order in which they are tried.
/// Without a value of `NCCL_RAS_ADDR`, it listens on the first address of `localhost`.
///
/// # Errors
/// A sentence if the value is not an address of this host: the observer resolves no names, and
/// connects to no other host.
pub fn addresses(
    value: Option<&str>,
    is_own: impl Fn(&IpAddr) -> bool,
) -> Result<Vec<SocketAddr>, String> {
    let Some(value) = value else {
        return Ok(local(PORT));
    };
    if let Some(port) = value.strip_prefix("localhost:") {
        let port = port.parse().map_err(|_| wrong(value))?;
        return Ok(local(port));
    }
    let address: SocketAddr = value.parse().map_err(|_| wrong(value))?;
    if address.ip().is_unspecified() {
        return Ok(local(address.port()));
    }
    if address.ip().is_loopback() || is_own(&address.ip()) {
        return Ok(vec![address]);
    }
    Err(wrong(value))
}

fn local(port: u16) -> Vec<SocketAddr> {
    vec![
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
    ]
}

fn wrong(value: &str) -> String {
    format!(
        "NCCL_RAS_ADDR is {value}; it must be localhost or an IP address of this pod, and a port, \
         for example localhost:28028"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[&str]) -> Variables {
        Variables::parse(variables.join("\0").as_bytes())
    }

    #[test]
    fn the_service_can_be_off_or_elsewhere() {
        let variables = parse(&["NCCL_RAS_ENABLE=0", "NCCL_RAS_ADDR=localhost:12345"]);
        assert!(variables.is_off);
        assert_eq!(variables.address.as_deref(), Some("localhost:12345"));
        assert!(!parse(&["NCCL_RAS_ENABLE=1"]).is_off && !parse(&[]).is_off);
    }

    #[test]
    fn only_addresses_of_this_host_are_used() {
        let own = |ip: &IpAddr| *ip == IpAddr::from([10, 0, 0, 5]);
        let of = |value: &str| addresses(Some(value), own).map(|all| all[0].to_string());
        assert_eq!(addresses(None, own).map(|all| all.len()), Ok(2));
        assert_eq!(of("localhost:7"), Ok("127.0.0.1:7".to_owned()));
        assert_eq!(of("0.0.0.0:7"), Ok("127.0.0.1:7".to_owned()));
        assert_eq!(of("[::1]:7"), Ok("[::1]:7".to_owned()));
        assert_eq!(of("10.0.0.5:7"), Ok("10.0.0.5:7".to_owned()));
        for value in ["10.0.0.6:7", "host:7", "localhost", "localhost:99999", ""] {
            assert!(of(value).is_err(), "{value}");
        }
    }
}
