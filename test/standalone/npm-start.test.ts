import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test, vi } from 'vitest'
import { findFreePort, requireFreePort } from '#standalone/port'
import { inheritedEnvironment } from '../support/environment.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { descendantsOf, isRunning, type RunningProcess } from '../support/process-tree.ts'

test.for([
  { signal: 'SIGTERM', moment: 'when it is ready', line: '"baseUrl"' },
  { signal: 'SIGINT', moment: 'when it is ready', line: '"baseUrl"' },
  { signal: 'SIGTERM', moment: 'while it starts', line: 'the demo provider' },
] as const)('$signal to npm start $moment ends everything that it started', async (sent) => {
  const ports = await Promise.all(Array.from({ length: 5 }, findFreePort))
  const npm = startNpm(folderOfThisTest('npm-start'), ports)
  await npm.says(sent.line)
  const started = descendantsOf(npm.pid)
  for (const server of ['/postgres -D', 'redis-server'])
    expect(started).toContainEqual({
      pid: expect.any(Number),
      command: expect.stringContaining(server),
    })
  process.kill(npm.pid, sent.signal)
  await npm.ended
  await vi.waitFor(() => expect(started.filter(isRunning)).toEqual([]))
  for (const port of ports) await requireFreePort(port, '127.0.0.1', 'the port')
})

test('SIGTERM to npm start while it makes its database cluster leaves nothing half made', async () => {
  const npm = startNpm(folderOfThisTest('npm-start'), [0, 0, 0, 0, 0])
  const started = await vi.waitFor(() => {
    const processes = descendantsOf(npm.pid)
    expect(clusterFolderOf(processes)).toSatisfy(existsSync)
    return processes
  })
  process.kill(npm.pid, 'SIGTERM')
  await npm.ended
  await vi.waitFor(() => expect(started.filter(isRunning)).toEqual([]))
  expect(clusterFolderOf(started)).not.toSatisfy(existsSync)
})

function clusterFolderOf(processes: readonly RunningProcess[]): string {
  const initdb = processes.find(({ command }) => command.includes('/initdb '))
  return /--pgdata (\S+)/.exec(initdb?.command ?? '')?.[1] ?? ''
}

/** npm itself, started like a supervisor does, on these ports of its servers. */
function startNpm(dataDir: string, [gateway, admin, cabinet, administration, till]: readonly number[]) {
  const npm = spawn('npm', ['start', '--silent', '--', '--json'], {
    env: {
      ...inheritedEnvironment,
      DATA_DIR: dataDir,
      GATEWAY_PORT: String(gateway),
      GATEWAY_ADMIN_PORT: String(admin),
      CABINET_PORT: String(cabinet),
      ADMINISTRATION_PORT: String(administration),
      TEST_PAYMENTS_PORT: String(till),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a separate process group, which the test can end regardless of npm
  })
  const { pid } = npm
  if (pid === undefined) throw new Error('npm did not start')
  const endGroup = () => endProcessGroup(pid)
  process.once('exit', endGroup)
  onTestFinished(() => {
    process.off('exit', endGroup)
    endGroup()
  })
  const said: string[] = []
  for (const output of [npm.stdout, npm.stderr]) createInterface(output).on('line', (line) => said.push(line))
  return {
    pid,
    ended: once(npm, 'exit'),
    says: (words: string) =>
      vi.waitFor(() => expect(said).toContainEqual(expect.stringContaining(words)), { interval: 5 }),
  }
}

function endProcessGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // none of its processes are left
  }
}
