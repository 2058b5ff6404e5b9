import { isId } from '../db/id.ts'
import type { Queryable } from '../db/pool.ts'
import type { NanoRub } from '../ledger/money.ts'
import { blockedByAdminSql } from './blocker-sql.ts'
import type { Blocker, KeyHash } from './key.ts'

/**
 * The limits of a key. Absent values mean: the platform's default limits, no budget, all models, all addresses, no end,
 * no balance, no stored responses.
 */
export type KeyLimits = {
  readonly rpm?: number | null
  readonly tpm?: number | null
  readonly dailyBudgetNano?: NanoRub | null
  /** By week from Monday, by month, and in all. */
  readonly weeklyBudgetNano?: NanoRub | null
  readonly monthlyBudgetNano?: NanoRub | null
  readonly totalBudgetNano?: NanoRub | null
  /** Each as `allowedModel` of `#crds/resource` takes it. */
  readonly allowedModels?: readonly string[] | null
  /** Where it may be used from, each as `readNetwork` of `#crds/network` writes it, at least one; `null`: anywhere. */
  readonly allowedIps?: readonly string[] | null
  readonly expiresAt?: Date | null
  readonly readBalance?: boolean
  /** For how long its Responses are stored, 1 to `keepsResponsesHoursMax`; `null`: they are not. */
  readonly keepsResponsesHours?: number | null
}

/** Tags of one key. */
export const keyTagsMax = 10

/** A tag. It begins with a letter or digit, so that it is no formula in a file. */
export const keyTagPattern = /^[a-z0-9][a-z0-9._-]{0,31}$/

/** 30 days. */
export const keepsResponsesHoursMax = 720

/** Of the playground: made for an hour, in no list of keys that are looked after. */
export type KeyPurpose = 'general' | 'playground'

/** A secret that is or was valid for a key. */
export type SecretState = {
  readonly hash: KeyHash
  /** The first 15 and the last 4 characters of the secret. */
  readonly prefix: string
  readonly suffix: string
  /** End of its grace after a rotation; `null`: it lives as long as its key. */
  readonly validUntil: Date | null
  /** Whether it opens the key now, where the key itself may be used. */
  readonly state: 'live' | 'ended'
  /** Whether the secret was delivered to a user. */
  readonly delivered: boolean
}

/** A key as the database has it. */
export type KeyState = {
  readonly keyId: string
  readonly organizationId: string
  /** Its name. */
  readonly organization: string
  readonly name: string
  /** In order; the usage is split by them. */
  readonly tags: readonly string[]
  readonly managedBy: 'cabinet' | 'kubernetes'
  readonly purpose: KeyPurpose
  readonly limits: Required<KeyLimits>
  /** Each lifts its own block only. */
  readonly blockedBy: readonly Blocker[]
  readonly revoked: boolean
  /** `null`: it is not revoked. */
  readonly revokedAt: Date | null
  readonly createdAt: Date
  /** Grows with each change of the key; its secrets have their own versions. */
  readonly version: bigint
  /** Whether Redis has the key and all its secrets as they are here, in a shard that serves: the next request will see them so. */
  readonly isProjected: boolean
  /** Whether Redis has ever had one of its secrets. If not, no gateway has ever known the key. */
  readonly everProjected: boolean
  /** Newest first. */
  readonly secrets: readonly SecretState[]
}

/** A key's state, if there is such a key. One statement, so one moment. */
export async function readKeyState(client: Queryable, keyId: string): Promise<KeyState | undefined> {
  const [state] = await readKeyStates(client, [keyId])
  return state
}

/** The states of those of these keys that exist, oldest first. */
export function readKeyStates(client: Queryable, keyIds: readonly string[]): Promise<readonly KeyState[]> {
  // A malformed id matches no key. It may come from an annotation that any user can write.
  return read(client, 'k.id = any($2::uuid[])', null, [keyIds.filter(isId)])
}

/** A key of an organization, unless it is revoked. */
export async function readKeyOf(
  client: Queryable,
  organizationId: string,
  keyId: string,
): Promise<KeyState | undefined> {
  const [state] = await read(client, 'k.organization_id = $2 and k.id = $3 and k.revoked_at is null', null, [
    organizationId,
    keyId,
  ])
  return state
}

/** A revoked key of an organization. */
export async function readRevokedKeyOf(
  client: Queryable,
  organizationId: string,
  keyId: string,
): Promise<KeyState | undefined> {
  const condition = 'k.organization_id = $2 and k.id = $3 and k.revoked_at is not null'
  const [state] = await read(client, condition, null, [organizationId, keyId])
  return state
}

/**
 * Keys of an organization, newest first, at most `limit` of them.
 *
 * @param revoked whether those that are revoked, or the others.
 * @param after the last key of the page before, which may have been revoked since.
 * @param purpose only those created for it.
 * @param tag only those that have it.
 * @param text only those with it in their name, case-insensitive, or whose id begins with it, from 8
 * characters on.
 */
export function listKeysOf(
  client: Queryable,
  organizationId: string,
  {
    revoked = false,
    limit,
    after,
    purpose,
    text,
    tag,
  }: {
    readonly revoked?: boolean
    readonly limit: number
    readonly after?: string | undefined
    readonly purpose?: KeyPurpose | undefined
    readonly text?: string | undefined
    readonly tag?: string | undefined
  },
): Promise<readonly KeyState[]> {
  return read(
    client,
    `k.organization_id = $2 and k.revoked_at is ${revoked ? 'not null' : 'null'} and ($4::text is null or k.purpose = $4)
       and ($3::uuid is null or (k.created_at, k.id) < (select a.created_at, a.id from api_keys a
                                                         where a.id = $3 and a.organization_id = $2))
       and ($5::text is null or ${hasText('$5')}) and ($6::text is null or $6 = any (k.tags))`,
    limit,
    [organizationId, after ?? null, purpose ?? null, text ?? null, tag ?? null],
    'desc',
  )
}

/** For any language: a database with the locale C lowers only English letters. */
const hasText = (text: string) =>
  `(strpos(lower(k.name collate "und-x-icu"), lower(${text} collate "und-x-icu")) > 0
    or (length(${text}) >= ${idStartMin} and starts_with(k.id::text, lower(${text}))))`

/** As many characters of an id as pages show; fewer are in too many ids. */
const idStartMin = 8

/** The names of those of these keys that an organization has, or had. */
export async function readKeyNames(
  client: Queryable,
  organizationId: string,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (keyIds.length === 0) return new Map()
  const { rows } = await client.query<{ id: string; name: string }>(
    'select k.id, k.name from api_keys k where k.organization_id = $1 and k.id = any($2::uuid[])',
    [organizationId, keyIds.filter(isId)],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The keys of an organization with this tag, revoked ones too; `undefined`: those without tags. */
export async function readKeysTagged(
  client: Queryable,
  organizationId: string,
  tag: string | undefined,
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `select id from api_keys where organization_id = $1 and case when $2::text is null then tags = '{}' else $2 = any (tags) end`,
    [organizationId, tag ?? null],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Names of an organization's keys but for one, without revoked ones and those of the playground: at most 10,000. */
export async function readNamesOf(
  client: Queryable,
  organizationId: string,
  exceptKeyId?: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from api_keys
      where organization_id = $1 and revoked_at is null and purpose = 'general' and id is distinct from $2::uuid`,
    [organizationId, exceptKeyId ?? null],
  )
  return rows.map(({ name }) => name)
}

/** How many keys of an organization are not revoked, without those of the playground. */
export async function countKeysOf(client: Queryable, organizationId: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from api_keys
      where organization_id = $1 and revoked_at is null and purpose = 'general'`,
    [organizationId],
  )
  return rows[0]?.count ?? 0
}

/** How many keys of `countKeysOf` each user has created, for users with any. */
export async function countKeysByCreator(
  client: Queryable,
  organizationId: string,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ userId: string; count: number }>(
    `select created_by as "userId", count(*)::int as count from api_keys
      where organization_id = $1 and revoked_at is null and purpose = 'general' and created_by is not null
      group by created_by`,
    [organizationId],
  )
  return new Map(rows.map(({ userId, count }) => [userId, count]))
}

/** The oldest keys made in the cabinet to stay that are not revoked, at most `limit` of them: what is mirrored. */
export function listCabinetKeys(
  client: Queryable,
  { limit }: { readonly limit: number },
): Promise<readonly KeyState[]> {
  return read(client, "k.managed_by = 'cabinet' and k.purpose = 'general' and k.revoked_at is null", limit)
}

/** Whether gateways may accept a key: it is not revoked, or they have known it and perhaps not heard of its end. Pure. */
export function mayBeAccepted({
  revoked,
  isProjected,
  everProjected,
}: Pick<KeyState, 'revoked' | 'isProjected' | 'everProjected'>): boolean {
  return !revoked || (everProjected && !isProjected)
}

/**
 * How many revoked keys of ApiKeys, of any cluster, may still work, since Redis does not have them so yet. Cheap: it
 * reads only what is on its way.
 */
export async function countUnconfirmedRevocations(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from api_keys k
      where k.id in (select id from api_keys where projected_version < version
                     union select key_id from api_key_credentials where projected_version < version)
        and k.revoked_at is not null and k.managed_by = 'kubernetes'
        and exists (select from api_key_credentials where key_id = k.id and projected_version > 0)`,
  )
  return rows[0]?.count ?? 0
}

type Row = Omit<KeyState, 'limits' | 'secrets'> &
  Required<KeyLimits> & {
    readonly secrets: readonly (Omit<SecretState, 'validUntil'> & {
      readonly validUntil: string | null
    })[]
  }

/** The page is cut before anything else of its keys is looked up: an organization may have 10,000. */
async function read(
  client: Queryable,
  condition: string,
  countMax: number | null,
  values: readonly unknown[] = [],
  order: 'asc' | 'desc' = 'asc',
): Promise<readonly KeyState[]> {
  const { rows } = await client.query<Row>(
    `select k.id as "keyId", o.id as "organizationId", o.name as organization, k.name, k.managed_by as "managedBy",
            k.purpose, k.tags,
            k.rpm, k.tpm, k.daily_budget_nano as "dailyBudgetNano",
            k.weekly_budget_nano as "weeklyBudgetNano", k.monthly_budget_nano as "monthlyBudgetNano",
            k.total_budget_nano as "totalBudgetNano", k.allowed_models as "allowedModels", k.allowed_ips as "allowedIps",
            k.expires_at as "expiresAt", k.read_balance as "readBalance",
            k.keeps_responses_hours as "keepsResponsesHours",
            array_remove(array[case when k.owner_blocked_at is not null then 'owner' end,
                               case when ${blockedByAdminSql('k')} then 'admin' end,
                               case when k.kubernetes_blocked_at is not null then 'kubernetes' end], null) as "blockedBy",
            k.revoked_at is not null as revoked, k.revoked_at as "revokedAt", k.created_at as "createdAt", k.version,
            k.projected_version >= k.version and c.all_projected as "isProjected", c.ever_projected as "everProjected",
            c.secrets
       from (select k.* from api_keys k
              where ${condition} order by k.created_at ${order}, k.id ${order} limit $1) k
            join organizations o on o.id = k.organization_id,
            lateral (
              select coalesce(bool_and(c.projected_version >= c.version), true) as all_projected,
                     coalesce(bool_or(c.projected_version > 0), false) as ever_projected,
                     coalesce(jsonb_agg(jsonb_build_object(
                       'hash', c.hash, 'prefix', c.prefix, 'suffix', c.suffix, 'validUntil', c.valid_until,
                       'state', case when c.revoked_at is null and (c.valid_until is null or c.valid_until > now())
                                     then 'live' else 'ended' end,
                       'delivered', c.delivered_at is not null) order by c.created_at desc, c.id), '[]') as secrets
                from api_key_credentials c where c.key_id = k.id) c
      order by k.created_at ${order}, k.id ${order}`,
    [countMax, ...values],
  )
  return rows.map(
    ({
      rpm,
      tpm,
      dailyBudgetNano,
      weeklyBudgetNano,
      monthlyBudgetNano,
      totalBudgetNano,
      allowedModels,
      allowedIps,
      expiresAt,
      readBalance,
      keepsResponsesHours,
      ...key
    }) => ({
      ...key,
      limits: {
        rpm,
        tpm,
        dailyBudgetNano,
        weeklyBudgetNano,
        monthlyBudgetNano,
        totalBudgetNano,
        allowedModels,
        allowedIps,
        expiresAt,
        readBalance,
        keepsResponsesHours,
      },
      secrets: key.secrets.map((secret) => ({
        ...secret,
        validUntil: secret.validUntil === null ? null : new Date(secret.validUntil),
      })),
    }),
  )
}

/** How many keys made in the cabinet to stay are not revoked. */
export async function countCabinetKeys(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from api_keys
      where managed_by = 'cabinet' and purpose = 'general' and revoked_at is null`,
  )
  return rows[0]?.count ?? 0
}
