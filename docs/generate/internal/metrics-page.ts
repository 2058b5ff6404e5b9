import { parse } from 'yaml'
import { z } from 'zod'
import { code, page, table } from './markdown.ts'
import { type MetricDescription, metricsByProcess } from './process-metrics.ts'
import { readSource } from './source.ts'

const alertsSchema = z.object({
  groups: z.array(
    z.object({
      name: z.string(),
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          annotations: z.object({ runbook_url: z.string() }),
        }),
      ),
    }),
  ),
})

/** What a reader of a section needs to know before its table. */
const introductions: Readonly<Record<string, string>> = {
  Gateway:
    'Label values are closed sets: never a key, an organization or text from a client. Only [OpenTelemetry’s metrics](https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-metrics.md) name models. The first 200 models by name have their own label; the rest are `other`.',
  Worker:
    'Every worker measures all shards and the whole outbox: take the maximum over workers, not the sum.',
  Operator:
    'Metrics of controller-runtime, client-go and Node keep their names, so existing dashboards work.',
}

export function metricsPage(): string {
  return page(
    '# Metrics',
    'Made by `npm run docs` from the metrics that each process registers and the [alerts of the chart](../../charts/model-gateway/files/alerts.yaml).',
    'Every process serves its metrics at `/metrics` on its admin port. Never expose that port publicly. Of the metrics of Node (`nodejs_…`, `process_…`), the tables list those that have an alert.',
    ...Object.entries(metricsByProcess).flatMap(([title, metrics]) => [
      `## ${title}`,
      ...[introductions[title] ?? []].flat(),
      metricsTable(title, metrics()),
    ]),
  )
}

function metricsTable(title: string, metrics: readonly MetricDescription[]): string {
  const rows = metrics
    .map(({ name, help, labelNames }) => ({ name, help, labelNames, alerts: alertsOn(name, title) }))
    .filter(({ name, alerts }) => !/^(?:nodejs|process)_/.test(name) || alerts !== '')
    .map(({ name, help, labelNames, alerts }) => [
      code(name),
      help.replaceAll('<', '&lt;'),
      labelNames.map(code).join(', '),
      alerts,
    ])
  return table(['metric', 'meaning', 'labels', 'alerts'], rows)
}

/** Links to the runbooks of the alerts on a metric of a process. */
function alertsOn(metric: string, title: string): string {
  const { groups } = alertsSchema.parse(parse(readSource('charts/model-gateway/files/alerts.yaml')))
  const component = title === 'Webhook receiver' ? 'receiver' : title.toLowerCase()
  const uses = new RegExp(`\\b${metric}(?:_bucket|_count|_sum)?\\b`)
  return groups
    .flatMap(({ name, rules }) =>
      rules.map((rule) => ({ ...rule, group: name.replace('model-gateway-', '') })),
    )
    .filter(
      ({ group, expr }) =>
        uses.test(expr) && (group === component || (group === 'every' && concerns(expr, component))),
    )
    .map(({ alert, annotations }) => `[${alert}](${annotations.runbook_url.replace('RUNBOOKS', 'runbooks')})`)
    .join(', ')
}

/** Whether the selectors of an expression let a component through. */
function concerns(expr: string, component: string): boolean {
  const named = [...expr.matchAll(/component="(\w+)"/g)].map(([, name]) => name)
  return named.length === 0 || expr.includes('component!=') || named.includes(component)
}
