import { expect, test } from 'vitest'
import { chartFolder, findHelm, helm } from '../support/helm.ts'

const program = await findHelm()
const demo = ['--set', 'demo.enabled=true']
const stores = [
  '--set',
  'database.host=db,database.owner.existingSecret=owner,redis.host=redis,redis.admin.existingSecret=admin',
]

test.each([
  ['a misspelt value', [...demo, '--set', 'gateway.replica=3'], /gateway.*additional propert.*replica/is],
  [
    'a value of another type',
    [...demo, '--set', 'gateway.replicas=many'],
    /gateway[./]replicas.*want integer/is,
  ],
  ['no database and no demo', [], /database\.host is not set\..*demo\.enabled=true/],
  [
    'a database without its owner',
    ['--set', 'database.host=db'],
    /database\.owner\.existingSecret is not set\. Set it to a Secret/,
  ],
  [
    'users that are called as the roles are',
    [...stores, '--set', 'database.users.prefix=model_gateway'],
    /database\.users\.prefix is model_gateway.*Set another prefix/,
  ],
  [
    'no Redis',
    ['--set', 'database.host=db,database.owner.existingSecret=owner'],
    /redis\.host is not set\. Set redis\.host/,
  ],
  [
    'one Redis and nodes of a cluster',
    [...stores, '--set', 'redis.cluster.nodes={redis-0,redis-1}'],
    /redis\.host and redis\.cluster\.nodes are both set\. Set redis\.host for one server/,
  ],
  [
    'one host for both',
    [...demo, '--set', 'ingress.enabled=true,appUrl=https://api.example.com'],
    /baseUrl and appUrl have one host, api\.example\.com\. Give the cabinet/,
  ],
  [
    'a base URL without /v1',
    [...demo, '--set', 'baseUrl=https://api.example.com'],
    /baseUrl.*does not match pattern/is,
  ],
  [
    'an allow-list that is no CIDR',
    [...demo, '--set', 'webhook.allowedCidrs={yookassa.ru}'],
    /webhook[./]allowedCidrs.*does not match pattern/is,
  ],
  [
    'an address that is none',
    [...demo, '--set', 'gateway.upstreamAllowedCidrs={999.1.1.1/99}'],
    /gateway[./]upstreamAllowedCidrs.*does not match pattern/is,
  ],
  [
    'a network of more bits than an address has',
    [...demo, '--set', 'trustedProxyCidrs={10.0.0.0/33}'],
    /trustedProxyCidrs.*does not match pattern/is,
  ],
  [
    'a limit of no requests',
    [...demo, '--set', 'worker.defaultLimits.requestsPerMinute=0'],
    /worker[./]defaultLimits[./]requestsPerMinute.*(?:minimum|greater than or equal to 1)/is,
  ],
  [
    'an autoscaler that wants no load',
    [...demo, '--set', 'gateway.autoscaling.targetCPUUtilizationPercentage=0'],
    /targetCPUUtilizationPercentage.*(?:minimum|greater than or equal to 1)/is,
  ],
  [
    'memory in words',
    [...demo, '--set', 'worker.resources.limits.memory=lots'],
    /worker[./]resources[./]limits[./]memory.*does not match pattern/is,
  ],
  [
    'a setting that no process can have',
    [...demo, '--set', 'worker.env.a-b=1'],
    /worker[./]env.*additional propert.*a-b/is,
  ],
  [
    'a heap above the memory limit',
    [...demo, '--set', 'gateway.heapMb=1024'],
    /gateway\.heapMb is 1024, but gateway\.resources\.limits\.memory is 1Gi\. Set heapMb to/,
  ],
  [
    'replicas beside an autoscaler',
    [...demo, '--set', 'gateway.autoscaling.enabled=true,gateway.replicas=5'],
    /Set gateway\.autoscaling\.minReplicas instead of gateway\.replicas/,
  ],
  [
    'a proxy whose password would be in the values',
    [...demo, '--set', 'gateway.egressProxy.url=http://user:password@proxy:3128'],
    /gateway[./]egressProxy[./]url.*does not match pattern/is,
  ],
  [
    'two addresses of a proxy',
    [...demo, '--set', 'gateway.egressProxy.url=http://proxy:3128,gateway.egressProxy.existingSecret=p'],
    /gateway\.egressProxy\.url and gateway\.egressProxy\.existingSecret are both set\. Set one/,
  ],
  [
    'a shop without its key',
    [...stores, '--set-string', 'payments.shopId=123456'],
    /payments\.existingSecret is not set, but payments\.shopId is/,
  ],
  [
    'requests that leave Postgres without an archive',
    [...stores, '--set', 'archive.keptDays=40'],
    /archive\.existingSecret is not set, but archive\.keptDays is/,
  ],
  [
    'requests that leave Postgres although they are not copied',
    [...stores, '--set', 'archive.existingSecret=clickhouse,archive.keptDays=40,archive.copy=false'],
    /archive\.keptDays is set, but archive\.copy is false/,
  ],
  [
    'requests that leave Postgres within a day',
    [...stores, '--set', 'archive.existingSecret=clickhouse,archive.keptDays=1'],
    /archive[./]keptDays/,
  ],
  [
    'a mail server without a sender',
    [...stores, '--set', 'mail.existingSecret=smtp'],
    /mail\.from is not set, but mail\.existingSecret is/,
  ],
])('%s is refused in one sentence that says what to set', async (_name, args, words) => {
  const { code, stderr } = await helm(program, [
    'template',
    'mg',
    chartFolder,
    '--kube-version',
    '1.36.0',
    '--namespace',
    'mg',
    ...args,
  ])
  expect(code).not.toBe(0)
  expect(stderr).toMatch(words)
})

test('what the refusals ask for is enough', async () => {
  const { code, stderr } = await helm(program, [
    'template',
    'mg',
    chartFolder,
    '--kube-version',
    '1.36.0',
    '--namespace',
    'mg',
    ...stores,
  ])
  expect([code, stderr]).toEqual([0, ''])
})
