import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editSecret, setSpec, settle } from './internal/key-happenings.fixture.ts'
import { verdictsOf } from './internal/key-verdicts.ts'
import {
  crash,
  createObject,
  createWorld,
  findOpened,
  freshSecret,
  gather,
  isLive,
  pass,
  project,
  secretValue,
  type World,
  writtenSecret,
} from './internal/key-world.fixture.ts'
import { planKey } from './internal/plan-key.ts'

/** The operator's guarantees for a Secret, watched from step to step. */
function createWatch(world: World) {
  let before: string | undefined
  let triggerBefore: string | null = null
  let writtenAtMs = world.nowMs
  /** Another writer changed the Secret or the database: no guarantee until the operator has written again. */
  let excused = false

  /** A secret that the operator replaced was live, and a new one was asked for. */
  function lookAtReplaced(): void {
    const replaced = findOpened(world, before)
    if (excused || !replaced || replaced.key.revoked || !world.object) return
    expect(isLive(world, replaced.secret), 'a secret lives on when the next one appears').toBe(true)
    const { rotationTrigger, rotationIntervalS } = world.object.draft
    const isOld = rotationIntervalS !== null && world.nowMs - writtenAtMs >= 900 * rotationIntervalS
    if (!isOld)
      expect(rotationTrigger, 'only a new trigger or its age replaces a secret').not.toBe(triggerBefore)
  }

  function look(): void {
    before = secretValue(world)
    const opened = findOpened(world, before)
    if (!excused && opened !== undefined && !opened.key.revoked)
      expect(isLive(world, opened.secret), 'a Secret never holds a dead secret').toBe(true)
    const own = [...world.keys.values()].filter((key) => key.managedBy === 'kubernetes' && !key.revoked)
    expect(own.length, 'one key for one object').toBeLessThanOrEqual(1)
  }

  return {
    excuse() {
      excused = true
    },
    look,
    lookAfterStep() {
      const value = secretValue(world)
      if (value !== undefined && value !== before) {
        lookAtReplaced()
        excused = false
        triggerBefore = world.object?.draft.rotationTrigger ?? null
        writtenAtMs = world.nowMs
      }
      // The operator forgets a trigger that was removed: the same one, set later, asks again.
      if (world.object?.draft.rotationTrigger === null) triggerBefore = null
      look()
    },
  }
}

type Watch = ReturnType<typeof createWatch>

/** Events that may happen at any moment. */
const happenings: Readonly<Record<string, (world: World, watch: Watch) => void>> = {
  project: (world) => project(world),
  crash: (world) => crash(world),
  suspend: (world) => setSpec(world, { suspended: true }),
  resume: (world) => setSpec(world, { suspended: false }),
  'rotate a': (world) => setSpec(world, { rotationTrigger: 'a' }),
  'rotate b': (world) => setSpec(world, { rotationTrigger: 'b' }),
  'rotate every two hours': (world) => setSpec(world, { rotationIntervalS: 7200 }),
  'ask for no rotation': (world) => setSpec(world, { rotationTrigger: null }),
  'no grace': (world) => setSpec(world, { rotationGraceS: 0 }),
  'change limits': (world) => setSpec(world, { limits: { rpm: ++world.count } }),
  'an hour': (world) => {
    world.nowMs += 3_600_000
  },
  'delete Secret': (world, watch) => {
    watch.excuse()
    world.secret = undefined
  },
  'edit Secret': (world, watch) => {
    watch.excuse()
    editSecret(world, 'of somebody')
  },
  'put a foreign key into the Secret': (world, watch) => {
    watch.excuse()
    editSecret(world, freshSecret(world))
  },
  'put an old secret into the Secret': (world, watch) => {
    watch.excuse()
    const old = world.resource && world.keys.get(world.resource.subject)?.secrets.at(-1)
    if (old?.delivered) editSecret(world, old.keySecret)
  },
  'change the row': (world) => {
    const key = world.resource && world.keys.get(world.resource.subject)
    if (key === undefined) return
    key.limits = { rpm: 1 }
    key.blockedBy.delete('kubernetes')
    key.isProjected = false
  },
  'block in the cabinet': (world) => {
    for (const key of world.keys.values()) key.blockedBy.add('admin')
  },
  'unblock in the cabinet': (world) => {
    for (const key of world.keys.values()) key.blockedBy.delete('admin')
  },
  'take the label away': (world, watch) => {
    watch.excuse() // its key ends, and the next one replaces it
    world.allowedOrganization = undefined
  },
  'give the label back': (world) => {
    world.allowedOrganization = 'acme'
  },
  delete: (world) => {
    if (world.object?.hasFinalizer) world.object.isTerminating = true
    else world.object = undefined
  },
  'choose Orphan': (world) => setSpec(world, { deletionPolicy: 'Orphan' }),
  'lose the object': (world) => {
    world.object = undefined
  },
  'collect garbage': (world) => {
    const owner = world.secret?.metadata.ownerReferences?.[0]?.uid
    if (owner !== undefined && owner !== world.object?.uid) world.secret = undefined
  },
  'create it again': (world) => {
    if (world.object === undefined) createObject(world)
  },
  'restore an old database': (world, watch) => {
    watch.excuse()
    world.keys.clear()
    world.resource = undefined
  },
  'a late write arrives': (world, watch) => {
    if (world.late === undefined) return
    watch.excuse()
    world.late()
    world.late = undefined
  },
}

/** The process dies while its write of a Secret is still on its way: it may arrive at any time, if it still fits. */
function dieWriting(world: World): void {
  const { object, secret } = world
  if (object === undefined) return
  const step = planKey(gather(world, object, 'none'))
  if (step?.do !== 'writeSecret') return
  const written = writtenSecret(world, object, step)
  world.late = () => {
    if (world.secret === secret) world.secret = written // created if there is none, or of this version
  }
  crash(world)
}

type Part = string | { readonly pass: number; readonly projects: string }

const happening: fc.Arbitrary<Part> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ pass: fc.nat(10), projects: fc.constantFrom('at once', 'never') }) },
  { weight: 2, arbitrary: fc.constantFrom(...Object.keys(happenings), 'die writing') },
)

/** A trigger that is removed and set again asks twice. */
const triggerSetAgain: readonly Part[] = [
  'rotate b',
  { pass: 4, projects: 'at once' },
  'ask for no rotation',
  { pass: 3, projects: 'at once' },
  'rotate b',
  { pass: 4, projects: 'at once' },
]

test('whatever happens and wherever the operator dies: no dead Secret, one key, no secret replaced unasked; then all is well', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 40 }), (story) => {
      const world = createWorld()
      createObject(world)
      const watch = createWatch(world)
      for (const part of story) {
        if (typeof part === 'object')
          pass(world, {
            stepsMax: part.pass,
            projects: part.projects === 'never' ? 'never' : 'at once',
            onStep: watch.lookAfterStep,
          })
        else if (part === 'die writing') dieWriting(world)
        else happenings[part]?.(world, watch)
        watch.look()
      }
      settleAndCheck(world)
    }),
    { numRuns: 3000, examples: [[triggerSetAgain]] },
  )
}, 60_000) // six seconds of one idle processor

function settleAndCheck(world: World): void {
  settle(world)
  expect(pass(world), 'a second look plans nothing').toEqual([])
  const { object } = world
  if (object === undefined) return
  const verdicts = verdictsOf(gather(world, object, 'none'))
  expect(object.isTerminating, 'a deleted object goes').toBe(false)
  if (world.allowedOrganization === undefined) {
    expect(verdicts.Ready.reason).toBe('NamespaceNotAllowed')
    for (const key of world.keys.values())
      if (key.managedBy === 'kubernetes' && world.resource?.uid === object.uid)
        expect(key.blockedBy.has('kubernetes') || key.revoked).toBe(true)
    return
  }
  if (verdicts.Ready.reason === 'SecretNotOwned' && world.resource === undefined) return
  const key = world.resource && world.keys.get(world.resource.subject)
  expect(key?.blockedBy.has('kubernetes')).toBe(object.draft.suspended)
  expect(key?.limits).toEqual(object.draft.limits)
  expect(verdicts.Programmed.status).toBe('True')
  if (verdicts.SecretReady.status === 'False') expect(verdicts.SecretReady.reason).toBe('SecretNotOwned')
  else {
    const opened = findOpened(world, secretValue(world))
    expect(opened?.key).toBe(key)
    expect(opened && isLive(world, opened.secret)).toBe(true)
    expect(world.resource?.rotationTrigger).toBe(object.draft.rotationTrigger)
    expect(['Programmed', 'Suspended', 'BlockedByCabinet']).toContain(verdicts.Ready.reason)
  }
}
