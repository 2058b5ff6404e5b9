import { type FSWatcher, watch } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ApplyDeps, createManifestApplier } from './internal/apply-manifests.ts'
import { manifestsOfEnvironment } from './internal/models-from-environment.ts'
import { readOwned } from './internal/owned.ts'
import { type Plan, planManifests } from './internal/plan-manifests.ts'
import { createFolderReader, type Folder, type Problem, readFingerprint } from './internal/read-folder.ts'

/** Time between checks of the folder, in ms, if the system does not report changes. */
const pollMs = 500
/** Time that a folder must be unchanged before it is read, in ms. Editors write in several steps. */
const quietMs = 60

/** Problems printed at once. More would hide the first ones. */
const toldMax = 200

/** Names printed on one line. */
const keptShownMax = 5

export type ManifestOptions = ApplyDeps & {
  /** `undefined`: no folder; only the environment is used. */
  readonly folder: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Gets problems and changes as readable lines. */
  readonly tell: (line: string) => void
}

/**
 * Applies a folder's manifests once, and then after each change until `stop`.
 *
 * A problem is printed once and does not affect other manifests. An unreadable folder changes nothing.
 */
export async function followManifests(options: ManifestOptions): Promise<{ stop(): Promise<void> }> {
  const folder = options.folder === undefined ? undefined : resolve(options.folder)
  const pass = createPass(options, folder)
  if (folder === undefined) {
    await pass()
    return { stop: async () => {} }
  }
  // Taken before reading, so that later changes are read again.
  const before = await fingerprintOf(folder)
  const applied = (await pass()) === 'done' ? before : undefined
  const stopped = new AbortController()
  const following = follow(folder, pass, applied, stopped.signal)
  return {
    async stop() {
      stopped.abort()
      await following
    },
  }
}

/** One pass over the folder. Never throws. The next pass retries failures. */
function createPass(options: ManifestOptions, folder: string | undefined): () => Promise<'done' | 'failed'> {
  const reader = folder === undefined ? undefined : createFolderReader(folder)
  const applier = createManifestApplier(options)
  const tellBefore = tellerOf(options.tell)
  const tellAfter = tellerOf(options.tell)
  const tellOutage = tellerOf(options.tell)
  return async () => {
    try {
      const own: Folder = (await reader?.read()) ?? { path: null, manifests: [], problems: [] }
      const owned = readOwned(options.dataDir) // includes the progress of a pass that failed halfway
      const extra = manifestsOfEnvironment(options.environment, own)
      const plan = planManifests(
        { ...own, manifests: [...own.manifests, ...extra] },
        owned,
        options.environment,
      )
      tellBefore([...plan.problems.map(lineOf('not applied')), ...plan.warnings.map(lineOf('warning'))])
      const refused = await applier.apply(plan, owned)
      tellAfter(refused.map(lineOf('not applied')))
      tellOutage([])
      if (folder !== undefined) options.tell(summaryOf(plan, refused))
      return 'done'
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      tellOutage([`manifests: could not be applied, will retry; earlier manifests stay in effect: ${reason}`])
      return 'failed'
    }
  }
}

/** Prints the lines that were not in the previous call. */
function tellerOf(tell: (line: string) => void): (lines: readonly string[]) => void {
  let told = new Set<string>()
  return (lines) => {
    const fresh = lines.filter((line) => !told.has(line))
    for (const line of fresh.slice(0, toldMax)) tell(line)
    if (fresh.length > toldMax) tell(`… and ${fresh.length - toldMax} more`)
    told = new Set(lines)
  }
}

/** `routes.yaml:12  ModelRoute "gpt": spec.model: …`, a format that editors can jump to. */
function lineOf(kind: string): (problem: Problem) => string {
  return ({ position, what, reason }) => {
    const fromHere = isAbsolute(position.file) ? relative('.', position.file) : position.file
    const file = fromHere.startsWith('..') ? position.file : fromHere
    return `${file}:${position.line}  ${what}: ${reason} (${kind})`
  }
}

function summaryOf(
  { providers, routes, keys, removed, kept, problems }: Plan,
  refused: readonly Problem[],
): string {
  const problemCount = problems.length + refused.length
  const gone = removed.providers.length + removed.models.length + removed.keys.length
  return [
    `manifests: providers ${providers.length}, routes ${routes.length}, keys ${keys.length}`,
    ...(gone === 0 ? [] : [`removed ${gone}`]),
    ...(problemCount === 0 ? [] : [`problems ${problemCount}`]),
    ...(kept.length === 0 ? [] : [`kept until their problems are fixed: ${shownOf(kept)}`]),
  ].join(', ')
}

function shownOf(names: readonly string[]): string {
  const more = names.length - keptShownMax
  return [...names.slice(0, keptShownMax), ...(more > 0 ? [`… and ${more} more`] : [])].join(', ')
}

async function follow(
  folder: string,
  pass: () => Promise<'done' | 'failed'>,
  appliedFirst: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  let wake = () => {}
  const watcher = tryWatch(folder, () => wake())
  let applied = appliedFirst
  while (!signal.aborted) {
    const change = new Promise<void>((resolve) => {
      wake = resolve
    })
    await Promise.race([change, sleep(pollMs, undefined, { signal }).catch(() => {})])
    if (signal.aborted || (await fingerprintOf(folder)) === applied) continue
    const current = await quietFingerprintOf(folder)
    applied = (await pass()) === 'done' ? current : undefined
  }
  watcher?.close()
}

/** Waits until the folder is unchanged for a moment. */
async function quietFingerprintOf(folder: string): Promise<string | undefined> {
  for (;;) {
    const before = await fingerprintOf(folder)
    await sleep(quietMs)
    if ((await fingerprintOf(folder)) === before) return before
  }
}

/** `undefined` if the folder cannot be read. It then differs from any applied state. */
async function fingerprintOf(folder: string): Promise<string | undefined> {
  try {
    return await readFingerprint(folder)
  } catch {
    return undefined
  }
}

/** A watcher, or none: if the folder is missing or the system's watchers are used up, polling is enough. */
function tryWatch(folder: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(folder, onChange).on('error', () => {})
  } catch {
    return undefined
  }
}
