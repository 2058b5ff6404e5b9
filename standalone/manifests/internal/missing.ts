import { dirname, isAbsolute } from 'node:path'
import type { Owned } from './owned.ts'
import { type OwnKind, subjectOf } from './read-document.ts'
import type { Problem } from './read-folder.ts'

/** What was applied before and is no longer asked for. */
export type Missing = {
  readonly removed: {
    readonly providers: readonly string[]
    readonly models: readonly string[]
    readonly keys: readonly string[]
  }
  /** Kept, because an invalid document may ask for it: `ApiKey "ci"`. */
  readonly kept: readonly string[]
}

/**
 * Tells what is gone from what may just be in an invalid document: a revoked key never comes back.
 *
 * What came from another folder is not missed: a wrong argument must not revoke keys. Pure, and linear.
 *
 * @param path of the folder; `null`: there is none.
 * @param desired what documents ask for, by the names of `owned`.
 */
export function findMissing(
  path: string | null,
  owned: Owned,
  desired: Readonly<Record<keyof Missing['removed'], ReadonlySet<string>>>,
  problems: readonly Problem[],
): Missing {
  const isSpoilt = spoiltBy(problems)
  const kept: string[] = []
  const removable = (
    kind: OwnKind,
    items: Readonly<Record<string, { readonly file: string; readonly name?: string }>>,
    wanted: ReadonlySet<string>,
  ) =>
    Object.entries(items).flatMap(([key, { file, name }]) => {
      const isOurs = !isAbsolute(file) || dirname(file) === path
      if (wanted.has(key) || !isOurs) return []
      const subjects = [key, ...(name === undefined ? [] : [name])].map((one) => subjectOf(kind, one))
      if (!isSpoilt(file, subjects)) return [key]
      kept.push(`${kind} "${key}"`)
      return []
    })
  const removed = {
    providers: removable('ModelProvider', owned.providers, desired.providers),
    models: removable('ModelRoute', owned.routes, desired.models),
    keys: removable('ApiKey', owned.keys, desired.keys),
  }
  return { removed, kept }
}

/**
 * Whether an invalid document may belong to something that came from a file: it has the same name, or was in the same
 * file, or nobody can tell what it is about.
 */
export function spoiltBy(
  problems: readonly Problem[],
): (file: string, subjects: readonly string[]) => boolean {
  const isUnknown = problems.some(({ about }) => about === null)
  const files = new Set(problems.map(({ position }) => position.file))
  const named = new Set(problems.flatMap(({ about }) => about ?? []))
  return (file, subjects) => isUnknown || files.has(file) || subjects.some((subject) => named.has(subject))
}
