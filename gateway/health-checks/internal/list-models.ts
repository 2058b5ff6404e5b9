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
import type { ProviderCalls } from '../../upstream/provider-call.ts'
import { type AnswerRead, readAnswer } from '../../upstream/whole-answer.ts'
import { findJson } from '../../wire/json-fields.ts'

/** Time for the whole answer. */
const listMs = 10_000
/** How much of a list is read: some have megabytes, and the beginning is enough to recognize a list. */
const readBytesMax = 64 * 1024
/** More than that may arrive in one read. */
const answerBytesMax = 4 * readBytesMax

/** Lists a provider's models with its credential. Keeps nothing of the list: only its existence matters. */
export async function listModels(
  calls: Pick<ProviderCalls, 'call'>,
  provider: Provider,
  connectMs: number,
): Promise<'listed' | Failure> {
  const adapter = adapterOf(provider)
  const read = await readAnswer(calls, {
    url: adapter.modelsUrlOf(provider.baseUrl),
    access: provider.access,
    headers: provider.headers,
    body: null,
    connectMs,
    answerBytesMax,
    withinMs: listMs,
    readBytesMax,
  })
  return 'fault' in read ? failureOfFault(read.fault) : judgeAnswer(adapter, read)
}

function judgeAnswer(
  adapter: ProviderAdapter,
  { status, headers, text, isWhole }: AnswerRead,
): 'listed' | Failure {
  if (status < 200 || status >= 300)
    return failureOfStatus({ status, headers, body: isWhole ? text : '', nowMs: Date.now() })
  if (!isWhole) return /^\s*[[{]/.test(text) ? 'listed' : noList
  const answer = findJson(text)
  if (isErrorBody(answer)) return failureOfErrorBody(answer, 'error_in_answer')
  return adapter.isModelList(answer) ? 'listed' : noList
}

const noList = failureOfBadAnswer('no_list')
