import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Till } from '#standalone/yookassa/start-till'

type Json = Record<string, unknown>

/**
 * A proxy before a test payment provider that changes each object in its responses, those in lists included;
 * until the running test ends.
 */
export async function rewritingTill(till: Till, rewrite: (object: Json, path: string) => Json) {
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' }
    const key = request.headers['idempotence-key']
    const answer = await fetch(`${till.url}${path}`, {
      method: request.method ?? 'GET',
      headers: key === undefined ? headers : { ...headers, 'idempotence-key': String(key) },
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    })
    const body = (await answer.json()) as Json
    const items = Array.isArray(body.items) ? { items: body.items.map((item) => rewrite(item, path)) } : {}
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify('items' in items ? { ...body, ...items } : rewrite(body, path)))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  return { apiUrl: till.apiUrl.replace(till.url, `http://127.0.0.1:${port}`) }
}
