//! Recording who did what, and reading it.

mod members;

pub(crate) use members::time;

use async_trait::async_trait;

use super::slice::unknown_start;
use super::{Context, Error, Slice, UseCase};
use crate::access::Permission;
use crate::audit::{
    AuditAction, AuditArea, AuditChange, AuditEvent, AuditSubject, AuditViewer, Origin,
};
use crate::ids::{AuditEventPubId, CustomerPubId, OrganizationId};
use crate::ports::{AuditFilter, IdGenerator, Page, Start, UnitOfWork};
use crate::time::Timestamp;

/// What was done to one record, before it is known who did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Which part of the organization it is of.
    pub area: AuditArea,
    /// What was done.
    pub action: AuditAction,
    /// What it was done to.
    pub subject: AuditSubject,
    /// What differs since.
    pub change: AuditChange,
    /// Whose personal data the change is.
    pub customer: Option<CustomerPubId>,
}

impl Entry {
    /// Whether anything was done: an update that nothing differs after is none.
    fn is_news(&self) -> bool {
        !(self.action.is_change() && self.change.is_empty())
    }
}

/// Records what was done, in the unit of work that does it: there is no change without its event and
/// no event without its change. An update that changed nothing is not recorded.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn record(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization_id: OrganizationId,
    entry: Entry,
) -> Result<(), Error> {
    record_all(uow, ids, now, origin, organization_id, vec![entry]).await
}

/// [`record`] of whatever was done at once, in this order.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn record_all(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization_id: OrganizationId,
    entries: Vec<Entry>,
) -> Result<(), Error> {
    let events: Vec<AuditEvent> = entries
        .into_iter()
        .filter(Entry::is_news)
        .map(|entry| AuditEvent {
            id: AuditEventPubId::from_uuid(ids.next()),
            organization_id,
            area: entry.area,
            at: now,
            origin: origin.clone(),
            action: entry.action,
            subject: entry.subject,
            change: entry.change,
            customer: entry.customer,
        })
        .collect();
    if !events.is_empty() {
        uow.audit().append(&events).await?;
    }
    Ok(())
}

/// [`record`] of what the caller did in their organization.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn note(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    entry: Entry,
) -> Result<(), Error> {
    note_all(uow, ctx, vec![entry]).await
}

/// [`record_all`] of what the caller did in their organization.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn note_all(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    entries: Vec<Entry>,
) -> Result<(), Error> {
    let organization = ctx.access.organization_id;
    record_all(uow, ctx.ids, ctx.now, ctx.origin, organization, entries).await
}

/// A page of what was done in the organization, newest first, as far as the key may see it, and how
/// much there is in all. A sandbox key sees its mode and the catalog, and nothing that the command line
/// did.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins after no event that the key sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListAudit {
    /// Which.
    pub filter: AuditFilter,
    /// Which part of the list.
    pub page: Page,
    /// Whether it was found to be [long](Slice::is_long) a moment ago: it is not counted again.
    pub is_long: bool,
}

#[async_trait]
impl UseCase for ListAudit {
    type Output = Slice<AuditEvent>;

    fn permission(&self) -> Permission {
        Permission::AuditRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<AuditEvent>, Error> {
        ctx.access.require(self.permission())?;
        let organization = ctx.access.organization_id;
        let viewer = AuditViewer::from(ctx.access.mode);
        if let Start::After(id) = self.page.start {
            let id = AuditEventPubId::from_uuid(id);
            let start = uow.audit().get(organization, id).await?;
            if !start.is_some_and(|event| viewer.shows(&event)) {
                return Err(unknown_start());
            }
        }
        let page = self.page.and_one_more();
        let found = uow
            .audit()
            .list(organization, viewer, &self.filter, page)
            .await?;
        let mut slice = Slice::found(found, self.page);
        if let Some(most) = slice.to_be_counted(self.page, self.is_long) {
            let counted = uow
                .audit()
                .count(organization, viewer, &self.filter, most)
                .await?;
            slice.count_with(counted);
        }
        Ok(slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Mode, Permissions};
    use crate::audit::AuditMembers;
    use crate::ids::ProductPubId;
    use crate::ports::{Database, KeyHolder, Reach};
    use crate::testing::{Fixtures, MemoryDatabase, context};

    /// An organization and one of its sandbox keys.
    struct Desk {
        database: MemoryDatabase,
        make: Fixtures,
        access: Access,
    }

    impl Desk {
        async fn open() -> Self {
            let (database, make) = (MemoryDatabase::new(), Fixtures::default());
            let mut uow = database.begin(Reach::Server).await.unwrap();
            let new = make.organization().new_record();
            let organization = uow.organizations().insert(&new).await.unwrap();
            uow.commit().await.unwrap();
            let user = make.customer(&organization).build();
            let holder = KeyHolder {
                key: make.api_key(&user).build(),
                organization_pub_id: organization.pub_id,
                user_pub_id: user.id,
                sandbox_writes_catalog: true,
            };
            Self {
                database,
                make,
                access: holder.access(),
            }
        }

        fn ctx(&self) -> Context<'_> {
            context(&self.access, self.make.tick(), self.make.ids())
        }

        /// Something that was done to a product.
        fn entry(&self, action: AuditAction, area: AuditArea, is_change: bool) -> Entry {
            let mut after = AuditMembers::new();
            after.set_if("name", is_change.then_some("Road bike"));
            Entry {
                area,
                action,
                subject: self.make.id::<ProductPubId>().into(),
                change: AuditChange::created(after),
                customer: None,
            }
        }

        async fn note(&self, entries: Vec<Entry>) {
            let reach = self.access.organization_id.into();
            let mut uow = self.database.begin(reach).await.unwrap();
            note_all(uow.as_mut(), &self.ctx(), entries).await.unwrap();
            uow.commit().await.unwrap();
        }

        async fn list(&self, start: Start) -> Result<Slice<AuditEvent>, Error> {
            let reach = self.access.organization_id.into();
            let mut view = self.database.read(reach).await.unwrap();
            let asked = ListAudit {
                filter: AuditFilter::default(),
                page: Page { start, limit: 2 },
                is_long: false,
            };
            asked.run(view.as_mut(), &self.ctx()).await
        }
    }

    const BEGINNING: Start = Start::Offset(0);

    #[tokio::test]
    async fn an_update_that_changes_nothing_is_not_recorded() {
        let desk = Desk::open().await;
        let entries: Vec<Entry> = AuditAction::ALL
            .iter()
            .map(|action| desk.entry(*action, AuditArea::Catalog, false))
            .collect();
        let wanted = entries.iter().filter(|entry| !entry.action.is_change());
        let wanted = wanted.count();
        desk.note(entries).await;
        let listed = desk.list(BEGINNING).await.unwrap();
        assert_eq!(listed.total, u64::try_from(wanted).ok());
        assert!(listed.has_more);
        let changed = desk.entry(AuditAction::ProductUpdated, AuditArea::Catalog, true);
        desk.note(vec![changed.clone()]).await;
        let listed = desk.list(BEGINNING).await.unwrap();
        let newest = listed.items.into_iter().next().unwrap();
        assert_eq!(
            (newest.action, newest.area, newest.subject, newest.change),
            (
                changed.action,
                changed.area,
                changed.subject,
                changed.change
            )
        );
        assert_eq!(newest.organization_id, desk.access.organization_id);
        assert_eq!(&newest.origin, desk.ctx().origin);
        assert!(newest.at < desk.make.tick());
    }

    #[tokio::test]
    async fn a_key_reads_what_it_may_see_and_begins_there() {
        let mut desk = Desk::open().await;
        let areas = [AuditArea::Catalog, AuditArea::Live, AuditArea::Sandbox];
        for area in areas {
            let entry = desk.entry(AuditAction::ProductUpdated, area, true);
            desk.note(vec![entry]).await;
        }
        let seen = desk.list(BEGINNING).await.unwrap();
        let found: Vec<_> = seen.items.iter().map(|event| event.area).collect();
        assert_eq!(found, [AuditArea::Sandbox, AuditArea::Catalog]);
        assert_eq!((seen.total, seen.has_more), (Some(2), false));
        desk.access.mode = Mode::Live;
        let all = desk.list(BEGINNING).await.unwrap();
        assert_eq!((all.total, all.has_more), (Some(3), true));
        let live = all.items.iter().find(|event| event.area == AuditArea::Live);
        let live = Start::After(live.unwrap().id.as_uuid());
        let rest = desk.list(live).await.unwrap();
        let found: Vec<_> = rest.items.iter().map(|event| event.area).collect();
        assert_eq!(found, [AuditArea::Catalog]);
        desk.access.mode = Mode::Sandbox;
        let unknown = Start::After(desk.make.id::<AuditEventPubId>().as_uuid());
        for start in [live, unknown] {
            let refused = desk.list(start).await;
            assert!(
                matches!(&refused, Err(Error::Invalid { param, .. }) if param == "startingAfter"),
                "{refused:?}"
            );
        }
        desk.access.permissions = Permissions::all()
            .iter()
            .filter(|permission| *permission != Permission::AuditRead)
            .collect();
        let refused = desk.list(BEGINNING).await;
        assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    }
}
