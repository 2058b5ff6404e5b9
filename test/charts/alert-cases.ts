/** Series that break what an alert watches, and series of a sound system: with the first it fires, with the second it is quiet. */
export type AlertCase = {
  readonly alert: string
  /** After how long it is looked at. */
  readonly at: string
  readonly breaks: Readonly<Record<string, string>>
  readonly sound: Readonly<Record<string, string>>
}

export const alertCases: readonly AlertCase[] = [
  {
    alert: 'ModelGatewayGatewayErrors',
    at: '20m',
    breaks: {
      'model_gateway_requests_total{namespace="mg",status_class="5xx"}': '0+10x40',
      'model_gateway_requests_total{namespace="mg",status_class="2xx"}': '0+90x40',
    },
    sound: {
      'model_gateway_requests_total{namespace="mg",status_class="5xx"}': '0+1x40',
      'model_gateway_requests_total{namespace="mg",status_class="2xx"}': '0+90x40',
    },
  },
  {
    alert: 'ModelGatewayGatewaySlow',
    at: '20m',
    breaks: {
      'model_gateway_overhead_seconds_bucket{namespace="mg",le="0.001"}': '0x40',
      'model_gateway_overhead_seconds_bucket{namespace="mg",le="10"}': '0+60x40',
      'model_gateway_overhead_seconds_bucket{namespace="mg",le="+Inf"}': '0+60x40',
    },
    sound: {
      'model_gateway_overhead_seconds_bucket{namespace="mg",le="0.001"}': '0+60x40',
      'model_gateway_overhead_seconds_bucket{namespace="mg",le="10"}': '0+60x40',
      'model_gateway_overhead_seconds_bucket{namespace="mg",le="+Inf"}': '0+60x40',
    },
  },
  {
    alert: 'ModelGatewayProviderFailing',
    at: '20m',
    breaks: {
      'model_gateway_upstream_attempts_total{namespace="mg",provider="p",result="failed"}': '0+9x40',
      'model_gateway_upstream_attempts_total{namespace="mg",provider="p",result="answered"}': '0+1x40',
    },
    sound: {
      'model_gateway_upstream_attempts_total{namespace="mg",provider="p",result="failed"}': '0+1x40',
      'model_gateway_upstream_attempts_total{namespace="mg",provider="p",result="answered"}': '0+9x40',
    },
  },
  {
    alert: 'ModelGatewayBackendsCoolingDown',
    at: '20m',
    breaks: { 'model_gateway_backends_cooling_down{namespace="mg",provider="p"}': '1x40' },
    sound: { 'model_gateway_backends_cooling_down{namespace="mg",provider="p"}': '0x40' },
  },
  {
    alert: 'ModelGatewayUsageUntrusted',
    at: '20m',
    breaks: { 'model_gateway_usage_untrusted_total{namespace="mg",provider="p"}': '0x10 1x30' },
    sound: { 'model_gateway_usage_untrusted_total{namespace="mg",provider="p"}': '1x40' },
  },
  {
    alert: 'ModelGatewayHoldOverrun',
    at: '20m',
    breaks: { 'model_gateway_hold_overruns_total{namespace="mg",cause="prompt"}': '0x10 1x30' },
    sound: { 'model_gateway_hold_overruns_total{namespace="mg",cause="prompt"}': '1x40' },
  },
  {
    alert: 'ModelGatewayServerToolRun',
    at: '20m',
    breaks: { 'model_gateway_server_tools_run_total{namespace="mg",provider="p",tool="other"}': '0x10 1x30' },
    sound: { 'model_gateway_server_tools_run_total{namespace="mg",provider="p",tool="other"}': '1x40' },
  },
  {
    alert: 'ModelGatewayGatewayRedisSlow',
    at: '20m',
    breaks: {
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",pod="a",component="gateway",le="0.001"}':
        '0x40',
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",pod="a",component="gateway",le="10"}':
        '0+60x40',
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",pod="a",component="gateway",le="+Inf"}':
        '0+60x40',
    },
    sound: {
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",pod="a",component="gateway",le="0.001"}':
        '0+60x40',
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",pod="a",component="gateway",le="10"}':
        '0+60x40',
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",pod="a",component="gateway",le="+Inf"}':
        '0+60x40',
    },
  },
  {
    alert: 'ModelGatewayRedisCircuitOpen',
    at: '20m',
    breaks: { 'model_gateway_redis_circuit_open{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_redis_circuit_open{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayRedisNearlyFull',
    at: '20m',
    breaks: { 'model_gateway_redis_nearly_full{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_redis_nearly_full{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayRedisMayEvict',
    at: '20m',
    breaks: { 'model_gateway_redis_may_evict{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_redis_may_evict{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayRedisKeepsNoFile',
    at: '20m',
    breaks: { 'model_gateway_redis_keeps_no_file{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_redis_keeps_no_file{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayBodyMemoryShort',
    at: '20m',
    breaks: { 'model_gateway_held_body_bytes{namespace="mg"}': '500000000x40' },
    sound: { 'model_gateway_held_body_bytes{namespace="mg"}': '1000x40' },
  },
  {
    alert: 'ModelGatewayBufferedChargesMany',
    at: '20m',
    breaks: { 'model_gateway_buffered_charges{namespace="mg"}': '450000x40' },
    sound: { 'model_gateway_buffered_charges{namespace="mg"}': '10x40' },
  },
  {
    alert: 'ModelGatewayBufferedChargesOld',
    at: '20m',
    breaks: { 'model_gateway_buffered_charge_age_seconds{namespace="mg"}': '120x40' },
    sound: { 'model_gateway_buffered_charge_age_seconds{namespace="mg"}': '2x40' },
  },
  {
    alert: 'ModelGatewayCatalogueDiffers',
    at: '20m',
    breaks: {
      'model_gateway_routes_revision{namespace="mg",pod="a"}': '5x40',
      'model_gateway_routes_revision{namespace="mg",pod="b"}': '6x40',
    },
    sound: {
      'model_gateway_routes_revision{namespace="mg",pod="a"}': '6x40',
      'model_gateway_routes_revision{namespace="mg",pod="b"}': '6x40',
    },
  },
  {
    alert: 'ModelGatewayCatalogueRejected',
    at: '20m',
    breaks: { 'model_gateway_route_documents_rejected_total{namespace="mg"}': '0x10 1x30' },
    sound: { 'model_gateway_route_documents_rejected_total{namespace="mg"}': '1x40' },
  },
  {
    alert: 'ModelGatewayEventLoopLate',
    at: '20m',
    breaks: { 'nodejs_eventloop_lag_p99_seconds{namespace="mg",component="gateway"}': '0.2x40' },
    sound: {
      'nodejs_eventloop_lag_p99_seconds{namespace="mg",component="gateway"}': '0.02x40',
      'nodejs_eventloop_lag_p99_seconds{namespace="mg",component="worker"}': '0.2x40',
    },
  },
  {
    alert: 'ModelGatewayPostgresSlow',
    at: '20m',
    breaks: {
      'model_gateway_postgres_query_duration_seconds_bucket{namespace="mg",component="cabinet",pool="main",le="0.001"}':
        '0x40',
      'model_gateway_postgres_query_duration_seconds_bucket{namespace="mg",component="cabinet",pool="main",le="10"}':
        '0+60x40',
      'model_gateway_postgres_query_duration_seconds_bucket{namespace="mg",component="cabinet",pool="main",le="+Inf"}':
        '0+60x40',
    },
    sound: {
      'model_gateway_postgres_query_duration_seconds_bucket{namespace="mg",component="cabinet",pool="main",le="0.001"}':
        '0+60x40',
      'model_gateway_postgres_query_duration_seconds_bucket{namespace="mg",component="cabinet",pool="main",le="10"}':
        '0+60x40',
      'model_gateway_postgres_query_duration_seconds_bucket{namespace="mg",component="cabinet",pool="main",le="+Inf"}':
        '0+60x40',
    },
  },
  {
    alert: 'ModelGatewayPostgresConnectionsShort',
    at: '20m',
    breaks: {
      'model_gateway_postgres_connection_waiters{namespace="mg",component="cabinet",pool="main"}': '3x40',
    },
    sound: {
      'model_gateway_postgres_connection_waiters{namespace="mg",component="cabinet",pool="main"}': '0x40',
    },
  },
  {
    alert: 'ModelGatewayCabinetErrors',
    at: '20m',
    breaks: {
      'model_gateway_cabinet_request_duration_seconds_count{namespace="mg",status_class="5xx"}': '0+10x40',
      'model_gateway_cabinet_request_duration_seconds_count{namespace="mg",status_class="2xx"}': '0+90x40',
    },
    sound: {
      'model_gateway_cabinet_request_duration_seconds_count{namespace="mg",status_class="2xx"}': '0+90x40',
      'model_gateway_cabinet_request_duration_seconds_count{namespace="mg",status_class="5xx"}': '0+1x40',
    },
  },
  {
    alert: 'ModelGatewayRedisSlow',
    at: '20m',
    breaks: {
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",component="worker",le="0.001"}':
        '0x40',
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",component="worker",le="10"}':
        '0+60x40',
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",component="worker",le="+Inf"}':
        '0+60x40',
    },
    sound: {
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",component="worker",le="0.001"}':
        '0+60x40',
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",component="worker",le="10"}':
        '0+60x40',
      'model_gateway_redis_script_duration_seconds_bucket{namespace="mg",component="worker",le="+Inf"}':
        '0+60x40',
    },
  },
  {
    alert: 'ModelGatewayChargesUnposted',
    at: '20m',
    breaks: { 'model_gateway_charges_unposted_age_seconds{namespace="mg"}': '120x40' },
    sound: { 'model_gateway_charges_unposted_age_seconds{namespace="mg"}': '1x40' },
  },
  {
    alert: 'ModelGatewayHoldsOverdue',
    at: '20m',
    breaks: { 'model_gateway_holds_overdue_seconds{namespace="mg"}': '120x40' },
    sound: { 'model_gateway_holds_overdue_seconds{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayShardsUnavailable',
    at: '20m',
    breaks: { 'model_gateway_shards_unavailable{namespace="mg"}': '3x40' },
    sound: { 'model_gateway_shards_unavailable{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayRedisSlotsUncovered',
    at: '20m',
    breaks: { 'model_gateway_redis_cluster_problems{namespace="mg",problem="uncovered_slots"}': '2x40' },
    sound: { 'model_gateway_redis_cluster_problems{namespace="mg",problem="uncovered_slots"}': '0x40' },
  },
  {
    alert: 'ModelGatewayRedisUnreplicated',
    at: '20m',
    breaks: { 'model_gateway_redis_cluster_problems{namespace="mg",problem="no_synced_replica"}': '2x40' },
    sound: { 'model_gateway_redis_cluster_problems{namespace="mg",problem="no_synced_replica"}': '0x40' },
  },
  {
    alert: 'ModelGatewayRedisPrimaryUnreachable',
    at: '20m',
    breaks: { 'model_gateway_redis_cluster_problems{namespace="mg",problem="unreachable_primary"}': '2x40' },
    sound: { 'model_gateway_redis_cluster_problems{namespace="mg",problem="unreachable_primary"}': '0x40' },
  },
  {
    alert: 'ModelGatewayRedisVersionUnsupported',
    at: '20m',
    breaks: { 'model_gateway_redis_cluster_problems{namespace="mg",problem="unsupported_version"}': '2x40' },
    sound: { 'model_gateway_redis_cluster_problems{namespace="mg",problem="unsupported_version"}': '0x40' },
  },
  {
    alert: 'ModelGatewayJobLate',
    at: '20m',
    breaks: {
      'model_gateway_job_last_success_timestamp_seconds{namespace="mg",exported_job="settle"}': '0x40',
      'model_gateway_job_period_seconds{namespace="mg",exported_job="settle"}': '1x40',
    },
    sound: {
      'model_gateway_job_last_success_timestamp_seconds{namespace="mg",exported_job="settle"}': '0+60x40',
      'model_gateway_job_period_seconds{namespace="mg",exported_job="settle"}': '1x40',
      'model_gateway_job_last_success_timestamp_seconds{namespace="mg",exported_job="archive"}': '0x40',
      'model_gateway_job_period_seconds{namespace="mg",exported_job="archive"}': '1x40',
    },
  },
  {
    alert: 'ModelGatewayJobNeverSucceeded',
    at: '20m',
    breaks: { 'model_gateway_job_period_seconds{namespace="mg",exported_job="settle"}': '1x40' },
    sound: {
      'model_gateway_job_last_success_timestamp_seconds{namespace="mg",exported_job="settle"}': '0+60x40',
      'model_gateway_job_period_seconds{namespace="mg",exported_job="settle"}': '1x40',
      'model_gateway_job_period_seconds{namespace="mg",exported_job="archive_partitions"}': '600x40',
    },
  },
  {
    alert: 'ModelGatewayChargesRejected',
    at: '20m',
    breaks: { 'model_gateway_rejected_charges{namespace="mg"}': '1x40' },
    sound: {
      'model_gateway_rejected_charges{namespace="mg"}': '0x40',
      'model_gateway_charges_rejected_total{namespace="mg"}': '1x40',
    },
  },
  {
    alert: 'ModelGatewayInvariantBroken',
    at: '20m',
    breaks: { 'model_gateway_invariant_breaches{namespace="mg",invariant="i"}': '1x40' },
    sound: { 'model_gateway_invariant_breaches{namespace="mg",invariant="i"}': '0x40' },
  },
  {
    alert: 'ModelGatewayAuditLate',
    at: '20m',
    breaks: { 'model_gateway_invariants_audit_age_seconds{namespace="mg"}': '100000x40' },
    sound: { 'model_gateway_invariants_audit_age_seconds{namespace="mg"}': '1000x40' },
  },
  {
    alert: 'ModelGatewayAuditLogChanged',
    at: '20m',
    breaks: { 'model_gateway_audit_chain_bad_rows{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_audit_chain_bad_rows{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayAuditLogUnchecked',
    at: '20m',
    breaks: { 'model_gateway_audit_chain_check_age_seconds{namespace="mg"}': '100000x40' },
    sound: { 'model_gateway_audit_chain_check_age_seconds{namespace="mg"}': '1000x40' },
  },
  {
    alert: 'ModelGatewayLooksBehind',
    at: '20m',
    breaks: { 'model_gateway_invariants_unchecked_age_seconds{namespace="mg"}': '301x40' },
    sound: { 'model_gateway_invariants_unchecked_age_seconds{namespace="mg"}': '300x40' },
  },
  {
    alert: 'ModelGatewayRowsLost',
    at: '20m',
    breaks: { 'model_gateway_lost_rows_total{namespace="mg"}': '0x10 1x30' },
    sound: { 'model_gateway_lost_rows_total{namespace="mg"}': '1x40' },
  },
  {
    alert: 'ModelGatewayBalancesReconciled',
    at: '20m',
    breaks: { 'model_gateway_balances_reconciled_total{namespace="mg"}': '0x10 1x30' },
    sound: { 'model_gateway_balances_reconciled_total{namespace="mg"}': '1x40' },
  },
  {
    alert: 'ModelGatewayEmailsGivenUp',
    at: '20m',
    breaks: { 'model_gateway_emails_given_up_total{namespace="mg",kind="verify"}': '0x10 1x30' },
    sound: { 'model_gateway_emails_given_up_total{namespace="mg",kind="verify"}': '1x40' },
  },
  {
    alert: 'ModelGatewayEmailsLate',
    at: '20m',
    breaks: { 'model_gateway_emails_waiting_age_seconds{namespace="mg"}': '900x40' },
    sound: { 'model_gateway_emails_waiting_age_seconds{namespace="mg"}': '5x40' },
  },
  {
    alert: 'ModelGatewayArchiveLate',
    at: '20m',
    breaks: { 'model_gateway_archive_waiting_age_seconds{namespace="mg"}': '3700x40' },
    sound: { 'model_gateway_archive_waiting_age_seconds{namespace="mg"}': '3500x40' },
  },
  {
    alert: 'ModelGatewayArchiveFailing',
    at: '70m',
    breaks: { 'model_gateway_archive_failing{namespace="mg"}': '1x80' },
    sound: { 'model_gateway_archive_failing{namespace="mg"}': '1x30 0 1x50' },
  },
  {
    alert: 'ModelGatewayArchiveDiffers',
    at: '20m',
    breaks: { 'model_gateway_archive_partition_differs{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_archive_partition_differs{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayArchivePartitionsFailing',
    at: '480m',
    breaks: {
      'model_gateway_job_errors_total{namespace="mg",exported_job="archive_partitions"}': '0+1x500',
      'model_gateway_job_last_success_timestamp_seconds{namespace="mg",exported_job="archive_partitions"}':
        '0x500',
    },
    sound: {
      'model_gateway_job_errors_total{namespace="mg",exported_job="archive_partitions"}': '0+1x500',
      'model_gateway_job_last_success_timestamp_seconds{namespace="mg",exported_job="archive_partitions"}':
        '0+60x500',
    },
  },
  {
    alert: 'ModelGatewayTrialCreditAlmostSpent',
    at: '20m',
    breaks: {
      'model_gateway_trial_credit_granted_rub{namespace="mg",pod="a"}': '2430x40',
      'model_gateway_trial_credit_daily_limit_rub{namespace="mg",pod="a"}': '3000x40',
    },
    sound: {
      'model_gateway_trial_credit_granted_rub{namespace="mg",pod="a"}': '2400x40',
      'model_gateway_trial_credit_daily_limit_rub{namespace="mg",pod="a"}': '3000x40',
    },
  },
  {
    alert: 'ModelGatewayNotificationsLate',
    at: '20m',
    breaks: { 'model_gateway_webhooks_waiting_age_seconds{namespace="mg"}': '600x40' },
    sound: { 'model_gateway_webhooks_waiting_age_seconds{namespace="mg"}': '1x40' },
  },
  {
    alert: 'ModelGatewayPaymentCallsUnknown',
    at: '20m',
    breaks: { 'model_gateway_payment_calls_unknown{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_payment_calls_unknown{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayPaymentsDiffer',
    at: '20m',
    breaks: { 'model_gateway_payment_differences{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_payment_differences{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayModelsUnpriced',
    at: '20m',
    breaks: { 'model_gateway_unpriced_models{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_unpriced_models{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayNotificationsFailed',
    at: '20m',
    breaks: { 'model_gateway_webhook_calls_total{namespace="mg",outcome="failed"}': '0x10 1x30' },
    sound: {
      'model_gateway_webhook_calls_total{namespace="mg",outcome="stored"}': '0+1x40',
      'model_gateway_webhook_calls_total{namespace="mg",outcome="failed"}': '1x40',
    },
  },
  {
    alert: 'ModelGatewayNotificationsFromElsewhere',
    at: '40m',
    breaks: { 'model_gateway_webhook_calls_total{namespace="mg",outcome="wrong_address"}': '0+1x60' },
    sound: {
      'model_gateway_webhook_calls_total{namespace="mg",outcome="wrong_address"}': '0+1x60',
      'model_gateway_webhook_calls_total{namespace="mg",outcome="stored"}': '0+1x60',
    },
  },
  {
    alert: 'ModelGatewayReceiverSlow',
    at: '20m',
    breaks: {
      'model_gateway_webhook_duration_seconds_bucket{namespace="mg",le="0.001"}': '0x40',
      'model_gateway_webhook_duration_seconds_bucket{namespace="mg",le="10"}': '0+60x40',
      'model_gateway_webhook_duration_seconds_bucket{namespace="mg",le="+Inf"}': '0+60x40',
    },
    sound: {
      'model_gateway_webhook_duration_seconds_bucket{namespace="mg",le="0.001"}': '0+60x40',
      'model_gateway_webhook_duration_seconds_bucket{namespace="mg",le="10"}': '0+60x40',
      'model_gateway_webhook_duration_seconds_bucket{namespace="mg",le="+Inf"}': '0+60x40',
    },
  },
  {
    alert: 'ModelGatewayResourceNotReady',
    at: '20m',
    breaks: {
      'model_gateway_operator_resource_ready{namespace="mg",kind="ApiKey",reason="SecretNotOwned"}': '1x40',
    },
    sound: {
      'model_gateway_operator_resource_ready{namespace="mg",kind="ApiKey",reason="Programmed"}': '5x40',
    },
  },
  {
    alert: 'ModelGatewayOperatorDatabaseErrors',
    at: '20m',
    breaks: { 'model_gateway_operator_db_errors_total{namespace="mg"}': '0+1x40' },
    sound: { 'model_gateway_operator_db_errors_total{namespace="mg"}': '3x40' },
  },
  {
    alert: 'ModelGatewayDeletionBlocked',
    at: '20m',
    breaks: { 'model_gateway_operator_deletion_blocked{namespace="mg",kind="ApiKey"}': '1x40' },
    sound: { 'model_gateway_operator_deletion_blocked{namespace="mg",kind="ApiKey"}': '0x40' },
  },
  {
    alert: 'ModelGatewayRevocationsUnconfirmed',
    at: '20m',
    breaks: { 'model_gateway_operator_revocations_unconfirmed{namespace="mg"}': '2x40' },
    sound: { 'model_gateway_operator_revocations_unconfirmed{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayDeletionsUnconfirmed',
    at: '20m',
    breaks: { 'model_gateway_operator_deletions_unconfirmed_total{namespace="mg"}': '0x10 1x30' },
    sound: { 'model_gateway_operator_deletions_unconfirmed_total{namespace="mg"}': '1x40' },
  },
  {
    alert: 'ModelGatewayWatchStale',
    at: '20m',
    breaks: {
      'model_gateway_operator_watch_last_activity_timestamp_seconds{namespace="mg",resource="apikeys"}':
        '0x40',
    },
    sound: {
      'model_gateway_operator_watch_last_activity_timestamp_seconds{namespace="mg",resource="apikeys"}':
        '0+60x40',
    },
  },
  {
    alert: 'ModelGatewayWatchRelists',
    at: '60m',
    breaks: { 'model_gateway_operator_watch_relists_total{namespace="mg",resource="apikeys"}': '0+1x60' },
    sound: { 'model_gateway_operator_watch_relists_total{namespace="mg",resource="apikeys"}': '1x60' },
  },
  {
    alert: 'ModelGatewayDrift',
    at: '60m',
    breaks: { 'model_gateway_operator_drift_corrected_total{namespace="mg",kind="ApiKey"}': '0+1x60' },
    sound: { 'model_gateway_operator_drift_corrected_total{namespace="mg",kind="ApiKey"}': '1x60' },
  },
  {
    alert: 'ModelGatewayKeysWithoutObject',
    at: '20m',
    breaks: { 'model_gateway_operator_keys_without_object{namespace="mg"}': '1x40' },
    sound: { 'model_gateway_operator_keys_without_object{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayUnmirrored',
    at: '20m',
    breaks: { 'model_gateway_operator_unmirrored{namespace="mg",kind="key"}': '1x40' },
    sound: { 'model_gateway_operator_unmirrored{namespace="mg",kind="key"}': '0x40' },
  },
  {
    alert: 'ModelGatewayReconcileErrors',
    at: '40m',
    breaks: {
      'controller_runtime_reconcile_errors_total{namespace="mg",controller="apikeys",component="operator"}':
        '0+1x60',
    },
    sound: {
      'controller_runtime_reconcile_errors_total{namespace="mg",controller="apikeys",component="operator"}':
        '4x60',
    },
  },
  {
    alert: 'ModelGatewayQueueLong',
    at: '20m',
    breaks: { 'workqueue_depth{namespace="mg",name="apikeys",component="operator"}': '200x40' },
    sound: { 'workqueue_depth{namespace="mg",name="apikeys",component="operator"}': '5x40' },
  },
  {
    alert: 'ModelGatewayReconcileStuck',
    at: '20m',
    breaks: {
      'workqueue_longest_running_processor_seconds{namespace="mg",name="apikeys",component="operator"}':
        '400x40',
    },
    sound: {
      'workqueue_longest_running_processor_seconds{namespace="mg",name="apikeys",component="operator"}':
        '1x40',
    },
  },
  {
    alert: 'ModelGatewayOperatorNotLeading',
    at: '20m',
    breaks: { 'leader_election_master_status{namespace="mg",pod="a",component="operator"}': '0x40' },
    sound: {
      'leader_election_master_status{namespace="mg",pod="a",component="operator"}': '0x40',
      'leader_election_master_status{namespace="mg",pod="b",component="operator"}': '1x40',
    },
  },
  {
    alert: 'ModelGatewayOperatorMissing',
    at: '20m',
    breaks: { 'leader_election_master_status{namespace="another",component="operator"}': '0x40' },
    sound: { 'leader_election_master_status{namespace="mg",component="operator"}': '0x40' },
  },
  {
    alert: 'ModelGatewayWorkerMissing',
    at: '20m',
    breaks: { 'model_gateway_shards_unavailable{namespace="another"}': '0x40' },
    sound: { 'model_gateway_shards_unavailable{namespace="mg"}': '0x40' },
  },
  {
    alert: 'ModelGatewayReceiverMissing',
    at: '20m',
    breaks: { 'model_gateway_webhook_duration_seconds_count{namespace="another"}': '0x40' },
    sound: { 'model_gateway_webhook_duration_seconds_count{namespace="mg"}': '0x40' },
  },
]
