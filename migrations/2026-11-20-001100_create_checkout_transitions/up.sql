-- Every move of every checkout: who, when and why. Nothing is ever taken back from it but what somebody wrote about a
-- customer who is erased.
create table checkout_transitions (
    organization_id bigint not null,
    checkout_id uuid not null,
    sequence bigint not null,
    from_lifecycle text collate "C" not null,
    -- A name that the binary knows which wrote it; what reads it says when it does not.
    event text not null,
    to_lifecycle text collate "C" not null,
    at timestamptz not null,
    actor text not null,
    -- Which API key, where one did it.
    key_id uuid,
    reason text,
    constraint checkout_transitions_pkey primary key (organization_id, checkout_id, sequence),
    constraint checkout_transitions_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id),
    constraint checkout_transitions_from_lifecycle_fkey
        foreign key (from_lifecycle) references lifecycle_states (name),
    constraint checkout_transitions_to_lifecycle_fkey
        foreign key (to_lifecycle) references lifecycle_states (name),
    constraint checkout_transitions_sequence_check check (sequence >= 1),
    constraint checkout_transitions_actor_check check (actor in ('customer', 'operator', 'provider', 'system'))
);

call keep_apart('checkout_transitions');

create function refuse_to_rewrite_history() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end
$$;

create trigger checkout_transitions_append_only
    before delete or truncate on checkout_transitions
    for each statement execute function refuse_to_rewrite_history();
-- A reason may be taken away. Whatever else is different is refused, in columns to come too.
create trigger checkout_transitions_stay
    before update on checkout_transitions for each row
    when (new.reason is not null or to_jsonb(new) - 'reason' is distinct from to_jsonb(old) - 'reason')
    execute function refuse_to_rewrite_history();
