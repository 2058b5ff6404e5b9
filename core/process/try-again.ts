import { setTimeout as pause } from 'node:timers/promises'

const pauseMs = 2_000

/**
 * Does `work` until it succeeds, every 2 s, as long as it fails with a temporary error. A Job that ended
 * while its database is still starting would only be started again. The caller that starts the Job bounds its
 * time.
 *
 * @param onPause called before each pause.
 * @throws any error that is not temporary.
 */
export async function tryAgain<Answer>(
  work: () => Promise<Answer>,
  doesPass: (error: unknown) => boolean,
  onPause: () => void = () => undefined,
): Promise<Answer> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!doesPass(error)) throw error
      onPause()
      await pause(pauseMs)
    }
  }
}
