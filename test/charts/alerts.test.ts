import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { administrationRoutes, operationSections } from '#cabinet/pages/administration-routes'
import { chartFolder } from '../support/helm.ts'
import { metricSections, readMetricTable } from '../support/metric-tables.ts'
import { findPromtool } from '../support/promtool.ts'
import { alertCases } from './alert-cases.ts'

type Rule = { readonly alert: string; readonly expr: string; readonly annotations: Record<string, string> }

const text = readFileSync(join(chartFolder, 'files/alerts.yaml'), 'utf8')
const { groups } = parse(text) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap(({ rules }) => rules)
const promtool = await findPromtool()
const folder = await mkdtemp(join(tmpdir(), 'mg-alerts-'))
afterAll(() => rm(folder, { recursive: true }))

const documented = metricSections.flatMap((section) => readMetricTable(section))
const documentedNames = new Set(documented.map(({ name }) => name))

/** The metrics of an expression, without what Prometheus adds to histograms. */
function metricsOf(expr: string): string[] {
  const names =
    expr.match(
      /\b(?:model_gateway|gen_ai_client|nodejs|controller_runtime|workqueue|rest_client|leader_election)_\w+/g,
    ) ?? []
  return names.map((name) => (documentedNames.has(name) ? name : name.replace(/_(?:bucket|count|sum)$/, '')))
}

test('every alert is in a metric table, and uses only metrics of the tables', () => {
  expect(documented.length).toBeGreaterThan(80)
  const listed = new Set(documented.flatMap(({ alerts }) => alerts))
  expect([...listed].toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
  expect(rules.flatMap(({ expr }) => metricsOf(expr)).filter((name) => !documentedNames.has(name))).toEqual(
    [],
  )
})

test('every metric of a dashboard is in a table', () => {
  for (const file of globSync(join(chartFolder, 'files/dashboards/*.json'))) {
    const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: { targets: { expr: string }[] }[] }
    const used = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsOf(expr)))
    expect(used.length).toBeGreaterThan(8)
    expect([file, used.filter((name) => !documentedNames.has(name))]).toEqual([file, []])
  }
})

test('every alert has a runbook at the place that it names', () => {
  for (const { alert, annotations } of rules) {
    const [, file = '', anchor = ''] =
      /^RUNBOOKS\/([a-z]+\.md)#(\w+)$/.exec(annotations.runbook_url ?? '') ?? []
    const headings = readFileSync(join('docs/operate/runbooks', file), 'utf8').matchAll(/^## (\w+)$/gm)
    expect([...headings].map(([, heading = '']) => heading.toLowerCase())).toContain(anchor)
    expect(anchor).toBe(alert.toLowerCase())
  }
})

test('every runbook leads to a section of the operations page', () => {
  const sections = new Set<string>(operationSections)
  for (const { alert, annotations } of rules) {
    const [, file = ''] = /^RUNBOOKS\/([a-z]+\.md)#/.exec(annotations.runbook_url ?? '') ?? []
    const runbook = readFileSync(join('docs/operate/runbooks', file), 'utf8')
    const [, text = ''] = runbook.split(new RegExp(`^## ${alert}$`, 'm'))
    const [own = ''] = text.split(/^## /m)
    const [, path, section = ''] = /`(\/app\/operations)#([a-z-]+)`/.exec(own) ?? []
    expect([alert, path && path in administrationRoutes, sections.has(section)]).toEqual([alert, true, true])
  }
})

type Series = Readonly<Record<string, string>>

/** Series that do not concern the release: in another namespace, and common ones of another program in its own namespace. */
function strangersOf(alert: string, breaks: Series): readonly Series[] {
  if (alert.endsWith('Missing')) return [] // what is missing is missing, whatever others do
  const renamed = (pattern: RegExp, replacement: string) =>
    Object.fromEntries(
      Object.entries(breaks).map(([name, values]) => [name.replace(pattern, replacement), values]),
    )
  const isCommon = Object.keys(breaks).some((name) => !name.startsWith('model_gateway_'))
  const elsewhere = renamed(/namespace="mg"/, 'namespace="another"')
  return isCommon ? [elsewhere, renamed(/component="\w+"/, 'component="stranger"')] : [elsewhere]
}

test('every series of an alert is of the namespace of the release', () => {
  for (const { alert, expr } of rules)
    for (const [, name = '', selector = ''] of expr.matchAll(/\b((?:[a-z]\w*_)\w+)(\{[^}]*\})/g))
      expect([alert, name, selector]).toEqual([alert, name, expect.stringContaining('namespace="NAMESPACE"')])
})

/** The first run on a machine builds promtool. */
const buildMs = 300_000

test(
  'every alert fires on a series that breaks it, and is quiet on a sound one or that of another release',
  async () => {
    expect(alertCases.map(({ alert }) => alert).toSorted()).toEqual(
      rules.map(({ alert }) => alert).toSorted(),
    )
    const seriesOf = (series: Readonly<Record<string, string>>) =>
      Object.entries(series).map(([name, values]) => ({ series: name, values }))
    const counted = (alert: string) => `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`
    const caseOf = (
      alert: string,
      at: string,
      series: Readonly<Record<string, string>>,
      isFiring: boolean,
    ) => ({
      interval: '1m',
      input_series: seriesOf(series),
      promql_expr_test: [
        {
          expr: `(${counted(alert)}) > bool 0`,
          eval_time: at,
          exp_samples: [{ labels: '{}', value: isFiring ? 1 : 0 }],
        },
      ],
    })
    const tests = alertCases.flatMap(({ alert, at, breaks, sound }) => [
      caseOf(alert, at, breaks, true),
      caseOf(alert, at, Object.assign({}, sound, ...strangersOf(alert, breaks)), false),
    ])
    const alertsFile = join(folder, 'alerts.yaml')
    await writeFile(alertsFile, text.replaceAll('NAMESPACE', 'mg'))
    const file = join(folder, 'tests.json')
    await writeFile(file, JSON.stringify({ rule_files: [alertsFile], evaluation_interval: '1m', tests }))
    const { stdout } = await promisify(execFile)(promtool, ['test', 'rules', file]).catch((error) => error)
    expect(stdout).toContain('SUCCESS')
  },
  buildMs,
)
