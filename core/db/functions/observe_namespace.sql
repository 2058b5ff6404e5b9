-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
--
-- Notes that a namespace is labelled for an organization; the first time, in the audit log. For the holder of the epoch.
CREATE OR REPLACE FUNCTION public.observe_namespace(cluster text, cluster_epoch bigint, labelled text, organization uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform from cluster_epochs e where e.cluster_id = cluster and e.epoch = cluster_epoch for share;
  if not found then
    raise exception 'epoch % of cluster % has ended: another operator is the leader now', cluster_epoch, cluster
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  insert into namespace_observations (cluster_id, namespace, organization_id)
  values (cluster, labelled, organization) on conflict do nothing;
  if found then
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, after)
    values ('resource', cluster || '/Namespace//' || labelled, 'namespace.observe', 'Namespace', cluster || '/' || labelled,
            organization, jsonb_build_object('clusterId', cluster, 'namespace', labelled));
  else
    update namespace_observations o set last_seen_at = clock_timestamp()
     where (o.cluster_id, o.namespace, o.organization_id) = (cluster, labelled, organization)
       and o.last_seen_at < clock_timestamp() - interval '1 day';
  end if;
end $function$;
