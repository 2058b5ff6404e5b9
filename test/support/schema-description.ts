import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Queryable } from '#core/db/pool'

/**
 * What a migrated database consists of, a line each, the same on every version of Postgres: tables, columns,
 * constraints, indexes, triggers, functions, types, permissions and policies. Partitions of months and days are left out; they follow the date.
 */
export async function describeSchema(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ line: string }>(`
    with relation as (
      select c.* from pg_class c
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relname !~ '_\\d{4}(_\\d{2}){1,2}$'
    ), line (about, rank, line) as (
      select relname, 0, 'table ' || relname || coalesce(' partition by ' || pg_get_partkeydef(oid), '')
             || coalesce(' ' || pg_get_expr(relpartbound, oid), '') || coalesce(' with ' || reloptions::text, '')
        from relation
      union all
      select r.relname, a.attnum, '  ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
             || case when a.attnotnull then ' not null' else '' end
             || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
        from relation r join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
      union all
      select r.relname, 2000, '  constraint ' || c.conname || ' ' || pg_get_constraintdef(c.oid)
        from relation r join pg_constraint c on c.conrelid = r.oid and c.contype in ('c', 'f', 'p', 'u', 'x')
      union all
      select r.relname, 2001, '  ' || pg_get_indexdef(i.indexrelid) from relation r join pg_index i on i.indrelid = r.oid
      union all
      select r.relname, 2002, '  ' || pg_get_triggerdef(t.oid)
        from relation r join pg_trigger t on t.tgrelid = r.oid and not t.tgisinternal
      union all
      select r.relname, 2003, '  grant ' || string_agg(lower(g.privilege_type), ', ' order by g.privilege_type) || ' to '
             || case g.grantee when 0 then 'public' when r.relowner then 'owner' else g.grantee::regrole::text end
        from relation r, aclexplode(coalesce(r.relacl, acldefault('r', r.relowner))) g
       where g.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
       group by r.relname, r.relowner, g.grantee
      union all
      select r.relname, 2004, '  grant ' || lower(g.privilege_type) || ' (' || string_agg(a.attname, ', ' order by a.attnum)
             || ') to ' || g.grantee::regrole::text
        from relation r join pg_attribute a on a.attrelid = r.oid, aclexplode(a.attacl) g
       group by r.relname, g.privilege_type, g.grantee
      union all
      select r.relname, 2005, '  policy ' || p.polname || ' to '
             || (select string_agg(role_id::regrole::text, ', ' order by role_id::regrole::text)
                   from unnest(p.polroles) as role_id)
             || coalesce(' using ' || pg_get_expr(p.polqual, p.polrelid), '')
             || coalesce(' with check ' || pg_get_expr(p.polwithcheck, p.polrelid), '')
        from relation r join pg_policy p on p.polrelid = r.oid
      union all
      select '~' || p.proname, 0, 'function ' || p.oid::regprocedure::text || ' returns ' || pg_get_function_result(p.oid)
             || case p.provolatile when 'i' then ' immutable' when 's' then ' stable' else '' end
             || case when p.prosecdef then ' security definer' else '' end
             || coalesce(' ' || p.proconfig::text, '') || ' for '
             || (select string_agg(case g.grantee when 0 then 'public' when p.proowner then 'owner'
                                   else g.grantee::regrole::text end, ', ' order by g.grantee::regrole::text)
                   from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g)
        from pg_proc p where p.pronamespace = 'public'::regnamespace
      union all
      select '~~' || t.typname, 0, 'type ' || t.typname || ' ' || coalesce(
             (select string_agg(enumlabel, ', ' order by enumsortorder) from pg_enum where enumtypid = t.oid),
             (select format_type(t.typbasetype, t.typtypmod) || ' ' || string_agg(pg_get_constraintdef(c.oid), ' ')
                from pg_constraint c where c.contypid = t.oid and c.contype = 'c'))
        from pg_type t where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd')
    )
    select line from line order by about collate "C", rank, line collate "C"`)
  return `${rows.map(({ line }) => line).join('\n')}\n`
}

/** The committed description, `core/db/schema.txt`; with `UPDATE_SCHEMA=1` it is first set to `actual`. */
export async function readDescription(actual: string): Promise<string> {
  const file = join(import.meta.dirname, '../../core/db/schema.txt')
  if (process.env.UPDATE_SCHEMA === '1') await writeFile(file, actual)
  return readFile(file, 'utf8')
}
