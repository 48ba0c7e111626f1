//! Client of a request and its location (docs/contract/resources.md).

use serde::Serialize;
use switchyard_core::directory::{Country, country};
use switchyard_core::transaction::ClientContext;
use utoipa::ToSchema;
use woothee::parser::Parser;

/// The verify form.
#[derive(Serialize, ToSchema)]
pub struct ContextVerified<'a> {
    ip: &'a str,
    user_agent: UserAgent,
    /// Null while the country is not known.
    country: Option<CountryObject>,
    /// A locale, such as `fr-BJ`.
    #[schema(example = "en")]
    local: &'a str,
}

/// The retrieve form.
#[derive(Serialize, ToSchema)]
pub struct ContextRetrieved<'a> {
    ip: &'a str,
    user_agent: &'a str,
    /// ISO 3166-1 alpha-2; empty while the country is not known.
    country: &'a str,
    #[schema(example = "en")]
    local: &'a str,
}

/// Browser, parsed from its user agent.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct UserAgent {
    is_desktop: bool,
    is_robot: bool,
    platform: String,
    browser: String,
    version: String,
    device: String,
    is_mobile: bool,
    is_phone: bool,
    is_tablet: bool,
    is_ios: bool,
    is_android: bool,
}

#[derive(Serialize, ToSchema)]
pub struct CountryObject {
    name: &'static str,
    /// ISO 3166-1 alpha-2.
    code: &'static str,
    alpha_3_code: &'static str,
    /// Digits of the calling code, without a plus.
    dial_code: &'static str,
    currency: &'static str,
    currency_symbol: &'static str,
    /// The emoji.
    flag: &'static str,
}

impl<'a> ContextVerified<'a> {
    pub fn new(context: &'a ClientContext) -> Self {
        Self {
            ip: context.ip.as_deref().unwrap_or_default(),
            user_agent: UserAgent::parse(context.user_agent.as_deref().unwrap_or_default()),
            country: context
                .country
                .as_deref()
                .and_then(country)
                .map(CountryObject::new),
            local: locale(context),
        }
    }
}

impl<'a> ContextRetrieved<'a> {
    pub fn new(context: &'a ClientContext) -> Self {
        Self {
            ip: context.ip.as_deref().unwrap_or_default(),
            user_agent: context.user_agent.as_deref().unwrap_or_default(),
            country: context.country.as_deref().unwrap_or_default(),
            local: locale(context),
        }
    }
}

impl CountryObject {
    pub fn new(country: &'static Country) -> Self {
        Self {
            name: country.name,
            code: country.alpha2,
            alpha_3_code: country.alpha3,
            dial_code: country.dial_code,
            currency: country.currency.code(),
            currency_symbol: country.currency_symbol,
            flag: country.flag,
        }
    }
}

impl UserAgent {
    /// Parses a user agent. Unknown programs have no properties.
    pub fn parse(text: &str) -> Self {
        let found = Parser::new().parse(text);
        let known = |value: &str| {
            if value == UNKNOWN {
                String::new()
            } else {
                value.to_owned()
            }
        };
        let category = found.as_ref().map_or("", |found| found.category);
        let os = found.as_ref().map_or("", |found| found.os);
        let is_android = os == "Android";
        let is_tablet = text.contains("iPad")
            || (is_android && !text.contains("Mobile"))
            || text.contains("Tablet");
        let is_mobile = is_tablet || matches!(category, "smartphone" | "mobilephone");
        Self {
            is_desktop: category == "pc" && !is_tablet,
            is_robot: category == "crawler",
            platform: known(os),
            browser: found
                .as_ref()
                .map_or_else(String::new, |found| known(found.name)),
            version: found
                .as_ref()
                .map_or_else(String::new, |found| known(found.version)),
            device: device(is_tablet, is_mobile, category).to_owned(),
            is_mobile,
            is_phone: is_mobile && !is_tablet,
            is_tablet,
            is_ios: matches!(os, "iPhone" | "iPad" | "iPod" | "iOS"),
            is_android,
        }
    }
}

fn device(is_tablet: bool, is_mobile: bool, category: &str) -> &'static str {
    match category {
        _ if is_tablet => "tablet",
        _ if is_mobile => "phone",
        "pc" => "desktop",
        "crawler" => "robot",
        _ => "",
    }
}

fn locale(context: &ClientContext) -> &str {
    context.locale.as_deref().unwrap_or("en")
}

const UNKNOWN: &str = "UNKNOWN";

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(agent: &UserAgent) -> Vec<&'static str> {
        let table = [
            (agent.is_desktop, "desktop"),
            (agent.is_robot, "robot"),
            (agent.is_mobile, "mobile"),
            (agent.is_phone, "phone"),
            (agent.is_tablet, "tablet"),
            (agent.is_ios, "ios"),
            (agent.is_android, "android"),
        ];
        table
            .into_iter()
            .filter_map(|(is, name)| is.then_some(name))
            .collect()
    }

    #[test]
    fn a_user_agent_tells_what_it_runs_on() {
        let android = "Mozilla/5.0 (Linux; Android 14; SM-A155F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0";
        let table: [(String, &[&str], &str); 6] = [
            (format!("{android} Mobile Safari/537.36"), &["mobile", "phone", "android"], "Chrome"),
            (format!("{android} Safari/537.36"), &["mobile", "tablet", "android"], "Chrome"),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 \
                 Mobile/15E148 Safari/604.1"
                    .to_owned(),
                &["mobile", "phone", "ios"],
                "Safari",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0".to_owned(),
                &["desktop"],
                "Firefox",
            ),
            ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)".to_owned(), &["robot"], "Googlebot"),
            (String::new(), &[], ""),
        ];
        for (text, expected, browser) in table {
            let agent = UserAgent::parse(&text);
            assert_eq!(flags(&agent), expected, "{text}");
            assert_eq!(agent.browser, browser, "{text}");
        }
    }
}
