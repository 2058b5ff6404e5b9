/** A JSON schema, of the draft that every Helm 3 and 4 knows. */
type Schema = Readonly<Record<string, unknown>>

const text: Schema = { type: 'string' }
const flag: Schema = { type: 'boolean' }
const map: Schema = { type: 'object' }
/** Environment variables, as processes name their settings. */
const settings: Schema = {
  type: 'object',
  additionalProperties: false,
  patternProperties: { '^[A-Za-z_][A-Za-z0-9_]*$': { type: ['string', 'number', 'boolean'] } },
}
const maps: Schema = { type: 'array', items: map }
const oneOf = (...values: readonly string[]): Schema => ({ enum: values })
const matching = (pattern: string): Schema => ({ type: 'string', pattern })
const from = (minimum: number, maximum?: number): Schema => ({
  type: 'integer',
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
})
const listOf = (items: Schema): Schema => ({ type: 'array', items })
/** `--set` makes a number of digits, which people write without quotes. */
const digits = (pattern: string): Schema => ({ type: ['string', 'integer'], pattern, minimum: 0 })
const textOrNumber: Schema = { type: ['string', 'integer'] }
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
})
const sameAs = (path: string): Schema => ({ $ref: `#/properties/${path.replaceAll('.', '/properties/')}` })
const deprecated = (name: string): Schema => ({ ...sameAs(name), description: `Deprecated: use ${name}.` })

const octet = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4 = `${octet}(\\.${octet}){3}(/(3[0-2]|[12]?\\d))?`
const ipv6 = '[0-9a-fA-F:]*:[0-9a-fA-F:]*(/(12[0-8]|1[01]\\d|[1-9]?\\d))?'
const cidrs = listOf(matching(`^(${ipv4}|${ipv6})$`))
const namespaces = listOf({ ...matching('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'), maxLength: 63 })
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const existingSecret = object({ existingSecret: text, existingSecretKey: text })
/** A quantity of Kubernetes. */
const quantity: Schema = {
  type: ['string', 'number'],
  pattern: '^\\d+(\\.\\d+)?([numkMGTPE]|[KMGTPE]i|[eE]\\d+)?$',
  minimum: 0,
}
const quantities: Schema = { type: 'object', additionalProperties: quantity }
const resources = object({ requests: quantities, limits: quantities, claims: maps })
const storage = quantity
const service = object({
  type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer'),
  annotations: map,
  labels: map,
  clusterIP: text,
  nodePort: from(1, 65_535),
  ipFamilyPolicy: oneOf('SingleStack', 'PreferDualStack', 'RequireDualStack'),
  ipFamilies: listOf(oneOf('IPv4', 'IPv6')),
  internalTrafficPolicy: oneOf('Cluster', 'Local'),
  externalTrafficPolicy: oneOf('Cluster', 'Local'),
  loadBalancerClass: text,
  loadBalancerIP: text,
  loadBalancerSourceRanges: cidrs,
})
/** How many pods: a number, or a share of all. */
const share: Schema = { type: ['integer', 'string'], pattern: '^\\d+%$', minimum: 0 }

/** What every pod may have, by the names of cert-manager's chart. */
const openPod = {
  securityContext: map,
  containerSecurityContext: map,
  volumes: maps,
  volumeMounts: maps,
  extraEnv: maps,
  envFrom: maps,
  extraContainers: maps,
  initContainers: maps,
  hostAliases: maps,
  topologySpreadConstraints: maps,
  startupProbe: map,
  readinessProbe: map,
  livenessProbe: map,
  podDisruptionBudget: object({ enabled: flag, maxUnavailable: share, minAvailable: share }),
}

/** Where and how pods run. */
const pod = {
  ...openPod,
  resources,
  nodeSelector: map,
  tolerations: maps,
  affinity: map,
  priorityClassName: text,
}

const process = {
  replicas: from(0),
  heapMb: from(1),
  env: settings,
  logLevel: oneOf(...levels, ''),
  podLabels: map,
  podAnnotations: map,
  ...pod,
}
const ofDemo = object({ replicas: process.replicas, heapMb: process.heapMb, resources })

const gateway = object({
  ...process,
  replicas: from(1),
  autoscaling: object({
    enabled: flag,
    minReplicas: from(1),
    maxReplicas: from(1),
    targetCPUUtilizationPercentage: from(1),
    scaleDownStabilizationSeconds: from(0, 3600),
  }),
  longestRequestSeconds: from(1),
  preStopSeconds: from(0),
  upstreamAllowedCidrs: cidrs,
  egressProxy: object({
    url: matching('^(https?://[^\\s@]+)?$'),
    existingSecret: text,
    existingSecretKey: text,
    port: from(1, 65_535),
  }),
  service,
})
const webhook = object({ ...process, enabled: flag, allowedCidrs: cidrs, service })
const worker = object({
  ...process,
  defaultLimits: object({ requestsPerMinute: from(1), tokensPerMinute: from(1) }),
})
const operator = object({
  ...process,
  enabled: flag,
  namespaces,
  excludedNamespaces: namespaces,
  routes: object({ namespaces }),
  clusterId: textOrNumber,
  mirror: object({ routes: flag, keys: flag, keysMax: from(0) }),
})

const edge = { className: text, annotations: map, tlsSecret: text }
const ingress = object({
  enabled: flag,
  gateway: object(edge),
  cabinet: object(edge),
  administration: object({ enabled: flag, ...edge }),
  webhook: object({ ...edge, traefik: object({ middleware: flag, ipStrategy: map }) }),
  receiver: deprecated('ingress.webhook'),
})
const route = object({ parentRefs: maps, annotations: map })
const httpRoute = object({
  enabled: flag,
  gateway: route,
  cabinet: route,
  webhook: route,
  receiver: deprecated('httpRoute.webhook'),
})

const store = object({ image: text, storage, resources })
const demo = object({
  enabled: flag,
  organization: matching('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'),
  balanceRub: digits('^\\d+$'),
  podCidrs: cidrs,
  testPaymentsUrl: matching('^https?://[^/]+$'),
  processes: object({
    gateway: ofDemo,
    cabinet: ofDemo,
    administration: ofDemo,
    webhook: ofDemo,
    worker: ofDemo,
    operator: ofDemo,
  }),
  postgres: store,
  redis: store,
  services: object({ storage, resources }),
})
const renamedOfDemo = { tillUrl: 'testPaymentsUrl', demo: 'services' }
const keptOfDemo = ['enabled', 'organization', 'balanceRub', 'podCidrs', 'postgres', 'redis']
const trial: Schema = {
  ...object({
    ...Object.fromEntries(keptOfDemo.map((name) => [name, sameAs(`demo.${name}`)])),
    ...Object.fromEntries(Object.entries(renamedOfDemo).map(([old, name]) => [old, sameAs(`demo.${name}`)])),
  }),
  description: 'Deprecated: use demo.',
}

/** The schema of the chart's values, which Helm compares them with: a value that a process would refuse is refused. */
export function valuesSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart model-gateway. Generated by `npm run chart`. Do not edit.',
    ...object({
      nameOverride: text,
      fullnameOverride: text,
      commonLabels: map,
      baseUrl: matching('^https?://[^/]+/(.+/)?v1$'),
      appUrl: matching('^https?://[^/]+$'),
      trustedProxyCidrs: cidrs,
      logLevel: oneOf(...levels),
      image: object({
        repository: text,
        tag: textOrNumber,
        digest: matching('^(sha256:[0-9a-f]{64})?$'),
        pullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
        pullSecrets: maps,
      }),
      podDefaults: object(openPod),
      crds: object({ install: flag, keep: flag, annotations: map }),
      secrets: object({ existingSecret: text, revision: textOrNumber }),
      ...stores,
      caCertificates: existingSecret,
      gateway,
      cabinet: object({ ...process, enabled: flag, service }),
      administration: object({
        ...process,
        enabled: flag,
        aloneMaxRub: from(0, 999_999_999),
        url: matching('^https?://[^/]+$'),
        service,
      }),
      webhook,
      receiver: deprecated('webhook'),
      worker,
      operator,
      payments: object({
        shopId: digits('^\\d{0,32}$'),
        existingSecret: text,
        existingSecretKey: text,
        env: settings,
      }),
      trialCredit: object({ grant: oneOf('email', 'first_top_up', 'none'), dailyRub: from(0, 999_999_999) }),
      mail: object({ existingSecret: text, existingSecretKey: text, from: text }),
      telegram: object({ existingSecret: text, existingSecretKey: text, apiUrl: matching('^https?://') }),
      archive,
      migrations: object({ enabled: flag, activeDeadlineSeconds: from(1), ...pod }),
      ingress,
      httpRoute,
      networkPolicy: object({ enabled: flag, ingressFrom: maps, metricsFrom: maps, providers: flag }),
      monitoring: object({
        serviceMonitor: object({ enabled: flag, interval: text, labels: map }),
        prometheusRule: object({ enabled: flag, labels: map, runbookBaseUrl: text }),
        dashboards: object({ enabled: flag, labels: map }),
      }),
      test: object({ organization: textOrNumber, model: text }),
      demo,
      trial,
      extraObjects: { type: 'array' },
      global: map,
    }),
  }
}

const port = from(1, 65_535)
const archive = object({
  existingSecret: text,
  existingSecretKey: text,
  copy: flag,
  port,
  keptDays: { anyOf: [{ const: 0 }, from(35)] },
  partitions: oneOf('monthly', 'daily'),
})
const stores = {
  database: object({
    host: text,
    port,
    name: textOrNumber,
    parameters: text,
    owner: existingSecret,
    users: object({ create: flag, prefix: text, existingSecret: text }),
  }),
  redis: object({
    host: text,
    cluster: object({ nodes: listOf(matching('^[^\\s,/@]+$')) }),
    port,
    tls: flag,
    admin: existingSecret,
    users: object({ create: flag, existingSecret: text }),
    url: existingSecret,
  }),
}
