import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'
import { onTestFinished } from 'vitest'

/** A server that responds as a test defines, for cases that the real one could not produce in time. */
export type ScriptedApiServer = {
  readonly kubeConfig: KubeConfig
  readonly requests: readonly { readonly url: URL; readonly authorization: string; readonly atMs: number }[]
}

/** A server on loopback that is gone with this test. `tokenFile`: where its kubeconfig has the token. */
export async function scriptedApiServerOfThisTest(
  answer: (url: URL, response: ServerResponse, request: IncomingMessage) => void,
  { tokenFile }: { readonly tokenFile?: string } = {},
): Promise<ScriptedApiServer> {
  const requests: { url: URL; authorization: string; atMs: number }[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://127.0.0.1')
    requests.push({ url, authorization: request.headers.authorization ?? '', atMs: performance.now() })
    answer(url, response, request)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser(
    { name: 'scripted', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    tokenFile === undefined
      ? { name: 'nobody' }
      : { name: 'file', authProvider: { name: 'tokenFile', config: { tokenFile } } },
  )
  return { kubeConfig, requests }
}

/** The JSON of a list of config maps. */
export function listOf(names: readonly string[], resourceVersion: string): string {
  return JSON.stringify({
    metadata: { resourceVersion },
    items: names.map((name) => configMap(name, resourceVersion)),
  })
}

/** One line of a watch. */
export function watchLine(type: string, name: string, resourceVersion: string): string {
  return `${JSON.stringify({ type, object: configMap(name, resourceVersion) })}\n`
}

function configMap(name: string, resourceVersion: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', resourceVersion } }
}
