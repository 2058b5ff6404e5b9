import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isOnCi, shareCompiledCode } from './support/environment.ts'

/** Every project's files; `architecture.test.ts` fails on a test file that is in none of them. */
export const testFiles = {
  unit: [
    '{core,gateway,operator,cabinet,worker,crds,standalone,release,docs}/**/*.test.ts',
    'test/*.test.ts',
  ],
  integration: [
    'test/{gateway,operator,cabinet,standalone,charts,conformance,chaos,abuse,rollout,release}/**/*.test.ts',
  ],
  browser: ['test/browser/**/*.test.ts'],
  /** On a cluster that runs pods, one after the other: `npm run e2e`. */
  e2e: ['test/e2e/*.test.ts'],
  /** Other projects' clients, which are installed for it: `npm run clients`. */
  clients: ['test/clients/*.test.ts'],
}

/** Rare events that take long to bring about, each at its only size: `npm run test:slow` runs them, and nothing else does. */
const rare = [
  'test/cabinet/{adjustments-killed,archive,archive-partitions,archived-ledger,archived-pages,epoch-load,mail,notifications,older-database,payment-secrets,payments-killed,provider-outage}.test.ts',
  'test/chaos/chaos-on-cluster.test.ts',
  'test/cabinet/{prepare-redis-cluster,published-catalog,receiver-away,redis-failover,redis-to-cluster,replicas,restored-postgres,settlement-workers,moved-holds,shard-moves,shards-on-cluster,web-killed,worker-end}.test.ts',
  'test/cabinet/{events,legal,settlement-postgres-killed,silent-provider,throttles,worker-metrics}.test.ts',
  'test/cabinet/{account-export,administration,archive-outbox,audit,audit-places,deleted-accounts,email-change,inspector}.test.ts',
  'test/cabinet/{lanes,lanes-settlement,low-balance,management-tokens,money-plans,operations}.test.ts',
  'test/cabinet/{organization-alerts,passkeys,payment-details,payment-letters,pepper,redis-connection}.test.ts',
  'test/cabinet/{registration,revoke-command,teams,telegram,totp-resets,webhook-without-postgres}.test.ts',
  'test/chaos/double-loss.test.ts',
  'test/charts/{alerts,jobs,missing-image,permissions,values}.test.ts',
  'test/conformance/{aborts,faults,open-responses,outages}.test.ts',
  'test/gateway/{abort-billing,failures-gateway,failures-redis,responses-fallback}.test.ts',
  'test/gateway/{adapter-billing,drain,failures-redis-data,half-closed,native-secrets,running-holds}.test.ts',
  'test/gateway/{running-requests,scheduled-prices,session-affinity,slow-client}.test.ts',
  'test/gateway/{brought-content,charge-keeper,connection-share,cross-origin,embeddings,health-checks}.test.ts',
  'test/gateway/{held-bodies,left-waiting,listed-rejections,measured-prompts,messages-bad-input}.test.ts',
  'test/gateway/{messages-rejections,open-connections,organization-share,provider-text,raw-requests}.test.ts',
  'test/gateway/{responses-bad-input,responses-rejections,stored-responses}.test.ts',
  'test/operator/{api-key-crashes,catalog-outage,database-refusals,garbage,gone-means-dead,leader-elector}.test.ts',
  'test/operator/{lost-secrets,older-database,operator-end,provider-health,reflector,release-finalizers}.test.ts',
  'test/operator/{key-programmed,lease-rules,route-changes,start-up,tenants}.test.ts',
  'test/operator/{cluster-transport,mirrors,native-providers,operator,run-controllers,with-kubectl}.test.ts',
  'test/operator/{route-permissions,uninstall,upgrade,vanished-keys,watched-namespaces}.test.ts',
  'test/release/{image,lint}.test.ts',
  'test/rollout/rollout.test.ts',
  'test/standalone/{demo-provider,mailbox,manifests,native-providers,npm-start,pay,postgres,read-folder}.test.ts',
  'test/standalone/{sign-up,slim-installation,start,yookassa}.test.ts',
]

/** Promises of time or memory: they run alone and last, or they would measure their neighbors. */
const timed = [
  'test/abuse/{abuse,door/junk-at-the-door}.test.ts',
  'test/cabinet/even-answers.test.ts',
  'test/gateway/{accepted-bodies,provider-memory}.test.ts',
  'test/operator/{kubectl,many-keys}.test.ts',
]

/** What `npm run test:slow` runs, at full size. */
const slow = [
  ...rare,
  'test/chaos/chaos.test.ts',
  'test/gateway/{parallel,fuzz}.test.ts',
  'test/cabinet/{endpoint-fuzz,invariants,migrate,webhook-bad-input,trials,derived-sums,shards-batches}.test.ts',
  'test/charts/{install,render,refusals,renamed-values}.test.ts',
]
/** Pages in states that few people see, at their only size: `npm run test:slow` runs them, and nothing else does. */
const rarePages = [
  'test/browser/{activity,administration,administration-support,billing,hostile-texts,keys}.test.ts',
  'test/browser/{kubernetes-keys,language,letters,live,models,other-person,outages,pages,playground}.test.ts',
  'test/browser/{roles,second-try,settings,support-day,team,twice,twice-signed-in,usage,week}.test.ts',
]
/** How fast pages are when they run alone. What they weigh is checked by every build (cabinet/pages/build/weights.ts). */
const slowBrowser = ['test/browser/{budgets,proof-of-work}.test.ts']

/** Small files that take a minute or two: begun last, as Vitest does with small files, they would keep one processor idle. */
const long = [
  'test/chaos/chaos.test.ts',
  'test/gateway/parallel.test.ts',
  'test/gateway/fuzz.test.ts',
  'test/cabinet/web-killed.test.ts',
  'test/cabinet/payments-killed.test.ts',
]

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId, project }: TestSpecification) =>
      2 * project.config.sequence.groupOrder - Number(long.some((file) => moduleId.endsWith(file)))
    const sorted = (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
    // Their names say which comes first.
    const isEndToEnd = ({ project }: TestSpecification) => project.name === 'e2e'
    return sorted.every(isEndToEnd) ? sorted.toSorted((a, b) => a.moduleId.localeCompare(b.moduleId)) : sorted
  }
}

/**
 * Retried twice on CI. Most of these tests wait for processes that share two
 * processors with others; runs of 2,000 saw one to three be too late by something, on a machine that became three times
 * slower within two hours (2026-11-22). The reporter names whichever needed it.
 */
const onRealParts = {
  retry: isOnCi ? 2 : 0,
  // By Node itself, as in production: Vite's runner took 0.5 s longer to load a file.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  globalSetup: ['./test/support/global-setup.ts'],
  setupFiles: ['./test/support/patience.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Its default of 1 s is too short for a page on a machine with a load of 20.
  expect: { poll: { timeout: 10_000 } },
}

const inBrowser = { ...onRealParts, globalSetup: ['./test/browser/global-setup.ts'] }

shareCompiledCode()

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    reporters: ['default', './test/support/reporter.ts'],
    sequence: { sequencer: LongFirst },
    projects: [
      // Pure: no file leaves anything to the next, so one process runs all. On a machine with a load of 20, some take 20 s.
      {
        test: {
          name: 'unit',
          include: testFiles.unit,
          setupFiles: ['./test/support/patience.ts'],
          isolate: false,
          maxWorkers: 2,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          ...onRealParts,
          name: 'integration',
          include: testFiles.integration,
          exclude: [...timed, ...rare],
          // On two processors: files wait for processes, clocks and leases. With two the run took 758 s, with three 587 s.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...inBrowser,
          name: 'browser',
          include: testFiles.browser,
          exclude: [...slowBrowser, ...rarePages],
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...inBrowser,
          name: 'slow-pages',
          include: rarePages,
          maxWorkers: 2,
          sequence: { groupOrder: 8 },
        },
      },
      {
        test: {
          ...inBrowser,
          name: 'slow-browser',
          include: slowBrowser,
          maxWorkers: 1,
          sequence: { groupOrder: 7 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: testFiles.e2e,
          setupFiles: ['./test/e2e/resolve-names.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          ...onRealParts,
          name: 'clients',
          include: testFiles.clients,
          // Two runs of a client, each of which has 50 s.
          testTimeout: 120_000,
          globalSetup: [...onRealParts.globalSetup, './test/clients/install.ts'],
          maxWorkers: 3,
          sequence: { groupOrder: 9 },
        },
      },
      {
        test: { ...onRealParts, name: 'slow', include: slow, maxWorkers: 2, sequence: { groupOrder: 5 } },
      },
      {
        test: {
          ...onRealParts,
          name: 'slow-timed',
          include: timed,
          maxWorkers: 1,
          sequence: { groupOrder: 6 },
        },
      },
    ],
  },
})
