import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig as readWebhookConfig } from '#cabinet/webhook/config'
import { objectsOf, podOf, type Rendered } from '../support/chart-objects.ts'
import { ownClusterOfThisFile } from '../support/cluster.ts'
import { isSlowRun } from '../support/environment.ts'
import { findForeignCrds } from '../support/foreign-crds.ts'
import { chartFolder, findHelm, helm, helmOk } from '../support/helm.ts'

const cluster = await ownClusterOfThisFile({ deploy: 'bare' })
const program = await findHelm()
const namespace = 'mg'
/** Of `operator.namespaces` and `operator.routes.namespaces` in some of the values. */
const managed = ['team-a', 'team-b', 'team-c', 'models']
const scenarios = readdirSync(join(chartFolder, 'ci'))
const kube = ['--kube-version', '1.36.0']
const template = (name: string, ...args: readonly string[]) =>
  helmOk(program, ['template', name, chartFolder, ...kube, '--namespace', namespace, ...args])
const valuesOf = (file: string) => ['--values', join(chartFolder, 'ci', file)]
beforeAll(async () => {
  for (const path of [...(await findForeignCrds()), 'crds'])
    await cluster.kubectlOk(['apply', '--server-side', '-f', path])
  for (const name of [namespace, ...managed]) await cluster.kubectlOk(['create', 'namespace', name])
  await cluster.kubectlOk([
    'label',
    'namespace',
    namespace,
    'pod-security.kubernetes.io/enforce=restricted',
    'pod-security.kubernetes.io/warn=restricted',
  ])
})

describe.each(scenarios)('with the values of %s', (file) => {
  test('helm lint --strict finds nothing', async () => {
    const { code, stdout } = await helm(program, [
      'lint',
      '--strict',
      chartFolder,
      ...kube,
      ...valuesOf(file),
    ])
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')])
    expect(stdout).not.toMatch(/\[(?:INFO|WARNING|ERROR)\]/)
  })

  test('the API server takes every object, and warns of nothing', async () => {
    const text = await template('mg', ...valuesOf(file), '--skip-tests')
    // Nothing can be tried in a namespace that is not there yet.
    for (const object of objectsOf(text).filter(({ kind }) => kind === 'Namespace'))
      await cluster.kubectlOk(['apply', '--server-side', '-f', '-'], JSON.stringify(object))
    const { code, stderr } = await cluster.kubectl(
      ['apply', '--server-side', '--dry-run=server', '-f', '-'],
      text,
    )
    expect([code, stderr]).toEqual([0, ''])
  })

  test('every pod is one that restricted Pod Security admits', async () => {
    const objects = objectsOf(await template('mg', ...valuesOf(file), '--skip-tests'))
    const pods = objects.flatMap((object) => podOf(object))
    expect(pods.length).toBeGreaterThan(2)
    for (const { name, spec } of pods) {
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec }
      const tried = await cluster.kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(pod))
      expect({ name, ...tried }).toMatchObject({ name, code: 0, stderr: '' })
    }
  })

  test('every object but the operator’s Roles belongs to the release’s namespace, or to none and carries its name', async () => {
    const objects = objectsOf(await template('other', ...valuesOf(file), '--skip-tests'))
    const kinds =
      /^(?:Namespace|ClusterRole|ClusterRoleBinding|(?:Validating|Mutating)AdmissionPolicy(?:Binding)?)$/
    for (const { kind, metadata } of objects) {
      if (kind === 'CustomResourceDefinition') continue
      if (metadata.name === 'mg-other-model-gateway-operator-objects' && metadata.namespace !== undefined)
        expect([namespace, ...managed]).toContain(metadata.namespace)
      else if (kinds.test(kind)) expect(metadata.name).toMatch(/^mg-other-model-gateway-/)
      else expect([namespace, `${namespace}-other-model-gateway-test`]).toContain(metadata.namespace)
    }
  })
})

test('all pods of a demo are admitted at once to a namespace with a quota of 600m and 1 GiB', async () => {
  const quota = { 'requests.cpu': '600m', 'requests.memory': '1Gi' }
  const here = ['-n', await cluster.createNamespace()]
  const hard = Object.entries(quota).map(([resource, most]) => `${resource}=${most}`)
  await cluster.kubectlOk([...here, 'create', 'quota', 'small', `--hard=${hard.join(',')}`])
  // What the quota's controller does in a cluster.
  const status = JSON.stringify({
    status: { hard: quota, used: { 'requests.cpu': '0', 'requests.memory': '0' } },
  })
  const patch = ['--subresource=status', '--type=merge', '-p', status]
  await cluster.kubectlOk([...here, 'patch', 'quota', 'small', ...patch])
  const pods = objectsOf(await template('mg', ...valuesOf('demo-values.yaml'))).flatMap(podOf)
  const create = (name: string, spec: unknown) =>
    cluster.kubectl(
      [...here, 'create', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }),
    )
  for (const { name, spec, replicas } of pods)
    for (let n = 0; n < replicas; n++) {
      const tried = await create(`${name}-${n}`.replace(/^.*?gateway-/, ''), spec)
      expect([name, tried]).toMatchObject([name, { code: 0, stderr: '' }])
    }
  const [{ spec: ofGateway } = { spec: {} }] = pods.filter(({ name }) => name.endsWith('-gateway'))
  await create('one-more', ofGateway) // room for one more while gateways are replaced
  expect(await create('two-more', ofGateway)).toMatchObject({
    stderr: expect.stringContaining('exceeded quota'),
  })
})

test('every process is started by a file that the image has', async () => {
  const copied = [...readFileSync('Dockerfile', 'utf8').matchAll(/^COPY --from=build \/app\/(\S+)/gm)].map(
    ([, path]) => path,
  )
  const objects = objectsOf(await template('mg', ...valuesOf('demo-values.yaml')))
  const containers = JSON.stringify(objects).matchAll(
    /"image":"ghcr\.io\/model-gateway[^"]*","imagePullPolicy":"[^"]*","args":\["([^"]+)"\]/g,
  )
  const mains = [...new Set([...containers].map(([, main = '']) => main))]
  expect(mains.length).toBeGreaterThan(8)
  expect(mains.filter((main) => !existsSync(main) || !copied.includes(main.split('/')[0]))).toEqual([])
})

test('of a release model-gateway in a namespace of that name the rights and policies are those of operator/deploy', async () => {
  const text = await helmOk(program, [
    'template',
    'model-gateway',
    chartFolder,
    ...kube,
    '--namespace',
    'model-gateway',
    ...valuesOf('demo-values.yaml'),
    '--show-only',
    'templates/operator/rbac.yaml',
    '--show-only',
    'templates/operator/admission.yaml',
    '--show-only',
    'templates/operator/operator-limits.yaml',
  ])
  const written = ['rbac.yaml', 'admission.yaml', 'operator-limits.yaml'].flatMap((name) =>
    objectsOf(readFileSync(join('operator/deploy', name), 'utf8')),
  )
  const byName = (a: Rendered, b: Rendered) =>
    `${a.kind}/${a.metadata.name}`.localeCompare(`${b.kind}/${b.metadata.name}`)
  expect(objectsOf(text).toSorted(byName)).toEqual(written.toSorted(byName))
})

test('the CRDs are those of crds/, kept when the release goes unless that is not wanted', async () => {
  const crds = async (...args: readonly string[]) =>
    objectsOf(await template('mg', ...valuesOf('demo-values.yaml'), ...args)).filter(
      ({ kind }) => kind === 'CustomResourceDefinition',
    )
  const written = readdirSync('crds')
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => objectsOf(readFileSync(join('crds', name), 'utf8')))
  const specs = (objects: readonly Rendered[]) =>
    objects.map(({ metadata, spec }) => [metadata.name, spec]).toSorted()
  const kept = await crds()
  expect(specs(kept)).toEqual(specs(written))
  expect(kept.map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'])).toEqual(
    written.map(() => 'keep'),
  )
  const owned = await crds('--set', 'crds.keep=false')
  expect(owned.map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'])).toEqual(
    written.map(() => undefined),
  )
  expect(await crds('--set', 'crds.install=false')).toEqual([])
})

test('no release has names of another one, whatever both are called', async () => {
  const namesOf = async (release: string, namespaceOfRelease: string) => {
    const text = await helmOk(program, [
      'template',
      release,
      chartFolder,
      ...kube,
      '--namespace',
      namespaceOfRelease,
      ...valuesOf('demo-values.yaml'),
    ])
    const [, prefix = ''] = /name: DATABASE_USER_PREFIX, value: (\w+)/.exec(text) ?? []
    expect(prefix.length).toBeLessThanOrEqual(40)
    for (const process of ['worker', 'cabinet', 'administration', 'webhook', 'operator'])
      expect(text).toContain(`postgres://${prefix}_${process}:`)
    const bindings = objectsOf(text).filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')
    return [prefix, ...bindings.map(({ metadata }) => metadata.name)]
  }
  const long = 'a-namespace-with-a-long-name-for-a-team-in'
  const names = [
    await namesOf('model-gateway', 'model-gateway'),
    await namesOf('model-gateway', 'other'),
    await namesOf('mg', `${long}-moscow`),
    await namesOf('mg', `${long}-kazan`),
  ].flat()
  expect(new Set(names).size).toBe(names.length)
  expect(names).not.toContain('model_gateway') // the roles of the migrations are called so
})

test('another revision of the secrets makes other Jobs, and other pods of every process', async () => {
  const made = async (...args: readonly string[]) => {
    const objects = objectsOf(await template('mg', ...valuesOf('demo-values.yaml'), ...args))
    const revisions = objects.flatMap(({ kind, metadata, spec }) => {
      const pod = z.object({ template: z.object({ metadata: z.unknown() }) }).safeParse(spec)
      const parts = z.object({ annotations: z.record(z.string(), z.string()) })
      const { annotations = {} } = parts.safeParse(pod.data?.template.metadata).data ?? {}
      return pod.success
        ? [[`${kind} ${metadata.name}`, annotations['modelgateway.dev/secrets-revision']]]
        : []
    })
    const isJob = ({ kind }: Rendered) => kind === 'Job'
    const jobs = objects.filter(isJob).map(({ metadata }) => metadata.name)
    return { jobs, of: revisions.filter(([, revision]) => revision === '2').map(([name]) => name) }
  }
  const before = await made()
  const after = await made('--set-string', 'secrets.revision=2')
  expect(before.of).toEqual([])
  expect(after.of.filter((name) => !name?.startsWith('Job'))).toEqual([
    ...['administration', 'cabinet', 'gateway', 'operator', 'receiver', 'worker'].map(
      (of) => `Deployment mg-model-gateway-${of}`,
    ),
  ])
  const both = before.jobs.filter((name) => after.jobs.includes(name))
  expect(both).toEqual(['mg-model-gateway-release-finalizers'])
})

test('the edge lets the networks through that the receiver itself lets through', async () => {
  const env = { DATABASE_URL: 'postgres://db/x', WEBHOOK_SECRET: 'x'.repeat(32) }
  const { allowed } = readWebhookConfig(env)
  const told = async (...args: readonly string[]) => {
    const ingress = ['--set', 'ingress.enabled=true,ingress.webhook.traefik.middleware=true']
    const objects = objectsOf(await template('mg', ...valuesOf('demo-values.yaml'), ...ingress, ...args))
    const receiver = objects.filter(({ metadata }) => metadata.name === 'mg-model-gateway-receiver')
    const { annotations = {} } = receiver.find(({ kind }) => kind === 'Ingress')?.metadata ?? {}
    const { spec } = receiver.find(({ kind }) => kind === 'Middleware') ?? {}
    return { annotations, spec }
  }
  const annotationsOf = (networks: readonly string[]) => ({
    'nginx.ingress.kubernetes.io/whitelist-source-range': networks.join(','),
    'haproxy.org/allow-list': networks.join(','),
    'traefik.ingress.kubernetes.io/router.middlewares': 'mg-mg-model-gateway-receiver@kubernetescrd',
  })
  expect(await told()).toEqual({
    annotations: annotationsOf(allowed),
    spec: { ipAllowList: { sourceRange: allowed } },
  })
  const own = ['--set', 'webhook.allowedCidrs={192.0.2.0/24},ingress.webhook.traefik.ipStrategy.depth=1']
  expect(await told(...own)).toEqual({
    annotations: annotationsOf(['192.0.2.0/24']),
    spec: { ipAllowList: { sourceRange: ['192.0.2.0/24'], ipStrategy: { depth: 1 } } },
  })
})

describe("the chart's annotations for Artifact Hub", () => {
  const { appVersion, annotations } = z
    .object({ appVersion: z.string(), annotations: z.record(z.string(), z.string()) })
    .parse(parse(readFileSync(join(chartFolder, 'Chart.yaml'), 'utf8')))
  const told = (name: string): unknown => parse(annotations[`artifacthub.io/${name}`] ?? '')

  // Without Helm: the same in every run.
  test.skipIf(isSlowRun)('names the kinds that it installs', () => {
    const installed = readdirSync('crds')
      .filter((name) => name.endsWith('.yaml'))
      .flatMap((name) => objectsOf(readFileSync(join('crds', name), 'utf8')))
      .map(({ metadata, spec }) => {
        const { names, versions } = definitionSchema.parse(spec)
        return { kind: names.kind, version: versions[0].name, name: metadata.name }
      })
    const named = z.array(z.object({ kind: z.string(), version: z.string(), name: z.string() }))
    expect(new Set(named.parse(told('crds')))).toEqual(new Set(installed))
  })

  test.skipIf(isSlowRun)('has an example of each kind that the API server takes', async () => {
    const examples = z.array(exampleSchema).parse(told('crdsExamples'))
    expect(examples.map(({ kind }) => kind).toSorted()).toEqual([
      'ApiKey',
      'ApiKeyQuota',
      'ModelProvider',
      'ModelRoute',
    ])
    for (const example of examples) {
      const here = { ...example, metadata: { ...example.metadata, namespace } }
      const tried = await cluster.kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(here))
      expect(tried).toMatchObject({ code: 0, stderr: '' })
    }
  })

  test('names every image that its pods use', async () => {
    const objects = objectsOf(await template('mg', ...valuesOf('demo-values.yaml')))
    const used = [...JSON.stringify(objects).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image)
    const named = z.array(z.object({ image: z.string() })).parse(told('images'))
    expect(new Set(named.map(({ image }) => image))).toEqual(new Set(used))
    expect(used).toContain(`ghcr.io/model-gateway/model-gateway:${appVersion}`)
  })
})

const definitionSchema = z.object({
  names: z.object({ kind: z.string() }),
  versions: z.tuple([z.object({ name: z.string() })]),
})
const exampleSchema = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) })
