import type { ResolveName } from '#core/egress/guarded-connector'
import { createDnsResolver } from '#core/egress/resolve-by-dns'
import { type ImageProblem, imageProblem } from './image-problem.ts'
import { download } from './internal/download.ts'
import { createFetchEnd } from './internal/fetch-end.ts'
import { createFetchLine } from './internal/fetch-line.ts'
import type { FetchedImage, HeldBytes } from './internal/fetched-image.ts'
import { parseImageUrl } from './internal/image-url.ts'
import type { Pace } from './internal/pace-clock.ts'
import { isPublicAddress } from './internal/public-address.ts'

/** Images fetched at a time by this process: each takes a file, of the reserve of `http/connection-cap.ts`. */
const fetchesMax = 128
/** The same for one organization, so that several with slow servers must come together to make the others wait. */
const fetchesOfOrganizationMax = 16

/** Fast enough for a server that makes the image first, and for a mobile connection of 26 kbit/s. */
const usualPace: Pace = { headersMs: 15_000, spanMs: 5_000, spanBytesMin: 16 * 1024 }

export type ImageFetcherDeps = {
  /** Whether an IP address may be connected to; by default only public ones. */
  readonly isAllowed?: (address: string) => boolean
  /** By default DNS. */
  readonly resolve?: ResolveName
  readonly pace?: Pace
}

type ImageFetchOptions = {
  /** Aborted when the image is no longer needed: the connection is closed at once. */
  readonly signal: AbortSignal
  /** For the whole fetch, with the wait for its turn. */
  readonly timeMs: number
  readonly organizationId: string
  readonly held: HeldBytes
}

export type ImageFetcher = {
  /**
   * Fetches the image at a URL with one GET. Its memory is held until the caller releases it.
   *
   * A failure is a value, whatever the server does. Nothing is held and no connection is open after one.
   */
  fetch(url: string, options: ImageFetchOptions): Promise<FetchedImage | ImageProblem>
}

/** Fetches images from public addresses, a bounded number at a time. Keeps no connection. */
export function createImageFetcher(deps: ImageFetcherDeps = {}): ImageFetcher {
  const { isAllowed = isPublicAddress, resolve = createDnsResolver(), pace = usualPace } = deps
  const line = createFetchLine(fetchesMax, fetchesOfOrganizationMax)
  return {
    async fetch(text, { signal, timeMs, organizationId, held }) {
      const url = parseImageUrl(text)
      if ('outcome' in url) return url
      const end = createFetchEnd(signal, timeMs)
      try {
        const work = { url, isAllowed, resolve, pace, held, end }
        const result = await line.run(organizationId, end.signal, () => download(work))
        return result ?? end.problem() ?? imageProblem('canceled')
      } finally {
        end.stop()
      }
    },
  }
}
