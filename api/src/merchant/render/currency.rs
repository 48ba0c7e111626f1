//! A currency (docs/contract/resources.md).

use serde::Serialize;
use switchyard_core::money::Currency;
use utoipa::ToSchema;

use super::RenderContext;

#[derive(Serialize, ToSchema)]
pub struct CurrencyObject {
    /// ISO 4217.
    #[schema(example = "XOF")]
    code: &'static str,
    name: &'static str,
    name_plural: &'static str,
    symbol: &'static str,
    symbol_native: &'static str,
    symbol_first: bool,
    /// Digits after the decimal mark.
    decimals: u8,
    decimal_digits: u8,
    /// Step to which amounts are rounded; 0: none.
    rounding: u8,
    subunit: &'static str,
    subunit_to_unit: i64,
    decimal_mark: &'static str,
    thousands_separator: &'static str,
    icon_url: String,
}

/// A currency in the method lists.
#[derive(Serialize, ToSchema)]
pub struct CurrencyInList {
    #[schema(example = "XOF")]
    code: &'static str,
    name: &'static str,
    symbol: &'static str,
    icon_url: String,
}

impl CurrencyObject {
    pub fn new(context: &RenderContext<'_>, currency: Currency) -> Self {
        let info = currency.info();
        Self {
            code: info.code,
            name: info.name,
            name_plural: info.name_plural,
            symbol: info.symbol,
            symbol_native: info.symbol_native,
            symbol_first: info.symbol_first,
            decimals: info.decimals,
            decimal_digits: info.decimals,
            rounding: info.rounding,
            subunit: info.subunit,
            subunit_to_unit: info.subunit_to_unit(),
            decimal_mark: info.decimal_mark,
            thousands_separator: info.thousands_separator,
            icon_url: context.url(&info.icon_path()),
        }
    }
}

impl CurrencyInList {
    pub fn new(public_url: &str, currency: Currency) -> Self {
        let info = currency.info();
        Self {
            code: info.code,
            name: info.name,
            symbol: info.symbol,
            icon_url: format!("{public_url}{}", info.icon_path()),
        }
    }
}
