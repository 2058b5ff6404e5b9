import type { Reporter, TestModule } from 'vitest/node'
import { keepDurations } from './durations.ts'

/**
 * Ends a run with the plain line `N passed, N failed`; a file that could not even load counts as one failure. Before it
 * are the names of tests that passed at a later try only.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0
    let failed = unhandledErrors.length
    for (const module of modules) {
      let failedHere = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (test.diagnostic()?.flaky) process.stdout.write(`passed at a later try: ${test.fullName}\n`)
        if (state === 'passed') passed += 1
        if (state === 'failed') failedHere += 1
      }
      failed += failedHere === 0 && module.state() === 'failed' ? 1 : failedHere
    }
    keepDurations(modules)
    process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
  }
}
