-- The requests of one key, newest first, a page at a time: among very many of the organization they are few.
create index on requests (organization_id, api_key_id, ts desc, id desc);
