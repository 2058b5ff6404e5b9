import { expect } from 'vitest'
import { isRotationDelayed, verdictsOf } from './key-verdicts.ts'
import { createObject, createWorld, gather, pass, project, type World } from './key-world.fixture.ts'

/** Passes until nothing is left to do: what a healthy operator comes to. */
export function settle(world: World): void {
  for (let count = 0; count < 5; count++) {
    project(world)
    pass(world)
    if (isRotationWaiting(world)) world.nowMs += 60_000
  }
}

function isRotationWaiting(world: World): boolean {
  return world.object !== undefined && isRotationDelayed(gather(world, world.object, 'none'))
}

/** Reason of `Ready` now. */
export function readyOf(world: World): string {
  if (world.object === undefined) return 'gone'
  return verdictsOf(gather(world, world.object, 'none')).Ready.reason
}

/** A world whose ApiKey has its key in its Secret. */
export function createReady(fields: Parameters<typeof createObject>[1] = {}): World {
  const world = createWorld()
  createObject(world, fields)
  settle(world)
  expect(readyOf(world)).toBe('Programmed')
  return world
}

/** A user changes the spec. */
export function setSpec(world: World, fields: Parameters<typeof createObject>[1]): void {
  if (world.object === undefined) return
  world.object.draft = { ...world.object.draft, ...fields }
  world.object.generation++
}

/** The one key that there is. */
export function onlyKey(world: World) {
  expect(world.keys.size).toBe(1)
  const [key] = world.keys.values()
  if (key === undefined) throw new Error('no key')
  return key
}

/** A user puts another value into the Secret. */
export function editSecret(world: World, value: string): void {
  if (world.secret === undefined) return
  const data = { ...world.secret.data, OPENAI_API_KEY: Buffer.from(value).toString('base64') }
  world.secret = { ...world.secret, data }
}
