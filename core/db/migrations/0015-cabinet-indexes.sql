-- What the cabinet's pages read newest first, a page at a time: requests behind (ts, id) of the last one shown, hours of use
-- behind an hour. The index of a partitioned table covers the partitions to come. Making it keeps post_batch waiting: the
-- charges wait in Redis meanwhile.
create index on requests (organization_id, ts desc, id desc);
create index on usage_hourly (organization_id, hour desc);
