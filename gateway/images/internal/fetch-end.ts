import { type ImageProblem, imageProblem } from '../image-problem.ts'

/** The reasons to end a fetch before it is complete; the first one counts. */
export type FetchEnd = {
  /** Aborted when the fetch is to end. */
  readonly signal: AbortSignal
  end(problem: ImageProblem): void
  /** Why the fetch was ended, if it was. */
  problem(): ImageProblem | undefined
  /** To be called when the fetch is over. */
  stop(): void
}

/** Ends a fetch when its client disconnects or its time is over. */
export function createFetchEnd(canceled: AbortSignal, timeMs: number): FetchEnd {
  const controller = new AbortController()
  let problem: ImageProblem | undefined

  function end(why: ImageProblem): void {
    problem ??= why
    controller.abort()
  }

  const cancel = () => end(imageProblem('canceled'))
  const clock = setTimeout(() => end(imageProblem('timeout')), timeMs)
  canceled.addEventListener('abort', cancel)
  if (canceled.aborted) cancel()
  return {
    signal: controller.signal,
    end,
    problem: () => problem,
    stop() {
      clearTimeout(clock)
      canceled.removeEventListener('abort', cancel)
    },
  }
}
