import type {
  AdmitAnswer,
  AdmitRefusal,
  Inspection,
  KeyRefusal,
  RateLimits,
  Settled,
  ShardMark,
} from './admission.ts'
import type { ScriptReply } from './script-reply.ts'
import type { Shard } from './shard.ts'

/** What `inspect.lua` answered. */
export function parseInspection(reply: ScriptReply): Inspection {
  if (reply.text() === 'refused') return { outcome: 'refused', ...parseKeyRefusal(reply.text(), reply) }
  return {
    outcome: 'usable',
    key: {
      organizationId: reply.text(),
      keyId: reply.text(),
      allowedModels: parseModels(reply.text()),
      expiresAtMs: numberOrNull(reply.optional()),
      readBalance: reply.text() === '1',
      limits: parseLimits(reply),
      ...parseAmounts(reply),
    },
  }
}

/** What `admit.lua` answered for this request. */
export function parseAdmitAnswer(reply: ScriptReply, requestId: string, shard: Shard): AdmitAnswer {
  if (reply.text() === 'refused') return { outcome: 'refused', ...parseAdmitRefusal(reply.text(), reply) }
  return {
    outcome: 'admitted',
    hold: {
      requestId,
      shard,
      organizationId: reply.text(),
      keyId: reply.text(),
      day: reply.whole(),
      second: reply.whole(),
      holdNano: reply.amount(),
      tokens: reply.whole(),
    },
    allowed: reply.text().split(',').map(Number),
    limits: parseLimits(reply),
    mark: parseMark(reply),
  }
}

/** What `settle.lua` and `void.lua` answered. */
export function parseSettled(reply: ScriptReply): Settled {
  const chargeId = reply.text()
  return { chargeId: chargeId === '-' ? null : chargeId, costNano: reply.amount(), mark: parseMark(reply) }
}

/** Nonce and `posted_through`, as every script that writes answers them. */
export function parseMark(reply: ScriptReply): ShardMark {
  return { nonce: reply.text(), postedThrough: reply.text() }
}

/** Models of a key as Redis has them: one a line, an empty text for all of them. */
export function modelsText(models: readonly string[] | null): string {
  return models === null ? '' : `\n${models.join('\n')}\n`
}

function parseModels(text: string): readonly string[] | null {
  return text === '' ? null : text.split('\n').filter((model) => model !== '')
}

function parseAdmitRefusal(reason: string, reply: ScriptReply): AdmitRefusal {
  switch (reason) {
    case 'model_not_allowed':
    case 'balance_reserved':
    case 'already_ended':
      return { reason }
    case 'request_too_large_for_tpm':
      return { reason, limit: reply.whole(), tokens: reply.whole() }
    case 'daily_budget_exceeded':
    case 'budget_reserved':
      return {
        reason,
        limitNano: reply.amount(),
        usedNano: reply.amount() + reply.amount(),
        resetsAtMs: reply.whole(),
      }
    case 'rpm':
    case 'tpm':
      return { reason, retryAfterMs: reply.whole(), limits: parseLimits(reply) }
    default:
      return parseKeyRefusal(reason, reply)
  }
}

function parseKeyRefusal(
  reason: string,
  reply: ScriptReply,
): KeyRefusal | { readonly reason: 'unavailable' } {
  switch (reason) {
    case 'unavailable':
    case 'unknown_key':
    case 'revoked_key':
    case 'expired_key':
    case 'insufficient_balance':
      return { reason }
    case 'blocked_key':
      return { reason, blockedBy: parseBlockedBy(reply.text()) }
    default:
      throw new TypeError(`a script refused for an unknown reason: ${reason}`)
  }
}

function parseBlockedBy(text: string): 'owner' | 'admin' | 'kubernetes' {
  return text === 'admin' || text === 'kubernetes' ? text : 'owner'
}

function parseLimits(reply: ScriptReply): RateLimits {
  const limit = () => ({ limit: reply.whole(), remaining: reply.whole(), resetMs: reply.whole() })
  return { rpm: limit(), tpm: limit() }
}

function parseAmounts(reply: ScriptReply) {
  const limit = reply.optional()
  return {
    day: {
      limitNano: limit === null ? null : BigInt(limit),
      usedNano: reply.amount() + reply.amount(),
      heldNano: reply.amount(),
      resetsAtMs: reply.whole(),
    },
    balance: { postedNano: reply.amount(), pendingNano: reply.amount(), heldNano: reply.amount() },
  }
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text)
}
