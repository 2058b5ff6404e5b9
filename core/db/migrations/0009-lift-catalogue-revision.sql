-- Numbers the catalogue above a revision that was published once: nobody follows a lower one. A Postgres that was
-- restored may stand below it. Whoever lifts above the same revision meanwhile gets the same one.
create function lift_catalogue_revision(above bigint) returns bigint
language sql security definer set search_path = public, pg_temp as $$
  update catalogue_revision set revision = greatest(revision, above + 1) returning revision;
$$;

revoke execute on function lift_catalogue_revision(bigint) from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant execute on function lift_catalogue_revision(bigint) to model_gateway_worker;
  end if;
end $$;
