import { defineConfig } from 'vitest/config'

/** Every project's files; `architecture.test.ts` fails on a test file that is in none of them. */
export const testFiles = {
  unit: ['{gateway,operator,cabinet,crds,standalone}/**/*.test.ts', 'test/*.test.ts'],
  integration: ['test/{gateway,operator,cabinet,standalone,conformance,chaos}/**/*.test.ts'],
}

/** Promises of how long something takes: they run alone and last, or they would measure their neighbours. */
const timed = ['test/operator/{kubectl,many-keys}.test.ts']

const onRealParts = {
  globalSetup: ['./test/support/global-setup.ts'],
  setupFiles: ['./test/support/patience.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    reporters: ['default', './test/support/reporter.ts'],
    projects: [
      // Pure: no file leaves anything to the next, so that none needs a process of its own.
      { test: { name: 'unit', include: testFiles.unit, isolate: false, maxWorkers: 2 } },
      {
        test: {
          ...onRealParts,
          name: 'integration',
          include: testFiles.integration,
          exclude: timed,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { ...onRealParts, name: 'timed', include: timed, maxWorkers: 1, sequence: { groupOrder: 2 } } },
    ],
  },
})
