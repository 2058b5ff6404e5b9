import type { AttemptDeps } from '../../exchange/call-target.ts'
import type { Run } from '../../exchange/run.ts'
import { refusalOfImage } from '../../images/image-problem.ts'
import { createRequestImages, type RequestImages } from '../../images/request-images.ts'
import { failureOfRefusal } from '../../upstream/failure.ts'
import type { FetchImage } from '../../upstream/provider-adapter.ts'

/** The images of a request, for one attempt of `timeMs`: each is fetched once for all of its attempts. */
export function imageSourceOf(deps: AttemptDeps, run: Run, timeMs: number): FetchImage {
  const endMs = deps.now() + timeMs
  return async (url, param) => {
    run.images ??= openImages(deps, run)
    const image = await run.images.fetch(url, Math.max(0, endMs - deps.now()))
    return image.outcome === 'fetched' ? image : failureOfRefusal(refusalOfImage(param, image))
  }
}

/** A client that leaves aborts what is fetched: nothing was sent yet. */
function openImages({ images: { fetcher, held }, now }: AttemptDeps, run: Run): RequestImages {
  const { organizationId } = run.hold
  const left = new AbortController()
  run.departure.onLeave(() => left.abort())
  return createRequestImages({
    fetcher,
    organizationId,
    memory: {
      add(bytes) {
        held.add(bytes, organizationId)
        return held.findExcess(organizationId)
      },
      remove: (bytes) => held.remove(bytes, organizationId),
    },
    signal: left.signal,
    now,
  })
}
