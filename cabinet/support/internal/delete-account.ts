import type { ScopedClient } from '#core/audit/scope'
import type { Problem } from '../../api/problem.ts'

type Deletion =
  | {
      readonly outcome: 'deleted'
      readonly joined: readonly string[]
      /** Left without members. */
      readonly emptied: readonly string[]
      readonly keys: readonly { readonly id: string; readonly organizationId: string }[]
    }
  | { readonly outcome: keyof typeof problems }

const problems = {
  not_found: 'not_found',
  too_many: 'rate_limited',
  last_owner: 'last_owner',
  has_balance: 'account_has_balance',
} as const

const dayS = 86_400

/**
 * Deletes a user's account: sessions, memberships and keys end, and what identifies the user is removed. The ledger,
 * consents and audit log stay. A problem is returned if something must be done first: nothing was changed then.
 *
 * @returns the organizations whose keys have changed.
 */
export async function deleteAccount(
  client: ScopedClient,
  userId: string,
): Promise<readonly string[] | { readonly problem: Problem }> {
  const [row] = await client.change<{ deletion: Deletion }>(
    'select delete_account($1) as deletion',
    [userId],
    ([made]) =>
      made?.deletion.outcome === 'deleted'
        ? {
            action: 'user.delete',
            subject: { kind: 'User', id: userId },
            organizationId: null,
            before: { deleted: false },
            after: { deleted: true, organizationIds: made.deletion.joined },
          }
        : undefined,
  )
  const deletion = row?.deletion ?? { outcome: 'not_found' }
  if (deletion.outcome !== 'deleted') {
    const code = problems[deletion.outcome]
    return { problem: code === 'rate_limited' ? { code, retryAfterS: dayS } : { code } }
  }
  await noteInOrganizations(client, userId, deletion)
  return [...new Set(deletion.keys.map(({ organizationId }) => organizationId))]
}

/** The log of each organization has what happened to it. */
async function noteInOrganizations(
  client: ScopedClient,
  userId: string,
  { joined, emptied, keys }: Extract<Deletion, { readonly outcome: 'deleted' }>,
): Promise<void> {
  for (const id of joined)
    await client.change('select', [], () => ({
      action: 'organization.remove_member',
      subject: { kind: 'Organization', id },
      organizationId: id,
      before: { userId },
      after: emptied.includes(id) ? { members: 0, blocked: true } : null,
    }))
  for (const { id, organizationId } of keys)
    await client.change('select', [], () => ({
      action: 'key.revoke',
      subject: { kind: 'ApiKey', id },
      organizationId,
      before: { revoked: false },
      after: { revoked: true },
    }))
}
