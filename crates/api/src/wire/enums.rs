//! Enumerations of the domain, as requests and answers have them.

use lessor_domain::services::lease_terms::Method;
use lessor_domain::{catalog, lease_term, ports};

/// Declares the wire form of an enumeration: its names, its schema, and conversions that name every
/// value, so that neither side can grow alone.
macro_rules! wire_enum {
    ($(#[$meta:meta])* $name:ident = $domain:path { $($variant:ident = $wire:tt),* $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, utoipa::ToSchema,
        )]
        pub enum $name {
            $(
                #[doc = concat!("`", $wire, "`")]
                #[serde(rename = $wire)]
                $variant,
            )*
        }

        impl From<$domain> for $name {
            fn from(value: $domain) -> Self {
                use $domain as Domain;
                match value {
                    $(Domain::$variant => Self::$variant,)*
                }
            }
        }

        impl From<$name> for $domain {
            fn from(value: $name) -> Self {
                use $domain as Domain;
                match value {
                    $($name::$variant => Domain::$variant,)*
                }
            }
        }
    };
}

pub(crate) use wire_enum;

wire_enum! {
    /// Where a product's data come from.
    ProductSource = catalog::ProductSource {
        Manual = "manual",
        Shopify = "shopify",
        Woocommerce = "woocommerce",
        Bigcommerce = "bigcommerce",
    }
}

wire_enum! {
    /// Whether a product can be leased on its own.
    ProductType = catalog::ProductType {
        Leasable = "leasable",
        AddOn = "add-on",
    }
}

wire_enum! {
    /// Whether a product or variant is offered.
    ProductStatus = catalog::ProductStatus {
        Active = "active",
        Inactive = "inactive",
        Archived = "archived",
    }
}

wire_enum! {
    /// What the review of a product said.
    ReviewStatus = catalog::ReviewStatus {
        Pending = "pending",
        Approved = "approved",
        Rejected = "rejected",
        ChangesRequested = "changesRequested",
    }
}

wire_enum! {
    /// Whether a lease term is offered.
    LeaseTermStatus = lease_term::LeaseTermStatus {
        Active = "active",
        Inactive = "inactive",
    }
}

wire_enum! {
    /// How the rent charge of a term is computed.
    LeaseTermMethod = Method {
        MoneyFactor = "moneyFactor",
        AnnualRate = "annualRate",
    }
}

wire_enum! {
    /// Which way a list runs.
    SortOrder = ports::SortOrder {
        Ascending = "asc",
        Descending = "desc",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names on the wire are those of the domain, where it has names.
    #[test]
    fn names_agree() {
        macro_rules! agree {
            ($($name:ident = $domain:path),*) => {$({
                use $domain as Domain;
                for value in Domain::ALL {
                    let wire = serde_json::to_value($name::from(*value)).unwrap();
                    assert_eq!(wire, value.as_str());
                    assert_eq!(Domain::from($name::from(*value)), *value);
                }
            })*};
        }
        agree!(
            ProductSource = catalog::ProductSource,
            ProductType = catalog::ProductType,
            ProductStatus = catalog::ProductStatus,
            ReviewStatus = catalog::ReviewStatus,
            LeaseTermStatus = lease_term::LeaseTermStatus
        );
    }
}
