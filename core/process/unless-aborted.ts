/**
 * The same answer, or the reason of the abort as soon as that comes.
 *
 * undici notices an abort only once it has a connection, and that may take seconds.
 */
export function unlessAborted<Answer>(
  work: Promise<Answer>,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason)
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort))
  })
}
