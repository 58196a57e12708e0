//! How the text of a setting is read. Each parser says what is allowed.

use std::net::IpAddr;
use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use super::Secret;
use crate::middleware::WebOrigin;
use crate::telemetry::LogFormat;

/// Fewer characters than this can be guessed.
const SHORTEST_SERVER_SECRET: usize = 32;
/// Less would cut requests off that are on their way.
const SHORTEST_PERIOD: Duration = Duration::from_secs(2);
const LONGEST_PERIOD: Duration = Duration::from_secs(600);

/// A time such as `30s`, `15m`, `12h` or `90d`.
///
/// # Errors
/// What is allowed, when the text is something else.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let refused =
        || "must be a whole number with a unit: 30s, 15m, 12h or 90d (up to 36500d)".to_owned();
    let (number, unit) = text
        .len()
        .checked_sub(1)
        .and_then(|at| text.split_at_checked(at))
        .ok_or_else(refused)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(refused()),
    };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(seconds))
        .filter(|seconds| (1..=36_500 * 86_400).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(refused)
}

pub(super) fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    Ok(PathBuf::from(text))
}

pub(super) fn secret(text: &str) -> Result<Secret, String> {
    Ok(Secret(text.to_owned()))
}

pub(super) fn server_secret(text: &str) -> Result<Secret, String> {
    if text.chars().count() < SHORTEST_SERVER_SECRET {
        return Err(format!(
            "must have {SHORTEST_SERVER_SECRET} characters or more"
        ));
    }
    secret(text)
}

pub(super) fn count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse::<NonZeroUsize>()
        .ok()
        .filter(|count| count.get() <= 1_000)
        .ok_or_else(|| "must be a whole number from 1 to 1000".to_owned())
}

pub(super) fn days(text: &str) -> Result<NonZeroU16, String> {
    text.parse::<NonZeroU16>()
        .ok()
        .filter(|days| days.get() <= 3_650)
        .ok_or_else(|| "must be a whole number of days from 1 to 3650".to_owned())
}

pub(super) fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "human" => Ok(LogFormat::Human),
        "json" => Ok(LogFormat::Json),
        _ => Err("must be human or json".to_owned()),
    }
}

pub(super) fn rate_limit(text: &str) -> Result<Option<NonZeroU32>, String> {
    if text == "off" {
        return Ok(None);
    }
    text.parse()
        .map(Some)
        .map_err(|_| "must be a whole number of requests a second, or off".to_owned())
}

pub(super) fn seconds_to_minutes(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if (SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&duration) {
        Ok(duration)
    } else {
        Err("must be from 2s to 10m".to_owned())
    }
}

pub(super) fn second_to_minute(text: &str) -> Result<Duration, String> {
    within(text, 1..=60, "from 1s to 1m")
}

pub(super) fn minute_to_month(text: &str) -> Result<Duration, String> {
    within(text, 60..=30 * 86_400, "from 1m to 30d")
}

pub(super) fn hour_to_year(text: &str) -> Result<Duration, String> {
    within(text, 3_600..=365 * 86_400, "from 1h to 365d")
}

fn within(text: &str, seconds: RangeInclusive<u64>, allowed: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if seconds.contains(&duration.as_secs()) {
        Ok(duration)
    } else {
        Err(format!("must be {allowed}"))
    }
}

pub(super) fn listen(text: &str) -> Result<String, String> {
    let refused =
        || "must be a host and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:80".to_owned();
    let (host, port) = text.rsplit_once(':').ok_or_else(refused)?;
    port.parse::<u16>().map_err(|_| refused())?;
    let bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    if host.is_empty() || bare_ipv6 {
        return Err(refused());
    }
    Ok(text.to_owned())
}

/// Origins, separated by commas.
pub(super) fn origins(text: &str) -> Result<Vec<WebOrigin>, String> {
    text.split(',')
        .map(|origin| WebOrigin::parse(origin.trim()))
        .collect()
}

/// Networks or single addresses, separated by commas.
pub(super) fn networks(text: &str) -> Result<Vec<IpNet>, String> {
    let network = |text: &str| {
        let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
        text.parse::<IpNet>().ok().or_else(single)
    };
    text.split(',')
        .map(|text| network(text.trim()))
        .collect::<Option<_>>()
        .ok_or_else(|| "must be networks or addresses, such as 10.0.0.0/8,::1".to_owned())
}

/// An address that paths are put behind.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    let refused = || {
        "must be an http or https address without a query, such as https://lease.example.com"
            .to_owned()
    };
    let url = Url::parse(text).map_err(|_| refused())?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if plain {
        Ok(text.trim_end_matches('/').to_owned())
    } else {
        Err(refused())
    }
}
