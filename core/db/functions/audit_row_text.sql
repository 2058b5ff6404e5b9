-- Defined by migrations/0035-audit-chain.sql; change it by a new migration.
--
-- What the hash of a row covers: every column, in a form that depends on no setting. Columns that are null are left out, so
-- that a new column changes no hash. `npm run invariants` has the same expression (core/audit/verify-chain.ts).
CREATE OR REPLACE FUNCTION public.audit_row_text(logged audit_log)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select (jsonb_strip_nulls(to_jsonb(logged) - 'at' - 'before' - 'after')
          || jsonb_build_object('at', extract(epoch from logged.at)::text, 'before', logged.before, 'after', logged.after))::text
$function$;
