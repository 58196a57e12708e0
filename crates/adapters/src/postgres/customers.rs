//! Customers.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_async::RunQueryDsl;
use lessor_domain::access::Mode;
use lessor_domain::customer::{Customer, Profile, Screening};
use lessor_domain::ids::{CustomerPubId, OrganizationId, UserId};
use lessor_domain::metadata::Metadata;
use lessor_domain::ports::{
    CustomerFilter, CustomerStore, InsertedCustomer, NewCustomer, Page, Scope, SortOrder, Start,
    StoreError,
};
use lessor_domain::text::Email;
use lessor_domain::time::Day;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::{text, text_if};
use super::error::store_error;
use super::json::{Json, json};
use super::kept::Keep as _;
use super::metadata::{OF_CUSTOMERS, has_each};
use super::paging::{self, Mark, after};
use super::schema::customers;
use super::secrets::SecretKeys;
use super::version::{self, compare_and_set};

/// All but the number, which is the user's.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = customers, primary_key(organization_id, id))]
#[diesel(check_for_backend(Pg), treat_none_as_null = true)]
struct Columns {
    id: Uuid,
    organization_id: i64,
    mode: String,
    email: String,
    email_folded: String,
    first_name: Option<String>,
    last_name: Option<String>,
    address1: Option<String>,
    address2: Option<String>,
    city: Option<String>,
    state: Option<String>,
    zip: Option<String>,
    country: Option<String>,
    phone: Option<String>,
    sealed_birth_date: Option<Vec<u8>>,
    identity: String,
    verification_session_id: Option<String>,
    credit: String,
    credit_at: Option<DateTime<Utc>>,
    credit_ip_address: Option<String>,
    processor_id: Option<String>,
    metadata: Json,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    erased_at: Option<DateTime<Utc>>,
    version: i64,
}

type Row = (i64, Columns);

/// The members of a customer that columns are made of, before and after it has a number.
#[derive(Clone, Copy)]
struct Parts<'a> {
    id: CustomerPubId,
    organization_id: OrganizationId,
    mode: Mode,
    email: &'a Email,
    profile: &'a Profile,
    screening: &'a Screening,
    metadata: &'a Metadata,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    erased_at: Option<DateTime<Utc>>,
    version: i64,
}

/// What is sealed of a customer: it opens in their own row alone.
fn about_birth_date(organization: OrganizationId, id: CustomerPubId) -> Vec<u8> {
    let (organization, id) = (organization.get(), id.as_uuid());
    format!("customers.sealed_birth_date:{organization}:{id}").into_bytes()
}

/// How days are sealed.
const DAY: &str = "%Y-%m-%d";

impl Columns {
    fn of(parts: Parts<'_>, secrets: &SecretKeys) -> Result<Self, StoreError> {
        let Parts {
            profile, screening, ..
        } = parts;
        Ok(Self {
            id: parts.id.as_uuid(),
            organization_id: parts.organization_id.get(),
            mode: text(&parts.mode),
            email: text(parts.email),
            email_folded: parts.email.folded(),
            first_name: text_if(profile.first_name.as_ref()),
            last_name: text_if(profile.last_name.as_ref()),
            address1: text_if(profile.address1.as_ref()),
            address2: text_if(profile.address2.as_ref()),
            city: text_if(profile.city.as_ref()),
            state: text_if(profile.state.as_ref()),
            zip: text_if(profile.zip.as_ref()),
            country: text_if(profile.country.as_ref()),
            phone: text_if(profile.phone.as_ref()),
            sealed_birth_date: match profile.birth_date {
                Some(born) => {
                    let about = about_birth_date(parts.organization_id, parts.id);
                    Some(secrets.seal(&about, born.format(DAY).to_string().as_bytes())?)
                }
                None => None,
            },
            identity: text(&screening.identity),
            verification_session_id: screening.verification_session_id.clone(),
            credit: text(&screening.credit),
            credit_at: screening.credit_at,
            credit_ip_address: screening.credit_ip_address.clone(),
            processor_id: screening.processor_id.clone(),
            metadata: json(parts.metadata)?,
            created_at: parts.created_at,
            updated_at: parts.updated_at,
            erased_at: parts.erased_at,
            version: parts.version,
        })
    }
}

fn entity((user_id, row): Row, secrets: &SecretKeys) -> Result<Customer, StoreError> {
    let place = Place::new("customers", &row.id);
    let organization_id = place.number("organization_id", row.organization_id)?;
    let birth_date = match &row.sealed_birth_date {
        Some(sealed) => {
            let about = about_birth_date(organization_id, CustomerPubId::from_uuid(row.id));
            let text = String::from_utf8(secrets.open(&about, sealed)?).unwrap_or_default();
            let born = Day::parse_from_str(&text, DAY);
            Some(born.map_err(|_| place.corrupt("sealed_birth_date", "is no day"))?)
        }
        None => None,
    };
    Ok(Customer {
        id: CustomerPubId::from_uuid(row.id),
        user_id: place.number("user_id", user_id)?,
        organization_id,
        mode: place.parse("mode", &row.mode)?,
        email: place.parse("email", &row.email)?,
        profile: Profile {
            first_name: place.parse_if("first_name", row.first_name)?,
            last_name: place.parse_if("last_name", row.last_name)?,
            address1: place.parse_if("address1", row.address1)?,
            address2: place.parse_if("address2", row.address2)?,
            city: place.parse_if("city", row.city)?,
            state: place.parse_if("state", row.state)?,
            zip: place.parse_if("zip", row.zip)?,
            country: place.parse_if("country", row.country)?,
            phone: place.parse_if("phone", row.phone)?,
            birth_date,
        },
        screening: Screening {
            identity: place.parse("identity", &row.identity)?,
            verification_session_id: row.verification_session_id,
            credit: place.parse("credit", &row.credit)?,
            credit_at: row.credit_at,
            credit_ip_address: row.credit_ip_address,
            processor_id: row.processor_id,
        },
        metadata: place.json("metadata", row.metadata)?,
        created_at: row.created_at,
        updated_at: row.updated_at,
        erased_at: row.erased_at,
        version: row.version,
    })
}

/// The customers that the filter shows.
fn shown(scope: Scope, filter: &CustomerFilter) -> customers::BoxedQuery<'static, Pg> {
    let organization = scope.organization_id;
    let mut query = customers::table
        .filter(customers::organization_id.eq(organization.get()))
        .filter(customers::mode.eq(scope.mode.as_str()))
        .into_boxed();
    if let Some(email) = &filter.email {
        query = query.filter(customers::email_folded.eq(email.folded()));
    }
    for has in has_each(&OF_CUSTOMERS, organization, &filter.metadata) {
        query = query.filter(has);
    }
    query
}

/// Reads at most one customer of whose work it is that fits the condition.
macro_rules! first {
    ($work:expr, $condition:expr $(, $lock:ident)?) => {
        customers::table
            .filter(customers::organization_id.eq($work.owner()))
            .filter($condition)
            .select((customers::user_id, Columns::as_select()))
            $(.$lock())?
            .first::<Row>($work.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(|row| entity(row, &$work.secrets))
            .transpose()
    };
}

#[async_trait]
impl CustomerStore for PgUnitOfWork {
    async fn insert(&mut self, new: &NewCustomer) -> Result<InsertedCustomer, StoreError> {
        let scope = Scope {
            organization_id: new.organization_id,
            mode: new.mode,
        };
        let known = CustomerStore::find_by_email(self, scope, &new.email);
        if let Some(existing) = known.await? {
            return Ok(InsertedCustomer::Existing(existing));
        }
        let parts = Parts {
            id: new.id,
            organization_id: new.organization_id,
            mode: new.mode,
            email: &new.email,
            profile: &new.profile,
            screening: &Screening::default(),
            metadata: Metadata::NONE,
            created_at: new.created_at,
            updated_at: new.created_at,
            erased_at: None,
            version: 1,
        };
        let columns = Columns::of(parts, &self.secrets)?;
        // Waits for who inserts the same address at this moment. When that one is
        // committed it is there to be read; when it was rolled back ours is kept.
        let kept: Option<Row> = diesel::insert_into(customers::table)
            .values(&columns)
            .on_conflict((
                customers::organization_id,
                customers::mode,
                customers::email_folded,
            ))
            .do_nothing()
            .returning((customers::user_id, Columns::as_returning()))
            .kept()
            .get_result(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        if let Some(row) = kept {
            self.born.insert(new.id);
            return entity(row, &self.secrets).map(InsertedCustomer::New);
        }
        CustomerStore::find_by_email(self, scope, &new.email)
            .await?
            .map(InsertedCustomer::Existing)
            // It was there a moment ago and has another address now.
            .ok_or(StoreError::Contended)
    }

    async fn get(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError> {
        first!(self, customers::id.eq(id.as_uuid()))
    }

    async fn get_many(&mut self, ids: &[UserId]) -> Result<Vec<Customer>, StoreError> {
        let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
        customers::table
            .filter(customers::organization_id.eq(self.owner()))
            .filter(customers::user_id.eq_any(ids))
            .select((customers::user_id, Columns::as_select()))
            .load::<Row>(self.connection()?)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(|row| entity(row, &self.secrets))
            .collect()
    }

    async fn find_by_email(
        &mut self,
        scope: Scope,
        email: &Email,
    ) -> Result<Option<Customer>, StoreError> {
        first!(
            self,
            customers::organization_id
                .eq(scope.organization_id.get())
                .and(customers::mode.eq(scope.mode.as_str()))
                .and(customers::email_folded.eq(email.folded()))
        )
    }

    async fn find_by_verification_session(
        &mut self,
        mode: Mode,
        session_id: &str,
    ) -> Result<Option<Customer>, StoreError> {
        first!(
            self,
            customers::mode
                .eq(mode.as_str())
                .and(customers::verification_session_id.eq(session_id))
        )
    }

    async fn lock(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError> {
        first!(self, customers::id.eq(id.as_uuid()), for_update)
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        page: Page,
    ) -> Result<Vec<Customer>, StoreError> {
        let newest_first = shown(scope, filter)
            .order((customers::created_at.desc(), customers::id.desc()))
            .limit(page.limit.into());
        let query = match page.start {
            Start::Offset(offset) => newest_first.offset(offset.into()),
            Start::After(id) => {
                let mark = Mark {
                    table: "customers",
                    key: "created_at",
                    organization: scope.organization_id,
                    id,
                };
                newest_first.filter(after(&mark, SortOrder::Descending))
            }
        };
        query
            .select((customers::user_id, Columns::as_select()))
            .load::<Row>(self.connection()?)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(|row| entity(row, &self.secrets))
            .collect()
    }

    async fn count(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        let rows = shown(scope, filter).select(1.into_sql::<Integer>());
        paging::count(rows, most, self.connection()?).await
    }

    async fn update(&mut self, customer: &mut Customer) -> Result<(), StoreError> {
        let id = customer.id.as_uuid();
        let version = version::next(customer.version);
        let parts = Parts {
            id: customer.id,
            organization_id: customer.organization_id,
            mode: customer.mode,
            email: &customer.email,
            profile: &customer.profile,
            screening: &customer.screening,
            metadata: &customer.metadata,
            created_at: customer.created_at,
            updated_at: customer.updated_at,
            erased_at: customer.erased_at,
            version,
        };
        let columns = Columns::of(parts, &self.secrets)?;
        let connection = self.connection()?;
        compare_and_set(
            connection,
            "customer",
            diesel::update(customers::table)
                .filter(customers::id.eq(id))
                .filter(customers::organization_id.eq(customer.organization_id.get()))
                .filter(customers::version.eq(customer.version))
                .set(&columns),
            select(exists(
                customers::table.find((customer.organization_id.get(), id)),
            )),
        )
        .await?;
        customer.version = version;
        Ok(())
    }
}
