-- The documents that customers sign, and what was done with each. Of a checkout that is signed anew there are several.
create table agreements (
    organization_id bigint not null,
    id uuid not null,
    checkout_id uuid not null,
    -- None once the customer was erased whom no lease needs the document of.
    pdf bytea,
    sha256 bytea not null,
    -- Of the organization's own terms, where it had some.
    terms_version integer,
    -- Where it is signed, as the organization had it when the document was made.
    signer text not null,
    created_at timestamptz not null,
    signed_at timestamptz,
    -- As it was typed, or as the organization's signer told it; none after an erasure.
    signer_name text,
    -- Of the text about electronic records that the customer agreed to when they signed on the checkout page.
    consent_version text,
    -- What the organization's signer knows the signature by; none after an erasure.
    signer_reference text,
    constraint agreements_pkey primary key (organization_id, id),
    constraint agreements_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id),
    constraint agreements_sha256_check check (octet_length(sha256) = 32),
    constraint agreements_terms_version_check check (terms_version >= 1),
    constraint agreements_signer_check check (signer in ('builtin', 'http')),
    constraint agreements_signature_check check (
        signed_at is not null or num_nonnulls(signer_name, consent_version, signer_reference) = 0),
    -- Whoever signs on the page agrees to electronic records there.
    constraint agreements_consent_check check (signer = 'http' or (signed_at is null) = (consent_version is null))
);

create index agreements_checkout_idx on agreements (organization_id, checkout_id);
create index agreements_sha256_idx on agreements (organization_id, sha256);

call keep_apart('agreements');

-- What was done with a document, each hashed with the one before it. Nothing of it is ever changed or taken back but
-- from where somebody did it who is erased.
create table agreement_events (
    organization_id bigint not null,
    agreement_id uuid not null,
    sequence integer not null,
    event text not null,
    at timestamptz not null,
    address text,
    user_agent text,
    sha256 bytea not null,
    constraint agreement_events_pkey primary key (organization_id, agreement_id, sequence),
    constraint agreement_events_agreement_id_fkey
        foreign key (organization_id, agreement_id) references agreements (organization_id, id),
    constraint agreement_events_sequence_check check (sequence >= 1),
    constraint agreement_events_event_check check (event in ('created', 'viewed', 'consented', 'signed')),
    constraint agreement_events_sha256_check check (octet_length(sha256) = 32)
);

call keep_apart('agreement_events');

create trigger agreements_append_only
    before delete or truncate on agreements
    for each statement execute function refuse_to_rewrite_history();
-- A document may be signed, once, and what it tells of a person be taken away.
create trigger agreements_stay
    before update on agreements for each row
    when (
        (new.organization_id, new.id, new.checkout_id, new.sha256, new.terms_version, new.signer, new.created_at)
            is distinct from
            (old.organization_id, old.id, old.checkout_id, old.sha256, old.terms_version, old.signer, old.created_at)
        or new.pdf is not null and new.pdf is distinct from old.pdf
        or old.signed_at is not null and (
            (new.signed_at, new.consent_version) is distinct from (old.signed_at, old.consent_version)
            or new.signer_name is not null and new.signer_name is distinct from old.signer_name
            or new.signer_reference is not null and new.signer_reference is distinct from old.signer_reference))
    execute function refuse_to_rewrite_history();

create trigger agreement_events_append_only
    before delete or truncate on agreement_events
    for each statement execute function refuse_to_rewrite_history();
create trigger agreement_events_stay
    before update on agreement_events for each row
    when (
        new.address is not null and new.address is distinct from old.address
        or new.user_agent is not null and new.user_agent is distinct from old.user_agent
        or to_jsonb(new) - '{address,user_agent}'::text[] is distinct from to_jsonb(old) - '{address,user_agent}'::text[])
    execute function refuse_to_rewrite_history();
