import type { TransportFault } from './failure.ts'
import { type AnswerHeaders, createBodyCollector, type ProviderCalls } from './provider-call.ts'

type CallRequest = Parameters<ProviderCalls['call']>[0]

type WholeAnswerRequest = Omit<CallRequest, 'firstByteMs' | 'idleMs'> & {
  /** Time for the whole answer. */
  readonly withinMs: number
  /** How much of it is read; the rest is cut off. */
  readonly readBytesMax: number
}

/** `isWhole`: it ended by itself. */
export type AnswerRead = {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly text: string
  readonly isWhole: boolean
}

/** Sends one call that is not a request of a client's, and reads its answer in memory. Rejects on a bug only. */
export function readAnswer(
  calls: Pick<ProviderCalls, 'call'>,
  { withinMs, readBytesMax, ...request }: WholeAnswerRequest,
): Promise<AnswerRead | { readonly fault: TransportFault }> {
  return new Promise((resolve, reject) => {
    const body = createBodyCollector()
    let bytesRead = 0
    let head: Pick<AnswerRead, 'status' | 'headers'> = { status: 0, headers: {} }
    const over = (end: AnswerRead | { readonly fault: TransportFault }) => {
      clearTimeout(deadline)
      call.cancel()
      resolve(end)
    }
    const endWith = (isWhole: boolean) => over({ ...head, text: body.text(), isWhole })
    const deadline = setTimeout(over, withinMs, { fault: 'first_byte_timeout' })
    const call = calls.call(
      { ...request, firstByteMs: null, idleMs: withinMs },
      {
        onHeaders(status, headers) {
          head = { status, headers }
        },
        onData(bytes) {
          body.push(bytes)
          bytesRead += bytes.length
          if (bytesRead > readBytesMax) endWith(false)
          return 'something'
        },
        onEnd: () => endWith(true),
        onFault: (fault) => over({ fault }),
        onCrash(error) {
          clearTimeout(deadline)
          reject(error)
        },
      },
    )
  })
}
