import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** An empty folder that goes, with whatever is in it, when the test that is running ends. */
export function folderOfThisTest(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `mg-${name}-`))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** An empty folder that goes, with whatever is in it, when this test file ends. */
export function folderOfThisFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `mg-${name}-`))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
