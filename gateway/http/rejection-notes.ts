import type { Admission } from '#core/admission/admission'
import type { GatewayRefusal } from '#core/admission/listed-refusals'
import type { Log } from '#core/process/log'
import { RedisUnavailable } from '#core/redis/redis-connection'
import type { RequestEnd } from './request-end.ts'

/** How long rejections wait for others of their organization, so that a flood of them is few calls. */
const gatherMs = 100
/** Rejections of one organization listed at a time: the last ones, about 50 µs of Redis. */
const perOrganizationMax = 50
/** Organizations whose rejections wait; those of others are not listed. */
const organizationsMax = 1_000

/** Rejections of known keys on their way to their organizations' lists in Redis. They may be lost. */
export type RejectionNotes = {
  /** Notes the end of a request if it is a rejection that is not listed yet. Never waits and never fails. */
  add(requestId: string, end: RequestEnd): void
  /** Lists what waits. */
  flush(): Promise<void>
}

type Noted = Omit<GatewayRefusal, 'agoMs'> & { readonly atMs: number }

/**
 * Lists rejections that were decided without `admit`. A request that succeeds costs nothing here, and one with an unknown
 * key is not listed.
 *
 * @param deps.now `performance.now`.
 */
export function createRejectionNotes(deps: {
  readonly admission: Pick<Admission, 'list'>
  readonly now: () => number
  readonly log: Pick<Log, 'error'>
}): RejectionNotes {
  const { admission, now, log } = deps
  let waiting = new Map<string, Noted[]>()
  let timer: NodeJS.Timeout | undefined

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const found = waiting
    waiting = new Map()
    try {
      for (const [organizationId, noted] of found)
        await admission.list(
          organizationId,
          noted.map(({ atMs, ...refusal }) => ({ ...refusal, agoMs: now() - atMs })),
        )
    } catch (error) {
      if (!(error instanceof RedisUnavailable)) log.error({ err: error }, 'failed to list rejections')
    }
  }

  return {
    add(requestId, end) {
      const { organizationId } = end
      const refusal = refusalOf(requestId, end)
      if (organizationId === null || refusal === undefined) return
      const noted = waiting.get(organizationId) ?? []
      if (noted.length === 0 && waiting.size >= organizationsMax) return
      if (noted.length >= perOrganizationMax) noted.shift()
      noted.push({ ...refusal, atMs: now() })
      waiting.set(organizationId, noted)
      timer ??= setTimeout(flush, gatherMs).unref()
    },
    flush,
  }
}

function refusalOf(
  requestId: string,
  { keyId, unlisted, modelAsked }: RequestEnd,
): Omit<GatewayRefusal, 'agoMs'> | undefined {
  if (keyId === null || unlisted === undefined) return undefined
  const { code, param, ip, limit, used, held, needed } = unlisted
  return { requestId, keyId, model: modelAsked, code, param, ip, limit, used, held, needed }
}
