import { globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, relative } from 'node:path'
import { expect, test } from 'vitest'
import { findMissingPlatformPackages, readLockfile } from './support/complete-lockfile.ts'
import { testFiles } from './vitest.config.ts'

const root = join(import.meta.dirname, '..')

/**
 * Module → modules that it may use, types included. A module is a folder within a top folder; what lies in a top folder
 * itself composes its modules. Mechanism knows no domain, the domain knows no process, and nobody uses a process.
 */
const mayUse: Readonly<Record<string, readonly string[]>> = {
  crds: [],

  // Mechanism
  'cabinet/process': [],
  'cabinet/redis': [],
  'cabinet/db': ['cabinet/process'],
  // Who writes what
  'cabinet/audit': ['cabinet/db'],
  // How an endpoint of /api/v1 is written down
  'cabinet/api': ['cabinet/process', 'cabinet/db', 'cabinet/audit'],
  // Domain
  'cabinet/ledger': ['cabinet/process', 'cabinet/db', 'cabinet/audit', 'cabinet/api'],
  'cabinet/keys': [
    'crds',
    'cabinet/process',
    'cabinet/db',
    'cabinet/redis',
    'cabinet/audit',
    'cabinet/ledger',
  ],
  'cabinet/refusals': ['cabinet/ledger', 'cabinet/keys'],
  'cabinet/organizations': [
    ...['crds', 'cabinet/process', 'cabinet/db', 'cabinet/redis', 'cabinet/audit', 'cabinet/api'],
    ...['cabinet/ledger', 'cabinet/mail'],
  ],
  'cabinet/catalogue': [
    ...['crds', 'cabinet/process', 'cabinet/db', 'cabinet/redis', 'cabinet/audit', 'cabinet/api'],
    'cabinet/ledger',
  ],
  'cabinet/clusters': [
    ...[
      'cabinet/process',
      'cabinet/db',
      'cabinet/redis',
      'cabinet/audit',
      'cabinet/ledger',
      'cabinet/catalogue',
    ],
  ],
  'cabinet/admission': [
    ...['cabinet/process', 'cabinet/db', 'cabinet/redis', 'cabinet/ledger', 'cabinet/keys'],
  ],
  'cabinet/mail': ['cabinet/process', 'cabinet/db', 'cabinet/audit'],
  // Processes
  'cabinet/invariants': [
    'cabinet/process',
    'cabinet/db',
    'cabinet/redis',
    'cabinet/ledger',
    'cabinet/admission',
  ],
  'cabinet/people': [
    ...['cabinet/process', 'cabinet/db', 'cabinet/audit', 'cabinet/api', 'cabinet/organizations'],
    'cabinet/mail',
  ],
  'cabinet/keys-api': [
    ...['crds', 'cabinet/db', 'cabinet/redis', 'cabinet/audit', 'cabinet/api', 'cabinet/ledger'],
    ...['cabinet/keys', 'cabinet/refusals', 'cabinet/clusters', 'cabinet/admission'],
  ],
  'cabinet/payments': [
    ...[
      'crds',
      'cabinet/process',
      'cabinet/db',
      'cabinet/audit',
      'cabinet/api',
      'cabinet/ledger',
      'cabinet/people',
    ],
    ...['cabinet/mail', 'cabinet/organizations'],
  ],
  'cabinet/webhook': ['cabinet/process', 'cabinet/db', 'cabinet/audit'],
  'cabinet/administration': [
    ...['crds', 'cabinet/db', 'cabinet/audit', 'cabinet/api', 'cabinet/ledger', 'cabinet/keys'],
    'cabinet/people',
  ],
  // What people see: types of what is answered, and no code of the server
  'cabinet/ui': [
    ...['cabinet/api', 'cabinet/ledger', 'cabinet/catalogue', 'cabinet/organizations', 'cabinet/people'],
    ...['cabinet/keys-api', 'cabinet/payments'],
  ],
  'cabinet/events': [...['cabinet/db', 'cabinet/audit', 'cabinet/api', 'cabinet/ledger', 'cabinet/people']],
  'cabinet/web': [
    'cabinet/ui',
    ...['cabinet/process', 'cabinet/db', 'cabinet/redis', 'cabinet/audit', 'cabinet/api', 'cabinet/keys'],
    ...[
      'cabinet/ledger',
      'cabinet/organizations',
      'cabinet/admission',
      'cabinet/people',
      'cabinet/catalogue',
      'cabinet/administration',
      'cabinet/keys-api',
      'cabinet/refusals',
      'cabinet/payments',
      'cabinet/events',
    ],
  ],
  'cabinet/worker': [
    ...[
      'cabinet/process',
      'cabinet/db',
      'cabinet/redis',
      'cabinet/ledger',
      'cabinet/keys',
      'cabinet/catalogue',
    ],
    ...['cabinet/organizations', 'cabinet/clusters', 'cabinet/admission', 'cabinet/mail', 'cabinet/people'],
    'cabinet/payments',
  ],

  // The data plane; `gateway/` itself composes it
  'gateway/wire': ['cabinet/ledger', 'cabinet/refusals', 'cabinet/admission'],
  'gateway/tokens': ['gateway/wire'],
  'gateway/requests': ['cabinet/refusals', 'gateway/wire'],
  'gateway/metrics': ['cabinet/process', 'cabinet/redis', 'cabinet/ledger', 'gateway/wire'],
  'gateway/upstream': ['cabinet/catalogue', 'gateway/wire'],
  'gateway/routing': [
    ...['cabinet/process', 'cabinet/redis', 'cabinet/ledger', 'cabinet/catalogue', 'cabinet/admission'],
    ...['gateway/wire', 'gateway/tokens', 'gateway/upstream'],
  ],
  'gateway/health-checks': ['gateway/wire', 'gateway/upstream', 'gateway/routing'],
  'gateway/charges': [
    ...['cabinet/process', 'cabinet/redis', 'cabinet/ledger', 'cabinet/admission'],
    'gateway/metrics',
  ],
  'gateway/http': [
    ...['cabinet/process', 'cabinet/redis', 'cabinet/ledger', 'cabinet/keys', 'cabinet/refusals'],
    ...['cabinet/admission', 'gateway/wire', 'gateway/metrics', 'gateway/routing'],
  ],
  'gateway/exchange': [
    ...['cabinet/process', 'cabinet/redis', 'cabinet/ledger', 'cabinet/refusals', 'cabinet/catalogue'],
    ...[
      'cabinet/admission',
      'gateway/wire',
      'gateway/tokens',
      'gateway/requests',
      'gateway/upstream',
      'gateway/routing',
    ],
    ...['gateway/charges', 'gateway/http'],
  ],
  'gateway/chat': [
    ...['gateway/wire', 'gateway/tokens', 'gateway/requests', 'gateway/upstream', 'gateway/routing'],
    ...['gateway/http', 'gateway/exchange'],
  ],
  'gateway/embeddings': [
    ...['gateway/wire', 'gateway/tokens', 'gateway/requests', 'gateway/upstream', 'gateway/routing'],
    ...['gateway/http', 'gateway/exchange'],
  ],
  'gateway/models': ['cabinet/keys', 'cabinet/admission', 'gateway/wire', 'gateway/routing', 'gateway/http'],
  'gateway/key': ['cabinet/ledger', 'cabinet/admission', 'gateway/http'],
  'gateway/receipts': ['cabinet/process', 'cabinet/refusals', 'gateway/wire', 'gateway/http'],
  gateway: [
    ...['cabinet/process', 'cabinet/redis', 'cabinet/keys', 'cabinet/refusals', 'cabinet/catalogue'],
    ...['cabinet/admission', 'gateway/wire', 'gateway/tokens', 'gateway/metrics', 'gateway/upstream'],
    'gateway/routing',
    ...['gateway/charges', 'gateway/http', 'gateway/exchange', 'gateway/chat', 'gateway/embeddings'],
    ...['gateway/models', 'gateway/key', 'gateway/receipts', 'gateway/health-checks'],
  ],

  // The operator; `operator/` itself composes it
  'operator/runtime': ['crds', 'cabinet/process', 'cabinet/db', 'cabinet/audit'],
  'operator/status': ['cabinet/db', 'cabinet/audit', 'cabinet/catalogue', 'operator/runtime'],
  'operator/catalogue': [
    ...['crds', 'cabinet/db', 'cabinet/ledger', 'cabinet/catalogue', 'cabinet/clusters'],
    ...['operator/runtime', 'operator/status'],
  ],
  'operator/api-keys': [
    ...[
      'crds',
      'cabinet/process',
      'cabinet/db',
      'cabinet/redis',
      'cabinet/audit',
      'cabinet/keys',
      'cabinet/organizations',
      'cabinet/clusters',
    ],
    ...['operator/runtime', 'operator/status'],
  ],
  'operator/model-providers': [
    ...['crds', 'cabinet/process', 'cabinet/db', 'cabinet/catalogue', 'cabinet/clusters'],
    ...['operator/runtime', 'operator/status', 'operator/catalogue'],
  ],
  'operator/model-routes': [
    ...[
      'crds',
      'cabinet/db',
      'cabinet/audit',
      'cabinet/ledger',
      'cabinet/organizations',
      'cabinet/catalogue',
      'cabinet/clusters',
    ],
    ...['operator/runtime', 'operator/status', 'operator/catalogue'],
  ],
  'operator/mirrors': [
    ...['cabinet/db', 'cabinet/keys', 'cabinet/catalogue', 'cabinet/clusters'],
    ...['operator/runtime', 'operator/status', 'operator/model-routes'],
  ],
  'operator/release-finalizers': [
    ...['cabinet/process', 'cabinet/db', 'cabinet/keys', 'cabinet/clusters'],
    ...['operator/runtime', 'operator/api-keys'],
  ],
  operator: [
    ...[
      'cabinet/process',
      'cabinet/db',
      'cabinet/audit',
      'cabinet/keys',
      'cabinet/catalogue',
      'cabinet/clusters',
      'operator/runtime',
    ],
    ...['operator/catalogue', 'operator/api-keys', 'operator/model-providers', 'operator/model-routes'],
    'operator/mirrors',
  ],

  // The whole system on one machine
  'standalone/keys': [],
  'standalone/manifests': [
    ...['crds', 'cabinet/process', 'cabinet/db', 'cabinet/audit', 'cabinet/ledger', 'cabinet/keys'],
    ...['cabinet/organizations', 'cabinet/catalogue', 'standalone/keys'],
  ],
  // A stand-in for the payment provider
  'standalone/yookassa': ['cabinet/process'],
  'standalone/demo-provider': ['cabinet/process'],
  standalone: [
    ...[
      'cabinet/process',
      'cabinet/db',
      'cabinet/audit',
      'cabinet/redis',
      'cabinet/ledger',
      'cabinet/keys',
      'cabinet/organizations',
      'cabinet/people',
      'cabinet/ui',
    ],
    ...[
      'cabinet/catalogue',
      'cabinet/admission',
      'cabinet/web',
      'cabinet/worker',
      'cabinet/webhook',
      'gateway',
      'gateway/http',
      'standalone/keys',
      'standalone/manifests',
      'standalone/yookassa',
      'standalone/demo-provider',
    ],
  ],

  // What a Helm release runs besides its processes: Jobs, each a main.ts
  'release/chart': [],
  'release/make-secrets': ['cabinet/process'],
  'release/prepare-database': ['cabinet/process', 'cabinet/db'],
  'release/prepare-redis': ['cabinet/process', 'cabinet/admission'],
  'release/demo': [
    ...['crds', 'cabinet/process', 'cabinet/db', 'cabinet/audit', 'cabinet/ledger'],
    ...['cabinet/organizations', 'standalone'],
  ],
  'release/mailbox': ['cabinet/process', 'standalone'],
  'release/first-request': ['cabinet/process'],
}

const files = globSync('{gateway,operator,cabinet,crds,standalone,release,test}/**/*.{ts,tsx}', { cwd: root })
const productFiles = files.filter((file) => !file.startsWith('test/') && !/\.(test|fixture)\.ts$/.test(file))

/** Every import of a file, as a repository path (ours) or a bare specifier (a package). */
function importsOf(file: string): { specifier: string; target: string }[] {
  const source = readFileSync(join(root, file), 'utf8')
  return [...source.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)].map(([, specifier = '']) => {
    if (specifier.startsWith('#')) return { specifier, target: `${specifier.slice(1)}.ts` }
    if (specifier.startsWith('.'))
      return { specifier, target: relative(root, join(root, dirname(file), specifier)) }
    return { specifier, target: specifier }
  })
}

/** The pages have their rooms as plain folders: what lies in one of them is no face. */
const isInternal = (file: string) => file.includes('/internal/') || /^cabinet\/ui\/[^/]+\//.test(file)

const isOurs = (target: string) => /^(gateway|operator|cabinet|crds|standalone|release|test)\//.test(target)

/** `cabinet/keys` of `cabinet/keys/internal/x.ts`; `gateway` of `gateway/app.ts`; `crds` and `test` are one module each. */
function moduleOf(file: string): string {
  const [top = '', folder = '', rest] = file.split('/')
  return rest === undefined || top === 'crds' || top === 'test' ? top : `${top}/${folder}`
}

/** Packages reached from an entry file through our own files. */
function packagesReachedFrom(entry: string): Set<string> {
  const packages = new Set<string>()
  const seen = new Set<string>()
  const queue = [entry]
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    for (const { target } of importsOf(file)) {
      if (target.endsWith('.ts')) queue.push(target)
      else packages.add(target)
    }
  }
  return packages
}

test('a module uses only those that the table gives it, types included', () => {
  const broken = productFiles.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => isOurs(target) && moduleOf(target) !== moduleOf(file))
      .filter(({ target }) => !mayUse[moduleOf(file)]?.includes(moduleOf(target)))
      .map(({ specifier }) => `${file} → ${specifier}`),
  )
  expect(broken).toEqual([])
})

test('the table of modules names those that there are, and no circle', () => {
  expect(Object.keys(mayUse).toSorted()).toEqual([...new Set(productFiles.map(moduleOf))].toSorted())
  const open = new Map(Object.entries(mayUse))
  for (let size = -1; size !== open.size; ) {
    size = open.size
    for (const [name, uses] of [...open]) if (uses.every((used) => !open.has(used))) open.delete(name)
  }
  expect([...open.keys()]).toEqual([])
})

test('another top folder is entered by its #name, and product code enters no internal room but its own', () => {
  const broken = files.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => isOurs(target))
      .filter(({ specifier, target }) => {
        const isForeign = target.split('/')[0] !== file.split('/')[0]
        const isIntruder = isInternal(target) && moduleOf(target) !== moduleOf(file)
        return (isForeign && !specifier.startsWith('#')) || (isIntruder && productFiles.includes(file))
      })
      .map(({ specifier }) => `${file} → ${specifier}`),
  )
  expect(broken).toEqual([])
})

/** Files that write without a scope, and why that is right. */
const unscopedWriters: Readonly<Record<string, string>> = {
  'cabinet/audit/audit-log.ts': 'the audit log itself',
  'cabinet/audit/cluster-epoch.ts': 'who leads, which every fence is checked against',
  'cabinet/db/migrate.ts': 'the schema',
  'cabinet/ledger/post-batch.ts': 'settlement: the ledger is its own record',
  'cabinet/ledger/internal/checked-sums.ts': 'what looks at the books have counted',
  'cabinet/ledger/internal/look-at-books.ts': 'what looks at the books found',
  'cabinet/ledger/internal/notes.ts': 'what looks at the books have counted',
  'cabinet/ledger/internal/audit-books.ts': 'what an audit of the books leaves to looks',
  'cabinet/admission/internal/reject-charge.ts': 'settlement of an entry that cannot be booked',
  'cabinet/admission/internal/projected-versions.ts': 'what the worker notes about Redis',
  'cabinet/clusters/replicas.ts': 'what the worker notes about the gateways',
  'cabinet/mail/internal/due-letters.ts': 'what the worker notes about letters that it sends',
}

test('SQL that writes stands only in files that take a scoped client, or that need none', () => {
  const writing =
    /\b(?:insert into|delete from|merge into|truncate) \w|\bupdate \w+ (?:\w+ )?set\b|\b(?:post_\w+|reject_charge)\(/i
  const writers = productFiles.filter((file) => {
    if (moduleOf(file) === 'cabinet/ui') return false // no database there, and `truncate` is how a text ends
    const source = readFileSync(join(root, file), 'utf8').replace(/\s+/g, ' ')
    return writing.test(source) && !source.includes('ScopedClient')
  })
  expect(writers.toSorted()).toEqual(Object.keys(unscopedWriters).toSorted())
})

test('what lies outside internal/ is used by another module, or starts a process', () => {
  const used = new Set(
    productFiles.flatMap((file) =>
      importsOf(file).flatMap(({ target }) => (moduleOf(target) === moduleOf(file) ? [] : target)),
    ),
  )
  const isFace = (file: string) => moduleOf(file).includes('/') && !isInternal(file)
  // Contracts are read by those who call over HTTP.
  const isUsedElsewhere = (file: string) => /(?:\/main|-contracts)\.ts$/.test(file)
  const idle = productFiles.filter((file) => isFace(file) && !used.has(file) && !isUsedElsewhere(file))
  expect(idle).toEqual([])
})

test('the cabinet serves HTTP by routes with an access rule: no module but web sees Fastify', () => {
  const broken = productFiles
    .filter((file) => file.startsWith('cabinet/') && !file.startsWith('cabinet/web/internal/'))
    .filter((file) => importsOf(file).some(({ target }) => target === 'fastify'))
  expect(broken).toEqual([])
})

test('the gateway never loads a Postgres client', () => {
  const reached = packagesReachedFrom('gateway/main.ts')
  expect(reached).toContain('fastify') // the walk did reach somewhere
  expect([...reached]).not.toContain('pg')
})

test('a fixture is imported by tests and fixtures only', () => {
  const isForTests = (file: string) => file.startsWith('test/') || /\.(test|fixture)\.ts$/.test(file)
  const broken = files
    .filter((file) => !isForTests(file))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ target }) => target.endsWith('.fixture.ts'))
        .map(({ target }) => `${file} → ${target}`),
    )
  expect(broken).toEqual([])
})

test('no test file lies outside every Vitest project, where it would run nowhere', () => {
  const tests = globSync('**/*.test.ts', { cwd: root, exclude: ['node_modules/**'] })
  const covered = Object.values(testFiles).flat()
  expect(tests.filter((file) => !covered.some((glob) => matchesGlob(file, glob)))).toEqual([])
})

test('the lockfile names the packages of every platform, whatever registry wrote it (npm run lock)', () => {
  expect(findMissingPlatformPackages(readLockfile('package-lock.json')).map(({ path }) => path)).toEqual([])
})

test('a test file starts its servers at its top: an end that is registered inside a hook never comes', () => {
  const inside = globSync('test/**/*.test.ts', { cwd: root }).filter((file) =>
    /^[ \t]+.*\b\w+OfThisFile\(/m.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(inside).toEqual([])
})
