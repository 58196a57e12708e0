-- What was made at the payment processor, a row for each thing: holds, subscriptions, invoices, refunds, and
-- customers' sessions on the processor's own pages. A row outlives what the checkout has become, so that a late message finds it and money adds up.
create table ledger_entries (
    organization_id bigint not null,
    mode text not null,
    -- The processor's, which tells things apart within a mode; a session's is ours, under which it is opened.
    id text not null,
    checkout_id uuid not null,
    -- The order in which things were first kept.
    sequence bigint generated always as identity,
    kind text not null,
    state text not null,
    -- Of a subscription each payment.
    amount bigint not null,
    currency text not null,
    -- Since when it is as it is.
    at timestamptz not null,
    -- A hold's end, and a subscription's where the processor says so.
    ends_at timestamptz,
    -- A subscription's months count from here.
    anchor timestamptz,
    payments integer,
    -- What an invoice bills for.
    subscription_id text,
    is_cycle boolean,
    -- What pays an invoice, once there is one, or is paid back by a refund. A hold's is its id.
    payment_intent_id text,
    failed_attempts integer,
    failure_code text,
    failure_message text,
    -- The processor's id of a session, once it was opened. Where it leads is stored nowhere.
    session_id text,
    -- What a session is for.
    purpose text,
    constraint ledger_entries_pkey primary key (organization_id, mode, id),
    -- With the mode, so that it is the checkout's.
    constraint ledger_entries_checkout_id_fkey
        foreign key (organization_id, checkout_id, mode) references checkouts (organization_id, id, mode),
    constraint ledger_entries_kind_check check (
        kind in ('hold', 'subscription', 'invoice', 'refund', 'session')),
    constraint ledger_entries_hold_state_check check (kind <> 'hold' or state in ('held', 'captured', 'released')),
    constraint ledger_entries_subscription_state_check check (
        kind <> 'subscription' or state in ('incomplete', 'active', 'pastDue', 'unpaid', 'paused', 'ended')),
    constraint ledger_entries_invoice_state_check check (
        kind <> 'invoice' or state in ('open', 'failed', 'void', 'paid')),
    constraint ledger_entries_refund_state_check check (
        kind <> 'refund' or state in ('pending', 'succeeded', 'failed')),
    constraint ledger_entries_session_state_check check (
        kind <> 'session' or state in ('asked', 'open', 'completed', 'expired')),
    constraint ledger_entries_purpose_check check (purpose in ('deposit', 'method')),
    -- Each kind has its own members, and none of another's.
    constraint ledger_entries_hold_is_whole_check check (
        kind <> 'hold'
        or ends_at is not null
        and num_nonnulls(anchor, payments, subscription_id, is_cycle, payment_intent_id, failed_attempts, failure_code,
            failure_message) = 0),
    constraint ledger_entries_subscription_is_whole_check check (
        kind <> 'subscription'
        or num_nonnulls(anchor, payments) = 2
        and num_nonnulls(subscription_id, is_cycle, payment_intent_id, failed_attempts, failure_code,
            failure_message) = 0),
    constraint ledger_entries_invoice_is_whole_check check (
        kind <> 'invoice'
        or num_nonnulls(subscription_id, is_cycle) = 2
        and num_nonnulls(failed_attempts, failure_code, failure_message) = case state when 'failed' then 3 else 0 end
        and num_nonnulls(ends_at, anchor, payments) = 0),
    -- Why a refund failed is the processor's word, where it says one.
    constraint ledger_entries_refund_is_whole_check check (
        kind <> 'refund'
        or payment_intent_id is not null
        and num_nonnulls(ends_at, anchor, payments, subscription_id, is_cycle, failed_attempts, failure_message) = 0),
    constraint ledger_entries_session_is_whole_check check (
        case kind
            when 'session' then num_nonnulls(ends_at, purpose) = 2
                and num_nonnulls(anchor, payments, subscription_id, is_cycle, payment_intent_id, failed_attempts,
                    failure_code, failure_message) = 0
                and (session_id is not null or state in ('asked', 'expired'))
            else num_nonnulls(session_id, purpose) = 0
        end),
    constraint ledger_entries_payments_check check (payments >= 0),
    constraint ledger_entries_failed_attempts_check check (failed_attempts >= 0)
);

create index ledger_entries_checkout_id_idx on ledger_entries (organization_id, checkout_id, sequence);
-- The processor's messages name a thing, or the payment of an invoice, and no organization: doors that work across
-- organizations.
create index ledger_entries_id_idx on ledger_entries (id, mode);
create index ledger_entries_payment_intent_id_idx on ledger_entries (payment_intent_id, mode) where kind = 'invoice';
-- What is held is told of in all.
create index ledger_entries_held_idx on ledger_entries (organization_id, at) where kind = 'hold' and state = 'held';

call keep_apart('ledger_entries');
call open_door('message', 'ledger_entries');
call open_door('survey', 'ledger_entries');
