//! What most tests begin with: products, variants, checkouts.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::text;

/// An address in the United States.
#[must_use]
pub fn address() -> Value {
    json!({
        "firstName": "Grace", "lastName": "Hopper", "address1": "1 Market St", "city": "San Francisco",
        "state": "CA", "zip": "94105", "country": "US", "phone": "+14155550100"
    })
}

/// How often it is looked whether a worker is done, and how long after each other.
const LOOKS: u32 = 1_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

impl Client {
    /// The body of a new product without options.
    #[must_use]
    pub fn product_body(&self) -> Value {
        json!({
            "name": "Road bike", "description": "A light bike for the road.", "organizationId": self.organization,
            "price": "1299.00", "productSource": "manual", "productType": "leasable", "options": []
        })
    }

    /// A product with these members besides.
    pub async fn product(&self, members: Value) -> Value {
        self.post("/v1/products", merged(self.product_body(), members))
            .await
            .ok()
    }

    /// A variant of the product with these members besides.
    pub async fn variant_of(&self, product: &Value, sku: &str, members: Value) -> Value {
        let body = json!({
            "productId": product["id"], "name": "Road bike", "description": "Carbon", "price": "1299.00",
            "sku": sku, "options": [], "productImages": []
        });
        self.post("/v1/product-variants", merged(body, members))
            .await
            .ok()
    }

    /// A leasable variant of this sku, and its product, with so many in stock. Answers its id.
    pub async fn variant(&self, sku: &str, stock: Option<u32>) -> String {
        let product = self.product(json!({})).await;
        let variant = self
            .variant_of(&product, sku, json!({ "inventoryQuantity": stock }))
            .await;
        text(&variant["id"])
    }

    /// A customer's checkout of the sku for a year.
    pub async fn try_checkout(&self, sku: &str, email: &str, members: Value) -> Reply {
        let body =
            json!({ "sku": sku, "selectedTermInMonths": 12, "customer": { "email": email } });
        self.post("/v1/checkouts", merged(body, members)).await
    }

    /// A customer's checkout of the sku for a year, made.
    pub async fn checkout(&self, sku: &str, email: &str) -> Value {
        self.try_checkout(sku, email, json!({})).await.ok()
    }

    /// Plays a checkout forward.
    pub async fn advance(&self, checkout: &Value, to: &str) -> Reply {
        let path = format!("/v1/sandbox/checkouts/{}/advance", text(&checkout["id"]));
        self.post(&path, json!({ "to": to })).await
    }

    /// A customer's checkout of the sku, played forward.
    pub async fn checkout_at(&self, sku: &str, email: &str, to: &str) -> Value {
        let made = self.checkout(sku, email).await;
        let advanced = self.advance(&made, to).await.ok();
        assert_eq!(advanced["lifecycle"], to, "{advanced}");
        advanced
    }

    /// The checkout as it is now.
    pub async fn reread(&self, checkout: &Value) -> Value {
        self.get(&format!("/v1/checkouts/{}", text(&checkout["id"])))
            .await
            .ok()
    }

    /// The checkout once a worker has brought it to the state.
    ///
    /// # Panics
    /// When it does not come there: patience counts the looks, each of which waits for an answer.
    pub async fn comes_to(&self, checkout: &Value, lifecycle: &str) -> Value {
        let mut now = self.reread(checkout).await;
        for _ in 0..LOOKS {
            if now["lifecycle"] == lifecycle {
                break;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
            now = self.reread(checkout).await;
        }
        assert_eq!(now["lifecycle"], lifecycle, "{now:#}");
        now
    }

    /// A step of the checkout's own resource, such as `fulfill`.
    pub async fn act(&self, checkout: &Value, action: &str, body: Value) -> Reply {
        self.post(
            &format!("/v1/checkouts/{}/{action}", text(&checkout["id"])),
            body,
        )
        .await
    }

    /// Asks for a state of the checkout.
    pub async fn move_to(&self, checkout: &Value, lifecycle: &str) -> Reply {
        let path = format!("/v1/checkouts/{}", text(&checkout["id"]));
        self.put(&path, json!({ "lifecycle": lifecycle })).await
    }
}

/// The object with the other's members, which come in place of its own; null takes one away.
#[must_use]
pub fn merged(mut object: Value, members: Value) -> Value {
    if let (Some(object), Value::Object(members)) = (object.as_object_mut(), members) {
        for (name, value) in members {
            if value.is_null() {
                object.remove(&name);
            } else {
                object.insert(name, value);
            }
        }
    }
    object
}
