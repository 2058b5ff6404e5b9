import { createHash, randomBytes } from 'node:crypto'
import { changeOfOrganization } from '#core/audit/organization-change'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'

/** 128 bits, in the alphabet and the length of a deep link's parameter (https://core.telegram.org/bots/features#deep-linking). */
const codeBytes = 16
const codeMinutes = 15
/** No worker has read updates for so long: none has a token. */
const unpolledMinutesMax = 10

export type EndedReason = 'blocked' | 'stopped' | 'not_found'

export type ShownLink = {
  /** `null`: no chat is linked. */
  readonly linkedAt: Date | null
  readonly chatName: string | null
  readonly endedReason: EndedReason | null
}

/** The bot's user name; `undefined`: no worker works as a bot. */
export async function findBotName(client: Queryable): Promise<string | undefined> {
  const { rows } = await client.query<{ username: string | null }>(
    'select username from telegram_bot where polled_until > clock_timestamp() - make_interval(mins => $1)',
    [unpolledMinutesMax],
  )
  return rows[0]?.username ?? undefined
}

export async function findLink(client: Queryable, organizationId: string): Promise<ShownLink | undefined> {
  const { rows } = await client.query<ShownLink>(
    `select linked_at as "linkedAt", chat_name as "chatName", ended_reason as "endedReason"
       from telegram_links where organization_id = $1`,
    [organizationId],
  )
  return rows[0]
}

const hashOf = (code: string) => createHash('sha256').update(code).digest()

type LinkingOwner = {
  readonly userId: string
  readonly organizationId: string
  readonly locale: 'ru' | 'en'
}

/** Makes the code that links a chat, once and for 15 minutes. It replaces an earlier one; a linked chat stays linked until then. */
export async function createLinkCode(
  client: ScopedClient,
  { userId, organizationId, locale }: LinkingOwner,
): Promise<{ readonly code: string; readonly expiresAt: Date }> {
  const code = randomBytes(codeBytes).toString('base64url')
  const [row] = await client.change<{ expiresAt: Date }>(
    `insert into telegram_links (organization_id, locale, code_hash, code_expires_at, code_by)
     values ($1, $2, $3, clock_timestamp() + make_interval(mins => $4), $5)
     on conflict (organization_id) do update
        set locale = $2, code_hash = $3, code_expires_at = clock_timestamp() + make_interval(mins => $4), code_by = $5
     returning code_expires_at as "expiresAt"`,
    [organizationId, locale, hashOf(code), codeMinutes, userId],
    () => changeOfOrganization('telegram.code', organizationId, null, null),
  )
  if (row === undefined) throw new Error('Postgres returned no code')
  return { code, expiresAt: row.expiresAt }
}

/** Whose code this is, if it still works. */
export async function findOrganizationOfCode(client: Queryable, code: string): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    `select organization_id as id from telegram_links where code_hash = $1 and code_expires_at > clock_timestamp()`,
    [hashOf(code)],
  )
  return rows[0]?.id
}

/** Links a chat by its code, which works once. Returns whether it did. The audit log gets a row of it. */
export async function linkChat(
  client: ScopedClient,
  { code, chatId, chatName }: { readonly code: string; readonly chatId: number; readonly chatName: string },
): Promise<boolean> {
  const { rows } = await client.query<{ linked: string | null }>(
    'select link_telegram_chat($1, $2, $3) as linked',
    [hashOf(code), chatId, chatName],
  )
  return rows[0]?.linked != null
}

/** Ends the links of a chat; the owners see why. The audit log gets a row of each. */
export async function endLinks(
  client: Queryable,
  chatId: number | bigint,
  reason: EndedReason,
): Promise<void> {
  await client.query('select end_telegram_links($1, $2)', [chatId, reason])
}

/** A group that became a supergroup is the same chat under another id. */
export async function moveChat(
  client: ScopedClient,
  organizationId: string,
  { from, to }: { readonly from: bigint; readonly to: number },
): Promise<void> {
  await client.withoutAudit(
    'the same chat under another number',
    'update telegram_links set chat_id = $3 where organization_id = $1 and chat_id = $2',
    [organizationId, from, to],
  )
}

/** Ends a link, or the code of one, for an owner. What waits is not sent. */
export async function unlinkChat(client: ScopedClient, organizationId: string): Promise<void> {
  await client.change(
    `update telegram_links set chat_id = null, chat_name = null, linked_at = null, linked_by = null,
            ended_reason = null, code_hash = null, code_expires_at = null, code_by = null
      where organization_id = $1 and (chat_name is not null or code_expires_at is not null) returning 1`,
    [organizationId],
    () => changeOfOrganization('telegram.unlink', organizationId, null, null),
  )
}
