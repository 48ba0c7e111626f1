//! The machine's clock, compared with the `Date` header of a server elsewhere.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use reqwest::header::DATE;
use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;
use url::Url;

use super::Finding;
use super::server::{self, span};
use crate::config::Settings;

/// Compares the clock with the first source that answers.
pub async fn check(named: Option<&Url>, settings: &Settings, hosts: &[String]) -> Finding {
    let check = "clock";
    let mut failed = Vec::new();
    for source in sources(named, settings, hosts) {
        match ahead(&source, named.is_some()).await {
            Ok(ahead) => return found(check, ahead, &source),
            Err(why) => failed.push(format!("{}: {why}", host(&source))),
        }
    }
    let message = match failed.is_empty() {
        true => "Not seen: there is no server elsewhere to compare the clock with.".to_owned(),
        false => format!("Not seen: {}.", failed.join("; ")),
    };
    Finding::unknown(
        check,
        message,
        "Name a server with a right clock by --time-source https://…, or check `timedatectl`.",
    )
}

/// The finding for a clock that is so many seconds ahead, within the second of the header.
fn found(check: &'static str, ahead: f64, source: &Url) -> Finding {
    let direction = if ahead > 0.0 { "ahead of" } else { "behind" };
    let host = host(source);
    let message = format!(
        "The clock is {} {direction} the Date header of {host}.",
        span(ahead.abs())
    );
    let advice = "Set the clock by NTP (`timedatectl set-ntp true`): signatures and the times of \
                  payments depend on it.";
    match ahead.abs() {
        off if off > WRONG => Finding::problem(check, message, advice),
        off if off > INEXACT => Finding::warning(check, message, advice),
        _ => Finding::ok(
            check,
            format!("It agrees with the Date header of {host} within {INEXACT} seconds."),
        ),
    }
}

/// Servers with a `Date` header: the named one, or those that the installation talks to.
fn sources(named: Option<&Url>, settings: &Settings, hosts: &[String]) -> Vec<Url> {
    if let Some(named) = named {
        return vec![named.clone()];
    }
    let hosts = hosts.iter().take(MOST_HOSTS);
    let of_gateways = hosts.filter_map(|host| Url::parse(&format!("https://{host}/")).ok());
    let others = [&settings.exchange.url, &settings.server.public_url];
    of_gateways
        .chain(others.into_iter().flatten().cloned())
        .collect()
}

/// Seconds that this machine's clock is ahead of the server's, 0 within the header's second.
async fn ahead(source: &Url, is_named: bool) -> Result<f64, String> {
    let is_here = !is_named && leads_here(source).await;
    if is_here {
        return Err("it is this machine, or cannot be reached".to_owned());
    }
    // A wrong clock makes valid certificates invalid. The header is compared, and nothing else is
    // taken from the response.
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .tls_danger_accept_invalid_certs(true)
        .timeout(TIMEOUT)
        .build()
        .map_err(|error| error.to_string())?;
    let clock = Clock::wall();
    let before = clock.now();
    let answer = http.head(source.clone()).send().await;
    let answer = answer.map_err(|error| server::reason(&error))?;
    let after = clock.now();
    let date = answer
        .headers()
        .get(DATE)
        .and_then(|date| date.to_str().ok());
    let date = date.and_then(Timestamp::parse_http);
    let date = date.ok_or("its response has no Date header")?;
    let date_end = date.as_seconds() + 1;
    Ok(match (before.as_seconds(), after.as_seconds()) {
        (before, _) if before > date_end => (before - date_end) as f64,
        (_, after) if after < date.as_seconds() => (after - date.as_seconds()) as f64,
        _ => 0.0,
    })
}

/// Whether a URL leads to an address of this machine, or to none.
async fn leads_here(source: &Url) -> bool {
    let (Some(host), Some(port)) = (source.host_str(), source.port_or_known_default()) else {
        return true;
    };
    let host = host.trim_matches(['[', ']']);
    let lookup = tokio::time::timeout(TIMEOUT, tokio::net::lookup_host((host, port)));
    let addresses = lookup.await.into_iter().flatten();
    let mut addresses = addresses.flatten();
    addresses.next().is_none_or(is_of_this_machine)
}

/// An address to which this machine sends from the same address is its own. No packet is sent.
fn is_of_this_machine(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => IpAddr::from([0, 0, 0, 0]),
        SocketAddr::V6(_) => IpAddr::from([0_u16; 8]),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    address.ip().is_loopback() || from.is_ok_and(|from| from.ip() == address.ip())
}

fn host(source: &Url) -> &str {
    source.host_str().unwrap_or_default()
}

/// Seconds from which the clock is inexact, and from which signatures fail.
const INEXACT: f64 = 5.0;
const WRONG: f64 = 60.0;
/// Hosts of gateways that are tried at most.
const MOST_HOSTS: usize = 3;
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::report::Level;

    #[test]
    fn a_clock_is_judged_by_its_distance_in_either_direction() {
        let source = Url::parse("https://time.example/").unwrap();
        for (ahead, level, words) in [
            (
                0.0,
                Level::Ok,
                "agrees with the Date header of time.example",
            ),
            (5.0, Level::Ok, "agrees"),
            (30.0, Level::Warning, "30 seconds ahead of"),
            (-30.0, Level::Warning, "30 seconds behind"),
            (-7_300.0, Level::Problem, "2 hours behind"),
            (90.0, Level::Problem, "90 seconds ahead of"),
        ] {
            let finding = found("clock", ahead, &source);
            assert_eq!(finding.level, level, "{ahead}");
            assert!(finding.message.contains(words), "{}", finding.message);
        }
    }

    #[test]
    fn addresses_of_this_machine_are_no_time_source() {
        assert!(is_of_this_machine("127.0.0.1:443".parse().unwrap()));
        assert!(is_of_this_machine("[::1]:443".parse().unwrap()));
        assert!(!is_of_this_machine("192.0.2.1:443".parse().unwrap()));
    }
}
