-- Defined by migrations/0051-resent-emails.sql; change it by a new migration.
--
-- 32 bytes as base64url, of which 244 bits are random.
CREATE OR REPLACE FUNCTION public.new_link_token()
 RETURNS text
 LANGUAGE sql
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select rtrim(translate(encode(decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'), 'base64'),
                         '+/', '-_'), '=')
$function$;
