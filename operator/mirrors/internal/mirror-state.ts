import { ZodError } from 'zod'
import { faultOf } from '../../status/spec-fault.ts'
import type { Verdict } from '../../status/verdict.ts'
import type { WantedMirror } from './mirror-object.ts'

/** A mirror and its status. */
export type MirrorState = WantedMirror & {
  /** Fields other than the conditions. */
  readonly status: object
  readonly verdicts: Readonly<Record<string, Verdict>>
  /** When its status changes by itself, in ms since 1970. */
  readonly changesAtMs?: number
}

/** Mirrors by name. */
export type MirrorStates = ReadonlyMap<string, MirrorState>

/** Mirrors of the keys or routes created in the cabinet, and what is not mirrored. */
export type Shown = {
  readonly mirrors: MirrorStates
  /** How many are above the limit. */
  readonly cappedCount: number
  /** Rows that no resource can represent, by key id or model, with the reason. */
  readonly unsayable: ReadonlyMap<string, string>
}

/** No mirrors: mirroring is switched off, or nothing has been read yet. */
export const nothingShown: Shown = { mirrors: new Map(), cappedCount: 0, unsayable: new Map() }

/** Mirrors of what a resource can represent; the rest is left out and named. Pure. */
export function shownOf(
  rows: readonly { readonly id: string; readonly mirror: MirrorState | ZodError }[],
  cappedCount: number,
): Shown {
  const mirrors = rows.flatMap(({ mirror }) => (mirror instanceof ZodError ? [] : [mirror]))
  const unsayable = rows.flatMap(({ id, mirror }) =>
    mirror instanceof ZodError ? [[id, faultOf(mirror)] as const] : [],
  )
  return {
    mirrors: new Map(mirrors.map((mirror) => [mirror.name, mirror])),
    cappedCount,
    unsayable: new Map(unsayable),
  }
}
