import { expect, onTestFinished, test, vi } from 'vitest'
import { ClusterRefused } from './cluster-client.ts'
import { ClusterUnavailable } from './internal/cluster-transport.ts'
import { createObjectPoll } from './object-poll.ts'

const everyMs = 10

/** A poll of Secrets that a test makes up. */
function startPoll() {
  const versions = new Map<string, string>()
  const asked: string[] = []
  const changed: string[] = []
  const errors: unknown[] = []
  const server: { fault: Error | undefined } = { fault: undefined }
  const poll = createObjectPoll({
    async findVersion({ name }) {
      asked.push(name)
      if (server.fault !== undefined) throw server.fault
      return versions.get(name) ?? ''
    },
    everyMs,
    onChange: (key) => changed.push(key),
    onError: (error) => errors.push(error),
  })
  poll.start()
  onTestFinished(poll.stop)
  const untilAsked = (count: number) => vi.waitFor(() => expect(asked.length).toBeGreaterThanOrEqual(count))
  return { versions, asked, changed, errors, server, poll, untilAsked }
}

test('another version, or none, is reported once', async () => {
  const { versions, asked, changed, poll, untilAsked } = startPoll()
  for (const name of ['edited', 'deleted', 'same']) versions.set(name, '7')
  for (const name of ['edited', 'deleted', 'same']) poll.note(`team-a/${name}`, name, '7')
  poll.note('team-a/absent', 'absent', '')
  await untilAsked(20)
  expect(changed).toEqual([])
  versions.set('edited', '8').delete('deleted')
  await vi.waitFor(() => expect(changed).toHaveLength(2))
  const { length } = asked
  await untilAsked(length + 20)
  expect(changed.toSorted()).toEqual(['team-a/deleted', 'team-a/edited'])
  expect(asked.slice(length + 4).filter((name) => name === 'edited' || name === 'deleted')).toEqual([])
})

test('namespaces take turns: thousands of objects of one do not slow down those of another', async () => {
  const { asked, poll } = startPoll()
  for (let i = 0; i < 4_000; i++) poll.note(`flood/${i}`, `flood-${i}`, '')
  poll.note('quiet/x', 'x', '')
  await vi.waitFor(() => expect(asked.filter((name) => name === 'x').length).toBeGreaterThan(10))
  expect(asked.length).toBeLessThan(4_000)
})

test('at most 100 a second are asked for, of however many', async () => {
  const { asked, poll } = startPoll()
  for (let i = 0; i < 4_000; i++) poll.note(`team-a/${i}`, `${i}`, '')
  const startedAtMs = performance.now()
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(60))
  // It checks when it begins and then every 10 ms.
  expect(asked.length).toBeLessThanOrEqual(1 + 100 * ((performance.now() - startedAtMs) / 1_000))
})

test('what was forgotten is asked for no more', async () => {
  const { asked, poll, untilAsked } = startPoll()
  poll.note('team-a/gone', 'gone', '7')
  poll.note('team-a/stays', 'stays', '')
  poll.forget('team-a/gone')
  await untilAsked(5)
  expect(asked).not.toContain('gone')
})

test('an outage is reported once, and changes during it afterwards', async () => {
  const { changed, errors, server, poll, untilAsked } = startPoll()
  server.fault = new ClusterUnavailable('Too large resource version: 700, current: 7')
  poll.note('team-a/ci', 'ci-apikey', '700')
  await untilAsked(3)
  expect(errors).toEqual([server.fault])
  server.fault = undefined
  await vi.waitFor(() => expect(changed).toEqual(['team-a/ci']))
})

test('one that may not be read is reported, so that its caller gets the reason', async () => {
  const { changed, errors, server, poll } = startPoll()
  server.fault = new ClusterRefused(403, 'secrets "ci-apikey" is forbidden', ['Forbidden'])
  poll.note('team-a/ci', 'ci-apikey', '7')
  await vi.waitFor(() => expect(changed).toEqual(['team-a/ci']))
  expect(errors).toEqual([])
})
