-- Which keys a user has created with tokens, too.
create index on management_tokens (created_by);
