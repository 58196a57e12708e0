-- Every row of a table that is kept apart is its organization's alone: for whom a transaction works is its setting
-- lessor.organization, and whoever says nothing has no rows. That holds for the tables' owner too. The condition is
-- written out in each policy, since neither an index nor another node answers a function of ours.
create procedure keep_apart(table_name text) language plpgsql as $$
declare
    is_own constant text := 'organization_id = nullif(current_setting(''lessor.organization'', true), '''')::bigint';
begin
    execute format('alter table %I enable row level security', table_name);
    execute format('alter table %I force row level security', table_name);
    execute format('create policy owner_only on %I using (%s) with check (%s)', table_name, is_own, is_own);
end
$$;

-- A door lets whoever opens it, by the setting lessor.door, read the rows of all organizations, and change none: for what
-- is asked before it is known whose something is.
create procedure open_door(door text, table_name text) language plpgsql as $$
begin
    execute format(
        'create policy %I on %I for select using (current_setting(''lessor.door'', true) = %L)',
        'door_' || door, table_name, door);
end
$$;
