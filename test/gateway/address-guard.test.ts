import { describe, expect, onTestFinished, test } from 'vitest'
import { createAddressGuard } from '#core/catalog/address-guard'
import type { ResolveName } from '#core/egress/guarded-connector'
import { createProviderAgents, type ProviderAccess } from '#gateway/upstream/provider-agents'
import { createProviderCalls } from '#gateway/upstream/provider-call'
import { makeCertificate } from '../support/certificate.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type Settings = Partial<ProviderAccess> & {
  readonly cidrs?: readonly string[]
  readonly resolve?: ResolveName
  readonly proxyUrl?: string
  readonly connectMs?: number
}

/** Calls as a gateway makes them, by default for a provider that asks for private addresses. */
function callsOf({ cidrs = ['127.0.0.0/8'], resolve, proxyUrl, connectMs = 2000, ...fields }: Settings = {}) {
  const guard = createAddressGuard(cidrs)
  const calls = createProviderCalls(
    createProviderAgents(guard, { proxyUrl, ...(resolve === undefined ? {} : { resolve }) }),
  )
  onTestFinished(() => calls.close())
  const given = { plainHttp: true, privateAddresses: true, caCertificates: undefined, ...fields }
  return (url: string, changed: Partial<ProviderAccess> = {}): Promise<string> =>
    new Promise((resolved) => {
      let status = 0
      const request = {
        url: `${url}/chat/completions`,
        access: { ...given, ...changed },
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })),
        connectMs,
        firstByteMs: 2000,
        idleMs: 2000,
        answerBytesMax: 100_000,
      }
      calls.call(request, {
        onHeaders: (given) => {
          status = given
        },
        onData: () => 'something',
        onEnd: () => resolved(String(status)),
        onFault: resolved,
        onCrash: () => resolved('crash'),
      })
    })
}

async function upstreamOfThisTest(settings: Parameters<typeof startUpstream>[0] = {}): Promise<Upstream> {
  const upstream = await startUpstream(settings)
  onTestFinished(() => upstream.stop())
  return upstream
}

describe('a provider that does not ask for private addresses', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '0x7f.0.0.1',
    '2130706433',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '１２７.0.0.1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::1]',
    '[64:ff9b::7f00:1]',
    '0.0.0.0',
    '[::]',
    'localhost',
    'LOCALHOST',
  ])('is not called at %s, and nobody hears of it', async (host) => {
    const upstream = await upstreamOfThisTest()
    const url = upstream.url.replace('127.0.0.1', host)
    expect(await callsOf({ privateAddresses: false })(url)).toBe('address_refused')
    expect(upstream.connectionCount()).toBe(0)
  })
})

test('asking is not enough where the installation allows another range', async () => {
  const upstream = await upstreamOfThisTest()
  expect(await callsOf({ cidrs: ['10.0.0.0/8'] })(upstream.url)).toBe('address_refused')
  expect(await callsOf({ cidrs: ['127.0.0.1/32'] })(upstream.url)).toBe('200')
})

test.each(['169.254.169.254', '[::ffff:a9fe:a9fe]', '[fd00:ec2::254]', '100.100.100.200', '0xA9FEA9FE'])(
  'no setting opens the metadata service at %s',
  async (host) => {
    expect(await callsOf({ cidrs: ['0.0.0.0/0', '::/0'] })(`http://${host}/latest`)).toBe('address_refused')
  },
)

test('plain http is refused unless the provider asks for it', async () => {
  const upstream = await upstreamOfThisTest()
  expect(await callsOf({ plainHttp: false })(upstream.url)).toBe('address_refused')
  expect(upstream.connectionCount()).toBe(0)
})

test('a connection made for one provider does not serve another that may not go there', async () => {
  const upstream = await upstreamOfThisTest()
  const call = callsOf()
  expect(await call(upstream.url)).toBe('200')
  expect(await call(upstream.url, { privateAddresses: false })).toBe('address_refused')
  expect(upstream.requests).toHaveLength(1)
})

describe('a name', () => {
  /** Answers one list of addresses after the other. */
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
  const named = (upstream: Upstream) => upstream.url.replace('127.0.0.1', 'provider.test')

  test('is looked up once per connection, and the address that was checked is the one that is called', async () => {
    const upstream = await upstreamOfThisTest()
    const { resolve, count } = resolver(['127.0.0.1'], ['127.0.0.2'])
    const call = callsOf({ resolve, cidrs: ['127.0.0.1/32'] })
    expect(await call(named(upstream))).toBe('200')
    expect(count()).toBe(1)
    expect(await call(named(upstream))).toBe('address_refused')
    expect(count()).toBe(2)
  })

  test('is refused when one of its addresses is', async () => {
    const upstream = await upstreamOfThisTest()
    for (const other of ['127.0.0.2', '10.0.0.1', '169.254.169.254', '::1', '::ffff:169.254.169.254']) {
      const { resolve } = resolver(['127.0.0.1', other])
      expect(await callsOf({ resolve, cidrs: ['127.0.0.1/32'] })(named(upstream)), other).toBe(
        'address_refused',
      )
    }
    expect(upstream.connectionCount()).toBe(0)
  })
})

test('a redirect is an answer, not a way around the guard', async () => {
  const upstream = await upstreamOfThisTest()
  const inner = await upstreamOfThisTest()
  upstream.answer('m', { status: 307, headers: { location: `${inner.url}/chat/completions` } })
  expect(await callsOf()(upstream.url)).toBe('307')
  expect(inner.connectionCount()).toBe(0)
})

describe('TLS', () => {
  const certificate = makeCertificate()

  test('a certificate of an unknown authority fails', async () => {
    const upstream = await upstreamOfThisTest({ certificate })
    expect(await callsOf({ plainHttp: false })(upstream.url)).toBe('tls_failed')
    expect(upstream.requests).toHaveLength(0)
  })

  test('a provider may bring its own authority, only for itself', async () => {
    const upstream = await upstreamOfThisTest({ certificate })
    const call = callsOf({ plainHttp: false })
    expect(await call(upstream.url, { caCertificates: certificate.cert })).toBe('200')
    expect(await call(upstream.url)).toBe('tls_failed')
    expect(await call(upstream.url, { caCertificates: makeCertificate().cert })).toBe('tls_failed')
    expect(await call(upstream.url, { caCertificates: certificate.cert })).toBe('200')
  })

  test('a certificate for another name fails', async () => {
    const upstream = await upstreamOfThisTest({ certificate })
    const resolve: ResolveName = (_name, _options, callback) =>
      callback(null, [{ address: '127.0.0.1', family: 4 }])
    const call = callsOf({ caCertificates: certificate.cert, resolve })
    expect(await call(upstream.url.replace('127.0.0.1', 'provider.test'))).toBe('tls_failed')
  })
})

describe('through an egress proxy', () => {
  const certificate = makeCertificate('provider.test')
  /** Only the proxy knows names. */
  const resolve: ResolveName = (name, _options, callback) => {
    callback(Object.assign(new Error(name), { code: 'ENOTFOUND' }), [])
  }
  const proxied = { resolve, privateAddresses: false, cidrs: [] }
  const hostOf = (url: string) => new URL(url).host
  async function proxyOfThisTest(settings: Parameters<typeof startConnectProxy>[0] = {}) {
    const proxy = await startConnectProxy(settings)
    onTestFinished(() => proxy.stop())
    return proxy
  }

  test('a provider is called by its name and with its own TLS, and never sees the password of the proxy', async () => {
    const upstream = await upstreamOfThisTest({ certificate })
    const proxy = await proxyOfThisTest({ login: 'gate:p@ss/word' })
    const proxyUrl = proxy.url.replace('//', '//gate:p%40ss%2Fword@')
    const url = upstream.url.replace('127.0.0.1', 'provider.test')
    const call = callsOf({ ...proxied, proxyUrl, plainHttp: false })
    expect(await call(url, { caCertificates: certificate.cert })).toBe('200')
    expect(proxy.tunnels).toEqual([hostOf(url)])
    expect(JSON.stringify(upstream.requests[0]?.headers)).not.toMatch(/proxy|gate/i)
    expect(await call(url)).toBe('tls_failed')
    const other = url.replace('provider.test', 'other.test')
    expect(await call(other, { caCertificates: certificate.cert })).toBe('tls_failed')
  })

  test('a provider without TLS is, too', async () => {
    const [upstream, proxy] = [await upstreamOfThisTest(), await proxyOfThisTest()]
    const url = upstream.url.replace('127.0.0.1', 'provider.test')
    expect(await callsOf({ ...proxied, proxyUrl: proxy.url })(url)).toBe('200')
    expect(await callsOf({ ...proxied, proxyUrl: proxy.url, plainHttp: false })(url)).toBe('address_refused')
    expect(proxy.tunnels).toEqual([hostOf(url)])
  })

  test.each(['127.0.0.1', '0x7f000001', '10.0.0.1', '169.254.169.254', '[::ffff:a9fe:a9fe]', '[::1]'])(
    'no private address is reached: the proxy is not asked for %s',
    async (host) => {
      const proxy = await proxyOfThisTest()
      const call = callsOf({ ...proxied, proxyUrl: proxy.url, cidrs: ['0.0.0.0/0', '::/0'] })
      expect(await call(`http://${host}:8080`)).toBe('address_refused')
      expect(proxy.tunnels).toEqual([])
    },
  )

  test('a provider with private addresses is called without it', async () => {
    const [upstream, proxy] = [await upstreamOfThisTest(), await proxyOfThisTest()]
    expect(await callsOf({ proxyUrl: proxy.url })(upstream.url)).toBe('200')
    expect(proxy.tunnels).toEqual([])
  })

  test.each([403, 407, 502])('a proxy that responds with %i is named as the cause', async (refusal) => {
    const proxy = await proxyOfThisTest({ refusal })
    const call = callsOf({ ...proxied, proxyUrl: proxy.url })
    expect(await call('http://provider.test')).toBe('proxy_refused')
    expect(proxy.tunnels).toEqual(['provider.test:80'])
  })

  test('so is one that is not there, whose certificate is unknown, or that stays silent', async () => {
    const ended = await startConnectProxy()
    await ended.stop()
    const url = 'https://provider.test'
    expect(await callsOf({ ...proxied, proxyUrl: ended.url })(url)).toBe('proxy_unreachable')
    const { url: tlsUrl } = await proxyOfThisTest({ certificate })
    expect(await callsOf({ ...proxied, proxyUrl: tlsUrl })(url)).toBe('proxy_unreachable')
    const { url: silentUrl } = await proxyOfThisTest({ refusal: 'silence' })
    const call = callsOf({ ...proxied, proxyUrl: silentUrl, connectMs: 100 })
    expect(await call(url)).toBe('connect_timeout')
  })
})
