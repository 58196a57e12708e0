//! Whose customers they are, and of which mode.

use lessor_domain::access::Mode;
use lessor_domain::ports::{CustomerFilter, Page, Start};
use lessor_domain::services::customers::{
    CustomerChanges, GetCustomer, ListCustomers, UpdateCustomer,
};
use lessor_domain::services::{Error, Patch, UseCase};

use crate::world::World;

/// What comes of the use case for a key of the mode.
async fn ask<U: UseCase>(world: &mut World, mode: Mode, asked: U) -> Result<U::Output, Error> {
    world.access.mode = mode;
    let mut uow = world.begin().await;
    let done = asked.run(uow.as_mut(), &world.ctx()).await?;
    uow.commit().await?;
    Ok(done)
}

/// A person who leases in both modes is two customers; a key knows the one of its mode.
#[tokio::test]
async fn a_key_knows_the_customers_of_its_mode() {
    let mut world = World::new().await;
    let sandbox = world.order("ada@example.com").await.customer_id;
    world.access.mode = Mode::Live;
    let live = world.order("ada@example.com").await.customer_id;
    assert_ne!(live, sandbox);
    let page = |start| Page { start, limit: 10 };
    for (mode, own, other) in [(Mode::Live, live, sandbox), (Mode::Sandbox, sandbox, live)] {
        let known = ask(&mut world, mode, GetCustomer { id: own }).await;
        assert_eq!(known.unwrap().mode, mode);
        let unknown = ask(&mut world, mode, GetCustomer { id: other }).await;
        assert!(
            matches!(unknown, Err(Error::NotFound { .. })),
            "{unknown:?}"
        );
        let changes = CustomerChanges {
            first_name: Patch::Set("Augusta".parse().unwrap()),
            ..CustomerChanges::default()
        };
        let update = UpdateCustomer { id: other, changes };
        let unknown = ask(&mut world, mode, update).await;
        assert!(
            matches!(unknown, Err(Error::NotFound { .. })),
            "{unknown:?}"
        );
        let list = ListCustomers {
            filter: CustomerFilter {
                email: "ada@example.com".parse().ok(),
                ..CustomerFilter::default()
            },
            page: page(Start::Offset(0)),
            is_long: false,
        };
        let listed = ask(&mut world, mode, list.clone()).await.unwrap();
        let ids: Vec<_> = listed.items.iter().map(|customer| customer.id).collect();
        assert_eq!((ids, listed.total), (vec![own], Some(1)));
        let after = ListCustomers {
            page: page(Start::After(other.as_uuid())),
            ..list
        };
        let refused = ask(&mut world, mode, after).await;
        assert!(
            matches!(&refused, Err(Error::Invalid { param, .. }) if param == "startingAfter"),
            "{refused:?}"
        );
    }
}
