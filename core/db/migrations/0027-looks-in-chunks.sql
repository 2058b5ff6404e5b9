-- Looks at the books (0021) go through the notes in chunks of at most 1,000 rows, each a transaction: a note has an order, says
-- since when it waits, and is about at most 1,000 rows. What the looks have counted is compared with the books once no note is
-- left, so the sums that were added to meanwhile are marked.

create temporary table old_requests on commit drop as select ids from unchecked_requests;
create temporary table old_ledger_rows on commit drop as select * from unchecked_ledger_rows;
delete from unchecked_requests;
delete from unchecked_ledger_rows;

alter table unchecked_requests
  add column id bigint generated always as identity primary key,
  add column noted_at timestamptz not null default clock_timestamp(),
  add column row_count integer not null;
alter table unchecked_ledger_rows
  add column id bigint generated always as identity primary key,
  add column noted_at timestamptz not null default clock_timestamp(),
  add column row_count integer not null;
alter table unchecked_things
  add column id bigint generated always as identity primary key,
  add column noted_at timestamptz not null default clock_timestamp();

insert into unchecked_requests (ids, row_count)
select array_agg(id), count(*)
  from (select id, (row_number() over () - 1) / 1000 as part from old_requests cross join lateral unnest(ids) id) r
 group by part;
insert into unchecked_ledger_rows (organization_ids, first_seqs, last_seqs, row_count)
select array[s.organization_id], array[seq], array[least(seq + 999, s.last_seq)], least(1000, s.last_seq - seq + 1)
  from old_ledger_rows o
  cross join lateral unnest(o.organization_ids, o.first_seqs, o.last_seqs) as s (organization_id, first_seq, last_seq)
  cross join lateral generate_series(s.first_seq, s.last_seq, 1000) seq;

-- is_open: added to since it was compared with the books. is_doubted: to be counted anew, whatever it says.
alter table checked_key_days
  add column is_open boolean not null default false, add column is_doubted boolean not null default false;
alter table checked_ledger_hours
  add column is_open boolean not null default false, add column is_doubted boolean not null default false;
alter table checked_usage_hours
  add column is_open boolean not null default false, add column is_doubted boolean not null default false;
create index on checked_key_days (key_id, day) where is_open;
create index on checked_ledger_hours (organization_id, hour) where is_open;
create index on checked_usage_hours (organization_id, hour, api_key_id, model) where is_open;

alter table invariant_breaches add column looked_at timestamptz not null default clock_timestamp();

create or replace function note_requests() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into unchecked_requests (ids, row_count)
  select array_agg(id), count(*)
    from (select id, (row_number() over () - 1) / 1000 as part from added) r
   group by part;
  return null;
end $$;

-- A span is of rows without a gap, so that it has no more rows than were noted.
create or replace function note_ledger_rows() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into unchecked_ledger_rows (organization_ids, first_seqs, last_seqs, row_count)
  select array_agg(organization_id), array_agg(first_seq), array_agg(last_seq), sum(row_count)
    from (select part, organization_id, min(seq) as first_seq, max(seq) as last_seq, count(*) as row_count
            from (select organization_id, seq, (place - 1) / 1000 as part, seq - place as run
                    from (select organization_id, seq, row_number() over (order by organization_id, seq) as place
                            from added) a) r
           group by part, organization_id, run) s
   group by part;
  return null;
end $$;
