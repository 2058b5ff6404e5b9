import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kubectlOk } from './kubernetes.ts'
import { apply, namespace, rolledOut } from './release.ts'

/** Rubles per million tokens of the journal provider's model: 1,000 and 2,000 nano-rubles per token. */
const pricing = { input: '1', output: '2' } as const
const promptTokens = 10n
const inputNano = 1_000n
const outputNano = 2_000n

export const journalModel = 'e2e/journal'

/** What an answer of so many pieces costs, in nano-rubles. */
export function priceOf(pieces: number): bigint {
  return promptTokens * inputNano + BigInt(pieces) * outputNano
}

/** Of the program, and of its namespace: it is no part of the release. */
const name = 'e2e-provider'
const labels = { app: name }

/** Runs the journal provider in a separate namespace, and offers its model. */
export async function putJournalProvider(image: string): Promise<void> {
  const program = await readFile(join(import.meta.dirname, 'journal-provider.ts'), 'utf8')
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: name },
      data: { 'journal-provider.ts': program },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: name },
      spec: deployment(image),
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: name },
      spec: { selector: labels, ports: [{ port: 8090 }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels: { 'modelgateway.dev/provider-credential': 'true' } },
      stringData: { apiKey: 'any-text' },
    },
    {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'ModelProvider',
      metadata: { name: 'e2e', namespace },
      spec: {
        api: 'OpenAI',
        baseURL: `http://${name}.${name}.svc.cluster.local:8090/v1`,
        auth: { type: 'Bearer', secretRef: { name, key: 'apiKey' } },
        network: { http: true, privateAddresses: true },
      },
    },
    {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'ModelRoute',
      metadata: { name: 'e2e-journal', namespace },
      spec: {
        model: journalModel,
        backends: [{ name: 'main', providerRef: { name: 'e2e' }, model: 'journal' }],
        pricingRubPerMillionTokens: pricing,
      },
    },
  )
  await kubectlOk(['-n', name, 'rollout', 'status', `deployment/${name}`, '--timeout=120s'])
  await kubectlOk([
    '-n',
    namespace,
    'wait',
    '--for=condition=Ready',
    'modelroute/e2e-journal',
    '--timeout=120s',
  ])
  await rolledOut('gateway')
}

/** Takes it all away again. */
export async function removeJournalProvider(): Promise<void> {
  const offered = ['modelroute/e2e-journal', 'modelprovider/e2e', `secret/${name}`]
  await kubectlOk(['-n', namespace, 'delete', '--ignore-not-found', ...offered])
  await kubectlOk(['delete', 'namespace', name, '--ignore-not-found', '--wait'])
}

function deployment(image: string) {
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    runAsUser: 65532,
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const container = {
    name,
    image,
    imagePullPolicy: 'IfNotPresent',
    args: ['/e2e/journal-provider.ts'],
    securityContext,
    readinessProbe: { tcpSocket: { port: 8090 }, periodSeconds: 1 },
    volumeMounts: [{ name: 'program', mountPath: '/e2e' }],
  }
  return {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [container], volumes: [{ name: 'program', configMap: { name } }] },
    },
  }
}

export type Journal = Readonly<Record<string, { readonly begun: number; readonly ended: number }>>

/** What the provider was asked for and answered to the end, by the id of the ask. */
export async function readJournal(): Promise<Journal> {
  return JSON.parse(
    await kubectlOk(['get', '--raw', `/api/v1/namespaces/${name}/services/${name}:8090/proxy/journal`]),
  )
}
