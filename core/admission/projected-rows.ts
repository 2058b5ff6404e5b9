import { createHash } from 'node:crypto'
import type { Blocker, KeyHash } from '../keys/key.ts'
import type { PostedBalance, PostedKeyDay, PostedWindow } from '../ledger/post-batch.ts'
import { type BudgetPeriod, symbolOf, windowOf } from '../ledger/spend-window.ts'
import type { ScriptReply } from '../redis/script-reply.ts'
import { modelsText, parseMark, type ShardMark } from './admission-reply.ts'

/** A row of Postgres on its way into a shard. Where a newer version is there it changes nothing. */
export type ProjectedRow =
  | {
      readonly kind: 'secret'
      readonly hash: KeyHash
      readonly version: bigint
      readonly keyId: string
      readonly organizationId: string
      /** End of a rotated secret's grace time, Unix milliseconds; `null`: valid as long as its key. */
      readonly validUntilMs: number | null
      readonly state: 'active' | 'revoked'
    }
  | {
      readonly kind: 'key'
      readonly keyId: string
      readonly version: bigint
      /** A revoked key stays as a tombstone. */
      readonly state: 'active' | 'blocked' | 'revoked'
      /** Set where the state is `blocked`. */
      readonly blockedBy: Blocker | null
      readonly expiresAtMs: number | null
      readonly rpm: number
      readonly tpm: number
      readonly dailyBudgetNano: bigint | null
      /** Its budgets of longer periods, in this order. */
      readonly budgets: readonly KeyBudget[]
      /** Exact names or `provider/*`; `null`: all. */
      readonly allowedModels: readonly string[] | null
      /** Addresses and networks that it may be used from; `null`: all. */
      readonly allowedIps: readonly string[] | null
      readonly readBalance: boolean
      /** `null`: its Responses are not stored. */
      readonly keepsResponsesHours: number | null
    }
  | ({ readonly kind: 'organization' } & PostedBalance)
  | ({ readonly kind: 'key_day' } & PostedKeyDay)
  | ({ readonly kind: 'window' } & PostedWindow)
  | {
      readonly kind: 'zone'
      readonly organizationId: string
      readonly version: bigint
      /** As `window.lua` reads it. */
      readonly zone: string
      /** Of the organization, for all its keys. */
      readonly budgets: readonly Budget[]
    }

type Budget = { readonly period: BudgetPeriod; readonly limitNano: bigint }

/** A budget that is checked with a key's requests. */
export type KeyBudget = Budget & {
  /** `key`, or the member who created the key. */
  readonly of: 'key' | { readonly userId: string }
}

/** A row of Postgres and the newer version of it that Redis has. */
export type RefusedRow = { readonly row: ProjectedRow; readonly newerVersion: bigint }

/** The result of sending rows. */
export type Copied = {
  /** Rows that were not there already, whole. */
  readonly changed: number
  readonly mark: ShardMark
  readonly refused: readonly RefusedRow[]
}

/** Rows that one script copies, a few µs each: other scripts wait only briefly. */
const rowsPerCallMax = 200

/** A row to be copied, unless there is a newer version than it, other than `newerVersion`. */
type RowOver = { readonly row: ProjectedRow; readonly newerVersion?: bigint }

/** Sends rows to `project.lua`, some at a time, the cursor with the last ones. */
export async function copyRows(
  send: (args: readonly (string | number)[]) => Promise<ScriptReply>,
  rows: readonly RowOver[],
  cursor: string | null,
): Promise<Copied> {
  let changed = 0
  const refused: RefusedRow[] = []
  for (let at = 0; ; at += rowsPerCallMax) {
    const isLast = at + rowsPerCallMax >= rows.length
    const some = rows.slice(at, at + rowsPerCallMax)
    const reply = await send([isLast ? (cursor ?? '') : '', ...some.flatMap(rowArguments)])
    changed += reply.whole()
    const mark = parseMark(reply)
    const own = some.map(({ row }) => row)
    refused.push(...readRefused(reply, own))
    if (isLast) return { changed, mark, refused }
  }
}

/** Kind, id, version, lost version, count of arguments, arguments: as `project.lua` reads a row. */
function rowArguments({ row, newerVersion }: RowOver): readonly (string | number)[] {
  const [kind, id, args] = copiedOf(row)
  return [kind, id, String(row.version), String(newerVersion ?? ''), args.length, ...args]
}

function copiedOf(row: ProjectedRow): [kind: string, id: string, args: readonly (string | number)[]] {
  switch (row.kind) {
    case 'secret': {
      const fields = {
        key: row.keyId,
        organization: row.organizationId,
        valid_until: row.validUntilMs ?? '',
        state: row.state,
      }
      return ['cred', row.hash, Object.entries(fields).flat()]
    }
    case 'key': {
      const fields = {
        state: row.state,
        blocked_by: row.blockedBy ?? '',
        expires_at: row.expiresAtMs ?? '',
        rpm: row.rpm,
        tpm: row.tpm,
        daily_budget: row.dailyBudgetNano === null ? '' : String(row.dailyBudgetNano),
        budgets: row.budgets.map((budget) => budgetText(scopeText(budget), budget)).join(','),
        models: modelsText(row.allowedModels),
        ...ipFields(row.allowedIps),
        read_balance: row.readBalance ? 1 : 0,
        keeps_hours: row.keepsResponsesHours ?? 0,
      }
      return ['key', row.keyId, Object.entries(fields).flat()]
    }
    case 'organization':
      return ['org', row.organizationId, ['posted', String(row.postedNano)]]
    case 'key_day':
      return ['day', row.keyId, [row.day, String(row.postedNano)]]
    case 'window': {
      const [kind, id] = ownerOf(row)
      return ['window', id, [kind, windowOf(row.period, row.day), String(row.postedNano)]]
    }
    case 'zone':
      return [
        'zone',
        row.organizationId,
        [row.zone, row.budgets.map((one) => budgetText('o', one)).join(',')],
      ]
  }
}

/** Kind and id of a window's owner, as `copy.lua` takes them. Pure. */
export function ownerOf({ scope, ownerId }: PostedWindow): readonly [kind: string, id: string] {
  return [scope === 'key' ? 'k' : scope === 'organization' ? 'o' : 'm', ownerId]
}

/** Gateways name the list by its id, which is as good as the list itself. */
function ipFields(ips: readonly string[] | null): { readonly ips: string; readonly ips_id: string } {
  if (ips === null) return { ips: '', ips_id: '' }
  const text = ips.join(' ')
  return { ips: text, ips_id: createHash('sha256').update(text).digest('base64url').slice(0, 22) }
}

function scopeText({ of }: KeyBudget): string {
  return of === 'key' ? 'k' : of.userId
}

function budgetText(scope: string, { period, limitNano }: Budget): string {
  return `${scope}:${symbolOf(period)}:${limitNano}`
}

/**
 * The rest of a reply of `project.lua` or `apply.lua`: places of rejected rows, each with the newer version.
 */
export function readRefused(reply: ScriptReply, rows: readonly ProjectedRow[]): readonly RefusedRow[] {
  const rest = reply.rest()
  return rest.flatMap((place, at) => {
    const row = at % 2 === 0 ? rows[Number(place)] : undefined
    return row === undefined ? [] : [{ row, newerVersion: BigInt(rest[at + 1] ?? 0) }]
  })
}

export function postedText(row: {
  readonly postedNano: bigint
  readonly version: bigint
}): readonly string[] {
  return [String(row.postedNano), String(row.version)]
}
