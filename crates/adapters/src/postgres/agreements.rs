//! Agreements, and the organizations' own terms.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::access::Mode;
use lessor_domain::agreement::{
    AgreementEvent, AgreementEventKind, AgreementRecord, AgreementTerms, Happening, Sha256, Signed,
    Signer, SignerKind,
};
use lessor_domain::ids::{AgreementPubId, CheckoutPubId, OrganizationId};
use lessor_domain::ports::{AgreementStore, NewAgreement, StoreError};
use lessor_domain::text::AgreementText;
use lessor_domain::time::{Timestamp, to_millis};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::{text, text_if};
use super::endpoints::EndpointRow;
use super::error::store_error;
use super::kept::Keep as _;
use super::schema::{
    agreement_events as events, agreement_terms as terms, agreements, organizations, signers,
};

const MISSING: StoreError = StoreError::Missing("agreement");

/// All but the bytes, which are many.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = agreements, check_for_backend(diesel::pg::Pg))]
struct Row {
    organization_id: i64,
    id: Uuid,
    checkout_id: Uuid,
    sha256: Vec<u8>,
    terms_version: Option<i32>,
    signer: String,
    created_at: Timestamp,
    signed_at: Option<Timestamp>,
    signer_name: Option<String>,
    consent_version: Option<String>,
    signer_reference: Option<String>,
}

impl TryFrom<&AgreementRecord> for Row {
    type Error = StoreError;

    fn try_from(record: &AgreementRecord) -> Result<Self, StoreError> {
        Ok(Self {
            organization_id: record.organization_id.get(),
            id: record.id.as_uuid(),
            checkout_id: record.checkout_id.as_uuid(),
            sha256: record.sha256.as_bytes().to_vec(),
            terms_version: record
                .terms_version
                .map(i32::try_from)
                .transpose()
                .map_err(StoreError::internal)?,
            signer: text(&record.signer),
            created_at: record.created_at,
            signed_at: record.signed_at,
            signer_name: record.signer_name.clone(),
            consent_version: record.consent_version.clone(),
            signer_reference: text_if(record.signer_reference.as_ref()),
        })
    }
}

fn hash(place: &Place<'_>, bytes: &[u8]) -> Result<Sha256, StoreError> {
    Sha256::try_from(bytes).map_err(|error| place.corrupt("sha256", &error.to_string()))
}

fn version(place: &Place<'_>, column: &'static str, number: i32) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(|error| place.corrupt(column, &error.to_string()))
}

impl TryFrom<Row> for AgreementRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let place = Place::new("agreements", &row.id);
        Ok(Self {
            id: AgreementPubId::from_uuid(row.id),
            organization_id: place.number("organization_id", row.organization_id)?,
            checkout_id: CheckoutPubId::from_uuid(row.checkout_id),
            sha256: hash(&place, &row.sha256)?,
            terms_version: row
                .terms_version
                .map(|number| version(&place, "terms_version", number))
                .transpose()?,
            signer: place.parse("signer", &row.signer)?,
            created_at: row.created_at,
            signed_at: row.signed_at,
            signer_name: row.signer_name,
            consent_version: row.consent_version,
            signer_reference: row
                .signer_reference
                .map(|reference| place.parse("signer_reference", &reference))
                .transpose()?,
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = events, check_for_backend(diesel::pg::Pg))]
struct EventRow {
    organization_id: i64,
    agreement_id: Uuid,
    sequence: i32,
    event: String,
    at: Timestamp,
    address: Option<String>,
    user_agent: Option<String>,
    sha256: Vec<u8>,
}

impl EventRow {
    fn new(owner: i64, agreement: Uuid, sequence: i32, event: &AgreementEvent) -> Self {
        let happening = &event.happening;
        Self {
            organization_id: owner,
            agreement_id: agreement,
            sequence,
            event: happening.kind.as_str().to_owned(),
            at: happening.at,
            address: happening.address.clone(),
            user_agent: happening.user_agent.clone(),
            sha256: event.sha256.as_bytes().to_vec(),
        }
    }
}

impl TryFrom<EventRow> for AgreementEvent {
    type Error = StoreError;

    fn try_from(row: EventRow) -> Result<Self, StoreError> {
        let place = Place::new("agreement_events", &row.agreement_id);
        Ok(Self {
            happening: Happening {
                kind: place.parse("event", &row.event)?,
                at: row.at,
                address: row.address,
                user_agent: row.user_agent,
            },
            sha256: hash(&place, &row.sha256)?,
        })
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = signers, primary_key(organization_id, mode))]
#[diesel(check_for_backend(diesel::pg::Pg), treat_none_as_null = true)]
struct SignerRow {
    organization_id: i64,
    mode: String,
    kind: String,
    url: Option<String>,
    sealed_secret: Option<Vec<u8>>,
    updated_at: Timestamp,
}

impl SignerRow {
    fn endpoint(&self) -> EndpointRow<'_> {
        EndpointRow {
            table: "signers",
            organization: self.organization_id,
            mode: &self.mode,
        }
    }
}

impl PgUnitOfWork {
    fn signer_of(&self, row: &SignerRow) -> Result<Signer, StoreError> {
        let key = format!("{}/{}", row.organization_id, row.mode);
        let place = Place::new("signers", &key);
        Ok(match place.parse("kind", &row.kind)? {
            SignerKind::Builtin => Signer::Builtin,
            SignerKind::Http => {
                let (url, sealed) = (row.url.as_deref(), row.sealed_secret.as_deref());
                Signer::Http(row.endpoint().open(&self.secrets, url, sealed)?)
            }
        })
    }
}

type TermsRow = (i32, String, Timestamp);

fn terms_of(organization: OrganizationId, row: &TermsRow) -> Result<AgreementTerms, StoreError> {
    let (number, text, created_at) = row;
    let place = Place::new("agreement_terms", &organization);
    Ok(AgreementTerms {
        version: version(&place, "version", *number)?,
        text: place.parse("text", text)?,
        created_at: *created_at,
    })
}

#[async_trait]
impl AgreementStore for PgUnitOfWork {
    async fn insert(&mut self, new: &NewAgreement) -> Result<(), StoreError> {
        let record = &new.record;
        let row = Row::try_from(record)?;
        let (owner, id) = (row.organization_id, row.id);
        diesel::insert_into(agreements::table)
            .values((row, agreements::pdf.eq(&new.pdf)))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        let kind = AgreementEventKind::Created;
        let created = Happening::new(kind, record.created_at, None, None).after(record.sha256);
        diesel::insert_into(events::table)
            .values(EventRow::new(owner, id, 1, &created))
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn get(&mut self, id: AgreementPubId) -> Result<Option<AgreementRecord>, StoreError> {
        let key = (self.owner(), id.as_uuid());
        let row: Option<Row> = agreements::table
            .find(key)
            .select(Row::as_select())
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        row.map(AgreementRecord::try_from).transpose()
    }

    async fn pdf(&mut self, id: AgreementPubId) -> Result<Option<Vec<u8>>, StoreError> {
        let key = (self.owner(), id.as_uuid());
        let pdf: Option<Option<Vec<u8>>> = agreements::table
            .find(key)
            .select(agreements::pdf)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        Ok(pdf.flatten())
    }

    async fn of(&mut self, checkout: CheckoutPubId) -> Result<Vec<AgreementRecord>, StoreError> {
        let owner = self.owner();
        let rows: Vec<Row> = agreements::table
            .filter(agreements::organization_id.eq(owner))
            .filter(agreements::checkout_id.eq(checkout.as_uuid()))
            .order((agreements::created_at, agreements::id))
            .select(Row::as_select())
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        rows.into_iter().map(AgreementRecord::try_from).collect()
    }

    async fn with_hash(&mut self, sha256: Sha256) -> Result<Vec<AgreementRecord>, StoreError> {
        let owner = self.owner();
        let rows: Vec<Row> = agreements::table
            .filter(agreements::organization_id.eq(owner))
            .filter(agreements::sha256.eq(sha256.as_bytes().to_vec()))
            .order((agreements::created_at, agreements::id))
            .select(Row::as_select())
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        rows.into_iter().map(AgreementRecord::try_from).collect()
    }

    async fn append(
        &mut self,
        id: AgreementPubId,
        happening: &Happening,
    ) -> Result<AgreementEvent, StoreError> {
        let (owner, agreement) = (self.owner(), id.as_uuid());
        // Whoever adds to the record has the document's row: no two follow the same entry.
        let locked: Option<Vec<u8>> = agreements::table
            .find((owner, agreement))
            .select(agreements::sha256)
            .for_no_key_update()
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        let document = locked.ok_or(MISSING)?;
        let last: Option<(i32, Vec<u8>)> = events::table
            .filter(events::organization_id.eq(owner))
            .filter(events::agreement_id.eq(agreement))
            .order(events::sequence.desc())
            .select((events::sequence, events::sha256))
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        let (sequence, previous) = last.unwrap_or((0, document));
        let previous = hash(&Place::new("agreement_events", &agreement), &previous)?;
        let event = happening.clone().after(previous);
        let next = sequence.saturating_add(1);
        diesel::insert_into(events::table)
            .values(EventRow::new(owner, agreement, next, &event))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        Ok(event)
    }

    async fn events(&mut self, id: AgreementPubId) -> Result<Vec<AgreementEvent>, StoreError> {
        let owner = self.owner();
        let rows: Vec<EventRow> = events::table
            .filter(events::organization_id.eq(owner))
            .filter(events::agreement_id.eq(id.as_uuid()))
            .order(events::sequence)
            .select(EventRow::as_select())
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        rows.into_iter().map(AgreementEvent::try_from).collect()
    }

    async fn sign(&mut self, id: AgreementPubId, signed: &Signed) -> Result<(), StoreError> {
        let (owner, agreement) = (self.owner(), id.as_uuid());
        let unsigned = agreements::table
            .filter(agreements::organization_id.eq(owner))
            .filter(agreements::id.eq(agreement))
            .filter(agreements::signed_at.is_null());
        let written = diesel::update(unsigned)
            .set((
                agreements::signed_at.eq(to_millis(signed.at)),
                agreements::signer_name.eq(&signed.name),
                agreements::consent_version.eq(&signed.consent_version),
                agreements::signer_reference.eq(text_if(signed.reference.as_ref())),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        match written {
            0 if AgreementStore::get(self, id).await?.is_some() => {
                Err(StoreError::Stale("agreement"))
            }
            0 => Err(MISSING),
            _ => Ok(()),
        }
    }

    async fn terms(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Option<AgreementTerms>, StoreError> {
        let row: Option<TermsRow> = terms::table
            .filter(terms::organization_id.eq(organization.get()))
            .order(terms::version.desc())
            .select((terms::version, terms::text, terms::created_at))
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        row.map(|row| terms_of(organization, &row)).transpose()
    }

    async fn set_terms(
        &mut self,
        organization: OrganizationId,
        text: &AgreementText,
        at: Timestamp,
    ) -> Result<AgreementTerms, StoreError> {
        let locked: Option<i64> = organizations::table
            .find(organization.get())
            .select(organizations::id)
            .for_no_key_update()
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        locked.ok_or(StoreError::Missing("organization"))?;
        let last = self.terms(organization).await?;
        let next = last.map_or(0, |terms| terms.version).saturating_add(1);
        let row = (
            i32::try_from(next).map_err(StoreError::internal)?,
            text.as_str().to_owned(),
            to_millis(at),
        );
        diesel::insert_into(terms::table)
            .values((
                terms::organization_id.eq(organization.get()),
                terms::version.eq(row.0),
                terms::text.eq(&row.1),
                terms::created_at.eq(row.2),
            ))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        terms_of(organization, &row)
    }

    async fn signer(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<Signer>, StoreError> {
        let owner = self.owner();
        let row: Option<SignerRow> = signers::table
            .filter(signers::organization_id.eq(owner))
            .filter(signers::organization_id.eq(organization.get()))
            .filter(signers::mode.eq(mode.as_str()))
            .select(SignerRow::as_select())
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        row.map(|row| self.signer_of(&row)).transpose()
    }

    async fn set_signer(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        signer: &Signer,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let mut row = SignerRow {
            organization_id: organization.get(),
            mode: text(&mode),
            kind: text(&signer.kind()),
            url: None,
            sealed_secret: None,
            updated_at: at,
        };
        if let Signer::Http(endpoint) = signer {
            let (url, sealed) = row.endpoint().seal(&self.secrets, endpoint)?;
            row.url = Some(url);
            row.sealed_secret = Some(sealed);
        }
        diesel::insert_into(signers::table)
            .values(&row)
            .on_conflict((signers::organization_id, signers::mode))
            .do_update()
            .set(&row)
            .execute(self.connection()?)
            .await
            .map(drop)
            .map_err(store_error)
    }
}
