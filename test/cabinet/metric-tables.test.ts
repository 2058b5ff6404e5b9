import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { oldMetricOf } from '#core/process/renamed'
import { folderOfThisFile } from '../support/folder.ts'
import {
  metricSections,
  readDeprecatedNames,
  readMetricNames,
  readMetricTable,
} from '../support/metric-tables.ts'
import { startReceiver } from '../support/money-in.ts'
import { kubeconfigOfNobody } from '../support/operator.ts'
import { urlAs } from '../support/postgres.ts'
import { type Process, secrets, startProcess } from '../support/processes.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const kubeconfig = join(folderOfThisFile('metrics'), 'kubeconfig')
writeFileSync(kubeconfig, kubeconfigOfNobody)

const starts: Readonly<Record<(typeof metricSections)[number], () => Promise<Process>>> = {
  Gateway: () => stack.startGateway(),
  // With an archive, which need not run: its jobs have metrics, too.
  Worker: () =>
    stack.startWorker({ CLICKHOUSE_URL: 'http://any:any@127.0.0.1:1/any', REQUESTS_KEPT_DAYS: '35' }),
  Cabinet: () => stack.startWeb(),
  'Webhook receiver': () => startReceiver(stack.database),
  Operator: () =>
    startProcess('operator/main.ts', {
      ...secrets,
      KUBECONFIG: kubeconfig,
      OPERATOR_CLUSTER_ID: 'any',
      OPERATOR_NAMESPACE: 'any',
      DATABASE_URL: urlAs('model_gateway_operator', stack.database.url),
      GATEWAY_BASE_URL: 'http://gateway.example/v1',
      OPERATOR_PROBES_PORT: '0',
      OPERATOR_METRICS_PORT: '0',
      OPERATOR_HOST: '127.0.0.1',
    }),
}

/** Those that every Node process has; the page names only some of them. */
const isOfNode = (name: string) => /^(?:nodejs|process)_/.test(name)

test.each(metricSections)(
  'the table of metrics of %s has every metric of the real process, and no other; renamed ones have both names',
  async (section) => {
    const process = await starts[section]()
    onTestFinished(() => process.kill())
    const measured = await readMetricNames(process)
    const described = readMetricTable(section).map(({ name }) => name)
    expect(described.filter((name) => !isOfNode(name)).toSorted()).toEqual(
      measured.filter((name) => !isOfNode(name)).toSorted(),
    )
    expect(described.filter((name) => isOfNode(name) && !measured.includes(name))).toEqual([])
    const oldNames = described.flatMap((name) => oldMetricOf(name) ?? [])
    expect((await readDeprecatedNames(process)).toSorted()).toEqual(oldNames.toSorted())
  },
)
