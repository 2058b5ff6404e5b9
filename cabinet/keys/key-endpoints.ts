import type { Pool } from 'pg'
import type { ListedRefusal } from '#core/admission/listed-refusals'
import { inReadScope, type ScopedClient } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Queryable } from '#core/db/pool'
import {
  countKeysByCreator,
  countKeysOf,
  type KeyLimits,
  type KeyState,
  listKeysOf,
  readKeyNames,
  readKeyOf,
  readNamesOf,
  readRevokedKeyOf,
} from '#core/keys/key-state'
import * as store from '#core/keys/key-store'
import type { ProgrammedKeys } from '#core/keys/programmed-keys'
import { readBalance } from '#core/ledger/balance'
import { readDayEndMs, readSpentToday } from '#core/ledger/key-day'
import { nanoRub } from '#core/ledger/money'
import { readOrganizationBudgets } from '#core/ledger/organization-budgets'
import { requestIdOf } from '#core/ledger/request-id'
import type { RedisServers } from '#core/redis/redis-connection'
import type { OrganizationCaller } from '../api/access.ts'
import { type Endpoint, endpoint, type Input, type Output } from '../api/endpoint.ts'
import { once } from '../api/once.ts'
import { toPage } from '../api/page.ts'
import { notFound, type Problem } from '../api/problem.ts'
import { readKeyLimit } from '../team/key-limit.ts'
import { effectiveLimits } from './internal/effective-limits.ts'
import { suggestName } from './internal/free-name.ts'
import { hideBalance } from './internal/hidden-balance.ts'
import { change, inCallerScope, requireOwn, statusOfChange } from './internal/key-change.ts'
import { findLiveUse, findOneRefusal, findRefusals } from './internal/live-use.ts'
import { isVersion, showKeys, showOneKey, showRevokedKeys, versionOf } from './internal/shown-key.ts'
import { pageOfRefusals, showRefusal } from './internal/shown-refusal.ts'
import { isRequestId, whyUntraced } from './internal/untraced.ts'
import * as contracts from './key-contracts.ts'

export type KeyDeps = {
  readonly pool: Pool
  readonly redis: RedisServers
  readonly keyPepper: string
  readonly programmed: ProgrammedKeys
}

/** Unrevoked keys of an organization. */
const keysMax = 200
/** Replaced secrets of one key that still work in their grace period. */
const graceSecretsMax = 10
/** Playground keys of an organization at once: the number of users who can use the playground in the same hour. */
const playgroundKeysMax = 20
const playgroundMs = 3_600_000
/** 50 ₽: about a hundred responses of an expensive model. */
const playgroundBudget = nanoRub(50_000_000_000n)
const graceS = { '0': 0, '1h': 3_600, '24h': 86_400 } as const

/** Endpoints for an organization's keys. */
export function keyEndpoints(deps: KeyDeps): readonly Endpoint[] {
  return [...keyReadingEndpoints(deps), ...makingEndpoints(deps), ...changingEndpoints(deps)]
}

/** Endpoints that only read an organization's keys. */
export function keyReadingEndpoints({ pool, redis }: Pick<KeyDeps, 'pool' | 'redis'>): readonly Endpoint[] {
  /** The result of `read` for a key, if the caller's organization has it. */
  function ofKey<Answer>(
    { organizationId }: OrganizationCaller,
    keyId: string,
    read: (client: Queryable, key: KeyState) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    if (!isId(keyId)) return Promise.resolve(undefined)
    return inReadScope(pool, organizationId, async (client) => {
      const key = await readKeyOf(client, organizationId, keyId)
      return key === undefined ? undefined : read(client, key)
    })
  }

  return [
    endpoint(
      contracts.listKeys,
      async ({ caller: { organizationId }, query: { limit, cursor, purpose, q, tag } }) => {
        const shown = await inReadScope(pool, organizationId, async (client) => {
          const page = { limit: limit + 1, after: cursor?.after, purpose, text: q, tag }
          return showKeys(client, organizationId, await listKeysOf(client, organizationId, page))
        })
        const body = toPage(
          shown,
          limit,
          (key) => key,
          ({ id }) => ({ after: id }),
        )
        return { status: 200 as const, body }
      },
    ),
    endpoint(contracts.readKey, async ({ caller, params }) => {
      const found = await ofKey(caller, params.key_id, async (client, key) => {
        const shown = await showOneKey(client, key)
        return { body: shown, version: versionOf(key, shown) }
      })
      return found === undefined ? notFound : { status: 200 as const, ...found }
    }),
    endpoint(contracts.readEffectiveLimits, async ({ caller, params, query: { model, ip } }) => {
      const found = await ofKey(caller, params.key_id, async (client, key) => {
        const { organizationId, keyId } = key
        const balance = await readBalance(client, organizationId)
        const spent = await readSpentToday(client, organizationId, [keyId])
        const dayEndsAtMs = await readDayEndMs(client, organizationId)
        const organizationBudgets = await readOrganizationBudgets(client, organizationId)
        const spentToday = spent.get(keyId) ?? nanoRub(0n)
        return { key, booked: { balance, spentToday, dayEndsAtMs, organizationBudgets } }
      })
      if (found === undefined) return notFound
      const live = await findLiveUse(redis, found.key)
      const limits = effectiveLimits({ ...found, live, model, ip, nowMs: Date.now() }).map((limit) =>
        hideBalance(caller, limit),
      )
      const would_refuse = limits.some((limit) => limit.would_refuse)
      return { status: 200 as const, body: { live: live !== undefined, would_refuse, limits } }
    }),
    endpoint(contracts.listKeyRefusals, async ({ caller, params, query }) => {
      const { organizationId } = caller
      if (!(await isKeyOf(pool, organizationId, params.key_id))) return notFound
      const refusals = await findRefusals(redis, organizationId)
      const ofThis = refusals?.filter(({ keyId }) => keyId === params.key_id.toLowerCase())
      const { rows, next_cursor } = pageOfRefusals(ofThis, query)
      const data = rows.map((refused) => hideBalance(caller, showRefusal(refused)))
      return { status: 200 as const, body: { live: refusals !== undefined, data, next_cursor } }
    }),
    ...refusalEndpoints({ pool, redis }),
    ...revokedKeyEndpoints(pool),
  ]
}

function revokedKeyEndpoints(pool: Pool): readonly Endpoint[] {
  return [
    endpoint(
      contracts.listRevokedKeys,
      async ({ caller: { organizationId }, query: { limit, cursor, q } }) => {
        const shown = await inReadScope(pool, organizationId, async (client) => {
          const page = { limit: limit + 1, after: cursor?.after, purpose: 'general', text: q } as const
          const keys = await listKeysOf(client, organizationId, { ...page, revoked: true })
          return showRevokedKeys(client, organizationId, keys)
        })
        const body = toPage(
          shown,
          limit,
          (key) => key,
          ({ id }) => ({ after: id }),
        )
        return { status: 200 as const, body }
      },
    ),
    endpoint(contracts.readRevokedKey, async ({ caller: { organizationId }, params: { key_id } }) => {
      if (!isId(key_id)) return notFound
      const [body] = await inReadScope(pool, organizationId, async (client) => {
        const key = await readRevokedKeyOf(client, organizationId, key_id)
        return key === undefined ? [] : showRevokedKeys(client, organizationId, [key])
      })
      return body === undefined ? notFound : { status: 200 as const, body }
    }),
  ]
}

/** Whether an organization has this key, or had it until it was revoked. */
async function isKeyOf(pool: Pool, organizationId: string, keyId: string): Promise<boolean> {
  if (!isId(keyId)) return false
  return inReadScope(pool, organizationId, async (client) => {
    const found =
      (await readKeyOf(client, organizationId, keyId)) ??
      (await readRevokedKeyOf(client, organizationId, keyId))
    return found !== undefined
  })
}

/** The rejected requests of all keys. */
function refusalEndpoints({ pool, redis }: Pick<KeyDeps, 'pool' | 'redis'>): readonly Endpoint[] {
  async function show(caller: OrganizationCaller, refusals: readonly ListedRefusal[]) {
    const { organizationId } = caller
    const keyIds = [...new Set(refusals.map(({ keyId }) => keyId))]
    const names = await inReadScope(pool, organizationId, (client) =>
      readKeyNames(client, organizationId, keyIds),
    )
    return refusals.map((refused) => ({
      ...hideBalance(caller, showRefusal(refused)),
      api_key_id: refused.keyId,
      api_key_name: names.get(refused.keyId) ?? null,
    }))
  }
  return [
    endpoint(contracts.listRefusals, async ({ caller, query }) => {
      const refusals = await findRefusals(redis, caller.organizationId)
      const { rows, next_cursor } = pageOfRefusals(refusals, query)
      const data = await show(caller, rows)
      return { status: 200 as const, body: { live: refusals !== undefined, data, next_cursor } }
    }),
    endpoint(contracts.getRefusal, async ({ caller, params }) => {
      const requestId = requestIdOf(params.request_id).toLowerCase()
      if (!isRequestId(requestId, Date.now())) return notFound
      const refused = await findOneRefusal(redis, caller.organizationId, requestId)
      if (refused === undefined) return { problem: { code: 'service_unavailable', retryAfterS: 1 } } as const
      if (refused === null) return whyUntraced(requestId, Date.now())
      const [body] = await show(caller, [refused])
      return body === undefined ? notFound : { status: 200 as const, body }
    }),
  ]
}

/** No secret is stored. Repeated calls get the same key without its secret. */
function makingEndpoints({ pool, keyPepper, programmed }: KeyDeps): readonly Endpoint[] {
  return [
    endpoint(contracts.createKey, async (input) => {
      const { caller, body, idempotency } = input
      const { organizationId } = caller
      const made = await inCallerScope(pool, input, (client) =>
        once(client, caller, idempotency, async () => {
          await store.holdKeysOf(client, organizationId)
          if ((await countKeysOf(client, organizationId)) >= keysMax)
            return { problem: { code: 'too_many_keys' } }
          if (!(await mayCreateAnother(client, caller))) return { problem: { code: 'too_many_own_keys' } }
          const problem = await findNameProblem(client, { ...body, organizationId })
          if (problem !== undefined) return { problem }
          const creator = 'userId' in caller ? { createdBy: caller.userId } : {}
          const origin = { managedBy: 'cabinet', ...creator } as const
          const draft = { organizationId, name: body.name, tags: body.tags, ...origin, ...limitsOf(body) }
          const { keyId, secret } = await store.createKey(client, draft, keyPepper)
          return keepWithoutSecret(await showExisting(client, organizationId, keyId), secret)
        }),
      )
      if ('problem' in made) return made
      return withProgrammed(programmed, made.body)
    }),
    endpoint(contracts.createPlaygroundKey, async (input) => {
      const { caller, idempotency } = input
      const { organizationId } = caller
      const made = await inCallerScope(pool, input, (client) =>
        once(client, caller, idempotency, async () => {
          await store.holdKeysOf(client, organizationId)
          await revokeOldPlaygroundKeys(client, organizationId)
          const { keyId, secret } = await store.createKey(client, playgroundKeyOf(caller), keyPepper)
          return keepWithoutSecret(await showExisting(client, organizationId, keyId), secret)
        }),
      )
      if ('problem' in made) return made
      return withProgrammed(programmed, made.body)
    }),
    endpoint(contracts.rotateKey, async (input) => {
      const { caller, params, body, idempotency } = input
      if (!isId(params.key_id)) return notFound
      const rotated = await inCallerScope(pool, input, (client) =>
        once(client, caller, idempotency, async () => {
          const key = await store.holdKeyOf(client, caller.organizationId, params.key_id)
          if (key === undefined) return notFound
          const problem = (await requireOwn(client, key)) ?? requireFewSecrets(key, body.grace)
          if (problem !== undefined) return { problem }
          const { secret } = await store.rotateKey(client, key.keyId, graceS[body.grace], keyPepper)
          return keepWithoutSecret(await showExisting(client, key.organizationId, key.keyId), secret)
        }),
      )
      if ('problem' in rotated) return rotated
      const isProgrammed = await programmed.wait(rotated.body.key.id)
      return { status: statusOfChange(isProgrammed), body: { ...rotated.body, programmed: isProgrammed } }
    }),
  ]
}

/** Another key has the name, if that matters to the caller. A rename at the same moment as another or as a creation may still succeed. */
async function findNameProblem(
  client: Queryable,
  asked: {
    readonly name: string | undefined
    readonly unique_name: boolean
    readonly organizationId: string
    /** The key that is renamed. */
    readonly keyId?: string
  },
) {
  if (asked.name === undefined || !asked.unique_name) return undefined
  const suggestion = suggestName(asked.name, await readNamesOf(client, asked.organizationId, asked.keyId))
  if (suggestion === undefined) return undefined
  return { code: 'key_name_taken', facts: { suggestion } } as const
}

/** Whether a member's limit allows another key; tokens have none. The caller holds the organization's keys. */
async function mayCreateAnother(client: Queryable, caller: OrganizationCaller): Promise<boolean> {
  if (!('userId' in caller)) return true
  const { organizationId, userId } = caller
  const limit = await readKeyLimit(client, organizationId, userId)
  if (limit === null) return true
  const count = (await countKeysByCreator(client, organizationId)).get(userId) ?? 0
  return count < limit
}

/** The response to a new key. Its secret works from the next request on only if the status is 201. */
async function withProgrammed(
  programmed: ProgrammedKeys,
  made: { readonly key: contracts.ShownKey; readonly secret: string | null },
) {
  const isProgrammed = await programmed.wait(made.key.id)
  const status = isProgrammed ? (201 as const) : (202 as const)
  return { status, body: { ...made, programmed: isProgrammed } }
}

function changingEndpoints(deps: KeyDeps): readonly Endpoint[] {
  return [
    endpoint(contracts.changeKey, (input) => {
      const { name, tags, unique_name, ...limits } = input.body
      return change(deps, input, 'own', async (client, key) => {
        if (!isVersion(input.ifMatch, key)) return { code: 'precondition_failed' }
        const { organizationId, keyId } = key
        const problem = await findNameProblem(client, { name, unique_name, organizationId, keyId })
        if (problem !== undefined) return problem
        if (name !== undefined) await store.renameKey(client, key.keyId, name)
        if (tags !== undefined) await store.setTags(client, key.keyId, tags)
        await store.setLimits(client, key.keyId, { ...key.limits, ...limitsOf(limits) })
        return undefined
      })
    }),
    endpoint(contracts.blockKey, (input) =>
      change(deps, input, 'any', async (client, { keyId }) => {
        await store.blockKey(client, keyId, 'owner')
        return undefined
      }),
    ),
    endpoint(contracts.unblockKey, (input) =>
      change(deps, input, 'any', async (client, { keyId }) => {
        await store.unblockKey(client, keyId, 'owner')
        return undefined
      }),
    ),
    endpoint(contracts.revokeKey, (input) => revoke(deps, input)),
  ]
}

async function revoke(
  { pool, programmed }: KeyDeps,
  input: Input<typeof contracts.revokeKey>,
): Promise<Output<typeof contracts.revokeKey>> {
  const { caller, params } = input
  if (!isId(params.key_id)) return notFound
  const revoked = await inCallerScope(pool, input, async (client) => {
    const key = await store.holdKeyOf(client, caller.organizationId, params.key_id)
    if (key === undefined) return notFound
    const problem = await requireOwn(client, key)
    if (problem !== undefined) return { problem }
    await store.revokeKey(client, key.keyId)
    return key
  })
  if ('problem' in revoked) return revoked
  const isProgrammed = await programmed.wait(revoked.keyId)
  return { status: statusOfChange(isProgrammed), body: { programmed: isProgrammed } }
}

/** Its creator's, so that their monthly budget counts it. */
function playgroundKeyOf({
  organizationId,
  userId,
}: {
  readonly organizationId: string
  readonly userId: string
}): store.NewKey {
  return {
    organizationId,
    createdBy: userId,
    name: 'Playground',
    managedBy: 'cabinet',
    purpose: 'playground',
    expiresAt: new Date(Date.now() + playgroundMs),
    dailyBudgetNano: playgroundBudget,
  }
}

/** Revokes expired playground keys, and the oldest one if there would be too many. */
async function revokeOldPlaygroundKeys(client: ScopedClient, organizationId: string): Promise<void> {
  const page = { limit: 2 * playgroundKeysMax, purpose: 'playground' } as const
  const keys = await listKeysOf(client, organizationId, page)
  const isEnded = ({ limits: { expiresAt } }: KeyState) =>
    expiresAt !== null && expiresAt.getTime() <= Date.now()
  const old = keys.filter((key, index) => isEnded(key) || index >= playgroundKeysMax - 1)
  for (const { keyId } of old) await store.revokeKey(client, keyId)
}

/** A grace period of 0 ends the other secrets, so it is always allowed. */
function requireFewSecrets({ secrets }: KeyState, grace: keyof typeof graceS): Problem | undefined {
  const inGrace = secrets.filter(({ state, validUntil }) => state === 'live' && validUntil !== null)
  return grace !== '0' && inGrace.length >= graceSecretsMax ? { code: 'too_many_secrets' } : undefined
}

function keepWithoutSecret(key: contracts.ShownKey, secret: string) {
  return {
    fresh: { status: 200, body: { key, secret } },
    kept: { status: 200, body: { key, secret: null as string | null } },
  }
}

async function showExisting(
  client: Queryable,
  organizationId: string,
  keyId: string,
): Promise<contracts.ShownKey> {
  const key = await readKeyOf(client, organizationId, keyId)
  if (key === undefined) throw new Error(`key ${keyId} does not exist`)
  return showOneKey(client, key)
}

type SentLimits = Omit<Input<typeof contracts.changeKey>['body'], 'name' | 'unique_name' | 'tags'>

/** Only the limits in the request. */
function limitsOf(sent: SentLimits): KeyLimits {
  const { rpm, tpm, allowed_models, allowed_ips, expires_at, read_balance, keeps_responses_hours } = sent
  return {
    ...(rpm === undefined ? {} : { rpm }),
    ...(tpm === undefined ? {} : { tpm }),
    ...budgetsOf(sent),
    ...(allowed_models === undefined ? {} : { allowedModels: allowed_models }),
    ...(allowed_ips === undefined ? {} : { allowedIps: allowed_ips }),
    ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
    ...(read_balance === undefined ? {} : { readBalance: read_balance }),
    ...(keeps_responses_hours === undefined ? {} : { keepsResponsesHours: keeps_responses_hours }),
  }
}

function budgetsOf(sent: SentLimits): KeyLimits {
  const { daily_budget_rub, weekly_budget_rub, monthly_budget_rub, total_budget_rub } = sent
  return {
    ...(daily_budget_rub === undefined ? {} : { dailyBudgetNano: daily_budget_rub }),
    ...(weekly_budget_rub === undefined ? {} : { weeklyBudgetNano: weekly_budget_rub }),
    ...(monthly_budget_rub === undefined ? {} : { monthlyBudgetNano: monthly_budget_rub }),
    ...(total_budget_rub === undefined ? {} : { totalBudgetNano: total_budget_rub }),
  }
}
