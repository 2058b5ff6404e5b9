import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ResolveName } from '#core/egress/guarded-connector'
import { createDnsResolver } from '#core/egress/resolve-by-dns'
import { groupsOf } from '#core/process/networks'
import { createHeldBodies } from '#gateway/http/held-bodies'
import { createImageFetcher, type ImageFetcher, type ImageFetcherDeps } from '#gateway/images/fetch-images'
import { type ImageProblem, imageBytesMax, refusalOfImage } from '#gateway/images/image-problem'
import type { FetchedImage } from '#gateway/images/internal/fetched-image'
import { createRequestImages } from '#gateway/images/request-images'
import { makeCertificate } from '../support/certificate.ts'

const mebibyte = 1024 * 1024
const pngHead = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
const pngOf = (length: number) => Buffer.concat([pngHead, randomBytes(length - pngHead.length)])
const png = pngOf(1000)

type Listener = {
  /** The URL with this host instead. */
  urlAt(host: string): string
  readonly url: string
  readonly connectionCount: () => number
  readonly openCount: () => number
}

/** What every listener of a test counts, however it answers. */
async function listen(server: Server, host: string): Promise<Listener> {
  const open = new Set<Socket>()
  let count = 0
  server.on('connection', (socket: Socket) => {
    count += 1
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
  })
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const urlAt = (name: string) => `http://${name}:${port}/image.png`
  return { urlAt, url: urlAt('127.0.0.1'), connectionCount: () => count, openCount: () => open.size }
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** An HTTP server; by default it returns an image. */
async function serve(answer: Answer = (response) => response.end(png), host = '127.0.0.1') {
  const requests: IncomingMessage[] = []
  const server = createHttpServer((request, response) => {
    requests.push(request)
    answer(response, request)
  })
  return { ...(await listen(server, host)), requests }
}

/** A server that writes these bytes, whatever it is asked. With `isOpen`, it does not close the connection after them. */
function serveRaw(head: string, body: Buffer = Buffer.alloc(0), { isOpen = false } = {}) {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(head)
      if (isOpen) socket.write(body)
      else socket.end(body)
    })
  })
  return listen(server, '127.0.0.1')
}

const ok = (...headers: readonly string[]) => ['HTTP/1.1 200 OK', ...headers, '', ''].join('\r\n')

/** The memory for bodies, as one organization takes it. */
function newMemory(bytesMax = 512 * mebibyte) {
  const bodies = createHeldBodies(bytesMax, bytesMax)
  return {
    bytes: bodies.bytes,
    add(bytes: number) {
      bodies.add(bytes, 'org')
      return bodies.findExcess('org')
    },
    remove: (bytes: number) => bodies.remove(bytes, 'org'),
  }
}

type Settings = ImageFetcherDeps & {
  readonly fetcher?: ImageFetcher
  readonly timeMs?: number
  readonly memory?: ReturnType<typeof newMemory>
}

const onlyLocal = (address: string) => address === '127.0.0.1'

/** The images of one request; by default, 127.0.0.1 is where the public servers are. */
function requestOf({ timeMs = 20_000, memory = newMemory(), fetcher, ...deps }: Settings = {}) {
  const client = new AbortController()
  const images = createRequestImages({
    fetcher: fetcher ?? createImageFetcher({ isAllowed: onlyLocal, ...deps }),
    memory,
    organizationId: 'org',
    signal: client.signal,
    now: () => performance.now(),
  })
  onTestFinished(() => images.release())
  return {
    fetch: (url: string) => images.fetch(url, timeMs),
    release: images.release,
    disconnect: () => client.abort(),
    memory,
  }
}

const shown = (result: FetchedImage | ImageProblem) =>
  result.outcome === 'fetched' ? result.mediaType : result.reason

/** The type of the image, or why there is none; checks that a failure leaves nothing behind. */
async function outcomeOf(url: string, settings: Settings = {}): Promise<string> {
  const request = requestOf(settings)
  const result = await request.fetch(url)
  if (result.outcome === 'failed') expect(request.memory.bytes()).toBe(0)
  request.release()
  expect(request.memory.bytes()).toBe(0)
  return shown(result)
}

/** Resolves every name to one list of addresses after the other. */
function resolver(...answers: readonly (readonly string[])[]) {
  let count = 0
  const resolve: ResolveName = (_name, _options, callback) => {
    const addresses = answers[Math.min(count, answers.length - 1)] ?? []
    count += 1
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { resolve, count: () => count }
}

/** Well within the 10 s after which a connection attempt would be closed anyway. */
const untilClosed = (server: Listener) => vi.waitFor(() => expect(server.openCount()).toBe(0))

describe('an image on a public server', () => {
  test('is fetched by one plain GET, with its bytes unchanged and its type detected', async () => {
    const server = await serve((response) => response.setHeader('content-type', 'text/plain').end(png))
    const request = requestOf()
    const result = await request.fetch(`${server.url}?a=b#c`)
    expect(result).toMatchObject({ outcome: 'fetched', mediaType: 'image/png', heldBytes: 1336 })
    expect(result.outcome === 'fetched' && String(result.base64)).toBe(png.toString('base64'))
    const [received, ...more] = server.requests
    expect(more).toEqual([])
    expect(received).toMatchObject({ method: 'GET', url: '/image.png?a=b' })
    expect(received?.headers).toEqual({
      host: new URL(server.url).host,
      connection: 'close',
      accept: 'image/*',
      'accept-encoding': 'identity',
      'user-agent': 'model-gateway',
    })
    await untilClosed(server)
  })

  test('may have 20 MiB', async () => {
    const body = pngOf(imageBytesMax)
    const server = await serve((response) => response.end(body))
    const request = requestOf()
    const result = await request.fetch(server.url)
    expect(result.outcome === 'fetched' && String(result.base64) === body.toString('base64')).toBe(true)
    expect(request.memory.bytes()).toBe(result.outcome === 'fetched' ? result.heldBytes : 0)
    request.release()
    expect(request.memory.bytes()).toBe(0)
  })

  test('may come byte by byte', async () => {
    const server = await serve((response) => {
      const write = (at: number) => {
        if (at === 200) response.end()
        else response.write(png.subarray(at, at + 1), () => write(at + 1))
      }
      write(0)
    })
    expect(await outcomeOf(server.url)).toBe('image/png')
  })

  test('is fetched without a proxy, whatever the environment has', async () => {
    const proxy = await serve()
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) vi.stubEnv(name, proxy.url)
    onTestFinished(() => void vi.unstubAllEnvs())
    const server = await serve()
    expect(await outcomeOf(server.url)).toBe('image/png')
    expect(proxy.connectionCount()).toBe(0)
  })
})

describe('a server that is not public gets no connection', () => {
  const inProduction = createImageFetcher()

  test.each([
    '127.0.0.1',
    '127.1',
    '127.0.0.2',
    '0x7f000001',
    '0x7f.0.0.1',
    '2130706433',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '１２７.0.0.1',
    '%31%32%37.0.0.1',
    '0.0.0.0',
    '0',
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
  ])('at %s, which leads to it', async (host) => {
    const server = await serve(undefined, '::')
    expect(await outcomeOf(server.urlAt(host), { fetcher: inProduction })).toBe('address_not_public')
    expect(server.connectionCount()).toBe(0)
    expect(await outcomeOf(server.urlAt(host), { isAllowed: () => true })).toBe('image/png')
    expect(server.connectionCount()).toBe(1)
  })

  test.each([
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[::7f00:1]',
    '[::ffff:0:7f00:1]',
    '169.254.169.254',
    '0xA9FEA9FE',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::a9fe:a9fe]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '10.0.0.1',
    '[fe80::1]',
  ])('at %s', async (host) => {
    const server = await serve(undefined, '::')
    expect(await outcomeOf(server.urlAt(host), { fetcher: inProduction })).toBe('address_not_public')
    expect(server.connectionCount()).toBe(0)
  })

  test.each([
    [['127.0.0.1']],
    [['93.184.216.34', '127.0.0.1']],
    [['::1', '93.184.216.34']],
    [['::ffff:127.0.0.1']],
    [['64:ff9b::7f00:1']],
    [['10.0.0.1']],
    [['169.254.169.254']],
  ])('by a name with the addresses %j', async (addresses) => {
    const server = await serve(undefined, '::')
    const { resolve, count } = resolver(addresses)
    const fetcher = createImageFetcher({ resolve })
    expect(await outcomeOf(server.urlAt('image.test'), { fetcher })).toBe('address_not_public')
    expect(count()).toBe(1)
    expect(server.connectionCount()).toBe(0)
  })

  test('by a name that is public when it is checked and private right after', async () => {
    const [open, inner] = [await serve(), await serve(undefined, '127.0.0.2')]
    const { resolve, count } = resolver(['127.0.0.1'], ['127.0.0.2'])
    const fetcher = createImageFetcher({ resolve, isAllowed: onlyLocal })
    expect(await outcomeOf(open.urlAt('image.test'), { fetcher })).toBe('image/png')
    expect(count()).toBe(1)
    expect(await outcomeOf(inner.urlAt('image.test'), { fetcher })).toBe('address_not_public')
    expect(count()).toBe(2)
    expect(inner.connectionCount()).toBe(0)
  })

  test('and a client does not learn whether its name exists', async () => {
    const messageFor = async (addresses: readonly string[]) => {
      const result = await requestOf(resolver(addresses)).fetch('http://redis.gateway.svc/image.png')
      return result.outcome === 'failed' ? refusalOfImage('url', result) : result
    }
    expect(await messageFor([])).toEqual(await messageFor(['10.0.0.1']))
  })

  test.each([301, 302, 303, 307, 308])('by a redirect with status %i', async (status) => {
    const inner = await serve()
    for (const location of [inner.url, 'http://169.254.169.254/latest/meta-data/', '/other.png']) {
      const server = await serve((response) => response.writeHead(status, { location }).end())
      expect(await outcomeOf(server.url)).toBe('redirected')
      expect(server.requests).toHaveLength(1)
      await untilClosed(server)
    }
    expect(inner.connectionCount()).toBe(0)
  })

  test.each(['https', 'ftp', 'file'])('over %s with credentials, or not at all', async (protocol) => {
    const server = await serve()
    const url = server.url.replace('http://', `${protocol}://user:password@`)
    expect(await outcomeOf(url)).toBe(protocol === 'https' ? 'url_credentials' : 'url_invalid')
    expect(server.connectionCount()).toBe(0)
  })
})

describe('an image of more than 20 MiB is read no further, and not held', () => {
  const large = pngOf(21 * mebibyte)

  test('if its length is announced, without reading it', async () => {
    const server = await serveRaw(ok(`content-length: ${large.length}`), pngHead, { isOpen: true })
    expect(await outcomeOf(server.url)).toBe('too_large')
    await untilClosed(server)
  })

  test('if its length is not announced', async () => {
    let sentBytes = 0
    const endless: Answer = (response) => {
      const write = () => {
        sentBytes += mebibyte
        if (!response.destroyed) response.write(large.subarray(0, mebibyte), write)
      }
      write()
    }
    const server = await serve(endless)
    const memory = newMemory()
    const add = vi.spyOn(memory, 'add')
    expect(await outcomeOf(server.url, { memory })).toBe('too_large')
    await untilClosed(server)
    const heldBytes = add.mock.calls.reduce((sum, [bytes]) => sum + bytes, 0)
    expect(heldBytes).toBeLessThan((4 / 3) * (imageBytesMax + mebibyte))
    expect(sentBytes).toBeLessThan(40 * mebibyte)
  })

  test('if its connection is closed after it', async () => {
    expect(await outcomeOf((await serveRaw(ok(), large)).url)).toBe('too_large')
  })

  test('if a shorter length is announced, beyond which nothing is read', async () => {
    const server = await serveRaw(ok('content-length: 1000'), large)
    const request = requestOf()
    const result = await request.fetch(server.url)
    expect(result).toMatchObject({ outcome: 'fetched', heldBytes: 1336 })
  })
})

describe('a server that is too slow is left, and its connection closed', () => {
  const pace = { headersMs: 300, spanMs: 300, spanBytesMin: 100 }

  test.each([
    ['with its response', '', 'too_slow'],
    ['with its headers', 'HTTP/1.1 200 OK\r\nx: ', 'too_slow'],
    ['with its image', ok(), 'too_slow'],
  ])('%s', async (_what, head, reason) => {
    const server = await serveRaw(head, head === ok() ? pngHead : undefined, { isOpen: true })
    expect(await outcomeOf(server.url, { pace })).toBe(reason)
    await untilClosed(server)
  })

  test('though it sends a byte every 20 ms', async () => {
    const server = await serve((response) => {
      let at = 0
      const clock = setInterval(() => response.write(png.subarray(at, ++at)), 20)
      response.on('close', () => clearInterval(clock))
    })
    expect(await outcomeOf(server.url, { pace })).toBe('too_slow')
    await untilClosed(server)
  })

  test('though it sends fast, when the time of the request ends', async () => {
    const server = await serve((response) => {
      const clock = setInterval(() => response.write(png), 20)
      response.on('close', () => clearInterval(clock))
    })
    expect(await outcomeOf(server.url, { pace, timeMs: 700 })).toBe('timeout')
    await untilClosed(server)
  })

  test('though it accepts connections, if it completes no TLS handshake', async () => {
    const server = await listen(
      createServer((socket) => void socket.resume()),
      '127.0.0.1',
    )
    expect(await outcomeOf(server.url.replace('http:', 'https:'), { pace })).toBe('too_slow')
    await untilClosed(server)
  })

  test('though its name is never resolved', async () => {
    expect(await outcomeOf('http://image.test/', { pace, resolve: () => undefined })).toBe('too_slow')
  })
})

describe('a response that is not an image has a reason', () => {
  const page = Buffer.from('<!doctype html><title>Sign in</title>')
  const asPng = 'content-type: image/png'
  const chunked = 'transfer-encoding: chunked'
  test.each([
    ['HTML that claims to be a PNG', ok(asPng), page, 'not_an_image'],
    ['HTML that goes on', ok(asPng, `content-length: ${mebibyte}`), page, 'not_an_image'],
    [
      'SVG',
      ok('content-type: image/svg+xml'),
      Buffer.from('<svg xmlns="http://x.example"/>'),
      'not_an_image',
    ],
    ['PDF', ok(asPng), Buffer.from('%PDF-1.7\n1 0 obj'), 'not_an_image'],
    ['a few bytes', ok(asPng), Buffer.from('GIF8'), 'not_an_image'],
    ['nothing', ok('content-length: 0'), undefined, 'empty'],
    ['a closed connection after the headers', ok(), undefined, 'empty'],
    ['status 404', 'HTTP/1.1 404 Not Found\r\ncontent-length: 1000\r\n\r\n', png, 'status_not_ok'],
    ['status 500', 'HTTP/1.1 500 Oops\r\ncontent-length: 1000\r\n\r\n', png, 'status_not_ok'],
    ['status 204', 'HTTP/1.1 204 No Content\r\n\r\n', undefined, 'status_not_ok'],
    ['a part of it', ok('content-length: 2000'), png, 'incomplete'],
    ['a chunk without the last', ok(chunked), Buffer.concat([Buffer.from('3e8\r\n'), png]), 'incomplete'],
    ['gzip', ok('content-encoding: gzip'), gzipSync(png), 'compressed'],
    ['gzip without a header', ok(asPng), gzipSync(png), 'not_an_image'],
    ['a closed connection', '', undefined, 'incomplete'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', undefined, 'http_invalid'],
    ['a chunk without length', ok(chunked), Buffer.from('x\r\n'), 'http_invalid'],
    ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`, undefined, 'http_invalid'],
  ])('%s', async (_what, head, body, reason) => {
    const server = await serveRaw(head, body)
    expect(await outcomeOf(server.url)).toBe(reason)
    await untilClosed(server)
  })

  test('nothing listens', async () => {
    const gone = createServer()
    gone.listen(0, '127.0.0.1')
    await once(gone, 'listening')
    const address = gone.address()
    gone.close()
    await once(gone, 'close')
    const port = typeof address === 'object' ? address?.port : undefined
    expect(await outcomeOf(`http://127.0.0.1:${port}/`)).toBe('connect_failed')
  })

  test('a TLS certificate that no known authority signed', async () => {
    const server = await listen(createTlsServer(makeCertificate()), '127.0.0.1')
    expect(await outcomeOf(server.url.replace('http:', 'https:'))).toBe('tls_failed')
  })
})

describe('a client that disconnects closes the connection at once, and nothing is held', () => {
  test.each([
    ['before the response', '', undefined],
    ['in the headers', 'HTTP/1.1 200 OK\r\nx: ', undefined],
    ['in the image', ok('content-length: 2000'), png],
  ])('%s', async (_when, head, body) => {
    const server = await serveRaw(head, body, { isOpen: true })
    const request = requestOf()
    const result = request.fetch(server.url)
    await vi.waitFor(() => expect(server.connectionCount()).toBe(1))
    if (body !== undefined) await vi.waitFor(() => expect(request.memory.bytes()).toBeGreaterThan(0))
    request.disconnect()
    expect(shown(await result)).toBe('canceled')
    expect(request.memory.bytes()).toBe(0)
    await untilClosed(server)
  })

  test('in the TLS handshake', async () => {
    const server = await listen(
      createServer((socket) => void socket.resume()),
      '127.0.0.1',
    )
    const request = requestOf()
    const result = request.fetch(server.url.replace('http:', 'https:'))
    await vi.waitFor(() => expect(server.openCount()).toBe(1))
    request.disconnect()
    expect(shown(await result)).toBe('canceled')
    await untilClosed(server)
  })

  test('while its name is resolved, after which no connection is made', async () => {
    const server = await serve()
    let answer: (() => void) | undefined
    const resolve: ResolveName = (_name, _options, callback) => {
      answer = () => callback(null, [{ address: '127.0.0.1', family: 4 }])
    }
    const request = requestOf({ resolve })
    const result = request.fetch(server.urlAt('image.test'))
    await vi.waitFor(() => expect(answer).toBeDefined())
    request.disconnect()
    expect(shown(await result)).toBe('canceled')
    answer?.()
    expect(await outcomeOf(server.url)).toBe('image/png')
    expect(server.connectionCount()).toBe(1)
  })

  test('before the fetch, which then makes no connection', async () => {
    const server = await serve()
    const request = requestOf()
    request.disconnect()
    expect(shown(await request.fetch(server.url))).toBe('canceled')
    expect(server.connectionCount()).toBe(0)
  })
})

describe('names are resolved by DNS', () => {
  /** A DNS server with one list of addresses per type, and the names that it was asked for. */
  async function dnsServer(addresses: { readonly A: readonly string[]; readonly AAAA: readonly string[] }) {
    const asked: string[] = []
    const server = createSocket('udp4')
    server.on('message', (query, { port }) => {
      const end = query.indexOf(0, 12)
      const labels = query.toString('latin1', 12, end)
      asked.push(labels.replace(/\p{Cc}/gu, '.').slice(1))
      const isIpv6 = query.readUInt16BE(end + 1) === 28
      const found = isIpv6 ? addresses.AAAA : addresses.A
      const header = Buffer.from(query.subarray(0, 12))
      header.writeUInt16BE(0x8180, 2)
      header.writeUInt16BE(found.length, 6)
      header.fill(0, 8)
      const records = found.map((address) => {
        const bytes = isIpv6
          ? groupsOf(address).flatMap((group) => [group >> 8, group & 255])
          : address.split('.').map(Number)
        return Buffer.from([
          0xc0,
          12,
          ...query.subarray(end + 1, end + 5),
          0,
          0,
          0,
          60,
          0,
          bytes.length,
          ...bytes,
        ])
      })
      server.send(Buffer.concat([header, query.subarray(12, end + 5), ...records]), port, '127.0.0.1')
    })
    server.bind(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return { resolve: createDnsResolver([`127.0.0.1:${server.address().port}`]), asked }
  }

  test('as they are: a name without a dot finds no service of the cluster', async () => {
    const server = await serve()
    const { resolve, asked } = await dnsServer({ A: ['127.0.0.1'], AAAA: [] })
    expect(await outcomeOf(server.urlAt('redis'), { resolve })).toBe('image/png')
    expect(asked).toEqual(['redis', 'redis'])
  })

  test('and all their addresses are checked, of both families', async () => {
    const server = await serve()
    const { resolve } = await dnsServer({ A: ['127.0.0.1'], AAAA: ['::1'] })
    expect(await outcomeOf(server.urlAt('image.test'), { resolve })).toBe('address_not_public')
    expect(server.connectionCount()).toBe(0)
    const open = createImageFetcher({ resolve, isAllowed: () => true })
    expect(await outcomeOf(server.urlAt('image.test'), { fetcher: open })).toBe('image/png')
  })

  test('and one without addresses is not found', async () => {
    const { resolve } = await dnsServer({ A: [], AAAA: [] })
    expect(await outcomeOf('http://image.test/', { resolve })).toBe('address_not_public')
  })
})

describe('of one request', () => {
  test('each URL is fetched once, at the same time and later', async () => {
    const server = await serve()
    const request = requestOf()
    const [first, second] = await Promise.all([request.fetch(server.url), request.fetch(server.url)])
    expect(shown(first)).toBe('image/png')
    expect(second).toBe(first)
    expect(await request.fetch(server.url)).toBe(first)
    expect(server.requests).toHaveLength(1)
    expect(request.memory.bytes()).toBe(1336)
  })

  test('a URL that failed is not fetched again', async () => {
    const server = await serve((response) => response.writeHead(404).end())
    const request = requestOf()
    for (let n = 0; n < 2; n += 1) expect(shown(await request.fetch(server.url))).toBe('status_not_ok')
    expect(server.requests).toHaveLength(1)
  })

  test('at most 4 images are fetched at a time, and 20 in all', async () => {
    const held: ServerResponse[] = []
    const server = await serve((response) => held.push(response))
    const request = requestOf()
    const results = Array.from({ length: 21 }, (_, n) => request.fetch(`${server.url}?${n}`))
    expect(shown((await results[20]) ?? expect.fail())).toBe('too_many')
    for (let answered = 0; answered < 20; answered += 1) {
      const inLine = 20 - answered
      await vi.waitFor(() => expect(held).toHaveLength(Math.min(inLine, 4)))
      held.shift()?.end(png)
    }
    expect((await Promise.all(results)).map(shown)).toEqual([...Array(20).fill('image/png'), 'too_many'])
    expect(server.requests).toHaveLength(20)
  })

  test('all images together have at most 64 MiB', async () => {
    const body = pngOf(17 * mebibyte)
    const server = await serve((response) => response.end(body))
    const request = requestOf()
    const outcomes: string[] = []
    for (let n = 0; n < 4; n += 1) outcomes.push(shown(await request.fetch(`${server.url}?${n}`)))
    expect(outcomes).toEqual(['image/png', 'image/png', 'image/png', 'all_too_large'])
    expect(request.memory.bytes()).toBe(3 * 4 * Math.ceil(body.length / 3))
    request.release()
    expect(request.memory.bytes()).toBe(0)
  })

  test('an image for which the memory for bodies has no room gets its 503', async () => {
    const body = pngOf(mebibyte)
    const server = await serve((response) => response.end(body))
    const request = requestOf({ memory: newMemory(mebibyte) })
    const result = await request.fetch(server.url)
    expect(result.outcome === 'failed' && refusalOfImage('url', result)).toMatchObject({
      status: 503,
      code: 'service_unavailable',
    })
    expect(request.memory.bytes()).toBe(0)
  })

  test('the end releases the images that have arrived, and aborts the others', async () => {
    const server = await serve((response, { url }) => {
      if (url === '/image.png?whole') response.end(png)
      else response.write(png)
    })
    const request = requestOf()
    const whole = await request.fetch(`${server.url}?whole`)
    const part = request.fetch(`${server.url}?part`)
    await vi.waitFor(() => expect(request.memory.bytes()).toBe(2 * 1336))
    request.release()
    expect(shown(whole)).toBe('image/png')
    expect(shown(await part)).toBe('canceled')
    expect(request.memory.bytes()).toBe(0)
    await untilClosed(server)
    request.release()
    expect(request.memory.bytes()).toBe(0)
  })
})
