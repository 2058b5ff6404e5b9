import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { KeyState } from '#core/keys/key-state'
import { nanoRub } from '#core/ledger/money'
import { keyMirrors } from './key-mirrors.ts'
import { nothingShown } from './mirror-state.ts'
import { unmirroredEvents } from './unmirrored-event.ts'

function key(limits: Partial<KeyState['limits']>): KeyState {
  return {
    keyId: randomUUID(),
    organizationId: randomUUID(),
    organization: 'acme',
    name: 'ci',
    tags: [],
    managedBy: 'cabinet',
    purpose: 'general',
    limits: {
      rpm: null,
      tpm: null,
      dailyBudgetNano: null,
      weeklyBudgetNano: null,
      monthlyBudgetNano: null,
      totalBudgetNano: null,
      allowedModels: null,
      allowedIps: null,
      expiresAt: null,
      readBalance: false,
      keepsResponsesHours: null,
      ...limits,
    },
    blockedBy: [],
    revoked: false,
    revokedAt: null,
    createdAt: new Date(0),
    version: 1n,
    isProjected: true,
    everProjected: true,
    secrets: [],
  }
}

const fine = key({})
const rich = key({ dailyBudgetNano: nanoRub(2_000_000_000n * 1_000_000_000n) })
const long = key({ allowedModels: Array.from({ length: 300 }, (_, place) => `a/${place}`) })

const apiKeys = { kind: 'ApiKey', cap: '1 (A_SETTING)' }

test('a key that no ApiKey can say is not shown, but counted, and named with the reason', () => {
  const shown = keyMirrors([fine, rich, long], 0, 0)
  expect([...shown.mirrors.keys()]).toEqual([fine.keyId])
  expect([...shown.unsayable.keys()]).toEqual([rich.keyId, long.keyId])
  const [event, ...others] = unmirroredEvents(apiKeys, nothingShown, shown)
  expect(others).toEqual([])
  expect(event).toMatchObject({ type: 'Warning', reason: 'NotMirrored' })
  expect(event?.note).toContain(
    `because no ApiKey can represent them: ${rich.keyId} (limits.dailyBudgetRub: must be a quoted amount of rubles`,
  )
  expect(event?.note).toContain(`${long.keyId} (allowedModels: `)
})

test('known rows are not reported again; new ones are, at most three by name', () => {
  const before = keyMirrors([rich], 2, 0)
  expect(unmirroredEvents(apiKeys, before, before)).toEqual([])
  const many = [rich, ...Array.from({ length: 5 }, () => key(long.limits))]
  const [event] = unmirroredEvents(apiKeys, before, keyMirrors(many, 3, 0))
  expect(event?.note).not.toContain(rich.keyId)
  expect(event?.note).toMatch(/ and 2 more$/)
})

test('the cap is reported when it is reached', () => {
  const capped = keyMirrors([fine], 2, 0)
  expect(unmirroredEvents(apiKeys, nothingShown, capped)).toMatchObject([
    {
      reason: 'MirrorsCapped',
      note: 'The cabinet has 2 more than the limit of 1 (A_SETTING); the newest ApiKeys are not mirrored',
    },
  ])
})
