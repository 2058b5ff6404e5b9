import { Counter, Gauge, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { withOldNames } from './old-metric-names.ts'

const registry = new Registry()
const registers = [registry]

test('a renamed metric is also served under its old name, as deprecated, with the same values', async () => {
  const rejections = new Counter({
    name: 'model_gateway_rejections_total',
    help: 'Error answers.',
    labelNames: ['code'],
    registers,
  })
  rejections.inc({ code: 'not_found' }, 3)
  new Gauge({ name: 'model_gateway_emails_waiting', help: 'Emails.', registers }).set(2)
  // Its name begins with that of another one.
  new Gauge({ name: 'model_gateway_emails_waiting_age_seconds', help: 'Age.', registers }).set(5)
  const before = await registry.metrics()
  const after = withOldNames(before)
  expect(after.startsWith(before.trimEnd())).toBe(true)
  expect(
    after.slice(before.length),
  ).toBe(`# HELP model_gateway_refusals_total Deprecated: use model_gateway_rejections_total.
# TYPE model_gateway_refusals_total counter
model_gateway_refusals_total{code="not_found"} 3
# HELP model_gateway_letters_waiting Deprecated: use model_gateway_emails_waiting.
# TYPE model_gateway_letters_waiting gauge
model_gateway_letters_waiting 2
# HELP model_gateway_letters_waiting_age_seconds Deprecated: use model_gateway_emails_waiting_age_seconds.
# TYPE model_gateway_letters_waiting_age_seconds gauge
model_gateway_letters_waiting_age_seconds 5
`)
})

test('a renamed job has its series under both names, next to each other', () => {
  const errors =
    '# HELP model_gateway_job_errors_total Failed runs.\n# TYPE model_gateway_job_errors_total counter\n'
  const series = (job: string) => `model_gateway_job_errors_total{job="${job}"} 4\n`
  expect(withOldNames(`${errors}${series('maintenance')}${series('sweep')}`)).toBe(
    `${errors}${series('maintenance')}${series('upkeep')}${series('sweep')}`,
  )
})

test('what has no old name is served as it is', () => {
  const text = '# HELP a_total A.\n# TYPE a_total counter\na_total{job="maintenance"} 1\n'
  expect(withOldNames(text)).toBe(text)
})
