//! What is wrong: entries, links, and requests that no page makes.

use lessor_tests::{Client, text};
use serde_json::{Value, json};

use crate::scene::{SKU, checkout, goods, shop};
use crate::setting::SETTINGS;
use crate::walk::{
    PROFILE, Walk, begin, open, path, press, reach, reach_agreement, sees, send, send_unchecked,
    visit,
};

/// A walk in that setting.
fn of<'a>(name: &str, number: usize, client: &'a Client, checkout: &'a Value) -> Walk<'a> {
    Walk {
        name: name.to_owned(),
        setting: SETTINGS[number],
        client,
        checkout,
        double: None,
    }
}

/// Every field of the profile with something that it does not take: each is told beside its field, and whatever
/// else was typed stays.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_beside_its_field() {
    let Some(_walking) = begin("wrong entries in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, None).await;
    let made = checkout(&client, "grace@example.com").await;
    let wrong = [
        ("firstName", ""),
        ("lastName", " "),
        ("address1", ""),
        ("city", ""),
        ("zip", "nonsense"),
        ("zip", ""),
        ("state", "ZZ"),
        ("state", ""),
        ("phone", "12"),
        ("country", ""),
    ];
    for number in [0, 1] {
        let mut deeds = vec![open()];
        for (field, value) in wrong {
            let mut fields = PROFILE;
            for entry in &mut fields {
                if entry.0 == field {
                    entry.1 = value;
                }
            }
            let kept = if field == "city" { "address1" } else { "city" };
            let value = PROFILE.iter().find(|(name, _)| *name == kept).unwrap().1;
            deeds.push(send_unchecked("profile", &fields));
            deeds.push(sees(
                json!({ "status": 400, "alert": true, "invalid": field, "values": { kept: value } }),
            ));
        }
        let walk = of(&format!("wrong{number}"), number, &client, &made);
        walk.through(deeds).await;
        assert_eq!(client.reread(&made).await["lifecycle"], "profilePending");
    }
    // The signature is another form with fields.
    let made = client.checkout_at(SKU, "signs@example.com", "documentsPending");
    let made = made.await;
    let walk = of("wrong-signature", 0, &client, &made);
    walk.through(vec![
        reach_agreement(),
        send_unchecked("sign", &[("name", "Grace Hopper")]),
        sees(json!({ "status": 400, "alert": true, "invalid": "consent" })),
        send_unchecked("sign", &[("consent", "yes"), ("name", "Somebody Else")]),
        sees(json!({ "status": 400, "alert": true, "invalid": "name" })),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_is_called_off_and_a_link_ends() {
    let Some(_walking) = begin("ends of links in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, None).await;
    let cancelled = checkout(&client, "cancelled@example.com").await;
    of("cancel", 5, &client, &cancelled)
        .through(vec![
            open(),
            press("cancel"),
            reach("cancelled"),
            sees(json!({ "not": ["cancel", "profile"] })),
        ])
        .await;
    let expired = client.checkout_at(SKU, "expired@example.com", "depositPending");
    let expired = expired.await;
    client.move_to(&expired, "expired").await.ok();
    of("expired", 1, &client, &expired)
        .through(vec![reach("expired"), sees(json!({ "not": ["deposit"] }))])
        .await;
    let replaced = checkout(&client, "replaced@example.com").await;
    client.post(&path(&replaced, "/link"), json!({})).await.ok();
    let old = text(&replaced["checkoutUrl"]);
    of("replaced", 4, &client, &replaced)
        .through(visit(&old, 410).to_vec())
        .await;
    let mut unknown = vec![];
    for (path, status) in [
        ("/c", 200),
        ("/c/nobody", 404),
        ("/c/nobody/profile", 404),
        ("/c/a/b/c", 404),
    ] {
        unknown.extend(visit(path, status));
    }
    of("unknown", 0, &client, &replaced).through(unknown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_no_page_makes_are_answered_by_pages() {
    let Some(_walking) = begin("odd requests in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, None).await;
    let made = checkout(&client, "grace@example.com").await;
    let page = text(&made["checkoutUrl"]);
    let profile = format!("{page}/profile");
    let form = "application/x-www-form-urlencoded";
    for number in [0, 1, 2, 4] {
        let walk = of(&format!("odd{number}"), number, &client, &made);
        walk.through(vec![
            json!({ "do": "odd", "method": "PUT", "path": page, "type": form, "status": 405 }),
            json!({ "do": "odd", "method": "POST", "path": profile, "type": form, "size": 2_000_000, "status": 413 }),
            json!({ "do": "odd", "method": "POST", "path": profile, "type": "application/json", "size": 2, "status": 415 }),
            json!({ "do": "forge", "form": "cancel" }),
            sees(json!({ "status": 403 })),
            // From there the way back leads to the checkout.
            open(),
            sees(json!({ "status": 200, "forms": ["profile"] })),
        ])
        .await;
        assert_eq!(client.reread(&made).await["lifecycle"], "created");
    }
    // A step that it is not time for, and its address opened after that.
    let walk = of("late", 3, &client, &made);
    let deposit = format!("{page}/deposit");
    let mut deeds = vec![
        open(),
        send("profile", &PROFILE),
        reach("identityRequired"),
        press("identity"),
        reach("identityVerifying"),
    ];
    deeds.push(
        json!({ "do": "odd", "method": "POST", "path": deposit, "type": form, "size": 1, "status": 400 }),
    );
    deeds.push(sees(json!({ "alert": true })));
    deeds.extend(visit(&deposit, 200));
    walk.through(deeds).await;
}
