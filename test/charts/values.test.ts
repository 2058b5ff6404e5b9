import { expect, test } from 'vitest'
import { objectsOf, podOf, type Rendered } from '../support/chart-objects.ts'
import { chartFolder, findHelm, helmOk } from '../support/helm.ts'

const program = await findHelm()
const demo = ['--set', 'demo.enabled=true']

async function render(release: string, ...args: readonly string[]): Promise<readonly Rendered[]> {
  const kube = ['--kube-version', '1.36.0', '--namespace', 'mg']
  return objectsOf(await helmOk(program, ['template', release, chartFolder, ...kube, ...args]))
}

/** A demo with these values, as a file has them. */
async function renderWith(release: string, values: unknown): Promise<readonly Rendered[]> {
  const kube = ['--kube-version', '1.36.0', '--namespace', 'mg', ...demo, '--values', '-']
  const input = JSON.stringify(values)
  return objectsOf(await helmOk(program, ['template', release, chartFolder, ...kube], { input }))
}

const kindOf = (objects: readonly Rendered[], wanted: string) => objects.filter(({ kind }) => kind === wanted)

/** A setting of every container that has it, by the container's name. */
function settingsOf(
  objects: readonly Rendered[],
  name: string,
): Readonly<Record<string, string | undefined>> {
  const containers = objects.flatMap(podOf).flatMap(({ spec }) => spec.containers)
  return Object.fromEntries(
    containers.flatMap(({ name: container, env = [] }) =>
      env.filter((variable) => variable.name === name).map(({ value }) => [container, value]),
    ),
  )
}

/** A quantity in thousandths of a CPU, or in MiB. */
function amountOf(quantity: string | number): number {
  const [, digits = '', unit = ''] = /^([\d.]+)(m|Mi|Gi|)$/.exec(String(quantity)) ?? []
  expect(digits, String(quantity)).not.toBe('')
  const isOneOrNone = unit === '' && Number(digits) === 0
  expect(unit !== '' || isOneOrNone, String(quantity)).toBe(true)
  return Number(digits) * (unit === 'Gi' ? 1024 : 1)
}

test('a demo requests at most 600m and 1 GiB, its Jobs and its test included, and Jobs request nothing', async () => {
  const pods = (await render('mg', ...demo)).flatMap((object) =>
    podOf(object).map((pod) => ({ ...pod, isJob: ['Job', 'Pod'].includes(object.kind) })),
  )
  const requestOf = (resource: 'cpu' | 'memory') =>
    pods.map(({ name, spec, replicas, isJob }) => {
      const requests = (containers: typeof spec.containers = []) =>
        containers.map(({ resources }) => amountOf(resources?.requests?.[resource] ?? 'none'))
      const sum = requests(spec.containers).reduce((a, b) => a + b, 0)
      return { name, isJob, total: replicas * Math.max(sum, ...requests(spec.initContainers)) }
    })
  for (const [resource, most] of [
    ['cpu', 600],
    ['memory', 1024],
  ] as const) {
    const requested = requestOf(resource)
    expect(requested.length).toBeGreaterThan(12)
    expect(requested.filter(({ isJob, total }) => isJob && total > 0)).toEqual([])
    expect(requested.reduce((sum, { total }) => sum + total, 0)).toBeLessThanOrEqual(most)
  }
})

test('in a demo, a process gets the values that are set', async () => {
  const set = [
    '--set',
    'gateway.replicas=3,gateway.resources.requests.cpu=200m,demo.processes.worker.replicas=2',
  ]
  const pods = (await render('mg', ...demo, ...set)).flatMap(podOf)
  const of = (name: string) => pods.find((pod) => pod.name === `mg-model-gateway-${name}`)
  expect(of('gateway')).toMatchObject({
    replicas: 3,
    spec: { containers: [{ resources: { requests: { cpu: '200m', memory: '128Mi' } } }] },
  })
  expect([of('worker')?.replicas, of('cabinet')?.replicas]).toEqual([2, 1])
})

test('a release name of 53 characters, the most that Helm takes, leaves room for what is added to it', async () => {
  const [one, two] = await Promise.all(
    ['1', '2'].map((last) =>
      render(`${'a-release-with-a-long-name-'.repeat(2).slice(0, 52)}${last}`, ...demo),
    ),
  )
  for (const { kind, metadata } of one ?? []) {
    if (kind === 'CustomResourceDefinition') continue
    // A StatefulSet's pods have a label with its name and a hash of 10 characters.
    const most = kind === 'StatefulSet' ? 52 : /^(?:Cluster)?Role|AdmissionPolicy/.test(kind) ? 253 : 63
    expect([kind, metadata.name, metadata.name.length <= most]).toEqual([kind, metadata.name, true])
  }
  const names = (objects: readonly Rendered[] = []) =>
    objects
      .map(({ kind, metadata }) => `${kind}/${metadata.name}`)
      .filter((name) => !name.startsWith('Custom'))
  expect(names(one).filter((name) => names(two).includes(name))).toEqual([])
})

test('every pod pulls its images with the Secrets that are set, of a demo and of its test, too', async () => {
  const pods = (await render('mg', ...demo, '--set', 'image.pullSecrets[0].name=registry')).flatMap(podOf)
  expect(pods.length).toBeGreaterThan(13)
  for (const { name, spec } of pods)
    expect([name, spec.imagePullSecrets]).toEqual([name, [{ name: 'registry' }]])
})

test('numbers may be set without quotes, and processes get every digit', async () => {
  const set = [
    'database.host=db,database.owner.existingSecret=o,redis.url.existingSecret=r',
    'payments.shopId=1234567,payments.existingSecret=y,secrets.revision=20261125,image.tag=20261125',
    'operator.clusterId=7654321,gateway.env.BUFFERED_CHARGES_MAX=2000000',
    'worker.defaultLimits.tokensPerMinute=3000000,operator.mirror.keysMax=1000000',
  ]
  const objects = await render('mg', ...set.flatMap((values) => ['--set', values]))
  expect(settingsOf(objects, 'YOOKASSA_SHOP_ID')).toEqual({
    administration: '1234567',
    cabinet: '1234567',
    worker: '1234567',
  })
  // The cabinet does not call the payment provider.
  for (const all of [objects, await render('mg', ...demo)])
    expect(Object.keys(settingsOf(all, 'YOOKASSA_SECRET_KEY')).toSorted()).toEqual([
      'administration',
      'worker',
    ])
  expect(settingsOf(objects, 'OPERATOR_CLUSTER_ID')).toMatchObject({ operator: '7654321' })
  expect(settingsOf(objects, 'OPERATOR_MIRROR_KEYS_MAX')).toEqual({ operator: '1000000' })
  expect(settingsOf(objects, 'BUFFERED_CHARGES_MAX')).toEqual({ gateway: '2000000' })
  expect(settingsOf(objects, 'DEFAULT_TPM')).toEqual({ worker: '3000000' })
  expect(JSON.stringify(objects)).toContain('model-gateway:20261125"')
  const ofDemo = await render('mg', ...demo, '--set', 'demo.balanceRub=1000000')
  expect(settingsOf(ofDemo, 'DEMO_BALANCE_RUB')).toEqual({ 'trial-data': '1000000' })
  expect(settingsOf(objects, 'ADMINISTRATION_ALONE_MAX_RUB')).toEqual({ administration: '5000' })
  const strict = await render('mg', ...demo, '--set', 'administration.aloneMaxRub=0')
  expect(settingsOf(strict, 'ADMINISTRATION_ALONE_MAX_RUB')).toEqual({ administration: '0' })
  // A number of a file is a float.
  expect(settingsOf(ofDemo, 'DEFAULT_TPM')).toEqual({ worker: '2000000' })
})

test('there is a route for each that has a parent, and for no other', async () => {
  const routes = async (...of: readonly string[]) => {
    const parents = of.flatMap((name) => ['--set', `httpRoute.${name}.parentRefs[0].name=public`])
    const objects = await render('mg', ...demo, '--set', 'httpRoute.enabled=true', ...parents)
    return kindOf(objects, 'HTTPRoute').map(({ metadata }) => metadata.name)
  }
  expect(await routes('gateway')).toEqual(['mg-model-gateway-gateway'])
  expect(await routes('gateway', 'webhook')).toEqual([
    'mg-model-gateway-gateway',
    'mg-model-gateway-receiver',
  ])
})

test('operator and administration of a demo allow the addresses that its gateways allow', async () => {
  const objects = await render('mg', ...demo, '--set', 'demo.podCidrs={10.1.0.0/16}')
  expect(settingsOf(objects, 'UPSTREAM_ALLOWED_CIDRS')).toEqual({
    administration: '10.1.0.0/16',
    gateway: '10.1.0.0/16',
    operator: '10.1.0.0/16',
  })
})

test('gateways, and no other process, use an egress proxy, and their network policy lets them', async () => {
  const put = async (...values: readonly string[]) => {
    const set = ['networkPolicy.providers=false', ...values].flatMap((value) => ['--set', value])
    const objects = await render('mg', ...demo, ...set)
    const [policy] = kindOf(objects, 'NetworkPolicy').filter(({ metadata }) =>
      metadata.name.endsWith('-gateway-gateway'),
    )
    const ports = [...JSON.stringify(policy).matchAll(/"port":(\d+)/g)].map(([, port]) => Number(port))
    const containers = objects.flatMap(podOf).flatMap(({ spec }) => spec.containers)
    const variables = containers.flatMap(({ name, env = [] }) =>
      env.filter((variable) => variable.name === 'UPSTREAM_PROXY_URL').map((variable) => [name, variable]),
    )
    return { ports, variables }
  }
  const without = await put()
  expect(without.variables).toEqual([])
  const open = await put('gateway.egressProxy.url=http://proxy.example.com:8888')
  expect(open.variables).toEqual([
    ['gateway', { name: 'UPSTREAM_PROXY_URL', value: 'http://proxy.example.com:8888' }],
  ])
  expect(open.ports).toEqual([...without.ports, 8888])
  expect((await put('gateway.egressProxy.url=http://proxy')).ports).toEqual([...without.ports, 80])
  const secret = await put('gateway.egressProxy.existingSecret=proxy', 'gateway.egressProxy.port=3129')
  const secretKeyRef = { name: 'proxy', key: 'url' }
  expect(secret.variables).toEqual([['gateway', { name: 'UPSTREAM_PROXY_URL', valueFrom: { secretKeyRef } }]])
  expect(secret.ports).toEqual([...without.ports, 3129])
})

test('the worker, the cabinet and administration get the archive, and network policies let them', async () => {
  const put = async (...values: readonly string[]) => {
    const objects = await render('mg', ...demo, ...values.flatMap((value) => ['--set', value]))
    const open = kindOf(objects, 'NetworkPolicy').filter((policy) =>
      JSON.stringify(policy).includes('"port":8124'),
    )
    const containers = objects.flatMap(podOf).flatMap(({ spec }) => spec.containers)
    const variables = containers.flatMap(({ name, env = [] }) =>
      env.filter((variable) => variable.name === 'CLICKHOUSE_URL').map((variable) => [name, variable]),
    )
    return { policies: open.map(({ metadata }) => metadata.name).sort(), variables: variables.sort() }
  }
  expect(await put('archive.port=8124')).toEqual({ policies: [], variables: [] })
  const secretKeyRef = { name: 'clickhouse', key: 'url' }
  expect(await put('archive.existingSecret=clickhouse', 'archive.port=8124')).toEqual({
    policies: ['administration', 'cabinet', 'worker'].map((name) => `mg-model-gateway-${name}`),
    variables: ['administration', 'cabinet', 'worker'].map((name) => [
      name,
      { name: 'CLICKHOUSE_URL', valueFrom: { secretKeyRef } },
    ]),
  })
  const older = ['archive.existingSecret=clickhouse', 'archive.copy=null'] // as --reuse-values of an earlier release
  expect((await put(...older)).variables).toHaveLength(3)
  const stopped = await put('archive.existingSecret=clickhouse', 'archive.copy=false')
  expect(stopped.variables.map(([name]) => name)).toEqual(['administration', 'cabinet'])
})

test('only what writes a file of a demo is stopped before its successor starts', async () => {
  const objects = kindOf(await render('mg', ...demo), 'Deployment')
  const recreated = objects.filter(({ spec }) => JSON.stringify(spec).includes('"Recreate"'))
  expect(recreated.map(({ metadata }) => metadata.name)).toEqual(['mg-model-gateway-trial-services'])
  expect(recreated.flatMap(podOf).flatMap(({ spec }) => spec.containers.map(({ name }) => name))).toEqual([
    'till',
    'mailbox',
  ])
})

test('the alerts are about the namespace of the release, and miss nothing that is turned off', async () => {
  const rulesOf = async (...args: readonly string[]) => {
    const objects = await render('mg', ...demo, '--set', 'monitoring.prometheusRule.enabled=true', ...args)
    return JSON.stringify(kindOf(objects, 'PrometheusRule'))
  }
  const missing = (text: string) => [...text.matchAll(/"ModelGateway(\w+)Missing"/g)].map(([, of]) => of)
  const all = await rulesOf()
  expect(missing(all)).toEqual(['Worker', 'Receiver', 'Operator'])
  expect(all).not.toContain('NAMESPACE')
  expect(all).toContain('namespace=\\"mg\\"')
  expect(missing(await rulesOf('--set', 'operator.enabled=false,webhook.enabled=false'))).toEqual(['Worker'])
})

/** Settings of pods, as a values file of an installation has them. */
const openPods = {
  podDefaults: {
    securityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
    volumes: [{ name: 'extra', configMap: { name: 'extra' } }],
    volumeMounts: [{ name: 'extra', mountPath: '/extra' }],
    extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
    envFrom: [{ configMapRef: { name: 'settings' } }],
    extraContainers: [{ name: 'sidecar', image: 'sidecar:1' }],
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['db'] }],
    readinessProbe: { periodSeconds: 7 },
  },
  gateway: {
    extraEnv: [{ name: 'OWN', value: '1' }],
    securityContext: { fsGroup: 5 },
    containerSecurityContext: { readOnlyRootFilesystem: false },
    topologySpreadConstraints: [
      { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
    ],
    podDisruptionBudget: { minAvailable: '50%' },
    service: {
      type: 'LoadBalancer',
      nodePort: 30080,
      loadBalancerClass: 'lb',
      externalTrafficPolicy: 'Local',
    },
  },
  worker: { podDisruptionBudget: { enabled: false } },
}

test('pods take the settings of all pods, and those of a process take precedence', async () => {
  const objects = await renderWith('mg', openPods)
  const specOf = (kind: string, name: string) =>
    kindOf(objects, kind).find(({ metadata }) => metadata.name === `mg-model-gateway-${name}`)?.spec
  expect(specOf('Deployment', 'gateway')).toMatchObject({
    template: {
      spec: {
        securityContext: { runAsNonRoot: true, fsGroup: 5, seccompProfile: { type: 'RuntimeDefault' } },
        topologySpreadConstraints: openPods.gateway.topologySpreadConstraints,
        hostAliases: openPods.podDefaults.hostAliases,
        containers: [
          {
            env: expect.arrayContaining(openPods.gateway.extraEnv),
            envFrom: openPods.podDefaults.envFrom,
            readinessProbe: { periodSeconds: 7, timeoutSeconds: 2, httpGet: { path: '/readyz' } },
            securityContext: { readOnlyRootFilesystem: false, allowPrivilegeEscalation: false },
            volumeMounts: expect.arrayContaining(openPods.podDefaults.volumeMounts),
          },
          { name: 'sidecar' },
        ],
        volumes: expect.arrayContaining(openPods.podDefaults.volumes),
      },
    },
  })
  expect(specOf('Deployment', 'worker')).toMatchObject({
    template: { spec: { containers: [{ env: expect.arrayContaining(openPods.podDefaults.extraEnv) }, {}] } },
  })
  const [job] = kindOf(objects, 'Job').flatMap(podOf)
  expect(job?.spec).toMatchObject({ hostAliases: openPods.podDefaults.hostAliases })
  expect(job?.spec.containers).toMatchObject([{ envFrom: openPods.podDefaults.envFrom }])
  expect(specOf('PodDisruptionBudget', 'gateway')).toMatchObject({ minAvailable: '50%' })
  expect(specOf('PodDisruptionBudget', 'cabinet')).toMatchObject({ maxUnavailable: 1 })
  expect(specOf('PodDisruptionBudget', 'worker')).toBeUndefined()
  expect(specOf('Service', 'gateway')).toMatchObject({
    type: 'LoadBalancer',
    loadBalancerClass: 'lb',
    externalTrafficPolicy: 'Local',
    ports: [{ name: 'http', port: 80, nodePort: 30080 }],
  })
})

test('each process is given every node of a Redis cluster, and may connect to their ports', async () => {
  const set = [
    'database.host=db,database.owner.existingSecret=owner,redis.admin.existingSecret=r',
    'redis.cluster.nodes={redis-0,redis-1:6380}',
  ]
  const objects = await render('mg', ...set.flatMap((values) => ['--set', values]))
  const urls = objects
    .flatMap(podOf)
    .flatMap(({ spec }) => spec.containers)
    .flatMap(({ env = [] }) => env.flatMap(({ name, value }) => (name === 'REDIS_URL' ? (value ?? []) : [])))
  expect(new Set(urls)).toEqual(
    new Set(
      ['gateway', 'worker', 'cabinet'].map(
        (user) =>
          `rediss://model_gateway_${user}:$(REDIS_PASSWORD)@redis-0:6379,rediss://model_gateway_${user}:$(REDIS_PASSWORD)@redis-1:6380`,
      ),
    ),
  )
  const policy = kindOf(objects, 'NetworkPolicy').find(({ metadata }) =>
    metadata.name.endsWith('-prepare-redis'),
  )
  expect(JSON.stringify(policy?.spec)).toMatch(/"port":6379,.*"port":6380/)
})

test('without user ids, as OpenShift wants it, no pod has one', async () => {
  const pods = (await renderWith('mg', { podDefaults: openPods.podDefaults })).flatMap(podOf)
  expect(pods.length).toBeGreaterThan(13)
  for (const { name, spec } of pods)
    expect([name, spec.securityContext]).toEqual([
      name,
      { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    ])
})

test('a release under another name opens the keys of the old one with its secrets, and makes none', async () => {
  const stores =
    'database.host=db,database.owner.existingSecret=owner,redis.host=r,redis.admin.existingSecret=r'
  const set = ['--set', stores, '--set', 'secrets.existingSecret=old-model-gateway-secrets']
  const objects = await render('new', ...set)
  const jobs = kindOf(objects, 'Job').map(({ metadata }) => metadata.name)
  expect(jobs.filter((name) => name.includes('make-secrets'))).toEqual([])
  expect(jobs.length).toBe(3)
  const containers = objects.flatMap(podOf).flatMap(({ spec }) => spec.containers)
  const used = [...JSON.stringify(containers).matchAll(/"secretKeyRef":\{"name":"([^"]+)"/g)]
  expect(new Set(used.map(([, name]) => name))).toEqual(new Set(['old-model-gateway-secrets', 'owner', 'r']))
})

test('pods of a release whose kept values are older than these settings stay restricted', async () => {
  const pods = (await renderWith('mg', { podDefaults: null })).flatMap(podOf)
  for (const { name, spec } of pods)
    expect([name, spec.securityContext]).toEqual([name, expect.objectContaining({ runAsNonRoot: true })])
})

test('every pod of the release has a network policy', async () => {
  const objects = await render('mg', ...demo)
  const componentOf = (labels: Readonly<Record<string, string>>) => labels['app.kubernetes.io/component']
  const selected = kindOf(objects, 'NetworkPolicy').map(({ spec }) =>
    componentOf((spec as { podSelector: { matchLabels: Record<string, string> } }).podSelector.matchLabels),
  )
  const pods = objects.filter((object) => podOf(object).length > 0)
  const components = pods.map(({ metadata, spec }) => {
    const { template } = spec as { template?: { metadata: { labels: Record<string, string> } } }
    return componentOf(template?.metadata.labels ?? metadata.labels ?? {})
  })
  expect(components.length).toBeGreaterThan(13)
  expect(components.filter((component) => !selected.includes(component))).toEqual([])
})

test('the Job before an uninstallation starts without the secrets, which a failed installation may not have', async () => {
  const objects = await render('mg', ...demo)
  const [job] = kindOf(objects, 'Job').filter(({ metadata }) => metadata.name.endsWith('-release-finalizers'))
  const references = [...JSON.stringify(job).matchAll(/"secretKeyRef":(\{[^}]*\})/g)].map(([, text = '']) =>
    JSON.parse(text),
  )
  expect(references).toEqual([expect.objectContaining({ optional: true })])
  expect(job?.spec).toMatchObject({ activeDeadlineSeconds: 240 })
})

test('in clusters that have no policies to change the Job before an uninstallation, it always runs', async () => {
  const policies = async (version: string) => {
    const objects = await render('mg', ...demo, '--kube-version', version)
    const job = kindOf(objects, 'Job').find(({ metadata }) => metadata.name.endsWith('-release-finalizers'))
    const { completions } = (job?.spec ?? {}) as { completions?: number }
    return [kindOf(objects, 'MutatingAdmissionPolicy').length, completions]
  }
  expect(await policies('1.35.9')).toEqual([0, undefined])
  expect(await policies('1.36.0')).toEqual([1, 0])
  expect(await policies('1.37.1-gke.1')).toEqual([1, 0])
})
