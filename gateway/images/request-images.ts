import type { Refusal } from '#core/errors/refusal'
import type { ImageFetcher } from './fetch-images.ts'
import { allImagesBytesMax, type ImageProblem, imageProblem, imagesMax } from './image-problem.ts'
import { base64Length } from './internal/base64-text.ts'
import { createFetchLine } from './internal/fetch-line.ts'
import type { FetchedImage } from './internal/fetched-image.ts'

/** Images of one request that are fetched at a time: in 5 rounds, all that it may have. */
const fetchesOfRequestMax = 4

/** The part of the memory for bodies that one request takes. */
type BodyMemory = {
  /** Counts them, whether they fit or not. The error about the memory in use, if they do not. */
  add(bytes: number): Refusal | undefined
  remove(bytes: number): void
}

export type RequestImagesOptions = {
  readonly fetcher: ImageFetcher
  readonly memory: BodyMemory
  readonly organizationId: string
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** `performance.now`. */
  readonly now: () => number
}

/** The images that one request has by URL. */
export type RequestImages = {
  /** The image at a URL, fetched by the first call with this URL only, also if that failed. */
  fetch(url: string, timeMs: number): Promise<FetchedImage | ImageProblem>
  /** To be called once, at the end of the request: aborts what runs, and releases the memory of all images. */
  release(): void
}

export function createRequestImages(options: RequestImagesOptions): RequestImages {
  const { fetcher, memory, organizationId, now } = options
  const images = new Map<string, Promise<FetchedImage | ImageProblem>>()
  const line = createFetchLine(fetchesOfRequestMax)
  const released = new AbortController()
  const signal = AbortSignal.any([options.signal, released.signal])
  let heldBytes = 0
  let imagesBytes = 0

  const held = {
    hold(bytes: number): ImageProblem | undefined {
      heldBytes += bytes
      const refusal = memory.add(bytes)
      if (heldBytes > base64Length(allImagesBytesMax)) return imageProblem('all_too_large')
      return refusal && { outcome: 'failed', reason: 'no_memory', refusal }
    },
    release(bytes: number): void {
      heldBytes -= bytes
      memory.remove(bytes)
    },
  }

  async function fetchOnce(url: string, timeMs: number): Promise<FetchedImage | ImageProblem> {
    const endMs = now() + timeMs
    const result = await line.run('', signal, () =>
      fetcher.fetch(url, { signal, timeMs: Math.max(endMs - now(), 0), organizationId, held }),
    )
    if (result?.outcome !== 'fetched') return result ?? imageProblem('canceled')
    if (!released.signal.aborted) {
      imagesBytes += result.heldBytes
      return result
    }
    held.release(result.heldBytes)
    return imageProblem('canceled')
  }

  return {
    fetch(url, timeMs) {
      const known = images.get(url)
      if (known !== undefined) return known
      if (images.size >= imagesMax) return Promise.resolve(imageProblem('too_many'))
      const image = fetchOnce(url, timeMs)
      images.set(url, image)
      return image
    },
    release() {
      released.abort()
      images.clear()
      held.release(imagesBytes)
      imagesBytes = 0
    },
  }
}
