import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadKubeConfig } from './load-kube-config.ts'

const folder = mkdtempSync(join(tmpdir(), 'mg-kubeconfig-'))
afterAll(() => rmSync(folder, { recursive: true }))

function fileOf(text: string): string {
  const path = join(folder, 'kubeconfig')
  writeFileSync(path, text)
  return path
}

const withUser = (user: object, currentContext = 'here') =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    'current-context': currentContext,
  })

test('the token of a user is read from its tokenFile, next to the kubeconfig, whatever token is next to it', async () => {
  writeFileSync(join(folder, 'token'), 'first')
  const kubeConfig = loadKubeConfig(fileOf(withUser({ token: 'old', tokenFile: 'token' })))
  const options: { headers: Record<string, string> } = { headers: {} }
  await kubeConfig.applyToHTTPSOptions(options)
  expect(options.headers).toEqual({ Authorization: 'Bearer first' })
})

test('a user without a tokenFile stays as it is', async () => {
  const options: { headers: Record<string, string> } = { headers: {} }
  await loadKubeConfig(fileOf(withUser({ token: 'given' }))).applyToHTTPSOptions(options)
  expect(options.headers).toEqual({ Authorization: 'Bearer given' })
})

test.each([
  ['not there', () => join(folder, 'nowhere'), 'KUBECONFIG: the file cannot be read (ENOENT): set it to'],
  ['no YAML', () => fileOf('a: [b'), 'KUBECONFIG: the file is not a kubeconfig'],
  ['a list', () => fileOf('- a'), 'KUBECONFIG: the file is not a kubeconfig'],
  ['empty', () => fileOf(''), 'KUBECONFIG: the file is not a kubeconfig'],
  ['without contexts', () => fileOf('kind: Config'), 'KUBECONFIG: current-context names no context'],
  ['of another context', () => fileOf(withUser({}, 'there')), 'KUBECONFIG: current-context names no context'],
])('a kubeconfig that is %s is refused with what to do', (_, pathOf, says) => {
  expect(() => loadKubeConfig(pathOf())).toThrow(says)
})

test('outside of a pod a kubeconfig is needed', () => {
  expect(() => loadKubeConfig(undefined)).toThrow(
    'KUBECONFIG is not set, and this process runs in no pod with a service account: set KUBECONFIG to the path',
  )
})
