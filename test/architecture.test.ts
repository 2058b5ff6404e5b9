import { globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, relative } from 'node:path'
import { expect, test } from 'vitest'
import { findMissingPlatformPackages, lockfiles, readLockfile } from './support/complete-lockfile.ts'
import { testFiles } from './vitest.config.ts'

const root = join(import.meta.dirname, '..')

/**
 * Top folder → top folders that its files may import, types included, or single modules of them. Shared code is in
 * core; no process imports another, but the worker runs the jobs of the cabinet's modules.
 */
const foldersOf: Readonly<Record<string, readonly string[]>> = {
  crds: [],
  core: ['crds'],
  gateway: ['core'],
  operator: ['crds', 'core'],
  cabinet: ['crds', 'core'],
  worker: ['core', 'cabinet/mail', 'cabinet/notifications', 'cabinet/payments'],
  standalone: ['crds', 'core', 'gateway', 'cabinet', 'worker'],
  release: ['crds', 'core', 'standalone'],
  docs: ['crds', 'core', 'gateway', 'operator', 'cabinet', 'worker', 'standalone'],
}

/**
 * Top folder → its modules → modules of the same folder that each may import. A module is a folder within a top folder;
 * files of a top folder itself compose its modules.
 */
const siblingsOf: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  core: {
    // Infrastructure knows no domain.
    process: [],
    egress: [],
    redis: [],
    db: ['process'],
    audit: ['process', 'db'],
    // Domain
    ledger: ['process', 'db', 'audit'],
    archive: ['process', 'db'],
    keys: ['process', 'db', 'redis', 'audit', 'ledger'],
    errors: ['ledger', 'keys'],
    organizations: ['db', 'redis', 'audit', 'ledger'],
    catalog: ['process', 'db', 'redis', 'audit', 'ledger'],
    clusters: ['process', 'db', 'redis', 'audit', 'ledger', 'catalog'],
    admission: ['process', 'db', 'redis', 'ledger', 'keys', 'errors'],
    'stored-responses': ['db', 'audit', 'keys'],
  },
  gateway: {
    wire: [],
    tokens: ['wire'],
    requests: ['wire'],
    formats: ['wire', 'requests'],
    metrics: ['wire'],
    upstream: ['wire'],
    images: ['wire'],
    charges: ['metrics'],
    routing: ['wire', 'tokens', 'upstream'],
    'health-checks': ['wire', 'upstream', 'routing'],
    http: ['wire', 'metrics', 'routing'],
    exchange: ['wire', 'formats', 'tokens', 'requests', 'upstream', 'routing', 'charges', 'http', 'images'],
    chat: ['wire', 'formats', 'tokens', 'requests', 'upstream', 'routing', 'http', 'images', 'exchange'],
    signatures: ['wire', 'formats', 'requests', 'upstream'],
    'response-store': ['wire'],
    responses: [
      'wire',
      'formats',
      'tokens',
      'requests',
      'upstream',
      'http',
      'exchange',
      'chat',
      'signatures',
      'response-store',
    ],
    messages: [
      'wire',
      'formats',
      'requests',
      'routing',
      'upstream',
      'http',
      'exchange',
      'chat',
      'signatures',
    ],
    embeddings: ['wire', 'formats', 'tokens', 'requests', 'upstream', 'routing', 'http', 'exchange'],
    models: ['wire', 'formats', 'routing', 'http'],
    key: ['http'],
    receipts: ['wire', 'http'],
  },
  operator: {
    runtime: [],
    status: ['runtime'],
    catalog: ['runtime', 'status'],
    tenants: ['runtime', 'status'],
    'api-keys': ['runtime', 'status', 'tenants'],
    'model-providers': ['runtime', 'status', 'catalog'],
    'model-routes': ['runtime', 'status', 'catalog'],
    mirrors: ['runtime', 'status', 'model-routes'],
    'release-finalizers': ['runtime', 'api-keys', 'status'],
  },
  cabinet: {
    api: [],
    mail: [],
    webhook: [],
    legal: ['api'],
    people: ['api', 'legal', 'mail'],
    billing: ['api'],
    catalog: ['api', 'billing'],
    organizations: ['api', 'billing'],
    keys: ['api', 'billing', 'team'],
    events: ['api', 'people'],
    notifications: ['api', 'mail'],
    team: ['api', 'billing', 'mail', 'people'],
    tokens: ['api'],
    approvals: ['api', 'billing', 'mail'],
    payments: ['api', 'approvals', 'billing', 'legal', 'mail', 'people'],
    administrators: ['api', 'approvals', 'people'],
    operations: ['api', 'approvals', 'billing'],
    responses: [],
    // What people see: types of responses, and no server code
    pages: [
      'api',
      'billing',
      'catalog',
      'keys',
      'legal',
      'notifications',
      'organizations',
      'payments',
      'people',
      'administrators',
      'approvals',
      'operations',
      'support',
      'team',
      'tokens',
    ],
    web: [
      'api',
      'billing',
      'catalog',
      'keys',
      'legal',
      'mail',
      'notifications',
      'organizations',
      'payments',
      'people',
      'responses',
      'events',
      'team',
      'tokens',
      'pages',
    ],
    support: ['api', 'approvals', 'billing', 'keys', 'mail', 'payments', 'people', 'team'],
    administration: [
      'api',
      'approvals',
      'billing',
      'catalog',
      'legal',
      'operations',
      'payments',
      'administrators',
      'support',
      'web',
      'pages',
    ],
  },
  worker: { projection: [], settlement: ['projection'], invariants: [], lanes: [] },
  standalone: { keys: [], manifests: ['keys'], yookassa: [], 'demo-provider': [] },
  // What a Helm release runs besides its processes: Jobs, each a main.ts
  release: {
    chart: [],
    'make-secrets': [],
    notes: [],
    'pin-image': [],
    'prepare-database': [],
    'prepare-redis': [],
    shards: [],
    demo: [],
    mailbox: [],
    'first-request': [],
  },
  docs: { generate: [] },
}

/** Whether a module may import another one, of the same top folder or of another. */
function mayImport(from: string, to: string): boolean {
  const [fromTop = '', fromFolder] = from.split('/')
  const [toTop = '', toFolder] = to.split('/')
  if (fromTop !== toTop)
    return foldersOf[fromTop]?.some((allowed) => allowed === toTop || allowed === to) === true
  return fromFolder === undefined || siblingsOf[fromTop]?.[fromFolder]?.includes(toFolder ?? '') === true
}

const files = globSync(
  '{core,gateway,operator,cabinet,worker,crds,standalone,release,docs,test}/**/*.{ts,tsx}',
  {
    cwd: root,
  },
)
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

/** The pages have plain folders: a file in one of them is not part of a public interface. */
const isInternal = (file: string) => file.includes('/internal/') || /^cabinet\/pages\/[^/]+\//.test(file)

const isOurs = (target: string) =>
  /^(core|gateway|operator|cabinet|worker|crds|standalone|release|docs|test)\//.test(target)

/** `core/keys` of `core/keys/internal/x.ts`; `gateway` of `gateway/app.ts`; `crds` and `test` are one module each. */
function moduleOf(file: string): string {
  const [top = '', folder = '', rest] = file.split('/')
  return rest === undefined || top === 'crds' || top === 'test' ? top : `${top}/${folder}`
}

const topOf = (file: string) => file.split('/')[0] ?? ''

/** The names on a cycle of a table, and those that import one of them. */
function findCycle(table: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const open = new Map(Object.entries(table))
  for (let size = -1; size !== open.size; ) {
    size = open.size
    for (const [name, uses] of [...open]) if (uses.every((used) => !open.has(used))) open.delete(name)
  }
  return [...open.keys()]
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
      .filter(({ target }) => !mayImport(moduleOf(file), moduleOf(target)))
      .map(({ specifier }) => `${file} → ${specifier}`),
  )
  expect(broken).toEqual([])
})

test('the tables of modules name those that there are, and no cycle', () => {
  const named = Object.entries(siblingsOf).flatMap(([top, modules]) =>
    Object.keys(modules).map((folder) => `${top}/${folder}`),
  )
  const folders = new Set(productFiles.map(moduleOf).filter((name) => name.includes('/')))
  expect(named.toSorted()).toEqual([...folders].toSorted())
  expect(Object.keys(foldersOf).toSorted()).toEqual([...new Set(productFiles.map(topOf))].toSorted())
  const withoutParts = Object.entries(foldersOf).map(([top, uses]) => [top, uses.map(topOf)] as const)
  expect(findCycle(Object.fromEntries(withoutParts))).toEqual([])
  for (const modules of Object.values(siblingsOf)) expect(findCycle(modules)).toEqual([])
})

test('another top folder is entered by its #name, and product code enters no internal folder of another module', () => {
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
  'core/audit/audit-log.ts': 'the audit log itself',
  'core/audit/cluster-epoch.ts': 'who leads, which every fence is checked against',
  'cabinet/notifications/internal/due-telegram.ts': 'what becomes of messages',
  'cabinet/notifications/internal/due-webhooks.ts': 'what becomes of webhooks',
  'cabinet/notifications/internal/telegram-bot.ts': 'what workers share about the bot',
  'core/db/migrate.ts': 'the schema',
  'core/ledger/post-batch.ts': 'settlement: the ledger is its own record',
  'core/ledger/internal/checked-sums.ts': 'what looks at the books have counted',
  'core/ledger/internal/look-at-books.ts': 'what looks at the books found',
  'core/ledger/internal/notes.ts': 'what looks at the books have counted',
  'core/archive/internal/month-sums.ts': 'sums of charges that leave, by the owner of the database',
  'core/archive/internal/outbox.ts': 'what waits to be copied',
  'core/ledger/internal/audit-books.ts': 'what an audit of the books leaves to looks',
  'worker/settlement/internal/reject-charge.ts': 'settlement of an entry that cannot be booked',
  'worker/projection/internal/projected-versions.ts': 'what the worker notes about Redis',
  'core/clusters/replicas.ts': 'what the worker notes about the gateways',
  'core/audit/chain-check-job.ts': 'what the worker found in the audit log',
  'core/admission/measured-backlog.ts': 'what the worker notes about Redis',
  'cabinet/mail/internal/due-letters.ts': 'what the worker notes about letters that it sends',
  'cabinet/mail/cabinet-address.ts': 'what the cabinet notes about its own address',
}

test('SQL that writes is only in files that take a scoped client, or that need none', () => {
  const writing =
    /\b(?:insert into|delete from|merge into|truncate) \w|\bupdate \w+ (?:\w+ )?set\b|\b(?:post_\w+|reject_charge)\(/i
  const writers = productFiles.filter((file) => {
    if (moduleOf(file) === 'cabinet/pages') return false // no database there, and `truncate` is how a text ends
    const source = readFileSync(join(root, file), 'utf8').replace(/\s+/g, ' ')
    return writing.test(source) && !source.includes('ScopedClient')
  })
  expect(writers.toSorted()).toEqual(Object.keys(unscopedWriters).toSorted())
})

test('a write without a row of the audit log states why', () => {
  const calls = productFiles.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\.withoutAudit(?:<[^(]*>)?\(\s*(.*)/g)].map(
      ([, reason = '']) => ({ file, reason }),
    ),
  )
  expect(calls.length).toBeGreaterThan(40)
  expect(calls.filter(({ reason }) => !/^'[^']{15,}'/.test(reason))).toEqual([])
})

test('no code of the gateway names a provider adapter, or an API that has one, but the code that chooses it', () => {
  const named = /adapters\/|(?:openAi|anthropic|gemini)Adapter|'(?:Anthropic|Gemini|gemini-native|anthropic)'/
  const files = globSync('gateway/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  const elsewhere = files.filter((file) => !file.startsWith('gateway/upstream/'))
  expect(elsewhere.filter((file) => named.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
})

test('a file outside internal/ is used by another module, or starts a process', () => {
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
    .filter((file) => /^(cabinet|core|worker)\//.test(file) && !file.startsWith('cabinet/web/internal/'))
    .filter((file) => importsOf(file).some(({ target }) => target === 'fastify'))
  expect(broken).toEqual([])
})

/** Folder of the pages → folders of the pages that its files may import; every folder may import files next to them. */
const pageFoldersOf: Readonly<Record<string, readonly string[]>> = {
  i18n: [],
  money: [],
  time: [],
  navigation: [],
  build: ['docs'],
  document: [],
  site: ['i18n', 'app'],
  docs: ['site'],
  api: ['i18n', 'time', 'navigation'],
  kit: ['i18n', 'time', 'navigation', 'money', 'api'],
  app: ['i18n', 'navigation', 'api', 'kit'],
  features: ['i18n', 'time', 'navigation', 'money', 'api', 'kit', 'app'],
  administration: ['i18n', 'navigation', 'money', 'time', 'api', 'kit', 'app', 'features'],
}

test('the folders of the pages import each other in one direction', () => {
  const pageFolderOf = (file: string) => /^cabinet\/pages\/([^/]+)\//.exec(file)?.[1]
  const seen = productFiles.map(pageFolderOf).filter((folder) => folder !== undefined && folder !== 'dist')
  expect(Object.keys(pageFoldersOf).toSorted()).toEqual([...new Set(seen)].toSorted())
  const broken = productFiles.flatMap((file) => {
    const from = pageFolderOf(file)
    if (from === undefined || file === 'cabinet/pages/app/pages.tsx') return [] // loads each feature when it is needed
    return importsOf(file)
      .map(({ target }) => pageFolderOf(target))
      .filter((to) => to !== undefined && to !== from && !pageFoldersOf[from]?.includes(to))
      .map((to) => `${file} → ${to}`)
  })
  expect(broken).toEqual([])
  expect(findCycle(pageFoldersOf)).toEqual([])
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

test('no test file is outside every Vitest project, where it would run nowhere', () => {
  const tests = globSync('**/*.test.ts', { cwd: root, exclude: ['node_modules/**'] })
  const covered = Object.values(testFiles).flat()
  expect(tests.filter((file) => !covered.some((glob) => matchesGlob(file, glob)))).toEqual([])
})

test.each(lockfiles)(
  '%s names the packages of every platform, whatever registry wrote it (npm run lock)',
  (file) => {
    expect(findMissingPlatformPackages(readLockfile(file)).map(({ path }) => path)).toEqual([])
    expect(readFileSync(join(root, file), 'utf8')).not.toMatch(/https?:\/\/[^"]*\.tgz/)
  },
)

test('a test file starts its servers at its top: an end that is registered inside a hook never comes', () => {
  const inside = globSync('test/**/*.test.ts', { cwd: root }).filter((file) =>
    /^[ \t]+.*\b\w+OfThisFile\(/m.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(inside).toEqual([])
})
