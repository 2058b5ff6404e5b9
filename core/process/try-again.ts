import { setTimeout as pause } from 'node:timers/promises'

const pauseMs = 2_000

/**
 * Does `work` until it succeeds, every 2 s, for as long as it fails by an error that passes by itself: a Job that ended
 * while its database is still starting would only be started again. Whoever starts the Job bounds its time.
 *
 * @param onPause called before each pause.
 * @throws whatever does not pass.
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
