//! What the answers of several resources are made of.

use lessor_domain::address::Address;
use serde::Serialize;
use utoipa::ToSchema;

/// A postal address.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Address)]
#[serde(rename_all = "camelCase")]
pub struct AddressRecord {
    /// Given name of who receives there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name of who receives there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Company.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// Street and number.
    pub address1: String,
    /// Second line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address2: Option<String>,
    /// City.
    pub city: String,
    /// State or province.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Postal code.
    pub zip: String,
    /// Country, ISO 3166-1 alpha-2.
    pub country: String,
    /// Phone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}

impl From<&Address> for AddressRecord {
    fn from(address: &Address) -> Self {
        let text =
            |line: &Option<lessor_domain::text::Line>| line.as_ref().map(ToString::to_string);
        Self {
            first_name: text(&address.first_name),
            last_name: text(&address.last_name),
            company: text(&address.company),
            address1: address.address1.to_string(),
            address2: text(&address.address2),
            city: address.city.to_string(),
            state: text(&address.state),
            zip: address.zip.to_string(),
            country: address.country.to_string(),
            phone: text(&address.phone),
        }
    }
}
