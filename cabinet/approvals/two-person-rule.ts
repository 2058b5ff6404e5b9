import type { ScopedClient } from '#core/audit/scope'

/** `several_administrators`: it stays on, because it can only be off while one administrator can sign in. */
export type RuleChange = 'changed' | 'unchanged' | 'several_administrators'

/**
 * Turns the two-person rule off or on. Requires the permissions of the database owner, which no process of the
 * installation has. Off counts only while one administrator can sign in.
 */
export async function setTwoPersonRule(client: ScopedClient, wish: 'on' | 'off'): Promise<RuleChange> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::int as count from administrators where blocked_at is null and password_hash is not null',
  )
  if (wish === 'off' && (rows[0]?.count ?? 0) > 1) return 'several_administrators'
  const changed = await client.change(
    'update two_person_rule set is_on = $1 where is_on <> $1 returning is_on',
    [wish === 'on'],
    () => ({
      action: 'administration.two_person_rule',
      subject: { kind: 'Administration', id: 'two_person_rule' },
      organizationId: null,
      before: { isOn: wish === 'off' },
      after: { isOn: wish === 'on' },
    }),
  )
  return changed.length > 0 ? 'changed' : 'unchanged'
}
