-- Defined by migrations/0094-public-models.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.note_removed_model()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if tg_op = 'INSERT' then
    delete from removed_models where model = new.model;
  else
    insert into removed_models (model, is_open, fallbacks)
    values (old.model, coalesce(jsonb_typeof(old.document -> 'organizations') = 'null', false),
            array(select jsonb_array_elements_text(coalesce(old.document -> 'fallbacks', '[]'))))
    on conflict (model) do update
      set is_open = excluded.is_open, fallbacks = excluded.fallbacks, removed_at = excluded.removed_at;
  end if;
  return null;
end $function$;
