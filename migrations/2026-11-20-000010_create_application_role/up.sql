-- Whom sessions act as whose own role stands above row security: a superuser's, or one with BYPASSRLS. It owns nothing
-- and logs in nowhere. Whoever may make roles makes it here; whoever may not stands below row security, and needs it not.
do $$
declare
    migrating pg_roles := (select role from pg_roles as role where role.rolname = current_user);
begin
    if (migrating.rolsuper or migrating.rolcreaterole)
        and not exists (select from pg_roles where rolname = 'lessor_app')
    then
        begin
            create role lessor_app nologin;
        exception when duplicate_object or unique_violation or internal_error then
            -- The role is the cluster's, and another of its databases was migrated at this moment. "Tuple concurrently
            -- updated" is told as an internal error.
            if not exists (select from pg_roles where rolname = 'lessor_app') then
                raise;
            end if;
        end;
    end if;
    if not migrating.rolsuper and migrating.rolbypassrls
        and exists (select from pg_roles where rolname = 'lessor_app')
    then
        begin
            execute format('grant lessor_app to %I', current_user);
        exception when insufficient_privilege or internal_error then
            -- It is somebody else's to grant: without it no session of this role begins.
            null;
        end;
    end if;
end
$$;
