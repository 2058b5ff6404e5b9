-- Legal documents that administrators published here, next to those of the release. A version takes effect on its day.
create table legal_texts (
  kind text not null check (kind in ('offer', 'personal_data')),
  version text not null check (version ~ '^2\d{3}-\d{2}-\d{2}$'),
  locale text not null check (locale in ('ru', 'en')),
  text text not null check (length(text) between 1 and 100000),
  sha256 text not null check (sha256 = encode(sha256(convert_to(text, 'UTF8')), 'hex')),
  published_at timestamptz not null default clock_timestamp(),
  published_by uuid not null references administrators,
  primary key (kind, version, locale)
);
comment on column legal_texts.version is 'The day on which it takes effect, in Moscow.';
create index on legal_texts (sha256);
create trigger refuse_change before update or delete on legal_texts for each row execute function refuse_change();
create trigger refuse_truncate before truncate on legal_texts for each statement execute function refuse_change();
revoke update, delete, truncate on legal_texts from public, current_user;

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant select on legal_texts to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_administration') is not null then
    grant select, insert (kind, version, locale, text, sha256, published_by) on legal_texts to model_gateway_administration;
    grant select on consents to model_gateway_administration;
  end if;
end $$;
