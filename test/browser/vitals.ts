import type { CDPSession, Page } from 'playwright-core'

/** The weight and speed of a visit, as the browser measured them. */
export type Vitals = {
  /** Over the network, in bytes, gzipped. `initialScripts`: those in the served document. */
  readonly initialScripts: number
  readonly styles: number
  /** Every other script, by its path. */
  readonly chunks: ReadonlyMap<string, number>
  /** API paths that the page has read, with their queries. */
  readonly reads: readonly string[]
  /** Largest contentful paint, in ms since the navigation. */
  readonly lcpMs: number
  /** Cumulative layout shift: how much moved without user input. */
  readonly cls: number
}

/** Opens pages with an empty cache, and measures them. */
export type Meter = {
  open(address: string, settle: () => Promise<void>): Promise<Vitals>
  /** The longest time from a click or key press to its visible effect during `act`, in ms. */
  inpOf(act: () => Promise<void>): Promise<number>
  /** Slows the processor down by this factor from now on. */
  slowDown(times: number): Promise<void>
}

type Noted = { lcpMs: number; cls: number; inpMs: number }

/** A meter of this page, which must not have opened anything yet. */
export async function meterOf(page: Page): Promise<Meter> {
  await page.addInitScript(note)
  await page.setExtraHTTPHeaders({ 'accept-encoding': 'gzip' })
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  const read = () => page.evaluate(() => (window as unknown as { noted: Noted }).noted)
  return {
    async open(address, settle) {
      const weights = weigh(session)
      const served = await page.goto(address)
      await settle()
      await page.evaluate(nextFrame)
      const { lcpMs, cls } = await read()
      // Not the scripts of the present document: later ones are preloaded by elements added to it.
      const named = await page.evaluate(scriptsNamedIn, (await served?.text()) ?? '')
      return { ...sumUp(weights.stop(), named), lcpMs, cls }
    },
    async inpOf(act) {
      await page.evaluate(() => Object.assign((window as unknown as { noted: Noted }).noted, { inpMs: 0 }))
      await act()
      await page.evaluate(nextFrame)
      return (await read()).inpMs
    },
    slowDown: async (rate) => void (await session.send('Emulation.setCPUThrottlingRate', { rate })),
  }
}

/** Runs in the page, before its scripts. */
function note(): void {
  const noted: Noted = { lcpMs: 0, cls: 0, inpMs: 0 }
  Object.assign(window, { noted })
  const watch = (type: string, hear: (entry: PerformanceEntry) => void, more: object = {}) =>
    new PerformanceObserver((list) => list.getEntries().forEach(hear)).observe({
      type,
      buffered: true,
      ...more,
    })
  watch('largest-contentful-paint', ({ startTime }) => {
    noted.lcpMs = startTime
  })
  watch('layout-shift', (entry) => {
    const { value, hadRecentInput } = entry as PerformanceEntry & { value: number; hadRecentInput: boolean }
    if (!hadRecentInput) noted.cls += value
  })
  const hearEvent = (entry: PerformanceEntry) => {
    const { interactionId, duration } = entry as PerformanceEntry & { interactionId: number }
    if (interactionId > 0) noted.inpMs = Math.max(noted.inpMs, duration)
  }
  watch('event', hearEvent, { durationThreshold: 16 })
}

/** Runs in the page, which can parse HTML. */
function scriptsNamedIn(html: string): readonly string[] {
  const served = new DOMParser().parseFromString(html, 'text/html')
  const elements = served.querySelectorAll('script[src], link[rel=modulepreload]')
  return [...elements].map((element) => element.getAttribute('src') ?? element.getAttribute('href') ?? '')
}

/** Observers are notified after a frame was painted. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) =>
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50))),
  )
}

type File = { readonly path: string; readonly search: string; readonly type: string }
type Weight = File & { readonly bytes: number }

/** Bodies and headers, as they were transferred. */
function weigh(session: CDPSession): { stop(): readonly Weight[] } {
  const known = new Map<string, File>()
  const weights: Weight[] = []
  const onResponse = ({
    requestId,
    type,
    response,
  }: {
    requestId: string
    type: string
    response: { url: string }
  }) => {
    const { pathname: path, search } = new URL(response.url)
    known.set(requestId, { path, search, type })
  }
  const onFinished = ({ requestId, encodedDataLength }: { requestId: string; encodedDataLength: number }) => {
    const file = known.get(requestId)
    if (file !== undefined) weights.push({ ...file, bytes: encodedDataLength })
  }
  session.on('Network.responseReceived', onResponse)
  session.on('Network.loadingFinished', onFinished)
  return {
    stop() {
      session.off('Network.responseReceived', onResponse)
      session.off('Network.loadingFinished', onFinished)
      return weights
    },
  }
}

function sumUp(weights: readonly Weight[], named: readonly string[]): Omit<Vitals, 'lcpMs' | 'cls'> {
  const sum = (of: readonly Weight[]) => of.reduce((bytes, one) => bytes + one.bytes, 0)
  const scripts = weights.filter(({ type }) => type === 'Script')
  return {
    initialScripts: sum(scripts.filter(({ path }) => named.includes(path))),
    styles: sum(weights.filter(({ type }) => type === 'Stylesheet')),
    chunks: new Map(
      scripts.filter(({ path }) => !named.includes(path)).map(({ path, bytes }) => [path, bytes]),
    ),
    reads: weights.filter(({ path }) => path.startsWith('/api/')).map(({ path, search }) => path + search),
  }
}
