//! How the text of a setting is read. Each parser says what is allowed.

use std::net::IpAddr;
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use ipnet::IpNet;
use lessor_adapters::postgres::Pooling;
use secrecy::SecretString;
use url::Url;

use crate::auth::server_key::{InvalidServerKeys, ServerKeys};
use crate::middleware::WebOrigin;
use crate::telemetry::LogFormat;

fn must<T>(value: Option<T>, be: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("must {be}"))
}

const FORM: &str = "be a whole number with a unit: 30s, 15m, 12h or 90d (up to 36500d)";

/// A time such as `30s`, `15m`, `12h` or `90d`.
///
/// # Errors
/// What is allowed, when the text is something else.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let time = Some(span(text)?).filter(|time| !time.is_zero());
    must(time, FORM)
}

/// A duration that may be none at all.
fn span(text: &str) -> Result<Duration, String> {
    let seconds = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)]
        .into_iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))
        .filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|(number, seconds)| number.parse::<u64>().ok()?.checked_mul(seconds))
        .filter(|seconds| (0..=36_500 * 86_400).contains(seconds));
    must(seconds.map(Duration::from_secs), FORM)
}

/// A time from `least` to `most`, both of them times.
pub(super) fn within(
    least: &'static str,
    most: &'static str,
) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let allowed = span(least)?..=span(most)?;
        let time = Some(span(text)?).filter(|time| allowed.contains(time));
        must(time, &format!("be from {least} to {most}"))
    }
}

/// A whole number from 1 to `most`.
pub(super) fn up_to<T: From<NonZeroU16>>(most: u16) -> impl Fn(&str) -> Result<T, String> + Clone {
    between(1, most)
}

/// A whole number from `least`, which is 1 or more, to `most`.
pub(super) fn between<T: From<NonZeroU16>>(
    least: u16,
    most: u16,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse::<NonZeroU16>().ok();
        let number = number.filter(|number| (least..=most).contains(&number.get()));
        let be = format!("be a whole number from {least} to {most}");
        must(number.map(T::from), &be)
    }
}

pub(super) fn server_keys(text: &str) -> Result<ServerKeys, InvalidServerKeys> {
    text.parse()
}

/// Secrets, separated by commas; where nothing stands between commas there is none.
pub(super) fn secrets(text: &str) -> Result<Vec<SecretString>, String> {
    let named = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let secrets: Vec<SecretString> = named.map(SecretString::from).collect();
    let given = text.is_empty() || !secrets.is_empty();
    must(given.then_some(secrets), "name at least one secret")
}

pub(super) fn flag(text: &str) -> Result<bool, String> {
    let value = match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    };
    must(value, "be true or false")
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    let format = match text {
        "human" => Some(LogFormat::Human),
        "json" => Some(LogFormat::Json),
        _ => None,
    };
    must(format, "be human or json")
}

pub(super) fn pooling(text: &str) -> Result<Pooling, String> {
    must(text.parse().ok(), "be session or transaction")
}

pub(super) fn rate_limit(text: &str) -> Result<Option<NonZeroU32>, String> {
    let limit = match text {
        "off" => Some(None),
        _ => text.parse().ok().map(Some),
    };
    must(limit, "be a whole number of requests a second, or off")
}

pub(super) fn listen(text: &str) -> Result<String, String> {
    let bare_ipv6 =
        |host: &str| host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    let address = (text.rsplit_once(':'))
        .filter(|(host, _)| !host.is_empty() && !bare_ipv6(host))
        .filter(|(_, port)| port.parse::<u16>().is_ok());
    must(
        address.map(|_| text.to_owned()),
        "be a host and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:80",
    )
}

/// Origins, separated by commas.
pub(super) fn origins(text: &str) -> Result<Vec<WebOrigin>, String> {
    let origins = text.split(',').filter(|_| !text.is_empty());
    origins
        .map(|origin| WebOrigin::parse(origin.trim()))
        .collect()
}

/// Networks or single addresses, separated by commas.
pub(super) fn networks(text: &str) -> Result<Vec<IpNet>, String> {
    let network = |text: &str| {
        let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
        text.parse::<IpNet>().ok().or_else(single)
    };
    let networks = text.split(',').filter(|_| !text.is_empty());
    let networks: Option<_> = networks.map(|text| network(text.trim())).collect();
    must(networks, "be networks or addresses, such as 10.0.0.0/8,::1")
}

/// An address that paths are put behind.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    let plain = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    };
    let url = Url::parse(text).ok().filter(plain);
    must(
        url.map(|_| text.trim_end_matches('/').to_owned()),
        "be an http or https address without a query, such as https://lease.example.com",
    )
}
