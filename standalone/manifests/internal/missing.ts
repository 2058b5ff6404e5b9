import { dirname, isAbsolute } from 'node:path'
import type { Owned } from './owned.ts'
import { type OwnKind, subjectOf } from './read-document.ts'
import type { Problem } from './read-folder.ts'

/** Objects that were applied before and are not in the manifests anymore. */
export type Missing = {
  readonly removed: {
    readonly providers: readonly string[]
    readonly models: readonly string[]
    readonly keys: readonly string[]
  }
  /** Kept, because an invalid document may define it: `ApiKey "ci"`. */
  readonly kept: readonly string[]
}

/**
 * Distinguishes removed objects from objects in invalid documents, because a revoked key never comes back.
 *
 * Objects from another folder are not missing: a wrong argument must not revoke keys. Pure, in linear time.
 *
 * @param path the folder; `null`: none.
 * @param desired the documents' objects, by the names in `owned`.
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
 * Whether an invalid document may belong to an object from a file: it has the same name, was in the same file, or is
 * unidentifiable.
 */
export function spoiltBy(
  problems: readonly Problem[],
): (file: string, subjects: readonly string[]) => boolean {
  const isUnknown = problems.some(({ about }) => about === null)
  const files = new Set(problems.map(({ position }) => position.file))
  const named = new Set(problems.flatMap(({ about }) => about ?? []))
  return (file, subjects) => isUnknown || files.has(file) || subjects.some((subject) => named.has(subject))
}
