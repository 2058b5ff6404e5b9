import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import type { Queryable } from '../db/pool.ts'
import { inTransaction } from '../db/transaction.ts'

/** A row of the audit log that is not as it was linked, by its id. */
type BadAuditRow = {
  readonly auditId: string
  readonly why: 'edited' | 'deleted' | 'out of place in the chain' | 'missing in the chain'
}

export type ChainReport = {
  /** Rows in the chain. */
  readonly linkedCount: number
  /** The newest hash, which covers all rows. Keep it elsewhere to find out later whether the end was cut off. */
  readonly head: string
  readonly badCount: number
  /** The first one, in the order of the chain. */
  readonly first: BadAuditRow | undefined
}

/** Rows in memory at once. */
const batchCount = 10_000

/** As `audit_row_text` (migration 0035). It is written out here, because who edits rows can also edit a function. */
const rowText = `(jsonb_strip_nulls(to_jsonb(a) - 'at' - 'before' - 'after')
  || jsonb_build_object('at', extract(epoch from a.at)::text, 'before', a.before, 'after', a.after))::text`

type Link = {
  readonly position: bigint
  readonly auditId: bigint
  readonly previousHash: Buffer
  readonly hash: Buffer
  /** `null`: the row is gone. */
  readonly text: string | null
}

/**
 * Reads the whole chain, in one snapshot and in batches, and recomputes each hash. Writes nothing. A row that was edited or
 * deleted is named; so is one that was taken out of the chain, or that never got into it.
 */
export function verifyChain(pool: Pool): Promise<ChainReport> {
  return inTransaction(pool, verifyChainIn, { isolation: 'repeatable read', readOnly: true })
}

/** The same in a transaction whose statements share one snapshot. */
export async function verifyChainIn(client: Queryable): Promise<ChainReport> {
  const bad: BadAuditRow[] = []
  let badCount = 0
  const note = (row: BadAuditRow) => {
    badCount += 1
    if (bad.length === 0) bad.push(row)
  }
  let position = 0n
  let head: Buffer = Buffer.alloc(0)
  for (;;) {
    const links = await readLinks(client, position)
    for (const link of links) {
      const why = faultOf(link, position, head)
      if (why !== undefined) note({ auditId: String(link.auditId), why })
      position = link.position
      head = link.hash
    }
    if (links.length < batchCount) break
  }
  for (const row of await readStray(client)) note(row)
  const { linkedCount } = await countLinks(client)
  return { linkedCount, head: head.toString('hex'), badCount, first: bad[0] }
}

/** The fault of a link, given the position and hash of the link before it. Pure. */
function faultOf(link: Link, position: bigint, head: Buffer): BadAuditRow['why'] | undefined {
  if (link.text === null) return 'deleted'
  const hash = createHash('sha256').update(link.previousHash).update(link.text).digest()
  if (!hash.equals(link.hash)) return 'edited'
  const isNext = link.position === position + 1n && link.previousHash.equals(head)
  return isNext ? undefined : 'out of place in the chain'
}

async function readLinks(client: Queryable, after: bigint): Promise<readonly Link[]> {
  const { rows } = await client.query<Link>(
    `select c.position, c.audit_id as "auditId", c.previous_hash as "previousHash", c.hash,
            case when a.id is not null then ${rowText} end as text
       from audit_chain c left join audit_log a on a.id = c.audit_id
      where c.position > $1 order by c.position limit ${batchCount}`,
    [after],
  )
  return rows
}

/** Rows that are neither linked nor waiting for it, and rows that waited for it and are gone. */
async function readStray(client: Queryable): Promise<readonly BadAuditRow[]> {
  const { rows } = await client.query<{ id: bigint; isGone: boolean }>(
    `(select a.id, false as "isGone" from audit_log a
       where not exists (select from audit_chain c where c.audit_id = a.id)
         and not exists (select from audit_unlinked u where u.audit_id = a.id) order by a.id limit 1000)
     union all
     (select u.audit_id, true from audit_unlinked u
       where not exists (select from audit_log a where a.id = u.audit_id) order by u.audit_id limit 1000)`,
  )
  return rows.map(({ id, isGone }) => ({
    auditId: String(id),
    why: isGone ? 'deleted' : 'missing in the chain',
  }))
}

async function countLinks(client: Queryable): Promise<{ readonly linkedCount: number }> {
  const { rows } = await client.query<{ linkedCount: number }>(
    'select count(*)::int as "linkedCount" from audit_chain',
  )
  return rows[0] ?? { linkedCount: 0 }
}
