import type { Provider } from '../../routing/route-table.ts'
import { adapterOf } from '../../upstream/dialect.ts'
import {
  type Failure,
  failureOfBadAnswer,
  failureOfErrorBody,
  failureOfFault,
  failureOfStatus,
  isErrorBody,
} from '../../upstream/failure.ts'
import type { ProviderAdapter } from '../../upstream/provider-adapter.ts'
import { type AnswerHeaders, createBodyCollector, type ProviderCalls } from '../../upstream/provider-call.ts'
import { findJson } from '../../wire/json-fields.ts'

/** Time for the whole answer. */
const listMs = 10_000
/** How much of a list is read: some have megabytes, and the beginning is enough to recognize a list. */
const readBytesMax = 64 * 1024
/** More than that may arrive in one read. */
const answerBytesMax = 4 * readBytesMax

/** Lists a provider's models with its credential. Keeps nothing of the list: only its existence matters. */
export function listModels(
  calls: Pick<ProviderCalls, 'call'>,
  provider: Provider,
  connectMs: number,
): Promise<'listed' | Failure> {
  return new Promise((resolve, reject) => {
    const adapter = adapterOf(provider)
    const body = createBodyCollector()
    let bytesRead = 0
    let head: { readonly status: number; readonly headers: AnswerHeaders } | undefined
    const over = (end: 'listed' | Failure) => {
      clearTimeout(deadline)
      call.cancel()
      resolve(end)
    }
    const judge = (isWhole: boolean) =>
      over(judgeAnswer(adapter, head ?? { status: 0, headers: {} }, body.text(), isWhole))
    const deadline = setTimeout(() => over(failureOfFault('first_byte_timeout')), listMs)
    const call = calls.call(
      {
        url: adapter.modelsUrlOf(provider.baseUrl),
        access: provider.access,
        headers: provider.headers,
        body: null,
        connectMs,
        firstByteMs: null,
        idleMs: listMs,
        answerBytesMax,
      },
      {
        onHeaders(status, headers) {
          head = { status, headers }
        },
        onData(bytes) {
          body.push(bytes)
          bytesRead += bytes.length
          if (bytesRead > readBytesMax) judge(false)
          return 'something'
        },
        onEnd: () => judge(true),
        onFault: (fault) => over(failureOfFault(fault)),
        onCrash(error) {
          clearTimeout(deadline)
          reject(error)
        },
      },
    )
  })
}

function judgeAnswer(
  adapter: ProviderAdapter,
  { status, headers }: { readonly status: number; readonly headers: AnswerHeaders },
  text: string,
  isWhole: boolean,
): 'listed' | Failure {
  if (status < 200 || status >= 300)
    return failureOfStatus({ status, headers, body: isWhole ? text : '', nowMs: Date.now() })
  if (!isWhole) return /^\s*[[{]/.test(text) ? 'listed' : noList
  const answer = findJson(text)
  if (isErrorBody(answer)) return failureOfErrorBody(answer, 'error_in_answer')
  return adapter.isModelList(answer) ? 'listed' : noList
}

const noList = failureOfBadAnswer('no_list')
