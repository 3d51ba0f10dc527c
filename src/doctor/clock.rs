//! The wall clock, compared with a time server by SNTP (RFC 4330).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::now_ms;
use super::report::SetupCheck;
use crate::base::random;
use crate::dns::Resolver;

const NAME: &str = "clock";
/// Port of time servers.
pub(super) const NTP_PORT: u16 = 123;
/// Time for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest difference of a correct clock. Signatures of webhooks and reports allow five minutes.
const DIFFERENCE_MAX_MS: i64 = 10_000;
/// Size of a message.
const MESSAGE_BYTES: usize = 48;
/// Version 4, client.
const REQUEST_MODE: u8 = 0x23;
/// Mode of a server, in the last three bits of the first byte.
const SERVER_MODE: u8 = 4;
/// Seconds from 1900 to 1970, and seconds of an era. The second era starts in 2036.
const NTP_TO_UNIX_S: i64 = 2_208_988_800;
const ERA_S: i64 = 1 << 32;

/// Asks the time server.
pub(super) async fn check(resolver: &Resolver, server: Option<&(String, u16)>) -> Vec<SetupCheck> {
    let Some((host, port)) = server else {
        return vec![SetupCheck::not_checked(NAME, "no time server is to be asked")];
    };
    let difference = async {
        let addresses = resolver.addresses(host, now_ms()).await.map_err(|error| error.to_string())?;
        let ip = addresses.first().ok_or("no such record")?;
        let asked = timeout(ANSWER_TIMEOUT, ask(SocketAddr::new(*ip, *port))).await;
        asked.unwrap_or_else(|_| Err(format!("no answer within {} s", ANSWER_TIMEOUT.as_secs())))
    };
    vec![judge(host, difference.await)]
}

/// Returns the time of the server minus the time of this machine, in milliseconds.
async fn ask(server: SocketAddr) -> Result<i64, String> {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let failed = |error: std::io::Error| error.kind().to_string();
    let socket = UdpSocket::bind((any, 0)).await.map_err(failed)?;
    socket.connect(server).await.map_err(failed)?;
    // The server repeats the transmit timestamp. A random one shows that the answer is to this request.
    let nonce: [u8; 8] = random::bytes();
    let mut request = [0; MESSAGE_BYTES];
    request[0] = REQUEST_MODE;
    request[40..].copy_from_slice(&nonce);
    let sent_ms = now_ms();
    socket.send(&request).await.map_err(failed)?;
    let mut answer = [0; MESSAGE_BYTES];
    loop {
        let bytes = socket.recv(&mut answer).await.map_err(failed)?;
        if bytes == MESSAGE_BYTES && answer[24..32] == nonce {
            return read(&answer, sent_ms, now_ms());
        }
    }
}

/// Returns the difference of an answer that arrived at `received_ms`.
fn read(answer: &[u8; MESSAGE_BYTES], sent_ms: i64, received_ms: i64) -> Result<i64, String> {
    let (leap, mode, stratum) = (answer[0] >> 6, answer[0] & 7, answer[1]);
    // Leap indicator 3 and stratum 0 are answers of a server without the time.
    if mode != SERVER_MODE || leap == 3 || !(1..=15).contains(&stratum) {
        return Err("the server does not know the time".into());
    }
    let at_ms = |from: usize| {
        let part = |from: usize| -> u32 { u32::from_be_bytes(std::array::from_fn(|index| answer[from + index])) };
        let (seconds, fraction) = (i64::from(part(from)), i64::from(part(from + 4)));
        // RFC 4330 §3: without the first bit, the second era.
        let era_s = if seconds < ERA_S / 2 { ERA_S } else { 0 };
        (seconds + era_s - NTP_TO_UNIX_S) * 1_000 + ((fraction * 1_000) >> 32)
    };
    let (server_received_ms, server_sent_ms) = (at_ms(32), at_ms(40));
    Ok(((server_received_ms - sent_ms) + (server_sent_ms - received_ms)) / 2)
}

fn judge(host: &str, difference: Result<i64, String>) -> SetupCheck {
    let expected = format!("the clock differs by at most {} s", DIFFERENCE_MAX_MS / 1_000);
    match difference {
        Err(why) => SetupCheck::not_checked(NAME, format!("{host}: {why}")),
        Ok(ms) if ms.abs() <= DIFFERENCE_MAX_MS => {
            SetupCheck::ok(NAME, format!("the clock differs from {host} by {} s", ms.abs() / 1_000), expected)
        }
        Ok(ms) => {
            let side = if ms > 0 { "behind" } else { "ahead of" };
            let seen = format!("the clock is {} s {side} {host}", ms.abs() / 1_000);
            let fix = "Turn on time synchronization, such as with `timedatectl set-ntp true`.";
            SetupCheck::failed(NAME, seen, expected, fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;
    use crate::doctor::CheckStatus::{self, Failed, NotChecked, Ok as Passed};

    /// Returns the bytes of a timestamp.
    fn timestamp(unix_ms: i64) -> [u8; 8] {
        let seconds = (unix_ms.div_euclid(1_000) + NTP_TO_UNIX_S) % ERA_S;
        let fraction = (unix_ms.rem_euclid(1_000) << 32) / 1_000 + 1;
        (((seconds << 32) | fraction).cast_unsigned()).to_be_bytes()
    }

    fn answer(nonce: &[u8], first: u8, stratum: u8, unix_ms: i64) -> [u8; MESSAGE_BYTES] {
        let mut answer = [0; MESSAGE_BYTES];
        (answer[0], answer[1]) = (first, stratum);
        answer[24..32].copy_from_slice(nonce);
        answer[32..40].copy_from_slice(&timestamp(unix_ms));
        answer[40..].copy_from_slice(&timestamp(unix_ms));
        answer
    }

    /// Checks the clock with a time server whose clock differs by `ahead_ms`. It first sends an answer to another
    /// request.
    async fn checked(ahead_ms: i64, stratum: u8) -> (CheckStatus, String) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let server = ("127.0.0.1".to_owned(), socket.local_addr().unwrap().port());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut request = [0; MESSAGE_BYTES];
            let (_, client) = socket.recv_from(&mut request).await.unwrap();
            let now_ms = now_ms() + ahead_ms;
            socket.send_to(&answer(&[7; 8], 0x24, 1, 0), client).await.unwrap();
            socket.send_to(&answer(&request[40..], 0x24, stratum, now_ms), client).await.unwrap();
        });
        let resolver = Resolver::with_servers(&["127.0.0.1:9".parse().unwrap()]).unwrap();
        let check = check(&resolver, Some(&server)).await.pop().unwrap();
        (check.status, check.seen)
    }

    #[tokio::test]
    async fn the_clock_is_compared_with_the_time_server() {
        for (ahead_ms, stratum, status, words) in [
            (0, 1, Passed, "by 0 s"),
            (-5_000, 2, Passed, "differs"),
            (60_500, 2, Failed, "60 s behind 127.0.0.1"),
            (-3_600_500, 2, Failed, "3600 s ahead of 127.0.0.1"),
            (0, 0, NotChecked, "does not know the time"),
        ] {
            let (its, seen) = checked(ahead_ms, stratum).await;
            assert!(its == status && seen.contains(words), "{ahead_ms} {stratum}: {its:?} {seen}");
        }
    }

    #[test]
    fn timestamps_after_2036_are_of_the_second_era() {
        let now_ms = 4_000_000_000_000;
        assert_eq!(read(&answer(&[0; 8], 0x24, 1, now_ms + 2_000), now_ms, now_ms), Ok(2_000));
        assert!(read(&answer(&[0; 8], 0xe4, 1, now_ms), now_ms, now_ms).is_err(), "leap indicator 3");
        assert!(read(&answer(&[0; 8], 0x23, 1, now_ms), now_ms, now_ms).is_err(), "no server");
    }

    #[tokio::test]
    async fn without_a_time_server_the_clock_is_not_checked() {
        let resolver = Resolver::with_servers(&["127.0.0.1:9".parse().unwrap()]).unwrap();

        assert_eq!(check(&resolver, None).await[0].status, NotChecked);
    }
}
