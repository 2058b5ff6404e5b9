import { defineConfig } from 'vitest/config'

/** Every project's files; `architecture.test.ts` fails on a test file that is in none of them. */
export const testFiles = {
  unit: ['{gateway,operator,cabinet,crds,standalone}/**/*.test.ts', 'test/*.test.ts'],
  integration: ['test/{gateway,operator,cabinet,standalone,conformance,chaos}/**/*.test.ts'],
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    reporters: ['default', './test/support/reporter.ts'],
    projects: [
      { test: { name: 'unit', include: testFiles.unit } },
      {
        test: {
          name: 'integration',
          include: testFiles.integration,
          globalSetup: ['./test/support/global-setup.ts'],
          setupFiles: ['./test/support/patience.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
    ],
  },
})
