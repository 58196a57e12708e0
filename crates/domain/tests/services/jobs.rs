//! Whose jobs a worker takes, and when it looks for others.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::checkout::Effect;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Clock as _, IdGenerator as _, JobSubject, NewJob};
use lessor_domain::workers::Round;

use crate::world::World;

/// Work for the organization, each about another variant.
async fn push(world: &World, organization: OrganizationId, count: usize) {
    let now = world.clock.now();
    let jobs = (0..count).map(|_| NewJob {
        id: world.ids.next(),
        effect: Effect::PushVariant,
        subject: JobSubject::Variant(world.fixtures.id()),
        organization_id: organization,
        mode: Mode::Sandbox,
        created_at: now,
        available_at: now,
        is_held: false,
        units: None,
    });
    let jobs: Vec<NewJob> = jobs.collect();
    let mut uow = world.stores.begin(organization.into()).await.unwrap();
    uow.jobs().push(&jobs).await.unwrap();
    uow.commit().await.unwrap();
}

/// Another organization, which has no job.
async fn neighbour(world: &World) -> OrganizationId {
    let new = world.fixtures.organization().new_record();
    let mut uow = world.begin_for_server().await;
    let organization = uow.organizations().insert(&new).await.unwrap();
    uow.commit().await.unwrap();
    organization.id
}

/// How many are taken of the world's own organization, and how many of the neighbour.
async fn taken(world: &World, limit: u32, round: &mut Round) -> (usize, usize) {
    let jobs = world.runner().take(round, limit).await.unwrap();
    let is_own = |organization| organization == world.organization.id;
    let own = jobs.iter().filter(|job| is_own(job.new.organization_id));
    let own = own.count();
    (own, jobs.len() - own)
}

#[tokio::test]
async fn everybody_who_has_work_has_an_equal_share() {
    let world = World::new().await;
    world.work().await;
    let neighbour = neighbour(&world).await;
    push(&world, world.organization.id, 20).await;
    push(&world, neighbour, 3).await;
    let round = &mut Round::default();
    assert_eq!(taken(&world, 4, round).await, (2, 2));
    // One is left of the neighbour's, and what it does not need is the other's.
    assert_eq!(taken(&world, 8, round).await, (7, 1));
}

#[tokio::test]
async fn who_had_more_than_was_taken_is_asked_before_it_is_looked_who_else_has_work() {
    let world = World::new().await;
    world.work().await;
    let neighbour = neighbour(&world).await;
    let own = world.organization.id;
    push(&world, own, 6).await;
    let round = &mut Round::default();
    assert_eq!(taken(&world, 2, round).await, (2, 0));
    push(&world, neighbour, 4).await;
    assert_eq!(taken(&world, 2, round).await, (2, 0), "nobody looked");
    // The last of its own leave room.
    assert_eq!(taken(&world, 4, round).await, (2, 2));
}

#[tokio::test]
async fn others_wait_no_longer_than_a_tenth_of_a_second() {
    for (wait, expected) in [(99, (4, 0)), (100, (2, 2))] {
        let world = World::new().await;
        world.work().await;
        let neighbour = neighbour(&world).await;
        push(&world, world.organization.id, 6).await;
        let round = &mut Round::default();
        assert_eq!(taken(&world, 1, round).await, (1, 0));
        push(&world, neighbour, 6).await;
        world.clock.advance(TimeDelta::milliseconds(wait));
        assert_eq!(taken(&world, 4, round).await, expected, "{wait} ms");
    }
}

#[tokio::test]
async fn who_was_not_asked_for_want_of_places_is_first_the_next_time() {
    let world = World::new().await;
    world.work().await;
    let neighbour = neighbour(&world).await;
    push(&world, world.organization.id, 3).await;
    push(&world, neighbour, 3).await;
    let round = &mut Round::default();
    let mut turns = Vec::new();
    for _ in 0..6 {
        turns.push(taken(&world, 1, round).await);
    }
    for pair in turns.chunks(2) {
        assert_ne!(pair[0], pair[1], "{turns:?}");
    }
}
