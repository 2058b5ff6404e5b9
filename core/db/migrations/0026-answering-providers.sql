-- A provider that nobody has called is not a healthy one: gateways say which have answered them.
alter table gateway_replicas add column answering jsonb not null default '[]';

comment on column gateway_replicas.answering is 'Providers that have answered this gateway well since they last changed.';
