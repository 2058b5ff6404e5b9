/** The release that no longer accepts and shows the old names. */
export const oldNamesEndIn = '0.3.0'

/**
 * Public names that have changed: the new name → the old one, which works until `oldNamesEndIn`. CHANGELOG.md has a
 * line for each. To end an old name, remove its row.
 */
export const renamed = {
  /** Settings: environment variables. */
  settings: {
    BUFFERED_CHARGES_MAX: 'KEPT_CHARGES_MAX',
    TEST_PAYMENTS_HOST: 'TILL_HOST',
    TEST_PAYMENTS_PORT: 'TILL_PORT',
    TEST_PAYMENTS_PUBLIC_URL: 'TILL_PUBLIC_URL',
    TEST_PAYMENTS_SHOP_ID: 'TILL_SHOP_ID',
    TEST_PAYMENTS_SECRET_KEY: 'TILL_SECRET_KEY',
    TEST_PAYMENTS_TEST_SHOP: 'TILL_TEST_SHOP',
    TEST_PAYMENTS_RECEIPTS: 'TILL_RECEIPTS',
    TEST_PAYMENTS_NOTIFY_URL: 'TILL_NOTIFY_URL',
    TEST_PAYMENTS_NOTIFY_FROM: 'TILL_NOTIFY_FROM',
    TEST_PAYMENTS_STATE_FILE: 'TILL_STATE_FILE',
  },
  /** Metrics. */
  metrics: {
    model_gateway_rejections_total: 'model_gateway_refusals_total',
    model_gateway_backends_cooling_down: 'model_gateway_backends_resting',
    model_gateway_buffered_charges: 'model_gateway_kept_charges',
    model_gateway_buffered_charge_age_seconds: 'model_gateway_kept_charge_age_seconds',
    model_gateway_shard_resyncs_total: 'model_gateway_shard_pasts_total',
    model_gateway_shards_unavailable: 'model_gateway_shards_shut',
    model_gateway_balances_reconciled_total: 'model_gateway_sums_mended_total',
    model_gateway_emails_sent_total: 'model_gateway_letters_sent_total',
    model_gateway_emails_failed_attempts_total: 'model_gateway_letters_failed_tries_total',
    model_gateway_emails_given_up_total: 'model_gateway_letters_given_up_total',
    model_gateway_emails_waiting: 'model_gateway_letters_waiting',
    model_gateway_emails_waiting_age_seconds: 'model_gateway_letters_waiting_age_seconds',
  },
  /** Values of the label `job`. */
  jobs: {
    maintenance: 'upkeep',
    emails: 'letters',
    emails_removal: 'letters_removal',
  },
  /** Outcomes of requests. Only filters accept the old ones; records have these for good. */
  outcomes: {
    client_disconnected: 'client_gone',
    upstream_disconnected: 'upstream_cut',
    hold_expired: 'swept',
    not_started: 'never_started',
  },
  /** Values of the chart (charts/model-gateway/templates/_renamed.tpl). */
  values: {
    demo: 'trial',
    'demo.testPaymentsUrl': 'trial.tillUrl',
    'demo.services': 'trial.demo',
    webhook: 'receiver',
    'ingress.webhook': 'ingress.receiver',
    'httpRoute.webhook': 'httpRoute.receiver',
  },
  /** Fields of the JSON line of `npm start` and of the test payment provider. */
  fields: {
    mailCatcherUrl: 'mailboxUrl',
    testPaymentsUrl: 'tillUrl',
  },
} as const

const oldSettings: Readonly<Record<string, string>> = renamed.settings

/** The old name of a setting, if it has one. */
export function oldSettingOf(name: string): string | undefined {
  return oldSettings[name]
}

const oldMetrics: Readonly<Record<string, string>> = renamed.metrics

/** The old name of a metric, if it has one. */
export function oldMetricOf(name: string): string | undefined {
  return oldMetrics[name]
}

/** An object of a JSON line with its renamed fields under their old names, too. */
export function withOldFields(line: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const old = Object.entries(renamed.fields).flatMap(([name, oldName]) =>
    name in line ? [[oldName, line[name]]] : [],
  )
  return { ...line, ...Object.fromEntries(old) }
}
