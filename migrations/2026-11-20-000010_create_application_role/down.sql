-- The role is the cluster's: it goes with the last database that knows of it.
do $$
begin
    if exists (select from pg_roles where rolname = 'lessor_app') then
        drop owned by lessor_app;
        drop role lessor_app;
    end if;
exception when dependent_objects_still_exist or insufficient_privilege then
    null;
end
$$;
