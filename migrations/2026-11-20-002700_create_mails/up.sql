-- Mails and what became of them. A row says what a mail is about and never whom it goes to or what it says: both are
-- read when it is sent.
create table mails (
    organization_id bigint not null,
    -- Made in the order of time; the Message-ID is made of it.
    id uuid not null,
    mode text not null,
    -- A name that the binary knows which wrote it; what reads it says when it does not.
    kind text not null,
    subject_kind text not null,
    -- The checkout or the endpoint that it is about, which may be gone when it is sent.
    subject_id uuid not null,
    -- What it is sent for, once: an event, the end of a lease, a customer's wish within a quarter of an hour.
    cause text not null,
    state text not null,
    -- How many attempts have ended.
    attempts integer not null default 0,
    -- How often it was taken to be sent: a worker's claim is known by its number.
    claims integer not null default 0,
    -- When it is tried next; none once that is over.
    due_at timestamptz,
    -- By this database's clock alone: those of the workers may differ.
    claimed_until timestamptz,
    -- Why it was not sent: codes of the mail server and sentences of ours, which name nobody.
    reason text,
    -- What the address is known again by that it went to, under the server's key; as in mail_suppressions. It goes when
    -- the customer is erased.
    recipient_mark bytea,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint mails_pkey primary key (organization_id, id),
    -- However many find the same cause at the same time.
    constraint mails_cause_key unique (organization_id, cause),
    constraint mails_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint mails_mode_check check (mode in ('live', 'sandbox')),
    constraint mails_subject_kind_check check (subject_kind in ('checkout', 'endpoint')),
    constraint mails_cause_check check (octet_length(cause) between 1 and 255),
    constraint mails_state_check
        check (state in ('pending', 'sent', 'suppressed', 'skipped', 'bounced', 'complained', 'dead')),
    constraint mails_attempts_check check (attempts >= 0 and claims >= 0),
    constraint mails_due_check check ((state = 'pending') = (due_at is not null)),
    constraint mails_claims_are_pending_check check (claimed_until is null or state = 'pending'),
    constraint mails_recipient_mark_check check (octet_length(recipient_mark) = 32)
);

create index mails_due_idx on mails (organization_id, due_at, id) where state = 'pending';
create index mails_subject_id_idx on mails (organization_id, subject_id);
-- Whose mails are due is asked of all: few wait, however many were sent.
create index mails_due_at_idx on mails (due_at, organization_id) where state = 'pending';
-- Whose old ones are likewise. They lie together.
create index mails_created_at_idx on mails using brin (created_at);
-- Whoever reports what became of a mail names it by its id, and so does who administers them.
create index mails_id_idx on mails (id);
-- How many wait for a worker, and how many for a person.
create index mails_open_idx on mails (state) where state in ('pending', 'dead');

call keep_apart('mails');
call open_door('message', 'mails');
call open_door('errands', 'mails');
call open_door('survey', 'mails');
