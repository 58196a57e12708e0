//! Lease terms.

use super::full;
use super::shop::{Shop, must, must_be_missing, must_be_stale, must_conflict};
use crate::ids::{IdRef, OrganizationId};
use crate::lease_term::LeaseTermStatus;
use crate::ports::{Database, DeletedTerm, NewLeaseTerm, UniqueField};
use crate::pricing::Rate;

/// The store of lease terms.
///
/// # Panics
/// With the clause that is broken.
pub async fn lease_terms(database: &dyn Database) {
    let shop = Shop::open(database).await;
    let make = &shop.make;
    let neighbour = shop.neighbour().await;
    let product = shop.anything().await;
    let term = |months| make.lease_term(&shop.organization).months(months);

    let long = shop
        .term(term(36).with(|it| {
            it.card.rate = match "7.125001".parse() {
                Ok(rate) => Rate::AnnualRate(rate),
                Err(error) => panic!("7.125001 % is a rate: {error}"),
            };
        }))
        .await;
    let short = shop.term(term(12)).await;
    let own = shop.term(term(24).of_product(&product)).await;
    assert_ne!(
        long.lease_term_id, short.lease_term_id,
        "lease_terms.insert: each has a number of its own"
    );
    let (by_id, by_number, foreign, list) = shop
        .seen("lease_terms.find: reads", async |view| {
            let store = view.lease_terms();
            let organization = shop.organization.id;
            Ok((
                store.find(organization, IdRef::Public(long.id)).await?,
                store
                    .find(organization, IdRef::Number(own.lease_term_id))
                    .await?,
                store
                    .find(neighbour.organization.id, IdRef::Public(long.id))
                    .await?,
                store.list(organization).await?,
            ))
        })
        .await;
    assert_eq!(
        by_id.as_ref(),
        Some(&long),
        "lease_terms.find: by id as it was kept, the rate exactly"
    );
    assert_eq!(
        by_number.as_ref(),
        Some(&own),
        "lease_terms.find: by number as it was kept"
    );
    assert_eq!(
        foreign, None,
        "lease_terms.find: not another organization's"
    );
    assert_eq!(
        list,
        [short.clone(), own.clone(), long.clone()],
        "lease_terms.list: all of the organization, its products' included, shortest first"
    );

    let unknown: OrganizationId = full::parsed("999999999");
    let with_owner = shop
        .seen("lease_terms.list_with_organization: reads", async |view| {
            let store = view.lease_terms();
            Ok((
                store.list_with_organization(shop.organization.id).await?,
                store
                    .list_with_organization(neighbour.organization.id)
                    .await?,
                store.list_with_organization(unknown).await?,
            ))
        })
        .await;
    assert_eq!(
        with_owner,
        (
            Some((shop.organization.clone(), list)),
            Some((neighbour.organization.clone(), Vec::new())),
            None
        ),
        "lease_terms.list_with_organization: the organization and the same terms, without terms too"
    );

    // One active term of an owner for a number of months.
    let insert = async |new: NewLeaseTerm| {
        shop.run(async |uow| uow.lease_terms().insert(&new).await)
            .await
    };
    must_conflict(
        insert(term(12).new_record()).await,
        UniqueField::TermMonths,
        "lease_terms.insert: the organization's active term of the same months",
    );
    must_conflict(
        insert(term(24).of_product(&product).new_record()).await,
        UniqueField::TermMonths,
        "lease_terms.insert: the product's active term of the same months",
    );
    must(
        insert(term(12).of_product(&product).new_record()).await,
        "lease_terms.insert: the product is another owner than the organization",
    );
    let idle = must(
        insert(term(12).inactive().new_record()).await,
        "lease_terms.insert: an inactive term is in nobody's way",
    );
    let mut reactivated = idle;
    reactivated.status = LeaseTermStatus::Active;
    must_conflict(
        shop.run(async |uow| uow.lease_terms().update(&mut reactivated).await)
            .await,
        UniqueField::TermMonths,
        "lease_terms.update: the active term of the same months",
    );

    let mut changed = short.clone();
    changed.status = LeaseTermStatus::Inactive;
    changed.updated_at = make.tick();
    shop.done("lease_terms.update: writes", async |uow| {
        uow.lease_terms().update(&mut changed).await
    })
    .await;
    let locked = shop
        .done("lease_terms.lock: locks", async |uow| {
            uow.lease_terms().lock(shop.organization.id, short.id).await
        })
        .await;
    assert_eq!(
        locked.as_ref(),
        Some(&changed),
        "lease_terms.update: what is stored is what the caller has then, version included"
    );
    let mut stale = short;
    let refused = shop
        .run(async |uow| uow.lease_terms().update(&mut stale).await)
        .await;
    must_be_stale(refused, "lease_terms.update: an older version");
    let mut unknown = term(48).build();
    let refused = shop
        .run(async |uow| uow.lease_terms().update(&mut unknown).await)
        .await;
    must_be_missing(refused, "lease_terms.update: an unknown one");

    let delete = async |id| {
        shop.run(async |uow| uow.lease_terms().delete(id).await)
            .await
    };
    shop.any_checkout(|checkout| checkout.term(&long)).await;
    assert_eq!(
        must(delete(long.id).await, "lease_terms.delete: answers"),
        DeletedTerm::InUse,
        "lease_terms.delete: a term that a checkout has stays"
    );
    assert_eq!(
        must(delete(own.id).await, "lease_terms.delete: deletes"),
        DeletedTerm::Gone,
        "lease_terms.delete: a term that no checkout has goes"
    );
    must_be_missing(
        delete(own.id).await,
        "lease_terms.delete: what is gone already",
    );
    let left = shop
        .seen("lease_terms.find: reads", async |view| {
            let store = view.lease_terms();
            let organization = shop.organization.id;
            Ok((
                store.find(organization, IdRef::Public(long.id)).await?,
                store.find(organization, IdRef::Public(own.id)).await?,
            ))
        })
        .await;
    assert_eq!(
        left,
        (Some(long), None),
        "lease_terms.delete: deletes what it says, and nothing else"
    );
}
